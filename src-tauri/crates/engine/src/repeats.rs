//! Replies that did not reach their agent, so that the same call, made again, joins its task (ruling 24).
//!
//! A row says from its birth that its reply is not delivered. That it was is stored with the next change of the task, or
//! in a batch, because nobody waits for it. What is here is what is known to have failed: the agent hung up, or the core restarted in
//! between. Each is joined once. Which calls are the same is the job key's to say.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::{AgentId, HandleId, JobKey};
use domain::ports::RegistryError;
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;

use crate::core::Core;
use crate::ledger::LedgerError;

/// Receipts that are stored at a time, so that their commits share fsyncs.
const STORED_AT_ONCE: usize = 64;

/// Undelivered replies of one agent at most; the oldest are forgotten. Judgement: a client has a few calls in flight
/// when it is killed, and one that hangs up for ever must not fill the memory.
const PER_AGENT: usize = 1_024;

struct Undelivered {
    job: JobKey,
    id: HandleId,
}

/// Replies that were delivered, and whose rows do not say so yet.
#[derive(Default)]
pub(crate) struct Receipts(Mutex<HashSet<HandleId>>);

impl Receipts {
    /// This reply reached its agent.
    pub(crate) fn leave(&self, id: HandleId) {
        self.0.lock().insert(id);
    }

    /// Takes the receipt of this reply, if there is one.
    pub(crate) fn take(&self, id: HandleId) -> bool {
        self.0.lock().remove(&id)
    }

    fn take_all(&self) -> HashSet<HandleId> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// What a repeated call may join.
#[derive(Default)]
pub(crate) struct Repeats(Mutex<HashMap<AgentId, Vec<Undelivered>>>);

impl Repeats {
    /// This reply did not reach its agent.
    pub(crate) fn failed(&self, handle: &TaskHandle) {
        let (Some(agent), Some(job)) = (handle.agent, handle.job.clone()) else { return };
        let mut open = self.0.lock();
        let mine = open.entry(agent).or_default();
        mine.retain(|entry| entry.id != handle.id);
        if mine.len() >= PER_AGENT {
            mine.remove(0);
        }
        mine.push(Undelivered { job, id: handle.id });
    }

    /// The newest undelivered reply of this job, taken: nobody else joins it. The job is worked out only when there is
    /// something to join.
    pub(crate) fn take(&self, agent: AgentId, job: impl FnOnce() -> JobKey) -> Option<HandleId> {
        let mut open = self.0.lock();
        let mine = open.get_mut(&agent)?;
        let job = job();
        let at = mine.iter().rposition(|entry| entry.job == job)?;
        let taken = mine.remove(at);
        if mine.is_empty() {
            open.remove(&agent);
        }
        Some(taken.id)
    }

    /// This reply reached its agent after all, or the agent waits for it again: nothing joins it.
    pub(crate) fn reached(&self, id: HandleId) {
        self.0.lock().retain(|_, mine| {
            mine.retain(|entry| entry.id != id);
            !mine.is_empty()
        });
    }

    /// Nothing of this agent is joined any more.
    pub(crate) fn forget(&self, agent: AgentId) {
        self.0.lock().remove(&agent);
    }
}

/// Whether a repeated call may join this task at this moment, as the registry shows it.
pub(crate) fn may_join(core: &Core, handle: &TaskHandle, now: Timestamp) -> bool {
    let within = |ended| now.since(ended) <= core.policy.gateway.repeat_within || !core.ages_are_sure();
    let lasts = handle.ended_at().is_none_or(within);
    handle.is_undelivered() && lasts
}

/// Stores receipts, for ever.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        tokio::time::sleep(core.policy.gateway.notes_flush).await;
        flush(&core).await;
    }
}

/// Stores the receipts that are left.
pub(crate) async fn flush(core: &Core) {
    let stored = stream::iter(core.ledger.receipts.take_all()).map(|id| async move {
        match core.ledger.apply(id, TaskHandle::delivered).await {
            Ok(_) | Err(LedgerError::Unknown | LedgerError::Registry(RegistryError::Closed)) => {}
            Err(error) => {
                tracing::warn!(handle.id = %id, %error, "that an agent has its reply could not be stored, trying again");
                core.ledger.receipts.leave(id);
            }
        }
    });
    stored.buffer_unordered(STORED_AT_ONCE).collect::<()>().await;
}
