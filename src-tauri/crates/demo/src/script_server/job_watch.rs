//! Watches one job: each wake-up sees the newest state, and states in between may be missed.
//!
//! Progress is reported no more often than the policy allows; a change of stage or questions is reported at once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::script_server::script::{JobRevision, ScriptJob};

/// Waits for the next change of a job that clients should see.
pub(super) struct JobWatch {
    revision: watch::Receiver<JobRevision>,
    seen: JobRevision,
    rest: Duration,
    last: Option<Instant>,
}

impl JobWatch {
    /// Follows `job` from its state now: look at the snapshot after this.
    pub(super) fn of(job: &dyn ScriptJob, rest: Duration) -> Self {
        let mut revision = job.revision();
        let seen = *revision.borrow_and_update();
        Self { revision, seen, rest, last: None }
    }

    /// Resolves when the job changed since the last look. `false` when it is gone. Cancel-safe.
    pub(super) async fn changed(&mut self) -> bool {
        let seen = self.seen;
        if self.revision.wait_for(|revision| *revision != seen).await.is_err() {
            return false;
        }
        let left = self.last.map_or(Duration::ZERO, |last| self.rest.saturating_sub(last.elapsed()));
        if !left.is_zero() {
            // Either a turn, or the end of the rest; the job being gone shows at the next look.
            drop(tokio::time::timeout(left, self.revision.wait_for(|revision| revision.turns != seen.turns)).await);
        }
        self.seen = *self.revision.borrow_and_update();
        self.last = Some(Instant::now());
        true
    }
}
