//! A clock that moves with tokio's, so that `tokio::time::advance` moves both, and whose wall can be set.
//!
//! Only for tests on a paused clock; those use the memory registry, never a database (architecture.md §3.8).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::ports::Clock;
use domain::time::Timestamp;
use tokio::time::Instant;

/// A base moment plus what tokio says has passed.
#[derive(Debug, Clone)]
pub struct TestClock {
    base: Timestamp,
    begun: Instant,
    /// By how much the wall was set, in milliseconds.
    wall: Arc<AtomicI64>,
    /// How much of it was taken over.
    followed: Arc<AtomicI64>,
}

impl TestClock {
    /// Starts at a fixed moment. Must be made inside the runtime whose clock it follows.
    #[must_use]
    pub fn new() -> Self {
        Self {
            base: Timestamp::from_millis(1_700_000_000_000),
            begun: Instant::now(),
            wall: Arc::default(),
            followed: Arc::default(),
        }
    }

    /// Somebody sets the wall clock forward by this many milliseconds, or back when it is negative.
    pub fn set_wall(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.base.plus(self.begun.elapsed()).shifted(self.followed.load(Ordering::Relaxed))
    }

    fn wall_ahead_ms(&self) -> i64 {
        self.wall.load(Ordering::Relaxed) - self.followed.load(Ordering::Relaxed)
    }

    fn step_by(&self, millis: i64) {
        self.followed.fetch_add(millis, Ordering::Relaxed);
    }
}
