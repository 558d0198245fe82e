//! `taskwarden inbox`: everything that waits for a person, oldest first, with the command that answers it.
//!
//! It only shows. `answer.rs` sends answers; `ask.rs` asks at the terminal while another command waits.

use api::calls::Nothing;
use api::dto::{HeldWhy, InboxDto, InboxRow, WaitingRow, moment};
use api::figures::{grouped, tokens};
use api::{form, when};

use super::screen::Screen;
use super::table::{Layout, text};
use super::words::{one_line, shell_word, short_id};
use super::{DONE, Ended, consent, hold, table, words};
use crate::config::Config;
use crate::door::Door;

pub(crate) async fn run(config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let inbox: InboxDto = door.ask("inbox", &Nothing {}).await?;
    if screen.is_json() {
        screen.json(&inbox)?;
        return Ok(DONE);
    }
    if inbox.items.is_empty() && inbox.decisions.is_empty() {
        screen.line("Nothing waits for you. Questions of tasks appear here as soon as a server asks.");
        return Ok(DONE);
    }
    if !inbox.items.is_empty() {
        questions(&inbox, screen);
    }
    if !inbox.decisions.is_empty() {
        decisions(&inbox.decisions, screen);
    }
    if door.is_reading() {
        screen.note("No core is running: answers need one. Start it with `taskwarden serve`.");
    }
    Ok(DONE)
}

fn questions(inbox: &InboxDto, screen: &Screen) {
    let whole = !screen.is_terminal();
    let rows = inbox
        .items
        .iter()
        .map(|row| {
            vec![
                text(short_id(&row.task, whole)),
                text(when::span_ms(row.waiting_ms)),
                text(words::whose(row.agent.as_deref())),
                text(row.server.clone()),
                text(row.tool.as_deref().map_or_else(|| "-".into(), one_line)),
                text(one_line(&row.request.message)),
            ]
        })
        .collect();
    let layout = Layout {
        header: &["TASK", "WAITING", "AGENT", "SERVER", "TOOL", "QUESTION"],
        cut: &["AGENT", "TOOL", "QUESTION"],
        spare: &["AGENT", "TOOL"],
    };
    table::print(screen, layout, rows);
    screen.line("\nTo answer:");
    for row in &inbox.items {
        if let Some(url) = &row.request.url {
            screen.line(&consent::page(url));
        }
        screen.line(&format!("  {}", how_to_answer(row, whole)));
    }
}

/// Held results and tasks past a limit, each with the command that decides.
fn decisions(rows: &[WaitingRow], screen: &Screen) {
    let (whole, now) = (!screen.is_terminal(), words::now());
    screen.line("To decide:");
    for row in rows {
        let id = row.task.as_deref().map_or("", |id| short_id(id, whole));
        let tool = row.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        let since = moment(&row.opened_at).map(|at| when::ago(at, now)).unwrap_or_default();
        let size = row.tokens.zip(row.exactness).map(|(number, exactness)| tokens(number, exactness));
        let allowed = row.limit.map(|limit| format!(", {} are allowed", grouped(limit))).unwrap_or_default();
        let (what, how) = if row.kind == "held" {
            let size = size.map(|size| format!(" of {size} tokens")).unwrap_or_default();
            let why = match row.why {
                Some(HeldWhy::DoesNotFit) => ", it does not fit into what is left of the window".to_owned(),
                Some(HeldWhy::Review) => " until somebody has looked at it".to_owned(),
                Some(HeldWhy::TooLarge) | None => allowed,
            };
            (format!("a result{size} is held{why}"), hold::ways(id))
        } else {
            let size = size.map(|size| format!(": {size} tokens")).unwrap_or_default();
            let how = format!("taskwarden tasks go-on {id}, or taskwarden tasks cancel {id}");
            (format!("it went past its limit{size}{allowed}"), how)
        };
        let whose = row.agent.as_deref().map(|agent| format!(" for {}", one_line(agent))).unwrap_or_default();
        screen.line(&format!("  {tool} on {}{whose}, {since}: {what}", one_line(&row.server)));
        screen.line(&format!("    {how}"));
    }
}

/// The exact command, with the fields of its form.
pub(crate) fn how_to_answer(row: &InboxRow, whole: bool) -> String {
    answer_command(short_id(&row.task, whole), &row.request)
}

/// The exact command for one question.
pub(crate) fn answer_command(id: &str, request: &api::dto::RequestDto) -> String {
    let accept = match &request.schema {
        Some(schema) => format!("--accept {}", shell_word(&example(schema))),
        None => "--accept".into(),
    };
    format!("taskwarden tasks answer {id} --key {} {accept}", shell_word(&request.key))
}

/// An answer that shows the fields: the defaults, else what kind of value belongs there.
fn example(schema: &serde_json::Value) -> String {
    /// More fields make the line unreadable; `tasks show` lists all.
    const SHOWN: usize = 6;
    let fields: serde_json::Map<String, serde_json::Value> = form::fields(schema)
        .into_iter()
        .filter(|field| field.required || field.default.is_some())
        .take(SHOWN)
        .map(|field| {
            let value = field.default.clone().unwrap_or_else(|| match &field.kind {
                form::FieldKind::Text { .. } => "…".into(),
                form::FieldKind::Number { min, .. } => serde_json::json!(min.unwrap_or(0.0)),
                form::FieldKind::YesNo => true.into(),
                form::FieldKind::One(of) => of.first().map(|choice| choice.value.clone()).unwrap_or_default(),
                form::FieldKind::Many { .. } => serde_json::Value::Array(Vec::new()),
                form::FieldKind::Json => serde_json::Value::Null,
            });
            (field.name, value)
        })
        .collect();
    serde_json::Value::Object(fields).to_string()
}
