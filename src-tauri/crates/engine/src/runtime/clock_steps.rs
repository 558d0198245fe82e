//! Detects that somebody set the wall clock, and moves every deadline by as much.
//!
//! Until then the clock port goes on as if nothing had happened, so a step can neither hold an answer back nor expire a
//! task. Afterwards stored ages are not trusted for a while (`time.rs`), and nothing is deleted for its age. What the
//! registry cannot store, as on a full disk, moves in memory at once and is stored later.

use std::sync::Arc;

use futures::stream::{self, StreamExt};

use crate::core::EngineCore;

/// Handles moved at a time: enough for the registry to commit them in one group.
const MOVED_AT_ONCE: usize = 64;

/// Compares the clocks at intervals, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    loop {
        core.time.next_interval(core.policy.clock_look).await;
        compare(&core).await;
    }
}

/// Takes over what the wall clock shows. Deadlines are never early: they move before the clock goes forward, and after
/// it goes back.
async fn compare(core: &EngineCore) {
    core.ledger.store_moved().await;
    let ahead = core.time.clock.wall_ahead_ms();
    let step = i64::try_from(core.policy.clock_step.as_millis()).unwrap_or(i64::MAX);
    if ahead.saturating_abs() < step {
        return core.time.clock.step_by(ahead);
    }
    core.time.note_step();
    let direction = if ahead > 0 { "forward" } else { "back" };
    tracing::warn!(
        step_ms = ahead.saturating_abs(),
        "the clock of this computer was set {direction}; deadlines move with it, and nothing is deleted for its age today"
    );
    if ahead > 0 {
        move_deadlines(core, ahead).await;
        core.time.clock.step_by(ahead);
    } else {
        core.time.clock.step_by(ahead);
        move_deadlines(core, ahead).await;
    }
    // Deliveries that were queued while deadlines moved were measured with the earlier clock.
    for handle in core.ledger.all() {
        if let Some(at) = handle.deliver_at() {
            core.effects.deliveries.push(handle.id, at);
        }
    }
}

async fn move_deadlines(core: &EngineCore, millis: i64) {
    let moved = stream::iter(core.ledger.all()).map(|handle| async move {
        let stored = core.ledger.apply(handle.id, |handle, _| handle.clock_stepped(millis)).await;
        if let Err(error) = stored {
            tracing::warn!(handle.id = %handle.id, %error, "the new deadlines of a task cannot be stored, trying again");
            core.ledger.move_in_memory(handle.id, millis);
        }
    });
    moved.buffer_unordered(MOVED_AT_ONCE).collect::<()>().await;
}
