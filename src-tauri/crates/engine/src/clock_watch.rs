//! Sees that somebody set the wall clock, and moves every deadline by as much.
//!
//! Until then the clock port goes on as if nothing had happened, so a step can neither hold an answer back nor expire a
//! task. Afterwards ages that were stored before it are not trusted for a while, and nothing is deleted for its age.
//! What moves is decided in `domain::task`; reading both clocks is the port's.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::core::Core;

/// Handles moved at a time: enough for the registry to commit them in one group.
const MOVED_AT_ONCE: usize = 64;

/// When the wall clock was last seen to step.
#[derive(Default)]
pub(crate) struct ClockSteps(Mutex<Option<Instant>>);

impl ClockSteps {
    /// A step was seen.
    pub(crate) fn note(&self) {
        *self.0.lock() = Some(Instant::now());
    }
}

impl Core {
    /// Whether the age of something stored can be trusted. After a step of the clock it cannot for a while, and nothing
    /// may be deleted or ended for its age.
    pub(crate) fn ages_are_sure(&self) -> bool {
        self.clock_steps.0.lock().is_none_or(|at| at.elapsed() >= self.policy.clock_trust_after)
    }
}

/// Compares the clocks for ever.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        tokio::time::sleep(core.policy.clock_look).await;
        compare(&core).await;
    }
}

/// Takes over what the wall clock shows. Deadlines are never early meanwhile: they move before the clock goes forward,
/// and after it goes back.
async fn compare(core: &Core) {
    let ahead = core.clock.wall_ahead_ms();
    let step = i64::try_from(core.policy.clock_step.as_millis()).unwrap_or(i64::MAX);
    if ahead.saturating_abs() < step {
        return core.clock.step_by(ahead);
    }
    core.clock_steps.note();
    let direction = if ahead > 0 { "forward" } else { "back" };
    tracing::warn!(
        step_ms = ahead.saturating_abs(),
        "the clock of this computer was set {direction}; deadlines move with it, and nothing is deleted for its age today"
    );
    if ahead > 0 {
        move_deadlines(core, ahead).await;
        core.clock.step_by(ahead);
    } else {
        core.clock.step_by(ahead);
        move_deadlines(core, ahead).await;
    }
    // What the deliverer was told while deadlines moved, it measured with the clock of before.
    for handle in core.ledger.all() {
        if let Some(at) = handle.deliver_at() {
            core.parcels.leave(handle.id, at);
        }
    }
}

async fn move_deadlines(core: &Core, millis: i64) {
    let moved = stream::iter(core.ledger.all()).map(|handle| async move {
        let stored = core.ledger.apply(handle.id, |handle, _| handle.clock_stepped(millis)).await;
        if let Err(error) = stored {
            tracing::warn!(handle.id = %handle.id, %error, "the deadlines of a task could not be moved");
        }
    });
    moved.buffer_unordered(MOVED_AT_ONCE).collect::<()>().await;
}
