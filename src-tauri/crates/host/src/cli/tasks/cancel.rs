//! `taskwarden tasks cancel` and `revoke`: ask servers to cancel one task or many, and report what became of it
//! (promise R1).
//!
//! Many tasks at once are counted and confirmed first. Returns when each server has acknowledged or refused; with
//! `--wait`, when each task has ended. A state is what the server said, or that it has not said anything; never a
//! guess.

use std::collections::HashMap;

use api::calls::tasks::ListTasks;
use api::calls::tasks::cancel::{CancelList, CancelOutcomeDto, CancelTasks, RevokeTask};
use api::dto::task::facts::CancelStateDto;
use api::dto::{TaskDto, TaskListDto};
use api::format::time::count;
use api::{ApiError, Code};
use clap::{ArgGroup, Args};

use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences;
use crate::cli::output::sentences::{one_line, short_id};
use crate::cli::tasks::task_feed::{TaskFeed, ended};
use crate::config::Config;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "server", "agent", "all"]).multiple(false)))]
pub(crate) struct CancelArgs {
    /// Handles of tasks, or unique prefixes of them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Cancel all open tasks on this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Cancel all open tasks of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Cancel all open tasks.
    #[arg(long)]
    all: bool,
    /// The reason, for the audit log and for servers that accept one.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    /// Wait until each task has ended.
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// The reason, for the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn cancel(command: CancelArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let is_one = command.ids.len() == 1;
    let ids = if command.ids.is_empty() { selected(&core, &command).await? } else { command.ids };
    if ids.is_empty() {
        if screen.is_json() {
            screen.json(&CancelList { stops: Vec::new() })?;
        } else {
            screen.line("No open task matches. Nothing was cancelled.");
        }
        return Ok(DONE);
    }
    if ids.len() > 1 && !command.yes {
        confirm(ids.len(), screen).await?;
    }
    let list: CancelList =
        core.request("tasks.cancel", &CancelTasks { ids, query: None, reason: command.reason, wait: None }).await?;
    if is_one && let Some(refused) = refusal(&list) {
        return Err(refused);
    }
    report(list, command.wait, &core, config, screen).await
}

pub(crate) async fn revoke(command: RevokeArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let list: CancelList = core.request("tasks.revoke", &RevokeTask { id: command.id, reason: command.reason }).await?;
    if !screen.is_json() {
        let agent = list.stops.first().and_then(|stop| stop.task.as_ref()).map(|task| task.agent.as_deref());
        screen.line(&revoked_words(agent.flatten()));
    }
    report(list, false, &core, config, screen).await
}

/// What revoking did to the agent of a task; a task that a person started has none.
fn revoked_words(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("Revoked the handle from agent `{}`.", one_line(agent)),
        None => "No agent has this task, so no handle was revoked; it is cancelled as by `taskwarden tasks cancel`."
            .to_owned(),
    }
}

/// All open tasks that match and are not being cancelled yet.
async fn selected(core: &CoreClient, command: &CancelArgs) -> Result<Vec<String>, ApiError> {
    let mut ids = Vec::new();
    let mut before = None;
    loop {
        let query = ListTasks {
            open: true,
            server: command.server.clone(),
            agent: command.agent.clone(),
            before,
            ..ListTasks::default()
        };
        let page: TaskListDto = core.request("tasks.list", &query).await?;
        let is_asked = |task: &TaskDto| task.intent.as_ref().is_some_and(|wish| wish.state.is_some());
        ids.extend(page.tasks.into_iter().filter(|task| !task.over && !is_asked(task)).map(|task| task.id));
        before = page.next;
        if before.is_none() {
            return Ok(ids);
        }
    }
}

async fn confirm(many: usize, screen: &Screen) -> Result<(), ApiError> {
    let tasks = count(u64::try_from(many).unwrap_or(u64::MAX), "task");
    let question = format!("Ask the servers to cancel {tasks}?");
    prompt::confirm(&question, &format!("{tasks} were not cancelled"), screen).await
}

/// For a single task, that the server cannot be asked is an error.
fn refusal(list: &CancelList) -> Option<ApiError> {
    let only = list.stops.first().filter(|stop| stop.state == CancelStateDto::NotAsked)?;
    Some(ApiError::new(
        Code::Refused,
        format!("task `{}` cannot be cancelled: {}", only.id, only.why.as_deref().map(one_line).unwrap_or_default()),
        format!("`taskwarden tasks show {}` shows what is known about it.", short_id(&only.id, false)),
    ))
}

pub(crate) async fn report(
    mut list: CancelList,
    wait: bool,
    core: &CoreClient,
    config: &Config,
    screen: &Screen,
) -> CommandResult {
    if wait {
        if !screen.is_json() {
            list.stops.iter().for_each(|stop| print_state(stop, screen));
        }
        tokio::select! {
            outcome = until_over(&mut list, core, config, screen) => outcome?,
            _ = tokio::signal::ctrl_c() => {
                screen.note("\nThe tasks are still being cancelled; only the wait ended.");
                return Ok(INTERRUPTED);
            }
        }
        if screen.is_json() {
            screen.json(&list)?;
        }
    } else if screen.is_json() {
        screen.json(&list)?;
    } else {
        list.stops.iter().for_each(|stop| print_state(stop, screen));
    }
    if !screen.is_json() && list.stops.len() > 1 {
        screen.line(&summary(&list));
    }
    let refused = list.stops.iter().any(|stop| stop.state == CancelStateDto::Refused);
    Ok(if refused { Code::Refused.exit() } else { DONE })
}

fn print_state(stop: &CancelOutcomeDto, screen: &Screen) {
    let server = stop.task.as_ref().map_or("the server", |task| task.server.as_str());
    let id = short_id(&stop.id, !screen.is_terminal());
    let why = stop.why.as_deref().map(|why| format!(" ({})", one_line(why))).unwrap_or_default();
    let intent = stop.task.as_ref().and_then(|task| task.intent.as_ref());
    let sent = intent.is_none_or(|wish| wish.sent_at.is_some());
    screen.line(&format!("{id}  {}{why}", sentences::cancel_state(stop.state, server, sent)));
}

/// `16 tasks: 12 cancelled, 3 acknowledged, 1 refused`.
fn summary(list: &CancelList) -> String {
    let states = [
        (CancelStateDto::Stopped, "cancelled"),
        (CancelStateDto::FinishedAnyway, "finished anyway"),
        (CancelStateDto::Acknowledged, "acknowledged"),
        (CancelStateDto::Asked, "asked"),
        (CancelStateDto::Refused, "refused"),
        (CancelStateDto::NotAsked, "not asked"),
    ];
    let parts: Vec<String> = states
        .into_iter()
        .filter_map(|(state, name)| {
            let many = list.stops.iter().filter(|stop| stop.state == state).count();
            (many > 0).then(|| format!("{many} {name}"))
        })
        .collect();
    format!("{} tasks: {}", list.stops.len(), parts.join(", "))
}

/// Watches the tasks until each has ended, and updates their states.
async fn until_over(
    list: &mut CancelList,
    core: &CoreClient,
    config: &Config,
    screen: &Screen,
) -> Result<(), ApiError> {
    let mut open: HashMap<String, usize> = list
        .stops
        .iter()
        .enumerate()
        // A server that refused will not cancel it: waiting would never end.
        .filter(|(_, stop)| {
            stop.state != CancelStateDto::Refused && stop.task.as_ref().is_some_and(|task| ended(task).is_none())
        })
        .map(|(at, stop)| (stop.id.clone(), at))
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut feed = TaskFeed::new(core.attached()?, open.keys().cloned().collect(), config, screen);
    while !open.is_empty() {
        let task = feed.next().await?;
        let state = task.intent.as_ref().and_then(|wish| wish.state);
        let refused = state == Some(CancelStateDto::Refused);
        if ended(&task).is_none() && !refused {
            continue;
        }
        let Some(at) = open.remove(&task.id) else { continue };
        if let Some(stop) = list.stops.get_mut(at) {
            stop.why = task.intent.as_ref().and_then(|wish| wish.refused_why.clone());
            stop.state = state.unwrap_or(stop.state);
            stop.task = Some(task);
            if !screen.is_json() {
                print_state(stop, screen);
            }
        }
    }
    Ok(())
}
