//! Follows one job as a level: every look sees the newest state, and states in between may be missed.
//!
//! News of progress come no closer together than the policy's rest; a change of stage or questions comes at once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::serve::desk::{Job, Pulse};

/// Waits for the next thing worth saying about a job.
pub(super) struct Follower {
    pulse: watch::Receiver<Pulse>,
    seen: Pulse,
    rest: Duration,
    last: Option<Instant>,
}

impl Follower {
    /// Follows `job` from its state now: look at the sheet after this.
    pub(super) fn of(job: &dyn Job, rest: Duration) -> Self {
        let mut pulse = job.pulse();
        let seen = *pulse.borrow_and_update();
        Self { pulse, seen, rest, last: None }
    }

    /// Resolves when the job changed since the last look. `false` when it is gone. Cancel-safe.
    pub(super) async fn changed(&mut self) -> bool {
        let seen = self.seen;
        if self.pulse.wait_for(|pulse| *pulse != seen).await.is_err() {
            return false;
        }
        let left = self.last.map_or(Duration::ZERO, |last| self.rest.saturating_sub(last.elapsed()));
        if !left.is_zero() {
            // Either a turn, or the end of the rest; the job being gone shows at the next look.
            drop(tokio::time::timeout(left, self.pulse.wait_for(|pulse| pulse.turns != seen.turns)).await);
        }
        self.seen = *self.pulse.borrow_and_update();
        self.last = Some(Instant::now());
        true
    }
}
