//! `tasks/*` of 2026-07-28: get, update, cancel, and the task that a call becomes.
//!
//! Read from memory and the registry, never from a server. A client that does not declare the extension in this very
//! request has no tasks here (protocol.md §2.6). The engine records answers and cancels; acknowledging says no more than
//! that.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::decider::Decider;
use domain::task::payload::PayloadKind;
use domain::task::{AgentView, TaskHandle, agent_view};
use engine::EngineError;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::modern_task::{ModernTaskFields, TaskEnd};
use crate::gateway::conversion::{modern_task, result_dialect};
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome;
use crate::gateway::tasks::{lookup, modern_elicitation};
use crate::server::RequestParams;
use crate::server::rpc_error::RequestError;

/// The task that a request names, from a client that declares the extension.
async fn named(context: &RequestContext, params: &RequestParams) -> Result<Arc<TaskHandle>, RequestError> {
    if !context.accepts_tasks() {
        return Err(RequestError::needs_tasks());
    }
    lookup::named(context, params).await
}

/// `tasks/get`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(crate) async fn get(
    context: &RequestContext,
    params: &RequestParams,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let handle = named(context, params).await?;
    whole(context, &handle, TaskDelivery::Polled, usage).await
}

/// How a task comes to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskDelivery {
    Polled,
    Pushed,
}

/// The whole task as its agent sees it now.
///
/// # Errors
/// The one answer, when the agent does not see it; an internal error, when it cannot be read.
pub(crate) async fn whole(
    context: &RequestContext,
    handle: &TaskHandle,
    delivery: TaskDelivery,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    usage.set_task(handle);
    let now = context.state.clock.now();
    let sight = agent_view(handle, now);
    let kind = match delivery {
        TaskDelivery::Polled => Some("complete"),
        TaskDelivery::Pushed => None,
    };
    let write = |fields| modern_task::task(handle, kind, fields, now, &context.state.policy)?.finish();
    let interval = (delivery == TaskDelivery::Polled).then(|| usage.poll_interval(handle));
    let mut fields = ModernTaskFields { interval, ..ModernTaskFields::default() };
    if handle.view.task().is_some() {
        fields.theirs = outcome::stored(context, handle, PayloadKind::Task).await?;
    }
    let end = match &sight {
        AgentView::Completed | AgentView::Failed => match outcome::of_task(context, handle, &sight).await? {
            TaskEnd::Result { text, form } => TaskEnd::Result { text: result_dialect::complete_text(text), form },
            TaskEnd::Note(text) => TaskEnd::Note(result_dialect::complete_text(text)),
            TaskEnd::Error(error) => TaskEnd::Error(error),
        },
        AgentView::InputRequired { keys } => {
            fields.asks = Some(modern_elicitation::input_requests(&context.state, handle, keys).await?);
            let task = write(fields)?;
            report(usage, handle, &task, None, delivery);
            return Ok(task);
        }
        AgentView::Working { .. } | AgentView::Cancelled | AgentView::Gone => {
            let task = write(fields)?;
            report(usage, handle, &task, None, delivery);
            return Ok(task);
        }
    };
    let bare = write(ModernTaskFields { theirs: fields.theirs.clone(), interval, ..ModernTaskFields::default() })?;
    report(usage, handle, &bare, Some(&end), delivery);
    fields.end = Some(end);
    write(fields)
}

/// Reports the task without its end, and the end. A result that was pushed and is then fetched counts once, because its
/// client shows it once.
fn report(
    usage: &mut UsageReport<'_>,
    handle: &TaskHandle,
    bare: &RawValue,
    end: Option<&TaskEnd>,
    delivery: TaskDelivery,
) {
    let was_pushed = match delivery {
        TaskDelivery::Polled => usage.add_poll(handle, bare),
        TaskDelivery::Pushed => {
            usage.add_shown_task(handle, bare, end.is_some());
            false
        }
    };
    if let Some(end) = end.filter(|_| !was_pushed) {
        usage.add_end(end);
    }
}

/// The task that a call has become, with the server's fields that the gateway does not know.
///
/// # Errors
/// The one answer, when the agent sees it no more.
pub(crate) async fn created(context: &RequestContext, handle: &TaskHandle) -> Result<Box<RawValue>, RequestError> {
    let theirs = outcome::stored(context, handle, PayloadKind::Task).await?;
    let fields = ModernTaskFields { theirs, ..ModernTaskFields::default() };
    modern_task::task(handle, Some("task"), fields, context.state.clock.now(), &context.state.policy)?.finish()
}

/// `tasks/update`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(crate) async fn update(context: &RequestContext, params: &RequestParams) -> Result<Box<RawValue>, RequestError> {
    let handle = named(context, params).await?;
    let responses = params.get("inputResponses").unwrap_or_default();
    modern_elicitation::answer(context, &handle, responses).await?;
    result_dialect::own(context, &json!({}))
}

/// `tasks/cancel`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(crate) async fn cancel(context: &RequestContext, params: &RequestParams) -> Result<Box<RawValue>, RequestError> {
    let handle = named(context, params).await?;
    request_cancel(context, handle.id).await?;
    result_dialect::own(context, &json!({}))
}

/// Records that the agent wants the task cancelled. One that has ended, or was cancelled before, is acknowledged as well.
///
/// # Errors
/// When it cannot be recorded.
pub(crate) async fn request_cancel(context: &RequestContext, id: HandleId) -> Result<(), RequestError> {
    match context.state.engine.cancel(id, Decider::Agent(context.agent), None).await {
        Ok(()) | Err(EngineError::Refused(_)) => Ok(()),
        Err(error) => Err(engine_errors::fault(&error)),
    }
}
