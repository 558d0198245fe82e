//! The core's clock: wall time at the start, plus the time that has passed since.
//!
//! Passed time is the kernel's boot clock, which nobody can set and which continues while the computer sleeps. When the
//! wall clock is set, `now` continues as before; taking over the step is up to the engine's clock watch. Commands that
//! only show times read the wall clock (`engine::SystemClock`).

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::ports::Clock;
use domain::time::Timestamp;
use engine::SystemClock;

/// Wall time that does not step.
#[derive(Debug)]
pub(crate) struct ObservedClock {
    /// Milliseconds between 1970 and the start of the boot clock, as last taken over.
    booted: AtomicI64,
}

impl ObservedClock {
    /// A clock that agrees with the wall now.
    pub(crate) fn new() -> Self {
        Self { booted: AtomicI64::new(wall_ms().saturating_sub(boot_ms())) }
    }
}

impl Clock for ObservedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.booted.load(Ordering::Relaxed).saturating_add(boot_ms()))
    }

    fn wall_ahead_ms(&self) -> i64 {
        wall_ms().saturating_sub(self.now().as_millis())
    }

    fn step_by(&self, millis: i64) {
        self.booted.fetch_add(millis, Ordering::Relaxed);
    }
}

/// Time since the computer started, suspend included. Nobody can set it.
pub(crate) fn since_boot() -> Duration {
    Duration::from_millis(u64::try_from(boot_ms()).unwrap_or_default())
}

fn wall_ms() -> i64 {
    SystemClock.now().as_millis()
}

/// Milliseconds since the computer started, sleep included.
#[cfg(target_os = "linux")]
fn boot_ms() -> i64 {
    let passed = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    passed.tv_sec.saturating_mul(1_000).saturating_add(passed.tv_nsec / 1_000_000)
}

/// Milliseconds of the monotonic clock. Not run here: where it stops during sleep, waking looks like a step.
#[cfg(not(target_os = "linux"))]
fn boot_ms() -> i64 {
    static BEGUN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    i64::try_from(BEGUN.elapsed().as_millis()).unwrap_or(i64::MAX)
}
