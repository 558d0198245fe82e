//! What passes between a task and its agent: the handle, the reply, and what it means when either does not arrive.
//!
//! A handle is released only after the registry says so, durably (promise T1). That a reply arrived is told in batches,
//! because nobody waits for it. What the agent sees of its task is the domain's (`agent_sight`); nothing is sent here.

use std::sync::Arc;

use domain::task::decider::Decider;
use domain::task::{TaskHandle, Transition};
use domain::ids::{AgentId, HandleId};
use domain::ports::RegistryError;
use domain::task::status::ServerView;

use crate::admission::released;
use crate::agent_call::HangUp;
use crate::core::Core;
use crate::decide;
use crate::engine::EngineError;
use crate::ledger::LedgerError;
use crate::watch::HandleWatch;

/// Releases the handle to its agent; durable when this returns.
pub(crate) async fn give(core: &Core, id: HandleId) -> Result<Arc<TaskHandle>, EngineError> {
    // That the reply with the handle arrived is another thing, and not known yet.
    let given = core.ledger.apply(id, |handle, now| {
        if handle.given.is_some() { Transition::none(handle) } else { released(Transition::none(handle), now) }
    });
    match given.await {
        Ok(applied) => Ok(applied.handle),
        Err(LedgerError::Unknown | LedgerError::Exists(_)) => Err(EngineError::UnknownHandle),
        Err(LedgerError::Registry(error)) => Err(error.into()),
        Err(LedgerError::Declined(never)) => match never {},
    }
}

/// The agent hung up before it had its reply.
pub(crate) async fn hung_up(core: &Arc<Core>, id: HandleId, how: HangUp) {
    let handle = match core.ledger.load(id).await {
        Ok(Some(handle)) => handle,
        Ok(None) => return,
        Err(error) => return tracing::warn!(handle.id = %id, %error, "a task whose agent hung up cannot be read"),
    };
    if let (HangUp::Cancel, Some(agent), None) = (how, handle.agent, handle.given)
        && is_a_mere_call(&handle)
    {
        let reason = Some("the agent hung up");
        match decide::cancel(core, id, &Decider::Agent(agent), reason).await {
            Ok(()) | Err(EngineError::Refused(_)) => return,
            Err(error) => tracing::warn!(handle.id = %id, %error, "that an agent gave up a call could not be stored"),
        }
    }
    match core.must_apply(id, TaskHandle::undeliver).await {
        Ok(applied) => {
            core.ledger.receipts.take(id);
            core.repeats.failed(&applied.handle);
        }
        Err(LedgerError::Registry(RegistryError::Closed)) => {}
        Err(error) => tracing::warn!(handle.id = %id, %error, "that a reply was not delivered could not be stored"),
    }
}

/// The agent is back for the reply of its own call.
pub(crate) async fn rejoin(core: &Core, agent: AgentId, id: HandleId) -> Result<Option<Arc<TaskHandle>>, EngineError> {
    let own = core.ledger.load(id).await?.filter(|handle| handle.agent == Some(agent));
    if own.is_some() {
        core.repeats.reached(id);
    }
    Ok(own)
}

/// Whether the server has no task for it (yet), so that stopping the call is all there is to stop.
fn is_a_mere_call(handle: &TaskHandle) -> bool {
    match handle.view {
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } | ServerView::Asking { .. } => true,
        ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => false,
    }
}

/// Begins to watch a task; `None` when there is no such task.
pub(crate) async fn watch(core: &Core, id: HandleId) -> Result<Option<HandleWatch>, EngineError> {
    let watching = core.ledger.watchers.watch(id);
    Ok(core.ledger.load(id).await?.map(|handle| watching.from(handle)))
}
