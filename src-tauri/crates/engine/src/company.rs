//! What goes along with an agent's call over all its rounds: the params of the agent beside name and arguments, what it
//! can be asked, and who hears it.
//!
//! Kept in memory while the call is in the air or asks before it starts; after a restart a further round goes without.
//! The answers of a round are in the registry (`deliver/round.rs`).

use std::collections::HashMap;

use domain::task::TaskHandle;
use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::ports::{Abilities, CallListener};
use domain::task::status::ServerView;
use parking_lot::Mutex;

use crate::agent_call::AgentCall;
use crate::ledger::Ledger;

/// Calls whose company is kept at most; beyond, those that are over are looked for. Far more than are in the air.
const KEPT_MAX: usize = 4_096;

/// What goes along with one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Company {
    pub(crate) agent_params: Option<Payload>,
    pub(crate) abilities: Abilities,
    pub(crate) listener: Option<CallListener>,
}

impl Company {
    pub(crate) fn of(call: &AgentCall) -> Self {
        Self { agent_params: call.agent_params.clone(), abilities: call.abilities, listener: call.listener.clone() }
    }
}

/// The company of all calls of agents that may go another round.
#[derive(Default)]
pub(crate) struct Companies(Mutex<HashMap<HandleId, Company>>);

impl Companies {
    pub(crate) fn keep(&self, id: HandleId, company: Company, ledger: &Ledger) {
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.retain(|id, _| ledger.held(*id).is_some());
        }
        if kept.len() < KEPT_MAX {
            kept.insert(id, company);
        }
    }

    pub(crate) fn get(&self, id: HandleId) -> Company {
        self.0.lock().get(&id).cloned().unwrap_or_default()
    }

    /// A round came back: its company stays only when there will be another.
    pub(crate) fn came_in(&self, id: HandleId, handle: Option<&TaskHandle>) {
        if !handle.is_some_and(goes_on) {
            self.0.lock().remove(&id);
        }
    }
}

fn goes_on(handle: &TaskHandle) -> bool {
    match handle.view {
        ServerView::Asking { .. } => true,
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => false,
    }
}
