//! `taskwarden tasks cancel` and `revoke`: ask servers to cancel one task or many, and report what became of it
//! (promise R1).
//!
//! Many tasks at once are counted and confirmed first; those that match a filter are `bulk.rs`, and the same with a control
//! token is `control_calls.rs`. Returns when each server has acknowledged or refused; with `--wait`, when each task has
//! ended. A state is what the server said, or that it has not said anything; never a guess.

use std::collections::HashMap;

use api::calls::OneTask;
use api::calls::plans::MakePlan;
use api::calls::tasks::ShownTask;
use api::calls::tasks::cancel::{CancelList, CancelOutcomeDto, CancelTasks, RevokeTask};
use api::dto::pause::TaskPauseKind;
use api::dto::plan::BulkActDto;
use api::dto::task::facts::CancelStateDto;
use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::input::control_token::TokenFileArg;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences;
use crate::cli::output::sentences::{one_line, short_id};
use crate::cli::tasks::bulk::{self, BulkCaller, BulkRun, FilterArgs};
use crate::cli::tasks::control_calls;
use crate::cli::tasks::task_feed::{TaskFeed, ended};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// Handles of tasks, or unique prefixes of them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    which: FilterArgs,
    /// The reason, for the audit log and for servers that accept one.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    /// Wait until each task has ended.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    token: TokenFileArg,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Handles of tasks, or unique prefixes of them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    which: FilterArgs,
    /// The reason, for the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask for confirmation. One task is revoked without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    token: TokenFileArg,
}

pub(crate) async fn cancel(command: CancelArgs, config: &Config, screen: &Screen) -> CommandResult {
    let CancelArgs { ids, which, reason, yes, wait, token } = command;
    let program = token.client(config)?;
    if ids.is_empty() {
        let choice = matching(BulkActDto::Cancel, &which)?;
        let caller = BulkCaller::of(program, config)?;
        return bulk::run(choice, BulkRun { reason, yes, wait, caller: &caller, config }, screen).await;
    }
    if let Some(program) = program {
        if ids.len() > 1 && !yes {
            confirm(ids.len(), screen).await?;
        }
        return control_calls::cancel(ids, reason, wait, &program, config, screen).await;
    }
    let core = CoreClient::attach(config)?;
    let is_one = ids.len() == 1;
    if !is_one {
        check_named(&ids, &core).await?;
        if !yes {
            confirm(ids.len(), screen).await?;
        }
    }
    let input = CancelTasks { ids, query: None, expect: None, reason, wait: None };
    let list: CancelList = core.request("tasks.cancel", &input).await?;
    if is_one && let Some(refused) = refusal(&list) {
        return Err(refused);
    }
    report(list, wait, &core, config, screen).await
}

pub(crate) async fn revoke(command: RevokeArgs, config: &Config, screen: &Screen) -> CommandResult {
    let RevokeArgs { ids, which, reason, yes, token } = command;
    let program = token.client(config)?;
    let [id] = ids.as_slice() else {
        let kind = BulkActDto::Revoke;
        let choice =
            if ids.is_empty() { matching(kind, &which)? } else { MakePlan { kind, ids, filter: None, query: None } };
        let caller = BulkCaller::of(program, config)?;
        return bulk::run(choice, BulkRun { reason, yes, wait: false, caller: &caller, config }, screen).await;
    };
    if let Some(program) = program {
        return control_calls::revoke(id.clone(), reason, &program, screen).await;
    }
    let core = CoreClient::attach(config)?;
    let list: CancelList = core.request("tasks.revoke", &RevokeTask { id: id.clone(), reason }).await?;
    if !screen.is_json() {
        let agent = list.stops.first().and_then(|stop| stop.task.as_ref()).map(|task| task.agent.as_deref());
        screen.line(&revoked_words(agent.flatten()));
    }
    report(list, false, &core, config, screen).await
}

/// The open tasks that were asked for.
fn matching(kind: BulkActDto, which: &FilterArgs) -> Result<MakePlan, ApiError> {
    let filter = which.filter().ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            "no task was named",
            "Name tasks by ID, or choose open ones with `--server`, `--agent`, `--phase` or `--all`.",
        )
    })?;
    Ok(MakePlan { kind, ids: Vec::new(), filter: Some(filter), query: None })
}

/// What revoking did to the agent of a task; a task that a person started has none.
fn revoked_words(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("Revoked the handle from agent `{}`.", one_line(agent)),
        None => "No agent has this task, so no handle was revoked; it is cancelled as by `taskwarden tasks cancel`."
            .to_owned(),
    }
}

/// Refuses words that name no task, before anybody is asked to confirm.
async fn check_named(ids: &[String], core: &CoreClient) -> Result<(), ApiError> {
    /// Words that an error names. Judgement: enough to see what went wrong.
    const NAMED: usize = 5;
    let mut unknown = Vec::new();
    for id in ids {
        match core.request::<ShownTask>("tasks.show", &OneTask { id: id.clone() }).await {
            Ok(_) => {}
            Err(error) if matches!(error.code, Code::NotFound | Code::Usage) => unknown.push(one_line(id)),
            Err(error) => return Err(error),
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = unknown.iter().take(NAMED).map(|word| format!("`{word}`")).collect();
    let more = unknown.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Err(ApiError::new(
        Code::NotFound,
        format!("no task is named {}{more}", named.join(", ")),
        "Nothing was cancelled. `taskwarden tasks list` shows the tasks with their handles.",
    ))
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
    let is = |state: CancelStateDto| list.stops.iter().any(|stop| stop.state == state);
    let is_unconfirmed = wait && (is(CancelStateDto::Asked) || is(CancelStateDto::Acknowledged));
    if is_unconfirmed {
        screen.note(
            "Not every end is confirmed, and no further word can come: the work may go on. `taskwarden tasks show ID` names \
             the next step.",
        );
    }
    Ok(if is(CancelStateDto::Refused) || is_unconfirmed { Code::Refused.exit() } else { DONE })
}

fn print_state(stop: &CancelOutcomeDto, screen: &Screen) {
    let server = stop.task.as_ref().map_or("the server", |task| task.server.as_str());
    let id = short_id(&stop.id, !screen.is_terminal());
    // That nothing was sent is said by the task itself.
    let unsent = stop.task.as_ref().filter(|_| stop.state == CancelStateDto::EndedHere);
    let unsent = unsent.and_then(|task| task.error.as_ref()).map(|error| error.message.as_str());
    let why = stop.why.as_deref().or(unsent).map(|why| format!(" ({})", one_line(why))).unwrap_or_default();
    let intent = stop.task.as_ref().and_then(|task| task.intent.as_ref());
    let sent = intent.is_none_or(|wish| wish.sent_at.is_some());
    screen.line(&format!("{id}  {}{why}", sentences::cancel_state(stop.state, server, sent)));
    let is_frozen = stop
        .task
        .as_ref()
        .and_then(|task| task.paused.as_ref())
        .is_some_and(|pause| pause.kind == TaskPauseKind::Frozen);
    if stop.state == CancelStateDto::Asked && is_frozen {
        let server = one_line(server);
        screen.note(&format!("{server} is frozen and reads this once it runs again: `taskwarden unpause {server}`."));
    }
}

/// `16 tasks: 12 cancelled, 3 acknowledged, 1 refused`.
fn summary(list: &CancelList) -> String {
    let states = [
        (CancelStateDto::Stopped, "cancelled"),
        (CancelStateDto::EndedHere, "cancelled before sending"),
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
    format!("{}: {}", count(u64::try_from(list.stops.len()).unwrap_or(u64::MAX), "task"), parts.join(", "))
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
