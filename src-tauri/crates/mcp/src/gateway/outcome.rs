//! How a call ended, in the words of the call itself: what `tools/call` would have returned.
//!
//! The same for a held call, for `tasks/get`, for `tasks/result` and for the task tools, so that an agent cannot be told
//! two ends. Payloads are read from the registry as they came; only identities change.

use domain::handle::{AgentFailure, Sight, TaskHandle, agent_failure};
use domain::payload::PayloadKind;
use domain::status::{RpcError, ServerView, TaskStatus};
use serde_json::json;
use serde_json::value::RawValue;

use super::guest::Guest;
use super::wire::{End, complete};
use super::{Gate, forward};
use crate::serve::fault::Fault;

/// The code of failures that are ours: the range that the specification leaves to implementations.
const OURS: i64 = -32_000;

/// How this task ended for its agent. `sight` is terminal.
///
/// # Errors
/// The one answer when the agent does not see it; ours when the registry cannot be read.
pub(super) async fn end(gate: &Gate, guest: &Guest, handle: &TaskHandle, sight: &Sight) -> Result<End, Fault> {
    match sight {
        Sight::Completed => match stored(gate, guest, handle, PayloadKind::Result).await? {
            Some(result) => Ok(End::Result(result)),
            None => Ok(End::Error(error(&ours("the server finished it, but its result can no longer be had"))?)),
        },
        Sight::Failed => failure(gate, guest, handle).await,
        Sight::Cancelled => Ok(End::Error(error(&ours("the call was cancelled"))?)),
        Sight::Gone => Err(Fault::unknown_task()),
        Sight::Working { .. } | Sight::InputRequired { .. } => Ok(End::Error(error(&ours("the work goes on"))?)),
    }
}

async fn failure(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<End, Fault> {
    let said = match agent_failure(handle, gate.clock.now()) {
        Some(AgentFailure::Ours(said)) => said,
        Some(AgentFailure::Stored) => match stored(gate, guest, handle, PayloadKind::Error).await? {
            Some(raw) => return Ok(End::Error(raw)),
            None => servers(handle).unwrap_or_else(|| ours("the server answered with an error")),
        },
        None => ours("the call failed"),
    };
    Ok(End::Error(error(&said)?))
}

/// The server's error as it was read, where its text was not kept.
fn servers(handle: &TaskHandle) -> Option<RpcError> {
    match &handle.view {
        ServerView::Refused(error) => Some(error.clone()),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Failed(error) => error.clone(),
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => None,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_) => None,
    }
}

/// A stored payload with its identities rewritten.
pub(super) async fn stored(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    kind: PayloadKind,
) -> Result<Option<Box<RawValue>>, Fault> {
    let payload = gate.registry.payload(handle.id, kind).await.map_err(|error| super::service::unreadable(&error))?;
    match payload {
        Some(payload) => Ok(Some(forward::down(gate, guest, handle.server, Some(handle), &payload).await?)),
        None => Ok(None),
    }
}

/// The end as the answer to the call itself.
///
/// # Errors
/// The error that the call ended with.
pub(super) fn reply(guest: &Guest, end: End) -> Result<Box<RawValue>, Fault> {
    match end {
        End::Result(result) if guest.is_modern() => Ok(complete(result)),
        End::Result(result) => Ok(result),
        End::Error(error) => Err(Fault::raw(&error)),
    }
}

fn ours(message: &str) -> RpcError {
    RpcError { code: OURS, message: message.to_owned() }
}

fn error(error: &RpcError) -> Result<Box<RawValue>, Fault> {
    super::service::result(&json!({"code": error.code, "message": error.message}))
}
