//! When storing is tried again after the registry refused it.

use tokio::time::Instant;

use crate::core::EngineCore;

/// Retries of storing: later each time, and logged once.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    failures: u32,
    until: Option<Instant>,
}

impl RetryState {
    /// Whether it is time to try (again).
    pub(super) fn may_try(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }

    /// It was refused. Returns whether it is the first time in a row, which is logged.
    pub(super) fn failed(&mut self, core: &EngineCore) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.until = Some(Instant::now() + core.time.back_off(self.failures));
        self.failures == 1
    }

    /// It was stored.
    pub(super) fn went(&mut self) {
        *self = Self::default();
    }
}
