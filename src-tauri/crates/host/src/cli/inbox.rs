//! `taskwarden inbox`: everything that waits for a person, oldest first, with the command that answers it.
//!
//! It only shows. `answered.rs` shows what was answered and which rules answer, `answer.rs` sends answers; `question_dialogue.rs` asks at the terminal while another command waits.

pub(crate) mod answer;
mod answered;
pub(crate) mod field_words;
pub(crate) mod question_dialogue;

use api::calls::inbox::ReadInbox;
use api::dto::inbox::row::InboxKind;
use api::dto::pause::PauseDto;
use api::dto::{HeldWhy, InboxDto, InboxQuestion, InboxRow, moment};
use api::format::time::{self, count};
use api::format::tokens::{grouped, marked_tokens};
use api::format::{alarm, pause};
use domain::task::input_request::form;

use super::output::screen::Screen;
use super::output::sentences::{one_line, release_command, shell_word, short_id};
use super::output::table::{TableLayout, text};
use super::output::{run_limits, sentences, table, web_address};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    /// Show this page of the questions; the first is 1.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    page: Option<u32>,
    #[command(subcommand)]
    what: Option<InboxCommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum InboxCommand {
    /// Show answered questions: who answered what, when and from where
    Answered {
        /// Show this page; the first is 1.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
        page: Option<u32>,
    },
    /// Show the rules that answer questions automatically, or end one
    Rules {
        /// End this rule; people are asked again.
        #[arg(long, value_name = "RULE")]
        end: Option<String>,
    },
}

pub(crate) async fn run(command: &InboxArgs, config: &Config, screen: &Screen) -> CommandResult {
    match &command.what {
        None => {}
        Some(InboxCommand::Answered { page }) => return answered::run(*page, config, screen).await,
        Some(InboxCommand::Rules { end }) => return answered::rules(end.as_deref(), config, screen).await,
    }
    let core = CoreClient::attach_or_read(config).await?;
    let inbox: InboxDto = core.request("inbox", &command.page(config, screen)).await?;
    if screen.is_json() {
        return screen.json(&inbox);
    }
    if inbox.total == 0 && inbox.decisions.is_empty() && inbox.trouble.is_empty() {
        screen.line("Nothing waits for you. Questions of tasks appear here as soon as a server asks.");
        return Ok(DONE);
    }
    if !inbox.items.is_empty() {
        questions(&inbox, screen);
    }
    pages(&inbox, command.page.unwrap_or(1), screen);
    if !inbox.decisions.is_empty() {
        decisions(&inbox.decisions, screen);
    }
    if !inbox.trouble.is_empty() {
        trouble(&inbox.trouble, screen);
    }
    if core.is_read_only() {
        screen.note("No core is running, so you cannot answer. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

impl InboxArgs {
    /// The page to request. Without a page number, a script gets as much as one reply may hold.
    fn page(&self, config: &Config, screen: &Screen) -> ReadInbox {
        let limit = match self.page {
            None if screen.is_json() => config.policy.page_rows_max,
            Some(_) | None => config.policy.asking.inbox_page_rows,
        };
        let before = u64::from(self.page.unwrap_or(1).saturating_sub(1));
        ReadInbox { offset: Some(before.saturating_mul(u64::from(limit))), limit: Some(limit) }
    }
}

/// Prints which part of the open questions is shown, unless it is all of them.
fn pages(inbox: &InboxDto, page: u32, screen: &Screen) {
    let shown = u64::try_from(inbox.items.len()).unwrap_or(u64::MAX);
    let upto = inbox.offset.saturating_add(shown);
    if shown == 0 && inbox.total > 0 {
        screen.line(&format!("This page is empty; the inbox has {}.", count(inbox.total, "item")));
    } else if shown < inbox.total {
        let next = if upto < inbox.total {
            format!(" Next page: `taskwarden inbox --page {}`.", page.saturating_add(1))
        } else {
            String::new()
        };
        let first = inbox.offset.saturating_add(1);
        screen.line(&format!("\nShowing questions {first} to {upto} of {}.{next}", inbox.total));
    }
}

fn questions(inbox: &InboxDto, screen: &Screen) {
    let whole = !screen.is_terminal();
    let rows = inbox
        .items
        .iter()
        .map(|row| {
            vec![
                text(short_id(&row.task, whole)),
                text(time::span_ms(row.waiting_ms)),
                text(sentences::whose(row.agent.as_deref())),
                text(row.server.clone()),
                text(match row.request.one_of.len() {
                    0 => row.tool.as_deref().map_or_else(|| "-".into(), one_line),
                    calls => format!("one of {}", count(u64::try_from(calls).unwrap_or(u64::MAX), "call")),
                }),
                text(one_line(&row.request.message)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &["TASK", "WAITING", "AGENT", "SERVER", "TOOL", "QUESTION"],
        cut: &["AGENT", "TOOL", "QUESTION"],
        spare: &["AGENT", "TOOL"],
    };
    table::print(screen, layout, rows);
    for row in inbox.items.iter().filter(|row| !row.request.one_of.is_empty()) {
        let calls: Vec<&str> = row.request.one_of.iter().map(|id| short_id(id, whole)).collect();
        screen.line(&format!(
            "{} asks during one of {} and does not say which: {}",
            one_line(&row.server),
            count(u64::try_from(calls.len()).unwrap_or(u64::MAX), "call"),
            calls.join(", ")
        ));
    }
    for row in inbox.items.iter().filter(|row| row.more_questions > 0) {
        let (id, server) = (short_id(&row.task, whole), one_line(&row.server));
        let noun = if row.more_questions == 1 { "question" } else { "questions" };
        screen.line(&format!("{} more {noun} of {id} on {server}, shown as others are answered", row.more_questions));
    }
    screen.line("\nTo answer:");
    for row in &inbox.items {
        if let Some(url) = &row.request.url {
            screen.line(&web_address::page(url));
        }
        screen.line(&format!("  {}", how_to_answer(row, whole)));
    }
}

/// Held results, tasks past a limit, and pauses that ask which calls are sent, each with the command that decides.
fn decisions(rows: &[InboxRow], screen: &Screen) {
    let (whole, now) = (!screen.is_terminal(), sentences::now());
    screen.line("To decide:");
    for row in rows {
        if let Some(paused) = &row.pause {
            pause_choice(paused, screen);
            continue;
        }
        let id = row.task.as_deref().map_or("", |id| short_id(id, whole));
        let tool = row.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        let since = moment(&row.opened_at).map(|at| time::ago(at, now)).unwrap_or_default();
        let size = row.tokens.zip(row.exactness).map(|(number, exactness)| marked_tokens(number, exactness));
        let allowed = row
            .limit
            .map(|limit| format!(", at most {} {} allowed", grouped(limit), if limit == 1 { "is" } else { "are" }))
            .unwrap_or_default();
        let (what, how) = if let Some(limit) = &row.run_limit {
            (run_limits::reached(limit), run_limits::decide_command(id, limit))
        } else if row.kind == InboxKind::Held {
            let size = size.map(|size| format!(" of {size}")).unwrap_or_default();
            let why = match row.why {
                Some(HeldWhy::DoesNotFit) => ", it does not fit into the rest of the window".to_owned(),
                Some(HeldWhy::Review) => " for review".to_owned(),
                Some(HeldWhy::WouldBeCut) => ", its agent's program would cut it".to_owned(),
                Some(HeldWhy::TooLarge) | None => allowed,
            };
            (format!("a result{size} is held{why}"), release_command(id))
        } else {
            let size = size.map(|size| format!(": {size}")).unwrap_or_default();
            let how = format!("taskwarden tasks go-on {id}, or taskwarden tasks cancel {id}");
            (format!("it exceeded its limit{size}{allowed}"), how)
        };
        let whose = row.agent.as_deref().map(|agent| format!(" for {}", one_line(agent))).unwrap_or_default();
        screen.line(&format!("  {tool} on {}{whose}, {since}: {what}", one_line(&row.server)));
        screen.line(&format!("    {how}"));
    }
}

/// A pause that asks which of the waiting calls are sent, and the commands that decide.
fn pause_choice(paused: &PauseDto, screen: &Screen) {
    /// More calls would make the lines unreadable; `pauses list` has all.
    const SHOWN: usize = 4;
    let (whole, now) = (!screen.is_terminal(), sentences::now());
    let since = moment(&paused.since).map(|at| time::ago(at, now)).unwrap_or_default();
    screen.line(&format!("  {}. {}", one_line(&pause::asks(paused)), pause::why(paused, &since)));
    let calls = paused.calls.iter().take(SHOWN);
    let named: Vec<String> = calls
        .map(|call| {
            let tool = call.tool.as_deref().map_or_else(|| "a call".into(), one_line);
            format!("{tool} on {} ({})", one_line(&call.server), short_id(&call.id, whole))
        })
        .collect();
    let more = usize::try_from(paused.waiting).unwrap_or(usize::MAX).saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more: taskwarden pauses list") };
    screen.line(&format!("    {}{more}", named.join(", ")));
    let name = paused.agent.as_deref().or(paused.server.as_deref()).map(shell_word).unwrap_or_default();
    screen.line(&format!("    taskwarden unpause {name} --all, --send ID for each that is still wanted, or --none"));
}

/// Tasks in trouble, one item for each cause, with what can be done.
fn trouble(rows: &[InboxRow], screen: &Screen) {
    /// More handles would make the line unreadable; `tasks list` has all.
    const SHOWN: usize = 4;
    let (whole, now) = (!screen.is_terminal(), sentences::now());
    screen.line("In trouble:");
    for row in rows {
        let server = one_line(&row.server);
        let tool = row.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        let since = moment(&row.opened_at).map(|at| time::ago(at, now)).unwrap_or_default();
        let what = match (row.kind, row.call_count) {
            (InboxKind::Unconfirmed, 0) => format!("{tool} was never confirmed by {server}"),
            (InboxKind::Unconfirmed, calls) => {
                format!("the connection to {server} ended during {}", count(calls.into(), "call"))
            }
            (InboxKind::Lost, 0) => format!("{tool} was lost on {server}"),
            (InboxKind::Lost, calls) => format!("{server} lost {}", count(calls.into(), "task")),
            (InboxKind::Blocked, _) => format!("{server} needs a sign-in"),
            (InboxKind::Overdue, _) => format!("{tool} on {server} is later than agreed or usual"),
            (InboxKind::Alarm, _) => {
                let Some(told) = &row.alarm else { continue };
                format!("{}: {}", one_line(&alarm::what(told)), one_line(&alarm::called(told)))
            }
            // Questions and decisions are listed above.
            (
                InboxKind::Form
                | InboxKind::Url
                | InboxKind::Unsupported
                | InboxKind::Held
                | InboxKind::OverLimit
                | InboxKind::TimeLimit
                | InboxKind::PauseChoice,
                _,
            ) => {
                continue;
            }
        };
        screen.line(&format!("  {what}, {since}"));
        let ids: Vec<&str> = row
            .task
            .iter()
            .chain(row.calls.iter().map(|call| &call.task))
            .take(SHOWN)
            .map(|id| short_id(id, whole))
            .collect();
        if !ids.is_empty() {
            let more = usize::try_from(row.call_count).unwrap_or(usize::MAX).saturating_sub(ids.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            screen.line(&format!("    {}{more}", ids.join(", ")));
        }
        if let Some(told) = &row.alarm {
            let id = short_id(&told.id, whole);
            if told.asks {
                screen.line(&format!(
                    "    Further calls wait: taskwarden alarms send {id}, or taskwarden alarms cancel {id}"
                ));
            } else {
                screen.line(&format!("    taskwarden alarms dismiss {id}"));
            }
        }
        if let (InboxKind::Unconfirmed | InboxKind::Lost, Some(first)) = (row.kind, ids.first()) {
            let together = if row.call_count > 1 { " --together" } else { "" };
            screen.line(&format!("    When you know what happened: taskwarden tasks resolve {first}{together}"));
        }
    }
}

/// The exact command that answers this row, with the fields of its form.
pub(crate) fn how_to_answer(row: &InboxQuestion, whole: bool) -> String {
    answer_command(short_id(&row.task, whole), &row.request)
}

/// The exact command that answers one question.
pub(crate) fn answer_command(id: &str, request: &api::dto::RequestDto) -> String {
    let accept = match &request.schema {
        Some(schema) => format!("--accept {}", shell_word(&example(schema))),
        None => "--accept".into(),
    };
    format!("taskwarden tasks answer {id} --key={} {accept}", shell_word(&request.key))
}

/// An example answer with the fields of the form: defaults, or a value of the right kind.
fn example(schema: &serde_json::Value) -> String {
    /// More fields would make the line unreadable; `tasks show` lists all.
    const SHOWN: usize = 6;
    let fields: serde_json::Map<String, serde_json::Value> = form::fields(schema)
        .into_iter()
        .filter(|field| field.required || field.default.is_some())
        .take(SHOWN)
        .map(|field| {
            let value = field.default.clone().unwrap_or_else(|| match &field.kind {
                form::FieldKind::Text { .. } => "…".into(),
                form::FieldKind::Number { min, max, above, below, .. } => {
                    let steps = [Some(0.0), *min, above.map(|above| above + 1.0), *max, below.map(|below| below - 1.0)];
                    let mut fitting = steps.into_iter().flatten().filter_map(number);
                    fitting.find(|value| form::check_field(&field, value).is_ok()).unwrap_or_else(|| 0.into())
                }
                form::FieldKind::YesNo => true.into(),
                form::FieldKind::One(of) => of.first().map(|choice| choice.value.clone()).unwrap_or_default(),
                form::FieldKind::Many { of, min, .. } => {
                    let least = min.and_then(|min| usize::try_from(min).ok()).unwrap_or_default();
                    of.iter().take(least).map(|choice| choice.value.clone()).collect()
                }
                form::FieldKind::Json => serde_json::Value::Null,
            });
            (field.name, value)
        })
        .collect();
    serde_json::Value::Object(fields).to_string()
}

/// A number without a fraction that says nothing.
fn number(value: f64) -> Option<serde_json::Value> {
    value.to_string().parse().ok().map(serde_json::Value::Number)
}

#[cfg(test)]
mod tests {
    use domain::task::input_request::form;
    use serde_json::{Value, json};

    #[test]
    fn the_example_of_an_answer_fits_its_form_although_the_server_suggests_otherwise() {
        let schema = json!({
            "properties": {
                "a": {"type": "integer", "maximum": 3, "default": "foo"},
                "b": {"type": "integer", "maximum": -2},
                "c": {"type": "number", "minimum": 0.5},
                "d": {"type": "array", "items": {"enum": ["p", "q"]}, "minItems": 1},
                "e": {"type": "boolean", "default": "yes"},
            },
            "required": ["a", "b", "c", "d"],
        });
        let example: Value = serde_json::from_str(&super::example(&schema)).expect("JSON");
        assert_eq!(example, json!({"a": 0, "b": -2, "c": 0.5, "d": ["p"]}));
        assert_eq!(form::check(&schema, &example), Ok(()));
    }
}
