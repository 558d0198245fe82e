//! A clock that moves with tokio's, so that `tokio::time::advance` moves both.
//!
//! Only for tests on a paused clock; those use the memory registry, never a database (architecture.md §3.8).

use domain::ports::Clock;
use domain::time::Timestamp;
use tokio::time::Instant;

/// A base moment plus what tokio says has passed.
#[derive(Debug, Clone)]
pub struct TestClock {
    base: Timestamp,
    begun: Instant,
}

impl TestClock {
    /// Starts at a fixed moment. Must be made inside the runtime whose clock it follows.
    #[must_use]
    pub fn new() -> Self {
        Self { base: Timestamp::from_millis(1_700_000_000_000), begun: Instant::now() }
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.base.plus(self.begun.elapsed())
    }
}
