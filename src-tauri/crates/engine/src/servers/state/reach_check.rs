//! When a connection checks that its server still answers: an agent's own connection did not reach it, or its stream broke.
//!
//! One check at a time, and a pause between two: an agent that fails all the time causes no more of them. What a check
//! asks and what follows from its answer is in `servers/circuit_breaker.rs`.

use std::time::Duration;

use tokio::time::Instant;

/// The checks of one connection.
#[derive(Default)]
pub(crate) struct ReachCheck {
    due: Option<Instant>,
    /// When the last one began.
    began: Option<Instant>,
    is_running: bool,
}

impl ReachCheck {
    /// A check is wanted: at once, or when the pause after the last one is over.
    pub(crate) fn want(&mut self, now: Instant, pause: Duration) {
        let earliest = self.began.map_or(now, |began| began + pause);
        self.due.get_or_insert(earliest.max(now));
    }

    /// Whether a check is to begin now; it has begun then.
    pub(crate) fn begins(&mut self, now: Instant) -> bool {
        let begins = self.next().is_some_and(|due| due <= now);
        if begins {
            *self = Self { due: None, began: Some(now), is_running: true };
        }
        begins
    }

    /// The check that ran is over.
    pub(crate) fn end(&mut self) {
        self.is_running = false;
    }

    /// When the next one begins; not while one runs.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.filter(|_| !self.is_running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn however_often_a_check_is_wanted_one_runs_at_a_time_and_the_next_begins_after_the_pause() {
        let mut check = ReachCheck::default();
        let start = Instant::now();
        check.want(start, PAUSE);
        assert!(check.begins(start), "the first one begins at once");
        for _ in 0..1_000 {
            check.want(start, PAUSE);
        }
        assert!(!check.begins(start + PAUSE), "not while one runs");
        check.end();
        assert!(!check.begins(start + PAUSE / 2), "nor before the pause is over");
        assert_eq!(check.next(), Some(start + PAUSE));
        assert!(check.begins(start + PAUSE), "but what was wanted meanwhile is not forgotten");
        check.end();
        assert_eq!(check.next(), None, "a thousand wishes were one check");
    }
}
