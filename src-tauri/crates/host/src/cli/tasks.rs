//! `taskwarden tasks`: list, show, result and adopt.
//!
//! Watching, answering and stopping are in files of their own (`watch.rs`, `answer.rs`, `stop.rs`). Phases are shown as
//! the api gives them and never derived here.

use anstyle::Style;
use api::calls::tasks::{AdoptTask, ListTasks, ShownTask, TaskResult};
use api::calls::{Nothing, OneTask};
use api::dto::{HistoryEvent, RecordingDto, RequestDto, TaskDto, TaskListDto, moment};
use api::{ApiError, Code, form};
use api::format::time;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::screen::Screen;
use super::table::{Layout, text, toned};
use super::words::{coloured_phase, elapsed, one_line, quoted, saying, short_id, tone, truth};
use super::{DONE, Ended, FAILED, answer, consent, hold, stop, table, watch, weigh, words};
use crate::config::Config;
use crate::door::Door;

/// Commands about tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    /// List tasks, newest first.
    List(List),
    /// Show everything known about a task.
    Show {
        /// Its handle, or a unique beginning of it.
        id: String,
    },
    /// Print a line for each change, of one task or of all.
    Watch(watch::Watch),
    /// Print the result of a task.
    Result {
        /// Its handle, or a unique beginning of it.
        id: String,
    },
    /// Follow a task by the id its server gave it.
    Adopt {
        /// The server's name.
        server: String,
        /// The server's id of the task.
        #[arg(value_name = "TASK_ID")]
        task: String,
    },
    /// Answer a question of a task.
    Answer(answer::Answer),
    /// Ask servers to stop tasks.
    Cancel(stop::Cancel),
    /// Take a task from its agent at once, and ask its server to stop it.
    Revoke(stop::Revoke),
    /// Hold the result of a task back from its agent.
    Hold {
        /// Its handle, or a unique beginning of it.
        id: String,
    },
    /// Decide about a held result.
    Release(hold::Release),
    /// Let a task go on past the limit of tokens that asks about it.
    GoOn {
        /// Its handle, or a unique beginning of it.
        id: String,
    },
}

/// Which tasks to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only in this phase; may be given several times.
    #[arg(long, value_name = "PHASE")]
    phase: Vec<String>,
    /// Only on this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only tasks that are not over.
    #[arg(long)]
    open: bool,
    /// Rows at most; a page never has more than 1,000.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// `next` of the page before, to go on after it.
    #[arg(long, value_name = "PLACE")]
    before: Option<String>,
}

pub(crate) async fn run(command: Tasks, config: &Config, screen: &Screen) -> Ended {
    match command {
        Tasks::List(input) => list(input, config, screen).await,
        Tasks::Show { id } => show(id, config, screen).await,
        Tasks::Watch(input) => watch::run(input, config, screen).await,
        Tasks::Result { id } => result(id, config, screen).await,
        Tasks::Adopt { server, task } => adopt(server, task, config, screen).await,
        Tasks::Answer(input) => answer::run(input, config, screen).await,
        Tasks::Cancel(input) => stop::cancel(input, config, screen).await,
        Tasks::Revoke(input) => stop::revoke(input, config, screen).await,
        Tasks::Hold { id } => hold::hold(id, config, screen).await,
        Tasks::Release(input) => hold::release(input, config, screen).await,
        Tasks::GoOn { id } => hold::go_on(id, config, screen).await,
    }
}

/// Calls that have no row because they cannot be recorded are in no list: they are told beside it.
async fn tell_recording(door: &Door, screen: &Screen) {
    if door.is_reading() {
        return;
    }
    let asked: Result<RecordingDto, ApiError> = door.ask("recording", &Nothing {}).await;
    if let Ok(RecordingDto::Cannot { message, cure, calls, .. }) = asked {
        screen.warning(&format!("{}. {}", one_line(&message), one_line(&cure)));
        for call in calls {
            screen.note(&format!(
                "In flight without a row: {} `{}` of agent `{}` on `{}`, since {}",
                call.id,
                one_line(&call.tool),
                one_line(&call.agent),
                one_line(&call.server),
                call.since
            ));
        }
    }
}

async fn list(input: List, config: &Config, screen: &Screen) -> Ended {
    let again = again(&input);
    let List { phase, server, agent, open, limit, before } = input;
    let is_filtered = !phase.is_empty() || server.is_some() || agent.is_some() || open || before.is_some();
    let query = ListTasks { phases: phase, open, server, agent, limit: Some(limit), before };
    let door = Door::any(config).await?;
    let page: TaskListDto = door.ask("tasks.list", &query).await?;
    if screen.is_json() {
        screen.json(&page)?;
        return Ok(DONE);
    }
    tell_recording(&door, screen).await;
    if page.tasks.is_empty() {
        screen.line(if is_filtered {
            "No task matches. `taskwarden tasks list` without filters shows all."
        } else {
            "No task yet. Tasks appear here when you start one: taskwarden call SERVER TOOL --args JSON"
        });
        return Ok(DONE);
    }
    let now = words::now();
    let whole = !screen.is_terminal();
    let rows = page
        .tasks
        .iter()
        .map(|task| {
            vec![
                text(short_id(&task.id, whole)),
                toned(words::phase(task), tone(&task.phase)),
                text(words::whose(task.agent.as_deref())),
                text(task.server.clone()),
                text(task.tool.as_deref().map_or_else(|| "-".into(), one_line)),
                text(elapsed(task)),
                text(moment(&task.last_seen_at).map(|at| time::ago(at, now)).unwrap_or_default()),
                text(saying(task)),
            ]
        })
        .collect();
    let layout = Layout {
        header: &["TASK", "PHASE", "AGENT", "SERVER", "TOOL", "TOOK", "HEARD", "SAYS"],
        cut: &["AGENT", "TOOL", "SAYS"],
        spare: &["HEARD", "AGENT", "TOOK"],
    };
    table::print(screen, layout, rows);
    if let Some(next) = &page.next {
        screen.note(&format!("There are more: taskwarden tasks list{again} --before {next}"));
    }
    if door.is_reading() {
        screen.note("No core is running: this is what was last known. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

/// The words that ask for the next page of the same list.
fn again(list: &List) -> String {
    let mut said: Vec<String> = Vec::new();
    let named = list.phase.iter().map(|phase| ("--phase", phase));
    let named = named.chain(list.server.iter().map(|server| ("--server", server)));
    for (flag, value) in named.chain(list.agent.iter().map(|agent| ("--agent", agent))) {
        said.push(format!(" {flag} {}", words::shell_word(value)));
    }
    if list.open {
        said.push(" --open".into());
    }
    said.push(format!(" --limit {}", list.limit));
    said.concat()
}

async fn show(id: String, config: &Config, screen: &Screen) -> Ended {
    let shown: ShownTask = Door::any(config).await?.ask("tasks.show", &OneTask { id }).await?;
    if screen.is_json() {
        screen.json(&shown)?;
        return Ok(DONE);
    }
    let task = &shown.task;
    let bold = Style::new().bold();
    let tool = task.tool.as_deref().map_or_else(|| "a task".into(), one_line);
    screen.line(&format!("{bold}{tool}{bold:#} on {}  {}", task.server, coloured_phase(task)));
    screen.line(&format!("  {}", task.id));
    screen.line(&format!("  {}", truth(task)));
    let now = words::now();
    let at = |text: &str| moment(text).map(|at| time::ago(at, now)).unwrap_or_default();
    screen.line(&format!("  {} {}, {}", words::birth(task), at(&task.created_at), words::work(task)));
    if let Some(expires) = task.expires_at.as_deref().and_then(moment).filter(|_| !task.over) {
        screen.line(&format!("  the server may forget it {}", time::until(expires, now)));
    }
    if let Some(progress) = words::progress(task) {
        screen.line(&format!("  progress {progress}"));
    }
    if let Some(wish) = &task.intent {
        let sent = wish.sent_at.is_some();
        let state = wish.state.as_deref().map(|state| words::stop(state, &task.server, sent)).unwrap_or_default();
        let reason = wish.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
        screen.line(&format!("  {} by {}, {}{reason}: {state}", wish.kind, wish.by, at(&wish.at)));
        if let Some(why) = &wish.refused_why {
            screen.line(&format!("  {}", one_line(why)));
        }
    }
    show_agent(task, screen);
    weigh::show(task, screen);
    if let Some(error) = &task.error {
        let code = error.code.map(|code| format!("error {code}: ")).unwrap_or_default();
        screen.line(&format!("  {code}{}", one_line(&error.message)));
    }
    if task.phase == "unconfirmed" && task.agent.is_some() {
        screen.line("  The server may have done it. After a power cut, the same call of its agent may run twice.");
    }
    for request in &task.requests {
        show_request(task, request, screen);
    }
    for row in &task.asked_elsewhere {
        let (id, key) = row.split_once('/').unwrap_or((row, ""));
        let (id, key) = (short_id(id, !screen.is_terminal()), words::shell_word(key));
        screen.line(&format!("  may be asking: question {key} of {id}, which one of several calls asks"));
    }
    if task.more_questions > 0 {
        let noun = if task.more_questions == 1 { "question comes" } else { "questions come" };
        screen.line(&format!("  {} more {noun} up as the open ones are answered", task.more_questions));
    }
    if !shown.log.is_empty() {
        screen.line("\nWhat the server said:");
        for line in &shown.log {
            screen.line(&format!("  {:<14} {:<14} {}", at(&line.at), one_line(&line.status), one_line(&line.text)));
        }
    }
    show_decisions(&shown.decisions, screen);
    if task.result.as_ref().is_some_and(|result| result.state == "stored") {
        screen.line(&format!("\nResult: taskwarden tasks result {}", short_id(&task.id, !screen.is_terminal())));
    }
    Ok(DONE)
}

/// What people decided, each with the way it came in.
fn show_decisions(decisions: &[HistoryEvent], screen: &Screen) {
    if decisions.is_empty() {
        return;
    }
    screen.line("\nWhat people decided:");
    let now = words::now();
    for decision in decisions {
        let at = moment(&decision.at).map(|at| time::ago(at, now)).unwrap_or_default();
        let way = decision.origin.as_ref().map(words::way_in).unwrap_or_default();
        screen.line(&format!("  {at:<14} {} by {}{way}", words::decided(decision), one_line(&decision.who)));
    }
}

/// What the task has to do with its agent and with other tasks.
fn show_agent(task: &TaskDto, screen: &Screen) {
    let now = words::now();
    let at = |text: &str| moment(text).map(|at| time::ago(at, now)).unwrap_or_default();
    if let Some(agent) = &task.agent {
        let given = if task.given_at.is_some() { "it holds the handle" } else { "it has no handle of it" };
        screen.line(&format!("  agent {}, {given}", one_line(agent)));
    }
    if let Some(since) = &task.orphaned_at {
        screen.line(&format!("  orphaned: its agent is gone since {}", at(since)));
    }
    let whole = !screen.is_terminal();
    if let Some(parent) = &task.parent {
        let tool = parent.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        screen.line(&format!("  started while {tool} on {} was open: {}", parent.server, short_id(&parent.id, whole)));
    }
    if let Some(job) = &task.job {
        screen.line(&format!("  attempt {} of {} with the same arguments", job.attempt, job.attempts.len()));
    }
    for child in &task.children {
        let tool = child.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        screen.line(&format!("  child {}  {tool} on {}, {}", short_id(&child.id, whole), child.server, child.phase));
    }
}

fn show_request(task: &TaskDto, request: &RequestDto, screen: &Screen) {
    screen.line(&format!("\nQuestion `{}` ({}), {}:", one_line(&request.key), request.kind, request.state));
    screen.line(&quoted(&request.message));
    if let Some(url) = &request.url {
        screen.line(&consent::page(url));
    }
    for field in request.schema.as_ref().map(form::fields).unwrap_or_default() {
        let required = if field.required { "required" } else { "optional" };
        let words = field.description.as_deref().map(|words| format!(": {}", one_line(words))).unwrap_or_default();
        screen.line(&format!("  field `{}` ({required}) {}{words}", one_line(&field.name), one_line(&field.title)));
    }
    for field in request.secret_fields.iter().filter(|_| request.is_open()) {
        screen.warning(&format!(
            "field `{}` looks like a secret; servers must not ask for secrets by form",
            one_line(field)
        ));
    }
    match (&request.answer, &request.withdrawn_why) {
        (Some(answer), _) => {
            let at = moment(&answer.at).map(|at| time::ago(at, words::now())).unwrap_or_default();
            screen.line(&format!("  answered by {} {at}: {} ({})", answer.by, answer.action, answer.delivery));
        }
        (None, Some(why)) => screen.line(&format!("  {}", one_line(why))),
        (None, None) => {
            let id = short_id(&task.id, !screen.is_terminal());
            screen.line(&format!("  answer it: {}", super::inbox::answer_command(id, request)));
        }
    }
}

async fn result(id: String, config: &Config, screen: &Screen) -> Ended {
    let result: TaskResult = Door::any(config).await?.ask("tasks.result", &OneTask { id }).await?;
    print_result(&result, screen)
}

/// Prints a result: its text as it is, the raw payload with `--json`.
pub(crate) fn print_result(result: &TaskResult, screen: &Screen) -> Ended {
    if screen.is_json() {
        screen.raw(format!("{}\n", result.payload.get()).as_bytes());
        return Ok(if result.is_error { FAILED } else { DONE });
    }
    let payload: Value = serde_json::from_str(result.payload.get()).map_err(|error| {
        ApiError::new(Code::Failed, format!("the stored result cannot be read: {error}"), "Try `--json`.")
    })?;
    if result.kind == "error" {
        let code = payload.get("code").and_then(Value::as_i64).unwrap_or_default();
        let received = || payload.get("message").and_then(Value::as_str);
        let message = result.message.as_deref().or_else(received).unwrap_or("no message");
        return Err(ApiError::new(
            Code::Failed,
            format!("task `{}` failed: the server answered with error {code}: {}", result.id, one_line(message)),
            format!("`taskwarden tasks result {} --json` prints all of it.", short_id(&result.id, false)),
        ));
    }
    let text = content(&payload);
    let text = if screen.is_terminal() { words::plain(&text) } else { text };
    screen.raw(text.as_bytes());
    if !text.ends_with('\n') {
        screen.raw(b"\n");
    }
    Ok(if result.is_error { FAILED } else { DONE })
}

/// The text blocks of a result; what is not text is named; a result of another shape is its JSON.
fn content(payload: &Value) -> String {
    let Some(blocks) = payload.get("content").and_then(Value::as_array) else { return pretty(payload) };
    let mut parts: Vec<String> = blocks
        .iter()
        .map(|block| match (block.get("type").and_then(Value::as_str), block.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => text.to_owned(),
            (Some(kind), _) => format!("[{}; `--json` prints it]", one_line(kind)),
            (None, _) => pretty(block),
        })
        .collect();
    if parts.is_empty()
        && let Some(structured) = payload.get("structuredContent")
    {
        parts.push(pretty(structured));
    }
    parts.join("\n")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

async fn adopt(server: String, task: String, config: &Config, screen: &Screen) -> Ended {
    let task: TaskDto = Door::core(config)?.ask("tasks.adopt", &AdoptTask { server, task }).await?;
    if screen.is_json() {
        screen.json(&task)?;
    } else {
        screen.line(&task.id);
        screen.note(&format!("{}: {}", words::phase(&task), truth(&task)));
    }
    Ok(DONE)
}
