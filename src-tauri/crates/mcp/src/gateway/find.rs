//! Finds a task for the agent that names it: its own, or none.
//!
//! Unknown, expired, revoked and foreign are one answer, and cost the same look (protocol.md §6.1): a task of another
//! agent is read from the registry as an unknown one would be, though it may be in memory. Nothing upstream is asked.

use std::sync::Arc;

use domain::task::{AgentView, TaskHandle, agent_view};
use domain::ids::HandleId;
use domain::ports::RegistryError;

use super::guest::Guest;
use super::model_text::access;
use super::outcome::{self, Gone};
use super::{Gate, service};
use crate::server::RequestParams;
use crate::server::rpc_error::RequestError;

/// Characters of a handle after its prefix that name it in texts for models, while they are its agent's only such.
const SHORT: usize = 8;

/// The task that `params.taskId` names.
///
/// # Errors
/// The one answer, when it is not a task of this agent.
pub(super) async fn named(gate: &Gate, guest: &Guest, params: &RequestParams) -> Result<Arc<TaskHandle>, RequestError> {
    let id = params.text("taskId").ok_or_else(|| RequestError::params("`taskId` must be a text"))?;
    task(gate, guest, &id).await
}

/// The task of this whole id.
///
/// # Errors
/// The one answer, when it is not a task of this agent.
pub(super) async fn task(gate: &Gate, guest: &Guest, id: &str) -> Result<Arc<TaskHandle>, RequestError> {
    let id: HandleId = id.parse().map_err(|_| RequestError::unknown_task())?;
    if let Some(handle) = gate.engine.task(id).filter(|handle| is_for(gate, guest, handle)) {
        return Ok(handle);
    }
    let stored = gate.registry.handle(id).await.map_err(|error| service::unreadable(&error))?;
    stored.map(Arc::new).filter(|handle| is_for(gate, guest, handle)).ok_or_else(RequestError::unknown_task)
}

/// The task that a model names in words: a whole id, or the beginning of one of its own.
///
/// # Errors
/// The one answer, when it is not exactly one task of this agent.
pub(super) async fn in_words(gate: &Gate, guest: &Guest, text: &str) -> Result<Arc<TaskHandle>, RequestError> {
    let text = text.trim();
    if text.parse::<HandleId>().is_ok() {
        return task(gate, guest, text).await;
    }
    if !is_short(text) {
        return Err(RequestError::unknown_task());
    }
    let mut found = beginning(gate, guest, text).await?;
    match (found.pop(), found.pop()) {
        (Some(only), None) => Ok(only),
        (None, _) | (Some(_), Some(_)) => Err(RequestError::unknown_task()),
    }
}

/// Why [`in_words`] found no task, in words for the model, and whether that is a mistake of its own. A task that was taken
/// from its agent, or is lost, is told to it alone.
pub(super) async fn why_none(gate: &Gate, guest: &Guest, text: &str) -> (String, bool) {
    let unknown = || (access::unknown_task().to_owned(), true);
    let Ok(mut gone) = gone_tasks(gate, guest, text.trim()).await else { return unknown() };
    match (gone.pop(), gone.pop()) {
        (Some(only), None) => match outcome::why_gone(&only) {
            Some(Gone::Decided(words)) => (words, false),
            Some(Gone::Lost(words)) => (words, true),
            None => unknown(),
        },
        (None, _) | (Some(_), Some(_)) => unknown(),
    }
}

/// The agent's own tasks with this id, or whose id begins so, that it sees no more.
async fn gone_tasks(gate: &Gate, guest: &Guest, text: &str) -> Result<Vec<TaskHandle>, RegistryError> {
    let ids = match text.parse::<HandleId>() {
        Ok(id) => vec![id],
        Err(_) if is_short(text) => gate.registry.handles_starting(text, gate.policy.gateway.repeats_max).await?,
        Err(_) => Vec::new(),
    };
    let mut gone = Vec::new();
    for id in ids {
        let stored = gate.registry.handle(id).await?;
        gone.extend(stored.filter(|handle| is_own(guest, handle)));
    }
    Ok(gone)
}

/// Whether the text can be the beginning of a handle.
fn is_short(text: &str) -> bool {
    text.len() >= HandleId::PREFIX.len() + SHORT && text.starts_with(HandleId::PREFIX)
}

/// How a model calls this task: its first characters while they are unique for its agent, else the whole id.
pub(super) async fn short(gate: &Gate, guest: &Guest, id: HandleId) -> String {
    let whole = id.to_string();
    let Some(short) = whole.get(..HandleId::PREFIX.len() + SHORT) else { return whole };
    match beginning(gate, guest, short).await {
        Ok(alike) if alike.len() <= 1 => short.to_owned(),
        Ok(_) | Err(_) => whole,
    }
}

/// The agent's tasks whose id begins so; two are enough to know that it is not unique.
async fn beginning(gate: &Gate, guest: &Guest, text: &str) -> Result<Vec<Arc<TaskHandle>>, RequestError> {
    let most = gate.policy.gateway.repeats_max;
    let ids = gate.registry.handles_starting(text, most).await.map_err(|error| service::unreadable(&error))?;
    let mut found = Vec::new();
    for id in ids {
        if let Ok(handle) = task(gate, guest, &id.to_string()).await {
            found.push(handle);
        }
    }
    Ok(found)
}

/// Whether the task is the agent's, behind this door, and not taken from it.
fn is_for(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> bool {
    is_own(guest, handle) && agent_view(handle, gate.clock.now()) != AgentView::Gone
}

/// Whether the task is the agent's, behind this door.
fn is_own(guest: &Guest, handle: &TaskHandle) -> bool {
    handle.agent == Some(guest.agent) && guest.server.is_none_or(|server| server == handle.server)
}
