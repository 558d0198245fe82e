//! Time and randomness of the engine: the wall clock, its steps, timers and back-off.
//!
//! Deadlines are wall-clock moments; waiting is the runtime's. The clock itself is a port.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::policy::schedule::next_reconnect;
use domain::ports::Clock;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::runtime::random::Random;

pub(crate) struct Time {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Random,
    policy: Arc<Policy>,
    /// When the core began: what intervals are counted from.
    began: Instant,
    /// When the wall clock was last seen to step.
    stepped: Mutex<Option<Instant>>,
}

impl Time {
    pub(crate) fn new(clock: Arc<dyn Clock>, random: Random, policy: Arc<Policy>) -> Self {
        Self { clock, random, policy, began: Instant::now(), stepped: Mutex::default() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// When to wake for a moment, at most `timer_look` away: the runtime's clock stops while the computer sleeps, so the
    /// sleeper checks whether the moment has come.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        Instant::now() + at.since(self.now()).min(self.policy.timer_look)
    }

    /// The wall-clock moment of an instant, for showing it.
    pub(crate) fn moment(&self, at: Instant) -> Timestamp {
        self.now().plus(at.saturating_duration_since(Instant::now()))
    }

    /// Sleeps until the next whole interval since the core began. Workers that look once a second, or every few, wake
    /// together like this: an idle core wakes once a second, and not once for each of them.
    pub(crate) async fn next_interval(&self, every: Duration) {
        let into = self.began.elapsed().as_nanos().checked_rem(every.as_nanos()).unwrap_or_default();
        let into = Duration::from_nanos(u64::try_from(into).unwrap_or_default());
        tokio::time::sleep(every.saturating_sub(into)).await;
    }

    /// How long to wait after so many failures in a row.
    pub(crate) fn back_off(&self, failures: u32) -> Duration {
        next_reconnect(failures, self.random.fraction(), &self.policy)
    }

    /// Somebody set the wall clock.
    pub(crate) fn note_step(&self) {
        *self.stepped.lock() = Some(Instant::now());
    }

    /// Whether the age of something stored can be trusted. After a step of the clock it cannot for a while, and nothing
    /// may be deleted or ended for its age.
    pub(crate) fn ages_are_sure(&self) -> bool {
        self.stepped.lock().is_none_or(|at| at.elapsed() >= self.policy.clock_trust_after)
    }
}

/// Sleeps until then; for ever without a moment.
pub(crate) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
