//! Slots in which results are counted for their limits: few at a time, and of one agent one.
//!
//! A result waits for its slot before its commit, so nobody waits for ever: what comes too late is not counted, and
//! `limits.rs` takes its upper bound. Whoever waited longest is next, and of each agent only one waits among the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::AgentId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Results that are counted at a time. Judgement: two cores' worth; more would only slow each other down.
const COUNTED_AT_A_TIME: usize = 2;

/// Results of one agent that are counted at a time. Judgement: it leaves a slot to others.
const COUNTED_OF_ONE_AGENT: usize = 1;

pub(crate) struct ResultSlots {
    all: Semaphore,
    /// The agents with a result that is counted or waits for that.
    agents: Mutex<HashMap<AgentId, Arc<Semaphore>>>,
}

/// The right to count one result.
pub(crate) struct ResultSlot<'a> {
    _own: OwnedSemaphorePermit,
    _all: SemaphorePermit<'a>,
}

impl Default for ResultSlots {
    fn default() -> Self {
        Self { all: Semaphore::new(COUNTED_AT_A_TIME), agents: Mutex::default() }
    }
}

impl ResultSlots {
    /// A slot for a result of this agent; `None` when there was none for so long.
    pub(crate) async fn acquire(&self, agent: AgentId, patience: Duration) -> Option<ResultSlot<'_>> {
        let own = self.of_agent(agent);
        let slot = async {
            let own = own.acquire_owned().await.ok()?;
            let all = self.all.acquire().await.ok()?;
            Some(ResultSlot { _own: own, _all: all })
        };
        timeout(patience, slot).await.ok().flatten()
    }

    fn of_agent(&self, agent: AgentId) -> Arc<Semaphore> {
        let mut agents = self.agents.lock();
        // Whoever waits or counts holds a clone.
        agents.retain(|_, own| Arc::strong_count(own) > 1);
        Arc::clone(agents.entry(agent).or_insert_with(|| Arc::new(Semaphore::new(COUNTED_OF_ONE_AGENT))))
    }
}
