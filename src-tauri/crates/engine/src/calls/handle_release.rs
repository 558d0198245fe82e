//! Releasing a handle to its agent, and what it means when the handle or the reply does not arrive.
//!
//! A handle is released only after the registry says so, durably (promise T1). What the agent sees of its task is the
//! domain's (`agent_view`). Replies that arrived are noted in `tasks/delivery_receipts.rs`.

use std::sync::Arc;

use domain::ids::{AgentId, HandleId};
use domain::ports::RegistryError;
use domain::task::decider::Decider;
use domain::task::{TaskHandle, Transition};

use crate::calls::agent_call::HangUp;
use crate::connections::call_reply::released;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::{EngineError, LedgerError};

impl Engine {
    /// Releases a handle to its agent; durable when this returns. Nothing is stored a second time.
    ///
    /// # Errors
    /// When there is no such task, or the registry cannot store it: then the handle must not leave.
    pub async fn give(&self, id: HandleId) -> Result<Arc<TaskHandle>, EngineError> {
        // Whether the reply with the handle arrives is not known yet.
        let given = self.core.ledger.apply(id, |handle, now| {
            if handle.given.is_some() { Transition::none(handle) } else { released(Transition::none(handle), now) }
        });
        Ok(given.await?.handle)
    }

    /// The agent hung up after there was a row and before it had its reply.
    pub async fn hung_up(&self, id: HandleId, how: HangUp) {
        hung_up(&self.core, id, how).await;
    }

    /// The agent is back for the reply of its own call: no repeated call joins it any more. `None` when it has no such
    /// call.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn rejoin(&self, agent: AgentId, id: HandleId) -> Result<Option<Arc<TaskHandle>>, EngineError> {
        let own = self.core.ledger.load(id).await?.filter(|handle| handle.agent == Some(agent));
        if own.is_some() {
            self.core.calls.dedup.delivered(id);
        }
        Ok(own)
    }

    /// The reply of a call with a row went out, be it a result, an error or a handle: a repeated call is a new one.
    pub fn delivered(&self, id: HandleId) {
        self.core.ledger.receipts.add(id);
        self.core.calls.dedup.delivered(id);
    }
}

/// The agent hung up before it had its reply: cancels a call without a task, or lets a repeated call join it.
pub(crate) async fn hung_up(core: &EngineCore, id: HandleId, how: HangUp) {
    let handle = match core.ledger.load(id).await {
        Ok(Some(handle)) => handle,
        Ok(None) => return,
        Err(error) => return tracing::warn!(handle.id = %id, %error, "a task whose agent hung up cannot be read"),
    };
    if let (HangUp::Cancel, Some(agent), None) = (how, handle.agent, handle.given)
        && handle.view.is_before_task()
    {
        let by = Decider::Agent(agent);
        let reason = Some("the agent hung up");
        match core.ledger.decide(id, |handle, now| handle.cancel(&by, reason, now).map(|step| (step, ()))).await {
            Ok(_) => {
                // The delivery of the cancel opens the connection again where that is needed.
                let connection = core.connections.of(&handle);
                return connection.iter().for_each(|connection| connection.connect_unless_open());
            }
            Err(LedgerError::Declined(_)) => return,
            Err(error) => {
                tracing::warn!(handle.id = %id, %error, "that an agent gave up a call could not be stored");
            }
        }
    }
    match core.must_apply(id, TaskHandle::undeliver).await {
        Ok(applied) => {
            core.ledger.receipts.take(id);
            core.calls.dedup.not_delivered(&applied.handle);
        }
        Err(LedgerError::Registry(RegistryError::Closed)) => {}
        Err(error) => tracing::warn!(handle.id = %id, %error, "that a reply was not delivered could not be stored"),
    }
}
