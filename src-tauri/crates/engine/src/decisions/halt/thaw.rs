//! Gives questions back the time for which they stood still.
//!
//! The stage is recorded first. A task that was not changed since then is moved at the next start, when the core ended in
//! between.

use domain::server::halt::{Halt, HaltEffect};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};

use crate::access::halt_gate::work_of;
use crate::core::EngineCore;

/// Moves the deadlines of questions that were frozen until `lifted`, and wakes their answers.
pub(super) async fn thaw(core: &EngineCore, halt: &Halt, lifted: Timestamp) {
    let moved = stream::iter(core.ledger.all()).map(|handle| async move {
        let stored = core.ledger.apply(handle.id, |handle, _| {
            let frozen = match handle.asked_since() {
                Some(since) if handle.changed < lifted => halt.frozen_between(work_of(handle), since, lifted),
                Some(_) | None => std::time::Duration::ZERO,
            };
            handle.thawed(frozen, lifted)
        });
        if let Err(error) = stored.await {
            tracing::warn!(handle.id = %handle.id, %error, "the time of frozen questions could not be given back");
        }
    });
    moved.buffer_unordered(core.policy.halt.cancels_at_once).collect::<()>().await;
    wake(core);
}

/// Answers and rounds that waited for the end of a halt are looked at again.
pub(super) fn wake(core: &EngineCore) {
    for handle in core.ledger.all() {
        if let Some(at) = handle.deliver_at() {
            core.effects.deliveries.push(handle.id, at);
        }
    }
}

/// Does what an earlier run may have left between the stage and this.
pub(crate) async fn go_on(core: &EngineCore) {
    let Some(halt) = core.gate.newest() else { return };
    let lifted = halt.orders.iter().filter_map(|order| order.lifted.get(&HaltEffect::Requests)).max();
    if let Some(lifted) = lifted {
        thaw(core, &halt, *lifted).await;
    }
}
