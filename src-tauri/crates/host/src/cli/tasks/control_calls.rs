//! `taskwarden tasks list`, `show`, `cancel` and `revoke` for a supervisor program with its control token; `watch` is in
//! `control_watch.rs`.
//!
//! Each makes the control call of its name and prints what that gives: phases, times, names and counts, and no word of a
//! server. JSON is the answer of the call. What the token reaches and may end is the core's decision.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use api::control::tasks::{
    ControlCancel, ControlOutcome, ControlOutcomes, ControlRevoke, ControlTask, ControlTaskList, ListControlTasks,
    OneControlTask,
};
use api::dto::moment;
use api::dto::task::facts::CancelStateDto;
use api::format::time::{self, count};
use api::format::tokens::grouped;
use api::{ApiError, Code};
use domain::task::status::Phase;

use crate::app::control_client::ControlClient;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line, short_id};
use crate::cli::output::table::{self, TableLayout, text, toned};
use crate::config::Config;

pub(super) async fn list(
    query: ListControlTasks,
    again: &str,
    program: &ControlClient,
    screen: &Screen,
) -> CommandResult {
    let page: ControlTaskList = program.request("tasks.list", &query).await?;
    if screen.is_json() {
        return screen.json(&page);
    }
    if page.tasks.is_empty() && page.next.is_none() {
        screen.line("No task in the reach of this control token matches.");
        return Ok(DONE);
    }
    let (now, whole) = (sentences::now(), !screen.is_terminal());
    let row = |task: &ControlTask| {
        let (label, tone) = phase(&task.phase);
        vec![
            text(short_id(&task.id, whole)),
            toned(label, tone),
            text(sentences::whose(task.agent.as_deref())),
            text(one_line(&task.server)),
            text(task.tool.as_deref().map_or_else(|| "-".into(), one_line)),
            text(time::span_ms(task.elapsed_ms)),
            text(moment(&task.changed_at).map(|at| time::ago(at, now)).unwrap_or_default()),
        ]
    };
    let layout = TableLayout {
        header: &["TASK", "PHASE", "AGENT", "SERVER", "TOOL", "TIME", "CHANGED"],
        cut: &["AGENT", "TOOL"],
        spare: &["CHANGED", "AGENT", "TIME"],
    };
    table::print(screen, layout, page.tasks.iter().map(row).collect());
    if let Some(next) = &page.next {
        screen.note(&format!("More: taskwarden tasks list{again} --before {next} --token-file FILE"));
    }
    Ok(DONE)
}

pub(super) async fn show(id: String, program: &ControlClient, screen: &Screen) -> CommandResult {
    let task = read(&id, program).await?;
    if screen.is_json() {
        return screen.json(&task);
    }
    let (bold, now) = (Style::new().bold(), sentences::now());
    let tool = task.tool.as_deref().map_or_else(|| "a task".into(), one_line);
    let (label, tone) = phase(&task.phase);
    let colour = Style::new().fg_color(Some(tone.into()));
    screen.line(&format!("{bold}{tool}{bold:#} on {}  {colour}{label}{colour:#}", one_line(&task.server)));
    screen.line(&format!("  {}", task.id));
    let at = |text: &str| moment(text).map(|at| time::ago(at, now)).unwrap_or_default();
    let agent =
        task.agent.as_deref().map_or_else(|| "a call of a person".into(), |name| format!("agent {}", one_line(name)));
    screen.line(&format!("  {agent}, begun {}, changed {}", at(&task.created_at), at(&task.changed_at)));
    let took = time::span_ms(task.elapsed_ms);
    screen.line(&if task.over { format!("  took {took}") } else { format!("  worked {took} so far") });
    if task.attempt > 1 {
        screen.line(&format!("  attempt {} with the same arguments", task.attempt));
    }
    if task.open_requests > 0 {
        screen.line(&format!("  {} for a person", waiting(task.open_requests)));
    }
    if let Some(state) = task.cancel_state.as_deref() {
        screen.line(&format!("  cancel: {}", words(state)));
    }
    if let Some(bytes) = task.result_bytes {
        let kind = if task.is_error { "result, an error," } else { "result" };
        screen.line(&format!("  {kind} of {} bytes", grouped(bytes)));
    }
    Ok(DONE)
}

/// Asks servers to cancel these tasks. With `wait`, returns once each has ended or can no longer be heard of.
pub(super) async fn cancel(
    ids: Vec<String>,
    reason: Option<String>,
    wait: bool,
    program: &ControlClient,
    config: &Config,
    screen: &Screen,
) -> CommandResult {
    if wait {
        // Waiting needs to read. A token that may not is told before anything is asked.
        for id in &ids {
            read(id, program).await?;
        }
    }
    let input = ControlCancel { ids, filter: None, expect: None, reason };
    let mut done: ControlOutcomes = program.request("tasks.cancel", &input).await?;
    if wait {
        tokio::select! {
            followed = follow(&mut done, program, config) => followed?,
            _ = tokio::signal::ctrl_c() => {
                screen.note("\nThe tasks are still being cancelled; only the wait ended.");
                return Ok(INTERRUPTED);
            }
        }
    }
    report(&done, wait, screen)
}

/// Takes one task from its agent.
pub(super) async fn revoke(
    id: String,
    reason: Option<String>,
    program: &ControlClient,
    screen: &Screen,
) -> CommandResult {
    let input = ControlRevoke { id: Some(id), ids: Vec::new(), reason };
    let done: ControlOutcomes = program.request("tasks.revoke", &input).await?;
    if !screen.is_json() {
        screen.line("Revoked the task from its agent, if one has it.");
    }
    report(&done, false, screen)
}

pub(super) async fn read(id: &str, program: &ControlClient) -> Result<ControlTask, ApiError> {
    program.request("tasks.show", &OneControlTask { id: id.to_owned() }).await
}

/// Looks again at each task that is open until it has ended or no further word can come.
async fn follow(done: &mut ControlOutcomes, program: &ControlClient, config: &Config) -> Result<(), ApiError> {
    let asked = |one: &ControlOutcome| state(&one.state).is_none_or(|state| state != CancelStateDto::NotAsked);
    let mut open: BTreeMap<String, usize> =
        done.outcomes.iter().enumerate().filter(|(_, one)| asked(one)).map(|(at, one)| (one.id.clone(), at)).collect();
    loop {
        let mut ended = Vec::new();
        for (id, at) in &open {
            let task = read(id, program).await?;
            if let (Some(one), Some(now)) = (done.outcomes.get_mut(*at), task.cancel_state.clone()) {
                one.state = now;
            }
            if is_settled(&task) {
                ended.push(id.clone());
            }
        }
        open.retain(|id, _| !ended.contains(id));
        if open.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(config.policy.control.look_every).await;
    }
}

/// Whether nothing more will be heard of the cancel.
fn is_settled(task: &ControlTask) -> bool {
    let is_refused = task.cancel_state.as_deref().and_then(state) == Some(CancelStateDto::Refused);
    let is_silent =
        Phase::from_word(&task.phase).is_some_and(|phase| phase.is_resolvable() || phase == Phase::Unwatched);
    task.over || is_refused || is_silent
}

fn report(done: &ControlOutcomes, wait: bool, screen: &Screen) -> CommandResult {
    let is = |wanted: CancelStateDto| done.outcomes.iter().any(|one| state(&one.state) == Some(wanted));
    if let ([only], true) = (done.outcomes.as_slice(), is(CancelStateDto::NotAsked)) {
        let why = only.why.as_deref().map(one_line).unwrap_or_default();
        return Err(ApiError::new(
            Code::Refused,
            format!("task `{}` was not asked to cancel: {why}", only.id),
            "`taskwarden tasks show ID --token-file FILE` shows its phase.",
        ));
    }
    if screen.is_json() {
        screen.json(done)?;
    } else {
        for one in &done.outcomes {
            let why = one.why.as_deref().map(|why| format!(" ({})", one_line(why))).unwrap_or_default();
            screen.line(&format!("{}  {}{why}", short_id(&one.id, !screen.is_terminal()), words(&one.state)));
        }
        if done.outcomes.len() > 1 {
            screen.line(&count(u64::try_from(done.outcomes.len()).unwrap_or(u64::MAX), "task"));
        }
    }
    let is_unconfirmed = wait && (is(CancelStateDto::Asked) || is(CancelStateDto::Acknowledged));
    if is_unconfirmed {
        screen.note("Not every end is confirmed, and no further word can come: the work may go on.");
    }
    let is_open = is(CancelStateDto::Refused) || is(CancelStateDto::NotAsked) || is_unconfirmed;
    Ok(if is_open { Code::Refused.exit() } else { DONE })
}

fn state(word: &str) -> Option<CancelStateDto> {
    serde_json::from_value(word.into()).ok()
}

/// How far a cancel got. A word of a newer core is shown as it is.
fn words(word: &str) -> String {
    match state(word) {
        Some(CancelStateDto::Asked) => "asked; its server has not answered yet".into(),
        Some(state) => sentences::cancel_state(state, "its server", true),
        None => one_line(word),
    }
}

pub(super) fn phase(word: &str) -> (String, AnsiColor) {
    match Phase::from_word(word) {
        Some(phase) => (phase.label().into(), sentences::tone(phase)),
        None => (one_line(word), AnsiColor::White),
    }
}

pub(super) fn waiting(questions: u32) -> String {
    if questions == 1 { "1 question waits".into() } else { format!("{questions} questions wait") }
}
