//! How a call ended: what `tools/call` would have returned, for a client that knows tasks and for one that does not.
//!
//! The same for a held call, for `tasks/get`, for `tasks/result` and for the task tools, so that an agent cannot be told
//! two ends. Payloads are read from the registry as they came; only identities change, and a result that a person or a
//! limit gives in another form is cut the same way each time (`short.rs`, `scale.rs`). An end that a person or a rule
//! decided is an ordinary result where the answer is a call's (decision 0021); the words are `model_text/`.

use domain::task::{AgentFailure, AgentView, HoldVerdict, OwnFailure, ResultForm, ResultHold, TaskHandle, agent_failure, agent_view};
use domain::ids::ServerId;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{CancelRequest, Contact, GoneWhy, Intent, RpcError, ServerView, TaskStatus};
use serde_json::json;
use serde_json::value::RawValue;

use super::guest::Guest;
use super::model_text::ended;
use super::own_tools::META_BRINGS;
use super::wire::End;
use super::{Gate, era, forward, scale, short, short_error};
use crate::wire::raw_json::member;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// The code of failures that are ours: the range that the specification leaves to implementations.
const OURS: i64 = -32_000;

/// How this task ended, in the shapes of tasks: an end without a result is an error. `sight` is terminal.
///
/// # Errors
/// The one answer when the agent does not see it; ours when the registry cannot be read.
pub(super) async fn end(gate: &Gate, guest: &Guest, handle: &TaskHandle, sight: &AgentView) -> Result<End, RequestError> {
    match sight {
        AgentView::Completed => match result(gate, guest, handle).await? {
            Some((text, form @ (ResultForm::Whole | ResultForm::Trimmed { .. }))) => Ok(End::Result { text, form }),
            Some((whole, form @ ResultForm::Slices)) => {
                Ok(End::Result { text: short::of(gate, guest, handle, &whole).await?, form })
            }
            None => match withheld(handle) {
                // It was shown as completed before a person decided, and stays that for its agent (statement 69).
                Some(text) => Ok(End::Note(note_on(gate, guest, handle, &text))),
                None => Ok(End::Error(error(&ours(&ended::failed(&OwnFailure::NoResult)))?)),
            },
        },
        AgentView::Failed => failure(gate, guest, handle).await,
        AgentView::Cancelled => Ok(End::Error(error(&ours(&ended::cancelled(handle)))?)),
        AgentView::Gone => Err(RequestError::unknown_task()),
        // Nobody asks for the end of a task that goes on.
        AgentView::Working { .. } | AgentView::InputRequired { .. } => {
            Err(RequestError::new(RequestErrorKind::Internal, "the task has not ended"))
        }
    }
}

/// How this task ended, as the answer to a tool call: what a person or a rule decided is an ordinary result, and a task
/// that its agent sees no more is told as what became of it. `sight` is terminal, or gone.
///
/// # Errors
/// As [`end`], and why the task is lost.
pub(super) async fn of_call(gate: &Gate, guest: &Guest, handle: &TaskHandle, sight: &AgentView) -> Result<End, RequestError> {
    match (sight, agent_failure(handle, gate.clock.now())) {
        (AgentView::Cancelled, _) => Ok(End::Note(note_on(gate, guest, handle, &ended::cancelled(handle)))),
        (AgentView::Failed, Some(AgentFailure::Ours(OwnFailure::Withheld { reason }))) => {
            Ok(End::Note(note_on(gate, guest, handle, &ended::withheld(reason.as_deref()))))
        }
        (AgentView::Gone, _) => match why_gone(handle) {
            Some(Gone::Decided(words)) => Ok(End::Note(note_on(gate, guest, handle, &words))),
            Some(Gone::Lost(words)) => Ok(End::Error(error(&ours(&words))?)),
            None => Err(RequestError::unknown_task()),
        },
        _ => end(gate, guest, handle, sight).await,
    }
}

/// What became of a task that its agent sees no more, in words.
pub(super) enum Gone {
    /// A person decided that.
    Decided(String),
    /// It failed by itself.
    Lost(String),
}

/// Why the agent of this task sees it no more; `None` when it does.
pub(super) fn why_gone(handle: &TaskHandle) -> Option<Gone> {
    if let Some(wish) = taken_away(handle) {
        return Some(Gone::Decided(ended::taken_away(wish)));
    }
    match &handle.contact {
        Contact::Gone { why: why @ GoneWhy::ServerRemoved, .. } => Some(Gone::Decided(ended::lost(why))),
        Contact::Gone { why, .. } => Some(Gone::Lost(ended::lost(why))),
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => None,
    }
}

/// The wish by which a person took the task from its agent.
fn taken_away(handle: &TaskHandle) -> Option<&CancelRequest> {
    match &handle.intent {
        Intent::Revoked(wish) => Some(wish),
        Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => None,
    }
}

/// A sentence of ours as the result of a call of this server's tool.
///
/// It is an ordinary one, except where the client may know an output schema of the tool: such a client throws a result
/// away that is no error and has no structured content, and the words with it. Clients that know no tasks are told no
/// output schemas.
pub(super) fn note(gate: &Gate, guest: &Guest, tool: Option<(ServerId, &str)>, words: &str) -> Payload {
    let may_be_shaped = || {
        let listed = tool.and_then(|(server, tool)| gate.lists.tool(server, tool));
        listed.is_none_or(|tool| member(&tool, "outputSchema").is_some())
    };
    let is_error = guest.knows_tasks() && may_be_shaped();
    let content = json!([{"type": "text", "text": words}]);
    Payload::new(json!({"content": content, "isError": is_error, "_meta": {META_BRINGS: false}}).to_string())
}

/// As [`note`], for the call behind this handle.
fn note_on(gate: &Gate, guest: &Guest, handle: &TaskHandle, words: &str) -> Payload {
    note(gate, guest, handle.tool.as_deref().map(|tool| (handle.server, tool)), words)
}

/// What its agent is told of a result that a person withheld; `None` where nobody did.
pub(super) fn withheld(handle: &TaskHandle) -> Option<String> {
    let Some(ResultHold { verdict: Some(HoldVerdict::Withhold { reason, .. }), .. }) = &handle.hold else { return None };
    Some(ended::withheld(reason.as_deref()))
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
) -> Result<Option<(Payload, ResultForm)>, RequestError> {
    match agent_view(handle, gate.clock.now()) {
        AgentView::Completed => result(gate, guest, handle).await,
        AgentView::Working { .. } | AgentView::InputRequired { .. } | AgentView::Failed | AgentView::Cancelled | AgentView::Gone => {
            Ok(None)
        }
    }
}

/// The stored result and the form in which its agent gets it; trimmed where that is the form.
async fn result(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<Option<(Payload, ResultForm)>, RequestError> {
    let Some(form) = handle.form() else { return Ok(None) };
    let stored = gate.registry.payload(handle.id, PayloadKind::Result).await;
    let Some(stored) = stored.map_err(|error| super::service::unreadable(&error))? else { return Ok(None) };
    let whole = forward::down_text(gate, guest, handle.server, Some(handle), stored);
    Ok(Some(match form {
        ResultForm::Whole | ResultForm::Slices => (whole, form),
        ResultForm::Trimmed { tokens } => {
            let family = scale::family(gate, guest, handle);
            (scale::beside(gate, handle.id, move |scale| scale.trim(family, whole.as_str(), tokens)).await?, form)
        }
    }))
}

async fn failure(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<End, RequestError> {
    let said = match agent_failure(handle, gate.clock.now()) {
        Some(AgentFailure::Ours(failure)) => ours(&ended::failed(&failure)),
        Some(AgentFailure::Stored) => match stored(gate, guest, handle, PayloadKind::Error).await? {
            Some(raw) => return Ok(End::Error(short_error::of(gate, guest, handle, raw).await?)),
            None => servers(handle).unwrap_or_else(|| ours(ended::without_words())),
        },
        None => ours(ended::without_words()),
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
) -> Result<Option<Box<RawValue>>, RequestError> {
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
pub(super) fn reply(guest: &Guest, end: End) -> Result<Payload, RequestError> {
    match end {
        End::Result { text, .. } | End::Note(text) => Ok(era::result(guest, text)),
        End::Error(error) => Err(RequestError::raw(&error)),
    }
}

fn ours(message: &str) -> RpcError {
    RpcError { code: OURS, message: message.to_owned() }
}

fn error(error: &RpcError) -> Result<Box<RawValue>, RequestError> {
    super::service::result(&json!({"code": error.code, "message": error.message}))
}
