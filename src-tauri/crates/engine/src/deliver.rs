//! Sends recorded answers and stops until the server has acknowledged them: a reconciler without input of its own.
//!
//! It looks at the registry when it starts, at each wake and at intervals, so the ordinary way and the way after a
//! kill are the same code. One delivery per handle at a time; a lane of its own per server, apart from our reads
//! (ruling 12). Failures wait in memory, each handle for itself. It decides nothing that people decide (`decide.rs`).
//! Read `deliver/stop.rs`, `answer.rs` and `round.rs` for the three things that are sent.

mod answer;
mod round;
mod stop;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::handle::TaskHandle;
use domain::ids::HandleId;
use domain::ports::UpstreamError;
use domain::time::Timestamp;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use crate::core::Core;
use crate::post::{Live, Post};

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing is left to send now.
    Clear,
    /// Not before this moment: it is held back.
    Held(Timestamp),
    /// It did not work; again after a growing while, or after this long.
    Again(Option<Duration>),
    /// There is no connection it could go over; the server's return wakes it.
    Unconnected,
}

/// One handle with something to deliver.
#[derive(Debug, Default)]
struct Lot {
    /// Not before; `None` while it waits for its server.
    due: Option<Instant>,
    busy: bool,
    /// Something more was recorded while it was busy.
    again: bool,
    failures: u32,
}

/// The reconciler. Its memory is only what is pending and how often it failed.
pub(crate) struct Deliverer {
    core: Arc<Core>,
    lots: HashMap<HandleId, Lot>,
    jobs: FuturesUnordered<BoxFuture<'static, (HandleId, Ended)>>,
    scan_at: Instant,
}

impl Deliverer {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, lots: HashMap::new(), jobs: FuturesUnordered::new(), scan_at: Instant::now() }
    }

    /// Runs for ever.
    pub(crate) async fn run(mut self) {
        loop {
            let now = Instant::now();
            if self.scan_at <= now {
                self.scan().await;
            }
            self.take_wanted();
            self.start_due(Instant::now());
            let wake_at =
                self.lots.values().filter_map(|lot| lot.due).min().map_or(self.scan_at, |due| due.min(self.scan_at));
            let core = Arc::clone(&self.core);
            tokio::select! {
                () = core.parcels.wake.notified() => {}
                Some((id, ended)) = self.jobs.next(), if !self.jobs.is_empty() => self.finished(id, ended),
                () = tokio::time::sleep_until(wake_at) => {}
            }
        }
    }

    /// Finds in the registry what is due. The limit grows until everything fits, so that what cannot go now never
    /// hides what can; these are ids only.
    async fn scan(&mut self) {
        self.scan_at = Instant::now() + self.core.policy.sweep_every;
        let mut limit = self.core.policy.batch_rows;
        loop {
            match self.core.registry.deliverable(self.core.now(), limit).await {
                Ok(rows) if rows.len() < usize::try_from(limit).unwrap_or(usize::MAX) || limit == u32::MAX => {
                    for id in rows {
                        self.lots.entry(id).or_insert_with(|| Lot { due: Some(Instant::now()), ..Lot::default() });
                    }
                    return;
                }
                Ok(_) => limit = limit.saturating_mul(2),
                Err(domain::ports::RegistryError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "what is to be delivered cannot be read, trying again");
                    return;
                }
            }
        }
    }

    fn take_wanted(&mut self) {
        let wanted = self.core.parcels.take();
        for (id, from) in wanted.handles {
            let due = self.core.instant(from);
            let lot = self.lots.entry(id).or_default();
            if lot.busy {
                lot.again = true;
            } else {
                // Something new is not held up by earlier failures.
                lot.due = Some(due);
            }
        }
        if wanted.servers.is_empty() {
            return;
        }
        let now = Instant::now();
        for (id, lot) in &mut self.lots {
            let Some(handle) = self.core.ledger.held(*id) else { continue };
            if wanted.servers.contains(&handle.server) && !lot.busy {
                lot.due = Some(now);
                lot.failures = 0;
            }
        }
    }

    fn start_due(&mut self, now: Instant) {
        for (id, lot) in &mut self.lots {
            if lot.busy || lot.due.is_none_or(|due| due > now) {
                continue;
            }
            lot.due = None;
            lot.busy = true;
            let (core, id) = (Arc::clone(&self.core), *id);
            self.jobs.push(Box::pin(async move { (id, deliver(&core, id).await) }));
        }
    }

    fn finished(&mut self, id: HandleId, ended: Ended) {
        let Some(lot) = self.lots.get_mut(&id) else { return };
        lot.busy = false;
        let again = std::mem::take(&mut lot.again);
        let now = Instant::now();
        lot.due = match ended {
            Ended::Clear if !again => {
                self.lots.remove(&id);
                return;
            }
            Ended::Clear => Some(now),
            Ended::Held(until) => Some(if again { now } else { self.core.instant(until) }),
            Ended::Again(after) => {
                lot.failures = lot.failures.saturating_add(1);
                let wait = self.core.back_off(lot.failures).max(after.unwrap_or_default());
                Some(now + wait)
            }
            // The scan finds it every second anyway; it waits for its server.
            Ended::Unconnected => again.then_some(now),
        };
    }
}

/// Whether anything is being sent at this moment, for an orderly end.
pub(crate) async fn is_clear(core: &Core) -> bool {
    let reachable = |id: &HandleId| {
        let handle = core.ledger.held(*id);
        handle.and_then(|handle| core.posts.get(handle.server)).is_some_and(|post| post.live().is_some())
    };
    match core.registry.deliverable(core.now(), core.policy.batch_rows).await {
        Ok(rows) => !rows.iter().any(reachable),
        Err(_) => true,
    }
}

/// A delivery's way to its server.
pub(crate) struct Way {
    pub(crate) core: Arc<Core>,
    pub(crate) post: Arc<Post>,
    pub(crate) live: Arc<Live>,
}

/// Sends everything that is due for one handle.
async fn deliver(core: &Arc<Core>, id: HandleId) -> Ended {
    let handle = match core.ledger.load(id).await {
        Ok(Some(handle)) => handle,
        Ok(None) => return Ended::Clear,
        Err(_) => return Ended::Again(None),
    };
    let Some(from) = handle.deliver_at() else { return Ended::Clear };
    if from > core.now() {
        return Ended::Held(from);
    }
    if let Some(ended) = stop::without_server(core, &handle).await {
        return ended;
    }
    let Some(post) = core.posts.get(handle.server) else { return Ended::Unconnected };
    let Some(live) = post.live() else { return Ended::Unconnected };
    if !live.holds(&handle) {
        return Ended::Unconnected;
    }
    let way = Way { core: Arc::clone(core), post, live };
    let stopped = if handle.stop_due() { stop::send(&way, &handle).await } else { Ended::Clear };
    match stopped {
        Ended::Clear => {}
        Ended::Held(_) | Ended::Again(_) | Ended::Unconnected => return stopped,
    }
    let Some(handle) = core.ledger.held(id) else { return Ended::Clear };
    let answered = answer::send(&way, &handle).await;
    match answered {
        Ended::Clear => {}
        Ended::Held(_) | Ended::Again(_) | Ended::Unconnected => return answered,
    }
    let Some(handle) = core.ledger.held(id) else { return Ended::Clear };
    let sent = round::send(&way, &handle).await;
    match sent {
        Ended::Clear => left(core, id),
        Ended::Held(_) | Ended::Again(_) | Ended::Unconnected => sent,
    }
}

/// What is left after everything that could go went.
fn left(core: &Core, id: HandleId) -> Ended {
    let next = core.ledger.held(id).and_then(|handle: Arc<TaskHandle>| handle.deliver_at());
    match next {
        None => Ended::Clear,
        Some(from) if from > core.now() => Ended::Held(from),
        // It was looked at and could not go: a question whose channel is gone waits until it is asked again.
        Some(_) => Ended::Unconnected,
    }
}

/// What an error on the way means for trying again; `None` when the server said no.
fn retry(error: &UpstreamError) -> Option<Ended> {
    match error {
        UpstreamError::RateLimited { after } => Some(Ended::Again(*after)),
        UpstreamError::Unreachable { .. } | UpstreamError::Unauthorized { .. } | UpstreamError::Unreadable { .. } => {
            Some(Ended::Again(None))
        }
        // The next look says what became of the task; no alarm (protocol.md §7.6).
        UpstreamError::UnknownTask => Some(Ended::Again(None)),
        UpstreamError::ChannelGone => Some(Ended::Unconnected),
        UpstreamError::Refused(_) | UpstreamError::MissingCapability(_) | UpstreamError::Unsupported(_) => None,
    }
}
