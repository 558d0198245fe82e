//! `taskwarden tasks cancel` and `revoke`: ask to stop one or many, and tell honestly what became of it (promise R1).
//!
//! Many at once are counted and confirmed first. Returns when each server acknowledged or refused; with `--wait`, when
//! each task is over. A state is the server's word or our own lack of it, never a guess.

use std::collections::HashMap;

use api::calls::tasks::cancel::{CancelList, CancelOutcomeDto, CancelTasks, RevokeTask};
use api::calls::tasks::ListTasks;
use api::dto::{TaskDto, TaskListDto};
use api::format::time::count;
use api::{ApiError, Code};
use clap::{ArgGroup, Args};

use super::follow::{Follow, ended};
use super::screen::Screen;
use super::words::{one_line, short_id};
use super::{DONE, Ended, INTERRUPTED, prompt, words};
use crate::config::Config;
use crate::door::Door;

/// Which tasks to cancel.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "server", "agent", "all"]).multiple(false)))]
pub(crate) struct Cancel {
    /// Handles, or unique beginnings of them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All open tasks on this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// All open tasks of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// All open tasks.
    #[arg(long)]
    all: bool,
    /// Why, for the record and for servers that take it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask, however many there are.
    #[arg(long, short)]
    yes: bool,
    /// Wait until each task is over.
    #[arg(long)]
    wait: bool,
}

/// Which task to revoke.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Its handle, or a unique beginning of it.
    id: String,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn cancel(command: Cancel, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    let is_one = command.ids.len() == 1;
    let ids = if command.ids.is_empty() { selected(&door, &command).await? } else { command.ids };
    if ids.is_empty() {
        if screen.is_json() {
            screen.json(&CancelList { stops: Vec::new() })?;
        } else {
            screen.line("No open task matches; nothing was asked.");
        }
        return Ok(DONE);
    }
    if ids.len() > 1 && !command.yes {
        confirm(ids.len(), screen).await?;
    }
    let list: CancelList =
        door.ask("tasks.cancel", &CancelTasks { ids, query: None, reason: command.reason, wait: None }).await?;
    if is_one && let Some(refused) = refusal(&list) {
        return Err(refused);
    }
    told(list, command.wait, &door, config, screen).await
}

pub(crate) async fn revoke(command: Revoke, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    let list: CancelList = door.ask("tasks.revoke", &RevokeTask { id: command.id, reason: command.reason }).await?;
    if !screen.is_json() {
        screen.line("The handle is taken from its agent.");
    }
    told(list, false, &door, config, screen).await
}

/// All open tasks that match and were not asked to stop yet.
async fn selected(door: &Door, command: &Cancel) -> Result<Vec<String>, ApiError> {
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
        let page: TaskListDto = door.ask("tasks.list", &query).await?;
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
    if !screen.can_ask() {
        return Err(ApiError::new(
            Code::Refused,
            format!("{tasks} were not cancelled: nobody confirmed"),
            "Run it in a terminal, or pass `--yes`.",
        ));
    }
    if prompt::yes(&format!("Ask the servers to cancel {tasks}?")).await? {
        return Ok(());
    }
    Err(ApiError::new(Code::Refused, format!("{tasks} were kept"), "Nothing was asked of any server."))
}

/// For one task, not being able to ask is the answer.
fn refusal(list: &CancelList) -> Option<ApiError> {
    let only = list.stops.first().filter(|stop| stop.state == "notAsked")?;
    Some(ApiError::new(
        Code::Refused,
        format!("task `{}` cannot be cancelled: {}", only.id, only.why.as_deref().map(one_line).unwrap_or_default()),
        format!("`taskwarden tasks show {}` tells what is known of it.", short_id(&only.id, false)),
    ))
}

pub(crate) async fn told(mut list: CancelList, wait: bool, door: &Door, config: &Config, screen: &Screen) -> Ended {
    if wait {
        if !screen.is_json() {
            list.stops.iter().for_each(|stop| tell(stop, screen));
        }
        tokio::select! {
            outcome = until_over(&mut list, door, config, screen) => outcome?,
            _ = tokio::signal::ctrl_c() => {
                screen.note("\nThe wish to stop stays with the servers; only this wait ended.");
                return Ok(INTERRUPTED);
            }
        }
        if screen.is_json() {
            screen.json(&list)?;
        }
    } else if screen.is_json() {
        screen.json(&list)?;
    } else {
        list.stops.iter().for_each(|stop| tell(stop, screen));
    }
    if !screen.is_json() && list.stops.len() > 1 {
        screen.line(&summary(&list));
    }
    let refused = list.stops.iter().any(|stop| stop.state == "refused");
    Ok(if refused { Code::Refused.exit() } else { DONE })
}

fn tell(stop: &CancelOutcomeDto, screen: &Screen) {
    let server = stop.task.as_ref().map_or("the server", |task| task.server.as_str());
    let id = short_id(&stop.id, !screen.is_terminal());
    let why = stop.why.as_deref().map(|why| format!(" ({})", one_line(why))).unwrap_or_default();
    let intent = stop.task.as_ref().and_then(|task| task.intent.as_ref());
    let sent = intent.is_none_or(|wish| wish.sent_at.is_some());
    screen.line(&format!("{id}  {}{why}", words::stop(&stop.state, server, sent)));
}

/// `12 stopped, 3 acknowledged, 1 refused`.
fn summary(list: &CancelList) -> String {
    let states = ["stopped", "finishedAnyway", "acknowledged", "asked", "refused", "notAsked"];
    let names = ["stopped", "finished anyway", "acknowledged", "asked", "refused", "not asked"];
    let parts: Vec<String> = states
        .iter()
        .zip(names)
        .filter_map(|(state, name)| {
            let many = list.stops.iter().filter(|stop| stop.state == *state).count();
            (many > 0).then(|| format!("{many} {name}"))
        })
        .collect();
    format!("{} tasks: {}", list.stops.len(), parts.join(", "))
}

/// Follows the tasks until each is over, and brings their states up to date.
async fn until_over(list: &mut CancelList, door: &Door, config: &Config, screen: &Screen) -> Result<(), ApiError> {
    let mut open: HashMap<String, usize> = list
        .stops
        .iter()
        .enumerate()
        // A server that refused will not stop it: waiting for that has no end.
        .filter(|(_, stop)| stop.state != "refused" && stop.task.as_ref().is_some_and(|task| ended(task).is_none()))
        .map(|(at, stop)| (stop.id.clone(), at))
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut follow = Follow::new(door.attached()?, open.keys().cloned().collect(), config, screen);
    while !open.is_empty() {
        let task = follow.next().await?;
        let state = task.intent.as_ref().and_then(|wish| wish.state.clone());
        let refused = state.as_deref() == Some("refused");
        if ended(&task).is_none() && !refused {
            continue;
        }
        let Some(at) = open.remove(&task.id) else { continue };
        if let Some(stop) = list.stops.get_mut(at) {
            stop.why = task.intent.as_ref().and_then(|wish| wish.refused_why.clone());
            stop.state = state.unwrap_or_else(|| stop.state.clone());
            stop.task = Some(task);
            if !screen.is_json() {
                tell(stop, screen);
            }
        }
    }
    Ok(())
}
