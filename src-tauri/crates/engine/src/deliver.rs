//! Sends recorded answers and stops until the server has acknowledged them: a reconciler without input of its own.
//!
//! It looks at the registry when it starts, at each wake and at intervals, so the ordinary way and the way after a
//! kill are the same code. One delivery per handle at a time; a lane of its own per server, apart from our reads
//! (ruling 12). Failures wait in memory, each handle for itself. It decides nothing that people decide (`decide.rs`).
//! Read `deliver/stop.rs`, `answer.rs` and `round.rs` for the three things that are sent.

mod answer;
mod round;
mod stop;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::task::TaskHandle;
use domain::ids::HandleId;
use domain::ports::UpstreamError;
use domain::time::Timestamp;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use crate::core::Core;
use crate::line::Line;
use crate::lines;
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
    /// Not before; `None` while it is being delivered or waits for its server.
    due: Option<Instant>,
    busy: bool,
    /// Something more was recorded while it was busy.
    again: bool,
    failures: u32,
}

/// Everything that is pending, with the queue of what is due.
#[derive(Debug, Default)]
struct Lots {
    lots: HashMap<HandleId, Lot>,
    due: BTreeSet<(Instant, HandleId)>,
}

impl Lots {
    /// Changes a lot, which is made when it is new; its place in the queue follows.
    fn change<R>(&mut self, id: HandleId, change: impl FnOnce(&mut Lot) -> R) -> R {
        let lot = self.lots.entry(id).or_default();
        let before = lot.due;
        let said = change(lot);
        if lot.due != before {
            if let Some(at) = before {
                self.due.remove(&(at, id));
            }
            if let Some(at) = lot.due {
                self.due.insert((at, id));
            }
        }
        said
    }

    fn forget(&mut self, id: HandleId) {
        if let Some(Lot { due: Some(at), .. }) = self.lots.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes what has been due for longest.
    fn take_due(&mut self, now: Instant) -> Option<HandleId> {
        if self.next_due()? > now {
            return None;
        }
        let (_, id) = self.due.pop_first()?;
        if let Some(lot) = self.lots.get_mut(&id) {
            lot.due = None;
            lot.busy = true;
        }
        Some(id)
    }
}

/// The reconciler. Its memory is only what is pending and how often it failed.
pub(crate) struct Deliverer {
    core: Arc<Core>,
    lots: Lots,
    jobs: FuturesUnordered<BoxFuture<'static, (HandleId, Ended)>>,
    scan_at: Instant,
}

impl Deliverer {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, lots: Lots::default(), jobs: FuturesUnordered::new(), scan_at: Instant::now() }
    }

    /// Runs for ever.
    pub(crate) async fn run(mut self) {
        loop {
            if self.scan_at <= Instant::now() {
                self.scan().await;
            }
            self.take_wanted();
            while let Some(id) = self.lots.take_due(Instant::now()) {
                let core = Arc::clone(&self.core);
                self.jobs.push(Box::pin(async move { (id, deliver(&core, id).await) }));
            }
            let wake_at = self.lots.next_due().map_or(self.scan_at, |due| due.min(self.scan_at));
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
                    let now = Instant::now();
                    for id in rows.into_iter().filter(|id| !self.lots.lots.contains_key(id)).collect::<Vec<_>>() {
                        self.lots.change(id, |lot| lot.due = Some(now));
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
            self.lots.change(id, |lot| {
                if lot.busy {
                    lot.again = true;
                } else {
                    // Something new is not held up by earlier failures.
                    lot.due = Some(due);
                }
            });
        }
        if wanted.lines.is_empty() {
            return;
        }
        let now = Instant::now();
        let of_returned =
            |id: &HandleId| self.core.ledger.held(*id).is_some_and(|handle| wanted.lines.contains(&Line::of(&handle)));
        let returned: Vec<HandleId> = self.lots.lots.keys().copied().filter(of_returned).collect();
        for id in returned {
            self.lots.change(id, |lot| {
                lot.failures = 0;
                if lot.busy {
                    lot.again = true;
                } else {
                    lot.due = Some(now);
                }
            });
        }
    }

    fn finished(&mut self, id: HandleId, ended: Ended) {
        let core = Arc::clone(&self.core);
        let done = self.lots.change(id, |lot| {
            lot.busy = false;
            let again = std::mem::take(&mut lot.again);
            let now = Instant::now();
            lot.due = match ended {
                Ended::Clear if !again => return true,
                Ended::Clear => Some(now),
                Ended::Held(until) => Some(if again { now } else { core.instant(until) }),
                Ended::Again(after) => {
                    lot.failures = lot.failures.saturating_add(1);
                    Some(now + core.back_off(lot.failures).max(after.unwrap_or_default()))
                }
                // Its server's return, or the question when it comes again, wakes it.
                Ended::Unconnected => again.then_some(now),
            };
            false
        });
        if done {
            self.lots.forget(id);
        }
    }
}

/// Whether anything is being sent at this moment, for an orderly end.
pub(crate) async fn is_clear(core: &Core) -> bool {
    let reachable = |id: &HandleId| {
        let handle = core.ledger.held(*id);
        handle.and_then(|handle| core.posts.of(&handle)).is_some_and(|post| post.live().is_some())
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
    let Some(post) = lines::reopen(core, &handle) else { return Ended::Unconnected };
    let Some(live) = post.live() else { return Ended::Unconnected };
    if !live.holds(&handle) {
        return Ended::Unconnected;
    }
    let way = Way { core: Arc::clone(core), post, live };
    let stopped = if handle.is_cancel_due() { stop::send(&way, &handle).await } else { Ended::Clear };
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
