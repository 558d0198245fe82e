//! Kill points: a name for every moment before and after a commit or an action on a server, so that a test can end the
//! process, or what stands for it, at each of them.
//!
//! [`KillPoints`] counts and asks a closure; [`KillPointRegistry`], [`KillPointConnector`], [`KillPointCallIntents`] and
//! [`KillPointSecrets`] wrap the real adapters. The closure may abort the process for good; when it says [`Fate::Hang`], the caller never returns, as
//! after a kill. A first run with [`KillPoints::listing`] yields the names for the later ones.

mod alarms;
mod call_intents;
mod checkpoints;
mod control;
mod pauses;
mod receipts;
mod registry;
mod routes;
mod secrets;
mod sinks;
mod upstream;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

pub use call_intents::KillPointCallIntents;
pub use registry::KillPointRegistry;
pub use secrets::KillPointSecrets;
pub use upstream::KillPointConnector;

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Live,
    /// Whoever got here never comes back.
    Hang,
}

type KillDecision = Arc<dyn Fn(&str) -> Fate + Send + Sync>;

/// Counts points by name and asks what happens at each.
#[derive(Clone)]
pub struct KillPoints {
    judge: KillDecision,
    counts: Arc<Mutex<HashMap<&'static str, u64>>>,
}

impl KillPoints {
    /// The closure is asked at every point, by a name such as `registry.commit:before:12`.
    pub fn new(judge: impl Fn(&str) -> Fate + Send + Sync + 'static) -> Self {
        Self { judge: Arc::new(judge), counts: Arc::default() }
    }

    /// Kills nothing and lists every point that is passed.
    #[must_use]
    pub fn listing() -> (Self, Arc<Mutex<Vec<String>>>) {
        let names: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&names);
        let points = Self::new(move |name| {
            kept.lock().push(name.to_owned());
            Fate::Live
        });
        (points, names)
    }

    /// Runs an act between its two points. What is called does nothing before its turn, also where it does all of it before
    /// its future is first polled.
    async fn around<T, F: Future<Output = T>>(&self, name: &'static str, act: impl FnOnce() -> F) -> T {
        let count = self.count(name);
        self.pass(&format!("{name}:before:{count}")).await;
        let outcome = act().await;
        self.pass(&format!("{name}:after:{count}")).await;
        outcome
    }

    /// The same for an act that nobody waits for: who is to hang goes on.
    fn around_now<T>(&self, name: &'static str, act: impl FnOnce() -> T) -> T {
        let count = self.count(name);
        (self.judge)(&format!("{name}:before:{count}"));
        let outcome = act();
        (self.judge)(&format!("{name}:after:{count}"));
        outcome
    }

    fn count(&self, name: &'static str) -> u64 {
        let mut counts = self.counts.lock();
        let count = counts.entry(name).or_default();
        *count += 1;
        *count
    }

    async fn pass(&self, name: &str) {
        match (self.judge)(name) {
            Fate::Live => {}
            Fate::Hang => std::future::pending().await,
        }
    }
}
