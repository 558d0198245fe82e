//! How a new call relates to earlier ones: its parent, its attempt number, and how long it usually takes.
//!
//! Guesses for display only: no right and no wait follows from them, so a read that fails leaves them out. The agent's
//! trace comes first; without one, a call made while a task of the same agent is open counts as its child.

use domain::ids::JobKey;
use domain::task::{Parent, ParentWhy, TaskHandle, UsualDuration};

use crate::calls::agent_call::AgentCall;
use crate::core::EngineCore;

/// What is known at a call's birth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lineage {
    /// The task during which it was called.
    pub(crate) parent: Option<Parent>,
    /// Which attempt of its job it is.
    pub(crate) attempt: u32,
    /// What it usually takes.
    pub(crate) usual: Option<UsualDuration>,
}

/// The lineage of a call that is about to get a row.
pub(crate) async fn of(core: &EngineCore, call: &AgentCall, job: &JobKey) -> Lineage {
    let (usual, attempt) =
        futures::join!(core.registry.usual(call.server, &call.tool, core.policy.usual_samples_min), attempt(core, job));
    let usual = usual.unwrap_or_else(|error| {
        tracing::debug!(%error, "what a tool usually takes cannot be read");
        None
    });
    Lineage { parent: parent(core, call), attempt, usual }
}

/// One more than the newest attempt of the same job.
pub(crate) async fn attempt(core: &EngineCore, job: &JobKey) -> u32 {
    let newest = match core.registry.attempts(job.clone(), 1).await {
        Ok(ids) => ids.first().copied(),
        Err(error) => {
            tracing::debug!(%error, "earlier attempts of a job cannot be read");
            None
        }
    };
    let Some(newest) = newest else { return 1 };
    let before = core.ledger.load(newest).await.ok().flatten().map_or(0, |handle| handle.attempt);
    before.saturating_add(1)
}

fn parent(core: &EngineCore, call: &AgentCall) -> Option<Parent> {
    let of_trace = call.trace.as_deref().map(|trace| core.ledger.of_trace(trace)).unwrap_or_default();
    if let Some(handle) = of_trace.into_iter().max_by_key(|handle| (handle.created, handle.id)) {
        return Some(Parent { id: handle.id, why: ParentWhy::Trace });
    }
    let is_open = |handle: &TaskHandle| handle.given.is_some() && handle.ended_at().is_none();
    let newest = core.ledger.newest_of_agent(call.agent, is_open);
    newest.map(|id| Parent { id, why: ParentWhy::OpenTask })
}
