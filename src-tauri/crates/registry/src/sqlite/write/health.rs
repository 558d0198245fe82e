//! Whether the writer can record: the fault of its last transactions, and whether one is stuck right now.
//!
//! The writer reports; whoever starts new work asks. A damaged file stays damaged until the core starts with a sound one;
//! every other fault ends with the first transaction that succeeds.

use std::time::{Duration, Instant};

use domain::ports::{Recording, RecordingFault};
use parking_lot::Mutex;

#[derive(Debug, Default)]
struct HealthState {
    fault: Option<RecordingFault>,
    /// Since when a transaction has been running.
    busy_since: Option<Instant>,
}

/// The health of one registry's writer.
#[derive(Debug)]
pub(crate) struct WriterHealth {
    state: Mutex<HealthState>,
    slow_commit: Duration,
}

impl WriterHealth {
    pub(crate) fn new(slow_commit: Duration) -> Self {
        Self { state: Mutex::default(), slow_commit }
    }

    /// What holds at this moment.
    pub(crate) fn recording(&self) -> Recording {
        let state = self.state.lock();
        let is_stuck = state.busy_since.is_some_and(|since| since.elapsed() > self.slow_commit);
        match state.fault {
            Some(fault) => Recording::Impossible(fault),
            None if is_stuck => Recording::Impossible(RecordingFault::SlowDisk),
            None => Recording::Possible,
        }
    }

    /// How long a transaction may run before it counts as stuck.
    pub(crate) fn slow_commit(&self) -> Duration {
        self.slow_commit
    }

    /// The fault that was met, whether or not a transaction is stuck.
    pub(crate) fn fault(&self) -> Option<RecordingFault> {
        self.state.lock().fault
    }

    /// A transaction begins.
    pub(crate) fn begins(&self) {
        self.state.lock().busy_since = Some(Instant::now());
    }

    /// It ended, one way or another.
    pub(crate) fn ended(&self) {
        self.state.lock().busy_since = None;
    }

    /// Recording met this fault; the first report of a fault is logged.
    pub(crate) fn met(&self, fault: RecordingFault) {
        let mut state = self.state.lock();
        match state.fault {
            Some(RecordingFault::Damaged) => {}
            Some(known) if known == fault => {}
            Some(_) | None => {
                tracing::error!(reason = fault.word(), "the registry cannot record: {}", fault.reason());
                state.fault = Some(fault);
            }
        }
    }

    /// A transaction went through.
    pub(crate) fn recovered(&self) {
        let mut state = self.state.lock();
        match state.fault {
            Some(RecordingFault::Damaged) | None => {}
            Some(_) => {
                tracing::warn!("the registry records again");
                state.fault = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_does_not_end_counts_as_a_slow_disk_while_it_lasts() {
        let health = WriterHealth::new(Duration::ZERO);
        assert_eq!(health.recording(), Recording::Possible);
        health.begins();
        assert_eq!(health.recording(), Recording::Impossible(RecordingFault::SlowDisk));
        health.ended();
        assert_eq!(health.recording(), Recording::Possible);
    }

    #[test]
    fn damage_does_not_end_with_a_commit_that_goes_through() {
        let health = WriterHealth::new(Duration::from_secs(5));
        health.met(RecordingFault::DiskFull);
        health.recovered();
        assert_eq!(health.recording(), Recording::Possible);
        health.met(RecordingFault::Damaged);
        health.met(RecordingFault::DiskFull);
        health.recovered();
        assert_eq!(health.recording(), Recording::Impossible(RecordingFault::Damaged));
    }
}
