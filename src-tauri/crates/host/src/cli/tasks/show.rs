//! `taskwarden tasks show`: everything known about one task, as lines of text.
//!
//! Prints what the api gives; what a result costs is `token_count.rs`.

use anstyle::Style;
use api::calls::OneTask;
use api::calls::tasks::ShownTask;
use api::dto::task::facts::{IntentKind, ResultState};
use api::dto::{DeliveryDto, HistoryEvent, ParentDto, RelatedTaskDto, RequestDto, TaskDto, moment};
use api::format::time;
use domain::task::input_request::form;
use domain::task::status::Phase;

use super::{escalate, token_count};
use crate::app::core_client::CoreClient;
use crate::cli::inbox::{answer_command, field_words};
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, coloured_phase, one_line, quoted, short_id, status_line};
use crate::cli::output::web_address;
use crate::config::Config;

pub(super) async fn run(id: String, config: &Config, screen: &Screen) -> CommandResult {
    let shown: ShownTask = CoreClient::attach_or_read(config).await?.request("tasks.show", &OneTask { id }).await?;
    if screen.is_json() {
        return screen.json(&shown);
    }
    let task = &shown.task;
    let bold = Style::new().bold();
    let tool = task.tool.as_deref().map_or_else(|| "a task".into(), one_line);
    screen.line(&format!("{bold}{tool}{bold:#} on {}  {}", task.server, coloured_phase(task)));
    screen.line(&format!("  {}", task.id));
    screen.line(&format!("  {}", status_line(task)));
    let now = sentences::now();
    let at = |text: &str| moment(text).map(|at| time::ago(at, now)).unwrap_or_default();
    screen.line(&format!(
        "  {} {}, {}",
        sentences::how_it_began(task),
        at(&task.created_at),
        sentences::time_worked(task)
    ));
    if let Some(expires) = task.expires_at.as_deref().and_then(moment).filter(|_| !task.over) {
        screen.line(&format!("  the server may delete it {}", time::until(expires, now)));
    }
    if let Some(progress) = sentences::progress(task) {
        screen.line(&format!("  progress {progress}"));
    }
    if let Some(wish) = &task.intent {
        let sent = wish.sent_at.is_some();
        let state = wish.state.map(|state| sentences::cancel_state(state, &task.server, sent)).unwrap_or_default();
        let reason = wish.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
        let by = sentences::ordered_by(&wish.by, wish.by_name.as_deref());
        screen.line(&format!("  {} by {by}, {}{reason}: {state}", wish.kind, at(&wish.at)));
        if let Some(why) = &wish.refused_why {
            screen.line(&format!("  {}", one_line(why)));
        }
    }
    show_agent(task, screen);
    token_count::show(task, screen);
    if let Some(error) = &task.error {
        let code = error.code.map(|code| format!("error {code}: ")).unwrap_or_default();
        screen.line(&format!("  {code}{}", one_line(&error.message)));
    }
    if task.phase.0 == Phase::Unconfirmed && task.agent.is_some() {
        screen.line("  The server may have done it. After a power cut, a repeated call of its agent may run twice.");
    }
    for request in &task.requests {
        show_request(task, request, screen);
    }
    for row in &task.asked_elsewhere {
        let (id, key) = row.split_once('/').unwrap_or((row, ""));
        let (id, key) = (short_id(id, !screen.is_terminal()), sentences::shell_word(key));
        screen.line(&format!("  may have asked question {key} of {id}, which belongs to one of several calls"));
    }
    if task.more_questions > 0 {
        let noun = if task.more_questions == 1 { "question" } else { "questions" };
        screen.line(&format!("  {} more {noun}, shown as the open ones are answered", task.more_questions));
    }
    if !shown.log.is_empty() {
        screen.line("\nWhat the server said:");
        for line in &shown.log {
            screen.line(&format!("  {:<14} {:<14} {}", at(&line.at), one_line(&line.status), one_line(&line.text)));
        }
    }
    escalate::show(&shown.escalation, screen);
    show_decisions(&shown.decisions, screen);
    if task.result.as_ref().is_some_and(|result| result.state == ResultState::Stored) {
        screen.line(&format!("\nResult: taskwarden tasks result {}", short_id(&task.id, !screen.is_terminal())));
    }
    Ok(DONE)
}

/// Decisions of people and supervisor programs, each with where it came from.
fn show_decisions(decisions: &[HistoryEvent], screen: &Screen) {
    if decisions.is_empty() {
        return;
    }
    screen.line("\nWhat people decided:");
    let now = sentences::now();
    for decision in decisions {
        let at = moment(&decision.at).map(|at| time::ago(at, now)).unwrap_or_default();
        let origin = decision.origin.as_ref().map(sentences::decision_origin).unwrap_or_default();
        let by = sentences::ordered_by(&decision.who, None);
        screen.line(&format!("  {at:<14} {} by {by}{origin}", sentences::decided(decision)));
    }
}

/// The agent of the task, and related tasks: what was open when it began, its attempts, and what began while it was open.
/// That is all that is known of the two: neither has to have caused the other.
fn show_agent(task: &TaskDto, screen: &Screen) {
    let now = sentences::now();
    let at = |text: &str| moment(text).map(|at| time::ago(at, now)).unwrap_or_default();
    if let Some(agent) = &task.agent {
        let is_revoked = task.intent.as_ref().is_some_and(|intent| intent.kind == IntentKind::Revoked);
        let given = match (is_revoked, task.given_at.is_some()) {
            (true, _) => "which does not know the handle any more",
            (false, true) => "which has the handle",
            (false, false) => "which does not have the handle",
        };
        screen.line(&format!("  agent {}, {given}", one_line(agent)));
    }
    if let Some(since) = &task.orphaned_at {
        screen.line(&format!("  orphaned: its agent disappeared {}", at(since)));
    }
    let whole = !screen.is_terminal();
    if let Some(parent) = &task.parent {
        screen.line(&format!("  {}", open_before(parent, whole)));
    }
    if let Some(job) = &task.job {
        screen.line(&format!("  attempt {} of {} with the same arguments", job.attempt, job.attempts.len()));
    }
    for child in &task.children {
        screen.line(&format!("  {}", began_meanwhile(child, whole)));
    }
}

/// The task that was open when this one began.
fn open_before(parent: &ParentDto, whole: bool) -> String {
    let tool = parent.tool.as_deref().map_or_else(|| "a task".into(), one_line);
    format!("started during {}  {tool} on {}", short_id(&parent.id, whole), parent.server)
}

/// A task that began while this one was open.
fn began_meanwhile(child: &RelatedTaskDto, whole: bool) -> String {
    let tool = child.tool.as_deref().map_or_else(|| "a task".into(), one_line);
    format!("started during this task: {}  {tool} on {}, {}", short_id(&child.id, whole), child.server, child.phase)
}

fn show_request(task: &TaskDto, request: &RequestDto, screen: &Screen) {
    screen.line(&format!("\nQuestion `{}` ({}), {}:", one_line(&request.key), request.kind, request.state));
    screen.line(&quoted(&request.message));
    if let Some(url) = &request.url {
        screen.line(&web_address::page(url));
    }
    for field in request.schema.as_ref().map(form::fields).unwrap_or_default() {
        let required = if field.required { "required" } else { "optional" };
        let words = field.description.as_deref().map(|words| format!(": {}", one_line(words))).unwrap_or_default();
        screen.line(&format!("  field `{}` ({required}) {}{words}", one_line(&field.name), one_line(&field.title)));
        if request.is_open() {
            screen.line(&format!("    takes {}", field_words::takes(&field)));
        }
    }
    for field in request.secret_fields.iter().filter(|_| request.is_open()) {
        screen.warning(&format!(
            "field `{}` looks like a secret. Servers must not ask for secrets in a form",
            one_line(field)
        ));
    }
    match (&request.answer, &request.withdrawn_why) {
        (Some(answer), _) => {
            let at = moment(&answer.at).map(|at| time::ago(at, sentences::now())).unwrap_or_default();
            let is_unsure = task.over && answer.delivery == DeliveryDto::Sent;
            let ended = if is_unsure { "; the call ended before the server acknowledged it" } else { "" };
            screen.line(&format!("  answered by {} {at}: {} ({}{ended})", answer.by, answer.action, answer.delivery));
        }
        (None, Some(why)) => screen.line(&format!("  {}", one_line(why))),
        (None, None) if request.is_for_people() => {
            let id = short_id(&task.id, !screen.is_terminal());
            screen.line(&format!("  to answer: {}", answer_command(id, request)));
        }
        (None, None) => screen.line("  people do not answer this; its agent is asked"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_two_calls_that_overlap_no_more_is_said_than_which_began_during_the_other() {
        let parent = json!({"id": "hdl_a", "server": "ci", "tool": "build", "why": "openTask"});
        let parent: ParentDto = serde_json::from_value(parent).expect("a task");
        assert_eq!(open_before(&parent, true), "started during hdl_a  build on ci");
        let child = json!({"id": "hdl_b", "server": "docs", "tool": null, "phase": "running", "attempt": 1,
            "createdAt": "2026-11-29T12:00:00.000Z", "endedAt": null});
        let child: RelatedTaskDto = serde_json::from_value(child).expect("a task");
        assert_eq!(began_meanwhile(&child, true), "started during this task: hdl_b  a task on docs, running");
    }
}
