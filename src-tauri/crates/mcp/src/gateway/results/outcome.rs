//! How a call ended: what `tools/call` would have returned, for a client that knows tasks and for one that does not.
//!
//! The same for a held call, `tasks/get`, `tasks/result` and the task tools, so that an agent never sees two different
//! ends. Stored results are cut the same way each time. An end that a person or a rule decided is an ordinary result where
//! it answers a call (decision 0021); its words are `model_text/`.

use domain::ids::ServerId;
use domain::ports::TokenCounter;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{CancelRequest, Contact, GoneWhy, Intent, RpcError, ServerView, TaskStatus};
use domain::task::{
    AgentFailure, AgentView, HoldVerdict, OwnFailure, ResultForm, ResultHold, TaskHandle, agent_failure, agent_view,
};
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::meta::META_BRINGS;
use crate::gateway::conversion::modern_task::TaskEnd;
use crate::gateway::conversion::{raw_json, result_dialect};
use crate::gateway::engine_errors::SERVER_ERROR;
use crate::gateway::model_text::ended;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::{cutting, error_preview, preview};
use crate::gateway::servers::identities;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::wire::raw_json::member;

/// How this task ended, as a part of the task: an end without a result is an error. `sight` is terminal.
///
/// # Errors
/// The one answer when the agent does not see it; an internal error when the registry cannot be read.
pub(crate) async fn of_task(
    context: &RequestContext,
    handle: &TaskHandle,
    sight: &AgentView,
) -> Result<TaskEnd, RequestError> {
    match sight {
        AgentView::Completed => match result(context, handle).await? {
            Some((text, form @ (ResultForm::Whole | ResultForm::Trimmed { .. }))) => Ok(TaskEnd::Result { text, form }),
            Some((whole, form @ ResultForm::Slices)) => {
                Ok(TaskEnd::Result { text: preview::of(context, handle, &whole).await?, form })
            }
            None => match withheld(handle) {
                // It was shown as completed before a person decided, and stays that for its agent (statement 69).
                Some(text) => Ok(TaskEnd::Note(note_on(context, handle, &text))),
                None => Ok(TaskEnd::Error(error(&own_error(&ended::failed(&OwnFailure::NoResult)))?)),
            },
        },
        AgentView::Failed => failure(context, handle).await,
        AgentView::Cancelled => Ok(TaskEnd::Error(error(&own_error(&ended::cancelled(handle)))?)),
        AgentView::Gone => Err(RequestError::unknown_task()),
        // Nobody asks for the end of a task that still runs.
        AgentView::Working { .. } | AgentView::InputRequired { .. } => {
            Err(RequestError::new(RequestErrorKind::Internal, "the task has not ended"))
        }
    }
}

/// How this task ended, as the answer to a tool call: what a person or a rule decided is an ordinary result, and for a
/// task that its agent sees no more the answer says what became of it. `sight` is terminal, or gone.
///
/// # Errors
/// As [`of_task`], and why the task is lost.
pub(crate) async fn of_call(
    context: &RequestContext,
    handle: &TaskHandle,
    sight: &AgentView,
) -> Result<TaskEnd, RequestError> {
    match (sight, agent_failure(handle, context.state.clock.now())) {
        (AgentView::Cancelled, _) => Ok(TaskEnd::Note(note_on(context, handle, &ended::cancelled(handle)))),
        (AgentView::Failed, Some(AgentFailure::Ours(OwnFailure::Withheld { reason }))) => {
            Ok(TaskEnd::Note(note_on(context, handle, &ended::withheld(reason.as_deref()))))
        }
        (AgentView::Gone, _) => match why_gone(handle) {
            Some(LostTask::Decided(words)) => Ok(TaskEnd::Note(note_on(context, handle, &words))),
            Some(LostTask::Failed(words)) => Ok(TaskEnd::Error(error(&own_error(&words))?)),
            None => Err(RequestError::unknown_task()),
        },
        _ => of_task(context, handle, sight).await,
    }
}

/// What became of a task that its agent sees no more, in words for a model.
pub(crate) enum LostTask {
    /// A person decided that.
    Decided(String),
    /// It failed by itself.
    Failed(String),
}

/// Why the agent of this task sees it no more; `None` when it does.
pub(crate) fn why_gone(handle: &TaskHandle) -> Option<LostTask> {
    if let Some(wish) = taken_away(handle) {
        return Some(LostTask::Decided(ended::taken_away(wish)));
    }
    match &handle.contact {
        Contact::Gone { why: why @ (GoneWhy::ServerRemoved | GoneWhy::EndedByPerson { .. }), .. } => {
            Some(LostTask::Decided(ended::lost(why)))
        }
        Contact::Gone { why, .. } => Some(LostTask::Failed(ended::lost(why))),
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

/// A sentence of the gateway's as the result of a call of this server's tool.
///
/// It is no error, except where the client may know an output schema of the tool: such a client discards a result that is
/// no error and has no structured content, and the words with it. Clients that know no tasks never get output schemas.
pub(crate) fn note(context: &RequestContext, tool: Option<(ServerId, &str)>, words: &str) -> Payload {
    let may_have_schema = || {
        let listed = tool.and_then(|(server, tool)| context.state.listings.tool(server, tool));
        listed.is_none_or(|tool| member(&tool, "outputSchema").is_some())
    };
    let is_error = context.knows_tasks() && may_have_schema();
    let content = json!([{"type": "text", "text": words}]);
    Payload::new(json!({"content": content, "isError": is_error, "_meta": {META_BRINGS: false}}).to_string())
}

/// As [`note`], for the call of this task.
fn note_on(context: &RequestContext, handle: &TaskHandle, words: &str) -> Payload {
    note(context, handle.tool.as_deref().map(|tool| (handle.server, tool)), words)
}

/// What an agent reads in place of a result that a person withheld.
pub(crate) fn withheld(handle: &TaskHandle) -> Option<String> {
    let Some(ResultHold { verdict: Some(HoldVerdict::Withhold { reason, .. }), .. }) = &handle.hold else {
        return None;
    };
    Some(ended::withheld(reason.as_deref()))
}

/// The result that its agent may read: the whole, also where it gets it in pages, or what it was trimmed to. `None` where
/// there is none for it, whatever the reason.
///
/// # Errors
/// When the registry cannot be read.
pub(crate) async fn readable(
    context: &RequestContext,
    handle: &TaskHandle,
) -> Result<Option<(Payload, ResultForm)>, RequestError> {
    match agent_view(handle, context.state.clock.now()) {
        AgentView::Completed => result(context, handle).await,
        AgentView::Working { .. }
        | AgentView::InputRequired { .. }
        | AgentView::Failed
        | AgentView::Cancelled
        | AgentView::Gone => Ok(None),
    }
}

/// The stored result and the form in which its agent gets it; trimmed where that is the form.
async fn result(context: &RequestContext, handle: &TaskHandle) -> Result<Option<(Payload, ResultForm)>, RequestError> {
    let Some(form) = handle.form() else { return Ok(None) };
    let Some(stored) = context.state.payload(handle.id, PayloadKind::Result).await? else { return Ok(None) };
    let whole = identities::to_agent_text(context, handle.server, Some(handle), stored);
    Ok(Some(match form {
        ResultForm::Whole | ResultForm::Slices => (whole, form),
        ResultForm::Trimmed { tokens } => {
            let family = cutting::family(context, handle);
            let trim = move |scale: &dyn TokenCounter| scale.trim(family, whole.as_str(), tokens);
            (cutting::run(&context.state, handle.id, trim).await?, form)
        }
    }))
}

async fn failure(context: &RequestContext, handle: &TaskHandle) -> Result<TaskEnd, RequestError> {
    let said = match agent_failure(handle, context.state.clock.now()) {
        Some(AgentFailure::Ours(failure)) => own_error(&ended::failed(&failure)),
        Some(AgentFailure::Stored) => match stored(context, handle, PayloadKind::Error).await? {
            Some(raw) => return Ok(TaskEnd::Error(error_preview::of(context, handle, raw).await?)),
            None => servers_error(handle).unwrap_or_else(|| own_error(ended::without_words())),
        },
        None => own_error(ended::without_words()),
    };
    Ok(TaskEnd::Error(error(&said)?))
}

/// The server's error as it was read, where its text was not kept.
fn servers_error(handle: &TaskHandle) -> Option<RpcError> {
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
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_) => None,
    }
}

/// A stored payload with its identities rewritten.
pub(crate) async fn stored(
    context: &RequestContext,
    handle: &TaskHandle,
    kind: PayloadKind,
) -> Result<Option<Box<RawValue>>, RequestError> {
    let payload = context.state.payload(handle.id, kind).await?;
    payload.map(|payload| identities::to_agent(context, handle.server, Some(handle), &payload)).transpose()
}

/// The end as the answer to the call itself.
///
/// # Errors
/// The error that the call ended with.
pub(crate) fn reply(context: &RequestContext, end: TaskEnd) -> Result<Payload, RequestError> {
    match end {
        TaskEnd::Result { text, .. } | TaskEnd::Note(text) => Ok(result_dialect::for_client(context, text)),
        TaskEnd::Error(error) => Err(RequestError::raw(&error)),
    }
}

fn own_error(message: &str) -> RpcError {
    RpcError { code: SERVER_ERROR, message: message.to_owned() }
}

fn error(error: &RpcError) -> Result<Box<RawValue>, RequestError> {
    raw_json::serialize(&json!({"code": error.code, "message": error.message}))
}
