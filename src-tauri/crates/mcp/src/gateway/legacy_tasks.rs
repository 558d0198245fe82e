//! `tasks/*` of 2025-11-25: reading, waiting for the result, listing, cancelling (protocol.md §1.4, §7.3).
//!
//! Served from memory and registry, never upstream. Unknown, expired, revoked and foreign tasks are one answer. A
//! cancelled task must read `cancelled` at once there: the agent's view is declared so, and the server's own account
//! goes on beside it. The spelling is in `bridge.rs`.

use std::sync::Arc;

use domain::task::{AgentView, TaskHandle, agent_view};
use domain::ids::HandleId;
use domain::task::payload::{Payload, PayloadKind};
use domain::policy::LATE_REPLY_WAIT;
use domain::task::status::{ServerView, TaskStatus};
use engine::{HandleWatch, Passed};
use serde_json::Value;
use serde_json::value::RawValue;

use super::asking::{self, Asked, Stream};
use super::bridge::{self, LegacyTask};
use super::budget::Tap;
use super::guest::Guest;
use super::{Gate, courier, find, outcome, service};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RequestParams, ResponseStream, Session};

/// `tasks/get`. From here on the session is told about the task, too.
///
/// # Errors
/// When the task is unknown to this agent.
pub(super) async fn get(
    gate: &Arc<Gate>,
    guest: &Guest,
    params: &RequestParams,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let watch = named(gate, guest, params).await?;
    let handle = watch.now();
    let task = task(gate, guest, &handle).await?;
    tap.about(&handle);
    tap.shows(gate.looks.at(gate, guest, &handle).look(Payload::new(task.raw.get())));
    if !task.is_over() {
        courier::follow(gate, guest, watch, None);
    }
    Ok(task.raw)
}

/// `tasks/result`: waits for the end, and asks on its stream meanwhile.
///
/// # Errors
/// When the task is unknown to this agent, or the call's own error, raw.
pub(super) async fn result(
    gate: &Arc<Gate>,
    guest: &Guest,
    session: &Arc<Session>,
    params: &RequestParams,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Payload, RequestError> {
    let mut watch = named(gate, guest, params).await?;
    loop {
        let freed = gate.claims.freed();
        let handle = watch.now();
        let sight = agent_view(&handle, gate.clock.now());
        if sight.is_terminal() || sight == AgentView::Gone {
            tap.about(&handle);
            let end = outcome::end(gate, guest, &handle, &sight).await?;
            tap.ended(&end);
            return Ok(bridge::related_result(outcome::reply(guest, end)?.as_str(), handle.id));
        }
        match asking::ask_next(gate, session, Stream::Call(seat), &handle).await? {
            Asked::Settled => continue,
            // Nobody waits for the result here any more; the question is free for another stream.
            Asked::StreamLost => return Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone")),
            Asked::Nothing => {}
        }
        tokio::select! {
            () = moved(&mut watch) => {}
            () = freed => {}
        }
    }
}

/// `tasks/list`: this agent's tasks behind this door, newest first.
///
/// # Errors
/// When the cursor is none of ours.
pub(super) async fn list(
    gate: &Arc<Gate>,
    guest: &Guest,
    params: &RequestParams,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let unknown = || RequestError::params("this `cursor` is not known here");
    let mut after = match params.said("cursor") {
        None => None,
        Some(_) => {
            let id = params.text("cursor").and_then(|id| id.parse::<HandleId>().ok()).ok_or_else(unknown)?;
            find::task(gate, guest, &id.to_string()).await.map_err(|_| unknown())?;
            Some(id)
        }
    };
    let is_first = after.is_none();
    let most = gate.policy.gateway.tasks_per_page;
    let now = gate.clock.now();
    let mut tasks = Vec::new();
    let more = loop {
        let page = gate.registry.agent_tasks(guest.agent, after, most).await;
        let page = page.map_err(|failed| service::unreadable(&failed))?;
        let full = page.len() >= most as usize;
        for handle in page {
            after = Some(handle.id);
            if guest.server.is_none_or(|server| server == handle.server)
                && let Some(task) = bridge::legacy_task(&handle, None, now, &gate.policy)
            {
                tasks.push(task.raw.get().to_owned());
            }
            if tasks.len() >= most as usize {
                break;
            }
        }
        // One server's tasks may be few among many.
        if !full || tasks.len() >= most as usize {
            break full;
        }
    };
    let next = after.filter(|_| more).map(|id| format!(",\"nextCursor\":{}", Value::from(id.to_string())));
    let list = format!("{{\"tasks\":[{}]{}}}", tasks.join(","), next.unwrap_or_default());
    if let Some(server) = guest.server {
        tap.at(server);
    }
    let said = Payload::new(list.as_str());
    // The list is looked at once, however many pages it has.
    tap.shows(match is_first {
        true => gate.looks.at_list(gate, guest, &list).look(said),
        false => Passed::Handle(said),
    });
    bridge::raw(list).ok_or_else(unwritten)
}

/// `tasks/cancel`.
///
/// # Errors
/// When the task is unknown to this agent, or over.
pub(super) async fn cancel(
    gate: &Arc<Gate>,
    guest: &Guest,
    params: &RequestParams,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let watch = named(gate, guest, params).await?;
    let handle = watch.now();
    match agent_view(&handle, gate.clock.now()) {
        AgentView::Working { .. } | AgentView::InputRequired { .. } => {}
        AgentView::Completed | AgentView::Failed | AgentView::Cancelled => return Err(RequestError::params("the task is over already")),
        AgentView::Gone => return Err(RequestError::unknown_task()),
    }
    gate.engine.agent_told_cancelled(handle.id, guest.agent).await.map_err(|failed| service::fault(&failed))?;
    let handle = watch.now();
    let task = task(gate, guest, &handle).await?;
    tap.about(&handle);
    tap.handle(&task.raw);
    gate.looks.told(gate, guest, &handle, false);
    Ok(task.raw)
}

/// The task that the params name, if this agent may know it.
async fn named(gate: &Gate, guest: &Guest, params: &RequestParams) -> Result<HandleWatch, RequestError> {
    let handle = find::named(gate, guest, params).await?;
    if handle.given.is_none() {
        return Err(RequestError::unknown_task());
    }
    if handle.undelivered.is_some() {
        // Who asks for it has its handle: a repeated call is a new one.
        gate.engine.delivered(handle.id);
    }
    asking::watch(gate, handle.id).await?.ok_or_else(RequestError::unknown_task)
}

/// The task in this dialect, with what its server says beyond ours when it speaks the same.
///
/// # Errors
/// When it is unknown to its agent.
pub(super) async fn task(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<LegacyTask, RequestError> {
    // Only servers of the older eras have a connection for each agent (ruling 14).
    let theirs = match handle.seat {
        Some(_) => outcome::stored(gate, guest, handle, PayloadKind::Task).await?,
        None => None,
    };
    let now = gate.clock.now();
    bridge::legacy_task(handle, theirs.as_deref(), now, &gate.policy).ok_or_else(RequestError::unknown_task)
}

/// Waits until the agent may see something else: a change, or the end of a wait that time alone ends.
pub(super) async fn moved(watch: &mut HandleWatch) {
    let waits = match &watch.now().view {
        ServerView::Unanswered { .. } => true,
        ServerView::Task(task) => match task.status {
            TaskStatus::Failed(None) => true,
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed(_)
            | TaskStatus::Failed(Some(_))
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => false,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => false,
    };
    if waits {
        drop(tokio::time::timeout(LATE_REPLY_WAIT, watch.changed()).await);
    } else {
        watch.changed().await;
    }
}

fn unwritten() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the result could not be written")
}
