//! Holds the results of what an agent has open when it is paused, where a person wants that.
//!
//! Its new calls wait, so nothing else can bring a result meanwhile. Held results stay held when the pause ends: a person
//! decides about each, as about any held result.

use domain::ids::{AgentId, HandleId};
use domain::server::pause::Pause;
use domain::task::Transition;
use domain::task::decider::Decider;

use crate::core::EngineCore;

/// Holds what is open of this agent, calls without a row included: they get theirs.
pub(super) async fn results_of(core: &EngineCore, pause: &Pause, agent: AgentId) {
    let in_flight = core.connections.all();
    let rows = in_flight.iter().flat_map(|connection| connection.in_flight_of(agent)).map(|(id, call)| async move {
        let row = tokio::time::timeout(core.policy.cancel_grace, call.row()).await;
        // One that ended meanwhile has its reply.
        row.is_ok_and(|is_there| is_there).then_some(id)
    });
    let recorded = futures::future::join_all(rows).await.into_iter().flatten();
    let mut open: Vec<HandleId> = core.ledger.of_agent(agent).iter().map(|handle| handle.id).collect();
    open.extend(recorded);
    open.sort_unstable();
    open.dedup();
    let by = Decider::from(&pause.by);
    let held = open.into_iter().map(|id| {
        let by = &by;
        async move {
            let held = core.ledger.apply(id, |handle, now| {
                // What waits at the gate is not sent meanwhile, and its result is not the pause's to hold.
                let may_be_held = !handle.view.is_gated();
                let step = may_be_held.then(|| handle.hold(by, now).ok()).flatten();
                step.unwrap_or_else(|| Transition::none(handle))
            });
            if let Err(error) = held.await {
                tracing::warn!(handle.id = %id, %error, "the result of a paused agent's task could not be held");
            }
        }
    });
    futures::future::join_all(held).await;
}
