//! Finds a task for the agent that names it: its own, or none.
//!
//! Unknown, expired, revoked and foreign are one answer and cost the same lookup (protocol.md §6.1): a task of another
//! agent is read from the registry as an unknown one would be, even if it is in memory. No server is asked.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::task::{AgentView, TaskHandle, agent_view};

use crate::gateway::engine_errors;
use crate::gateway::model_text::access;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome;
use crate::gateway::results::outcome::LostTask;
use crate::server::RequestParams;
use crate::server::rpc_error::RequestError;

/// Characters of a handle after its prefix that name it in texts for models, while no other task of the agent has them.
const SHORT: usize = 8;

/// The task that `params.taskId` names.
///
/// # Errors
/// The one answer, when it is not a task of this agent.
pub(crate) async fn named(context: &RequestContext, params: &RequestParams) -> Result<Arc<TaskHandle>, RequestError> {
    let id = params.text("taskId").ok_or_else(|| RequestError::params("`taskId` must be a text"))?;
    task(context, &id).await
}

/// The task of this whole id, from an agent that names it.
///
/// # Errors
/// The one answer, when it is not a task of this agent.
pub(crate) async fn task(context: &RequestContext, id: &str) -> Result<Arc<TaskHandle>, RequestError> {
    find(context, id).await.inspect(|handle| mark_delivered(context, handle))
}

/// The agent has the handle of this task, so the same call again is a new one.
fn mark_delivered(context: &RequestContext, handle: &TaskHandle) {
    if handle.undelivered.is_some() {
        context.state.engine.delivered(handle.id);
    }
}

async fn find(context: &RequestContext, id: &str) -> Result<Arc<TaskHandle>, RequestError> {
    let id: HandleId = id.parse().map_err(|_| RequestError::unknown_task())?;
    if let Some(handle) = context.state.engine.task(id).filter(|handle| is_visible(context, handle)) {
        return Ok(handle);
    }
    let stored = context.state.registry.handle(id).await.map_err(|error| engine_errors::unreadable(&error))?;
    stored.map(Arc::new).filter(|handle| is_visible(context, handle)).ok_or_else(RequestError::unknown_task)
}

/// The task that a model names: by its whole id, or by the beginning of the id.
///
/// # Errors
/// The one answer, when it is not exactly one task of this agent.
pub(crate) async fn by_words(context: &RequestContext, text: &str) -> Result<Arc<TaskHandle>, RequestError> {
    let text = text.trim();
    if text.parse::<HandleId>().is_ok() {
        return task(context, text).await;
    }
    if !is_short(text) {
        return Err(RequestError::unknown_task());
    }
    let mut found = beginning(context, text).await?;
    match (found.pop(), found.pop()) {
        (Some(only), None) => {
            mark_delivered(context, &only);
            Ok(only)
        }
        (None, _) | (Some(_), Some(_)) => Err(RequestError::unknown_task()),
    }
}

/// Why [`by_words`] found no task. That a task was taken from its agent, or is lost, is told to that agent alone.
pub(crate) async fn why_none(context: &RequestContext, text: &str) -> LostTask {
    let mut gone = gone_tasks(context, text.trim()).await.unwrap_or_default();
    let why = match (gone.pop(), gone.pop()) {
        (Some(only), None) => outcome::why_gone(&only),
        (None, _) | (Some(_), Some(_)) => None,
    };
    why.unwrap_or_else(|| LostTask::Failed(access::unknown_task().to_owned()))
}

/// The agent's own tasks with this id, or whose id begins with it, whether it still sees them or not.
async fn gone_tasks(context: &RequestContext, text: &str) -> Result<Vec<TaskHandle>, RegistryError> {
    let ids = match text.parse::<HandleId>() {
        Ok(id) => vec![id],
        Err(_) if is_short(text) => {
            context.state.registry.handles_starting(text, context.state.policy.gateway.repeats_max).await?
        }
        Err(_) => Vec::new(),
    };
    let mut gone = Vec::new();
    for id in ids {
        let stored = context.state.registry.handle(id).await?;
        gone.extend(stored.filter(|handle| is_own(context, handle)));
    }
    Ok(gone)
}

/// Whether the text can be the beginning of a handle.
fn is_short(text: &str) -> bool {
    text.len() >= HandleId::PREFIX.len() + SHORT && text.starts_with(HandleId::PREFIX)
}

/// The id in texts for models: its first characters while no other task of the agent has them, else the whole.
pub(crate) async fn short_id(context: &RequestContext, id: HandleId) -> String {
    let whole = id.to_string();
    let Some(short) = whole.get(..HandleId::PREFIX.len() + SHORT) else { return whole };
    match beginning(context, short).await {
        Ok(alike) if alike.len() <= 1 => short.to_owned(),
        Ok(_) | Err(_) => whole,
    }
}

/// The agent's tasks whose id begins with this; two are enough to know that it is not unique.
async fn beginning(context: &RequestContext, text: &str) -> Result<Vec<Arc<TaskHandle>>, RequestError> {
    let most = context.state.policy.gateway.repeats_max;
    let ids =
        context.state.registry.handles_starting(text, most).await.map_err(|error| engine_errors::unreadable(&error))?;
    let mut found = Vec::new();
    for id in ids {
        if let Ok(handle) = find(context, &id.to_string()).await {
            found.push(handle);
        }
    }
    Ok(found)
}

/// Whether the task is the agent's, at this endpoint, and not taken from it.
fn is_visible(context: &RequestContext, handle: &TaskHandle) -> bool {
    is_own(context, handle) && agent_view(handle, context.state.clock.now()) != AgentView::Gone
}

/// Whether the task is the agent's, at this endpoint.
fn is_own(context: &RequestContext, handle: &TaskHandle) -> bool {
    handle.agent == Some(context.agent) && context.server.is_none_or(|server| server == handle.server)
}
