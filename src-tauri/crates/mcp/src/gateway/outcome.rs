//! How a call ended, in the words of the call itself: what `tools/call` would have returned.
//!
//! The same for a held call, for `tasks/get`, for `tasks/result` and for the task tools, so that an agent cannot be told
//! two ends. Payloads are read from the registry as they came; only identities change, and a result that a person or a
//! limit gives in another form is cut the same way each time (`short.rs`, `scale.rs`).

use domain::handle::{AgentFailure, Form, Hold, Sight, TaskHandle, Verdict, agent_failure, agent_sight};
use domain::payload::{Payload, PayloadKind};
use domain::status::{RpcError, ServerView, TaskStatus};
use serde_json::json;
use serde_json::value::RawValue;

use super::guest::Guest;
use super::wire::End;
use super::{Gate, era, forward, scale, short, short_error};
use crate::serve::fault::Fault;

/// The code of failures that are ours: the range that the specification leaves to implementations.
const OURS: i64 = -32_000;

/// How this task ended for its agent. `sight` is terminal.
///
/// # Errors
/// The one answer when the agent does not see it; ours when the registry cannot be read.
pub(super) async fn end(gate: &Gate, guest: &Guest, handle: &TaskHandle, sight: &Sight) -> Result<End, Fault> {
    match sight {
        Sight::Completed => match result(gate, guest, handle).await? {
            Some((text, form @ (Form::Whole | Form::Trimmed { .. }))) => Ok(End::Result { text, form }),
            Some((whole, form @ Form::Slices)) => {
                Ok(End::Result { text: short::of(gate, guest, handle, &whole).await?, form })
            }
            None => match withheld(handle) {
                // It was shown as completed before a person decided, and stays that for its agent (statement 69).
                Some(text) => {
                    let text = json!({"content": [{"type": "text", "text": text}], "isError": true}).to_string();
                    Ok(End::Result { text: Payload::new(text), form: Form::Whole })
                }
                None => Ok(End::Error(error(&ours("the server finished it, but its result can no longer be had"))?)),
            },
        },
        Sight::Failed => failure(gate, guest, handle).await,
        Sight::Cancelled => Ok(End::Error(error(&match handle.stopped_by_limit() {
            Some(why) => ours(&format!("a limit stopped the task: {why}")),
            None => ours("the call was cancelled"),
        })?)),
        Sight::Gone => Err(Fault::unknown_task()),
        Sight::Working { .. } | Sight::InputRequired { .. } => Ok(End::Error(error(&ours("the work goes on"))?)),
    }
}

/// What its agent is told of a result that a person withheld; `None` where nobody did.
pub(super) fn withheld(handle: &TaskHandle) -> Option<String> {
    let Some(Hold { verdict: Some(Verdict::Withhold { reason, .. }), .. }) = &handle.hold else { return None };
    let why = reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    Some(format!("A person withheld the result of this task{why}. There is nothing to read."))
}

/// The result as far as its agent may read it: whole, also where it gets it in slices, or trimmed. `None` where there is
/// none for it, whatever the reason.
///
/// # Errors
/// When the registry cannot be read.
pub(super) async fn readable(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
) -> Result<Option<(Payload, Form)>, Fault> {
    match agent_sight(handle, gate.clock.now()) {
        Sight::Completed => result(gate, guest, handle).await,
        Sight::Working { .. } | Sight::InputRequired { .. } | Sight::Failed | Sight::Cancelled | Sight::Gone => {
            Ok(None)
        }
    }
}

/// The stored result and the form in which its agent gets it; trimmed where that is the form.
async fn result(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<Option<(Payload, Form)>, Fault> {
    let Some(form) = handle.form() else { return Ok(None) };
    let stored = gate.registry.payload(handle.id, PayloadKind::Result).await;
    let Some(stored) = stored.map_err(|error| super::service::unreadable(&error))? else { return Ok(None) };
    let whole = forward::down_text(gate, guest, handle.server, Some(handle), stored);
    Ok(Some(match form {
        Form::Whole | Form::Slices => (whole, form),
        Form::Trimmed { tokens } => {
            let family = scale::family(gate, guest, handle);
            (scale::beside(gate, handle.id, move |scale| scale.trim(family, whole.as_str(), tokens)).await?, form)
        }
    }))
}

async fn failure(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<End, Fault> {
    let said = match agent_failure(handle, gate.clock.now()) {
        Some(AgentFailure::Ours(said)) => said,
        Some(AgentFailure::Stored) => match stored(gate, guest, handle, PayloadKind::Error).await? {
            Some(raw) => return Ok(End::Error(short_error::of(gate, guest, handle, raw).await?)),
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
pub(super) fn reply(guest: &Guest, end: End) -> Result<Payload, Fault> {
    match end {
        End::Result { text, .. } => Ok(era::result(guest, text)),
        End::Error(error) => Err(Fault::raw(&error)),
    }
}

fn ours(message: &str) -> RpcError {
    RpcError { code: OURS, message: message.to_owned() }
}

fn error(error: &RpcError) -> Result<Box<RawValue>, Fault> {
    super::service::result(&json!({"code": error.code, "message": error.message}))
}
