//! Joins a repeated call to the first one, when the reply of the first did not reach its agent (ruling 24).
//!
//! A row says from its birth that its reply is not delivered. What is here is what is known to have failed: the agent
//! hung up, or the core restarted in between. Each is joined once. Which calls are the same is the job key's to say.

use std::collections::HashMap;

use domain::ids::{AgentId, HandleId, JobKey};
use domain::task::TaskHandle;
use domain::time::Timestamp;
use parking_lot::Mutex;

use crate::core::EngineCore;

/// Undelivered replies of one agent at most; the oldest are forgotten. Judgement: a client has a few calls in flight
/// when it is killed, and one that hangs up for ever must not fill the memory.
const PER_AGENT: usize = 1_024;

struct Undelivered {
    job: JobKey,
    id: HandleId,
}

/// What a repeated call may join.
#[derive(Default)]
pub(crate) struct CallDedup(Mutex<HashMap<AgentId, Vec<Undelivered>>>);

impl CallDedup {
    /// This reply did not reach its agent.
    pub(crate) fn not_delivered(&self, handle: &TaskHandle) {
        let (Some(agent), Some(job)) = (handle.agent, handle.job.clone()) else { return };
        let mut open = self.0.lock();
        let mine = open.entry(agent).or_default();
        mine.retain(|entry| entry.id != handle.id);
        if mine.len() >= PER_AGENT {
            mine.remove(0);
        }
        mine.push(Undelivered { job, id: handle.id });
    }

    /// Whether there is any undelivered reply of this agent.
    pub(crate) fn has_any(&self, agent: AgentId) -> bool {
        self.0.lock().contains_key(&agent)
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
    pub(crate) fn delivered(&self, id: HandleId) {
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

/// Whether a repeated call may join this task at this moment, as the registry shows it: while it is open, and while a
/// reply that is ready is so young that its program may be repeating the call. An age that cannot be trusted after the
/// clock was set counts as young: a tool that runs twice is worse.
pub(crate) fn may_join(core: &EngineCore, handle: &TaskHandle, now: Timestamp) -> bool {
    let is_young = |ready| now.since(ready) <= core.policy.gateway.repeat_within || !core.time.ages_are_sure();
    handle.is_undelivered() && handle.reply_ready_at().is_none_or(is_young)
}
