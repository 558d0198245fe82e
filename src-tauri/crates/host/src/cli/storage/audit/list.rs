//! `taskwarden audit list` and `audit show`: rows of the audit log by filter, and one row with its neighbours.
//!
//! Only prints; what a filter means is decided in the core. The check of the whole log is in `storage/audit.rs`.

use api::calls::core::audit::{AuditFilterDto, ListAudit, OneAuditRow};
use api::dto::core::audit::{AuditListDto, AuditRowDto, AuditShownDto};
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::input::run_time::moment;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, short_id};
use crate::cli::output::table::{self, TableLayout, text};
use crate::config::Config;

/// Characters of a hash that tell rows apart on a screen. Judgement.
const HASH_CHARS: usize = 12;

/// The same words wherever rows are chosen.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditFilterArgs {
    /// Only rows from this time on, such as `2026-11-21`, `2026-11-21T22:00:00Z`, or `2h` for two hours ago.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only rows before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only rows of this actor: person, agent, control, server or system, or a whole one such as `person:ada`.
    #[arg(long, value_name = "ACTOR")]
    actor: Option<String>,
    /// Only rows with this verb. Can be repeated.
    #[arg(long, value_name = "VERB")]
    verb: Vec<String>,
    /// Only rows about this: handle, request, server, agent or store, or a whole subject as a row has it.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only rows about this server. Rows of earlier versions name none.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only rows about this agent. Rows of earlier versions name none.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only rows about this task and its questions.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only rows whose note has these words.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

impl From<AuditFilterArgs> for AuditFilterDto {
    fn from(args: AuditFilterArgs) -> Self {
        let AuditFilterArgs { since, until, actor, verb, subject, server, agent, task, text } = args;
        let moment = |text: Option<String>| text.as_deref().map(moment);
        let (since, until) = (moment(since), moment(until));
        Self { first: None, last: None, since, until, actor, verbs: verb, subject, server, agent, task, text }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AuditListArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// Most rows in a page, at most 1,000.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Continue after a page: its `next` value.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The number of the row.
    #[arg(value_parser = row_number, allow_negative_numbers = true)]
    number: u64,
}

/// The number of a row, as somebody types it.
pub(super) fn row_number(text: &str) -> Result<u64, String> {
    text.parse::<u64>()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "rows have the numbers 1, 2, 3 and so on".to_owned())
}

pub(crate) async fn list(command: AuditListArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let filter: AuditFilterDto = command.filter.into();
    let mut rows = Vec::new();
    let mut before = command.before;
    // One call looks at a limited number of rows; a filter that matches few needs several.
    let page = loop {
        let left = command.limit.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        let input = ListAudit { filter: filter.clone(), before, limit: Some(left) };
        let mut page: AuditListDto = core.request("audit.list", &input).await?;
        rows.append(&mut page.rows);
        before = page.next;
        if page.next.is_none() || u32::try_from(rows.len()).is_ok_and(|found| found >= command.limit) {
            break AuditListDto { rows, ..page };
        }
    };
    if screen.is_json() {
        return screen.json(&page);
    }
    if page.rows.is_empty() {
        screen.line(if page.last == 0 { "The audit log is empty." } else { "No row matches." });
        return Ok(DONE);
    }
    let lines = page.rows.iter().map(line).collect();
    let header = ["ROW", "TIME", "WHO", "VERB", "SUBJECT", "SERVER", "AGENT", "NOTE", "HASH"];
    table::print(
        screen,
        TableLayout { header: &header, cut: &["NOTE", "WHO"], spare: &["HASH", "AGENT", "SERVER"] },
        lines,
    );
    if let Some(broken) = page.rows.iter().find(|row| !row.fits) {
        screen.warning(&format!("Row {} does not match its hash: it was changed.", broken.number));
    }
    if let Some(next) = page.next {
        screen.note(&format!("More: add `--before {next}`."));
    }
    Ok(DONE)
}

fn short_hash(hash: &str) -> &str {
    hash.get(..HASH_CHARS).unwrap_or(hash)
}

/// The subject with a short handle.
fn subject(row: &AuditRowDto) -> String {
    match row.subject.split_once(':') {
        Some(("handle", id)) => short_id(id, false).to_owned(),
        Some(("request", rest)) => match rest.split_once(':') {
            Some((id, key)) => format!("{} `{}`", short_id(id, false), one_line(key)),
            None => one_line(&row.subject),
        },
        Some(("server", _)) => "server".into(),
        Some(("agent", _)) => "agent".into(),
        _ => one_line(&row.subject),
    }
}

fn line(row: &AuditRowDto) -> Vec<table::TableCell> {
    let name = |name: &Option<String>| name.as_deref().map(one_line).unwrap_or_default();
    vec![
        text(row.number.to_string()),
        text(row.at.clone()),
        text(one_line(&row.who)),
        text(one_line(&row.verb)),
        text(subject(row)),
        text(name(&row.server)),
        text(name(&row.agent)),
        text(row.note.as_deref().map_or_else(|| "(erased)".into(), one_line)),
        text(short_hash(&row.hash)),
    ]
}

pub(crate) async fn show(command: ShowArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let shown: AuditShownDto = core.request("audit.show", &OneAuditRow { number: command.number }).await?;
    if screen.is_json() {
        return screen.json(&shown);
    }
    let row = &shown.row;
    screen.line(&format!("Row {} · {} · {}", row.number, row.at, one_line(&row.verb)));
    let field = |name: &str, value: &str| screen.line(&format!("  {name}: {}", one_line(value)));
    field("who", &format!("{} ({})", row.who, row.actor));
    field("subject", &row.subject);
    for (name, value) in [("server", &row.server), ("agent", &row.agent)] {
        if let Some(value) = value {
            field(name, value);
        }
    }
    match row.note.as_deref() {
        Some("") => {}
        note => field("note", note.unwrap_or("(erased)")),
    }
    for (name, value) in &row.detail {
        field(&one_line(name), value);
    }
    field("hash", &row.hash);
    field("previous", &shown.previous);
    for (place, row) in [("before", &shown.before), ("after", &shown.after)] {
        if let Some(row) = row {
            let note = match row.note.as_deref() {
                Some("") => String::new(),
                note => format!(" · {}", note.unwrap_or("(erased)")),
            };
            field(place, &format!("row {} · {} · {}{note}", row.number, row.who, row.verb));
        }
    }
    if row.fits && shown.is_linked {
        screen.line("Its fields give its hash, and the rows beside it link to it.");
    }
    shown.unknown.iter().for_each(|sentence| screen.line(&one_line(sentence)));
    Ok(DONE)
}
