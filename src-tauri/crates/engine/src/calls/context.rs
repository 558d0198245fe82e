//! The context of an agent's call over all its rounds: other params, what the agent can be asked, and its listener.
//!
//! Kept in memory while the call is in flight or asks before it starts; after a restart a further round goes without.
//! The answers of a round are in the registry (`decisions/deliver/input_round.rs`).

use std::collections::HashMap;

use domain::ids::HandleId;
use domain::ports::{Abilities, CallListener};
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use parking_lot::Mutex;

use crate::calls::agent_call::AgentCall;
use crate::tasks::ledger::TaskLedger;

/// Calls whose context is kept; beyond this, those that ended are removed. Judgement: far more than are in flight.
const KEPT_MAX: usize = 4_096;

/// What every round of a call carries.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallContext {
    pub(crate) agent_params: Option<Payload>,
    pub(crate) abilities: Abilities,
    pub(crate) listener: Option<CallListener>,
}

impl CallContext {
    pub(crate) fn of(call: &AgentCall) -> Self {
        Self { agent_params: call.agent_params.clone(), abilities: call.abilities, listener: call.listener.clone() }
    }
}

/// The contexts of all agent calls that may have another round.
#[derive(Default)]
pub(crate) struct CallContexts(Mutex<HashMap<HandleId, CallContext>>);

impl CallContexts {
    pub(crate) fn insert(&self, id: HandleId, context: CallContext, ledger: &TaskLedger) {
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.retain(|id, _| ledger.held(*id).is_some());
        }
        if kept.len() < KEPT_MAX {
            kept.insert(id, context);
        }
    }

    pub(crate) fn get(&self, id: HandleId) -> CallContext {
        self.0.lock().get(&id).cloned().unwrap_or_default()
    }

    /// A round has its reply: the context stays only when there will be another.
    pub(crate) fn round_finished(&self, id: HandleId, handle: Option<&TaskHandle>) {
        if !handle.is_some_and(|handle| handle.view.has_another_round()) {
            self.0.lock().remove(&id);
        }
    }
}
