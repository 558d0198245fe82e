//! Sends recorded answers and cancels until the server has acknowledged them.
//!
//! A reconciler: it reads the registry when it starts, when it is woken and at intervals, so the ordinary path and the
//! path after a kill are the same code. One delivery per handle at a time, in a lane per server apart from our polls
//! (ruling 12). Read `deliver/cancel.rs`, `answer.rs` and `input_round.rs` for the three things that are sent.

mod answer;
mod cancel;
mod input_round;
pub(crate) mod queue;
mod route;

use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::TaskHandle;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use crate::access::halt_gate::work_of;
use crate::connections::connection_key::ConnectionKey;
use crate::core::EngineCore;
use crate::decisions::deliver::route::{DeliveryOutcome, DeliveryRoute};
use crate::runtime::due_queue::{DueQueue, HasDueTime};
use crate::servers::open_connection;

/// One handle with something to deliver.
#[derive(Debug, Default)]
struct PendingDelivery {
    /// Not before; `None` while it is being delivered or waits for its server.
    due: Option<Instant>,
    is_busy: bool,
    /// Something more was recorded during the delivery.
    again: bool,
    failures: u32,
}

impl PendingDelivery {
    /// Delivers then, or once more when a delivery is under way.
    fn wake_at(&mut self, due: Instant) {
        if self.is_busy {
            self.again = true;
        } else {
            self.due = Some(due);
        }
    }
}

impl HasDueTime for PendingDelivery {
    fn due_mut(&mut self) -> &mut Option<Instant> {
        &mut self.due
    }
}

/// The reconciler. Its memory is only what is pending and how often it failed.
pub(crate) struct Deliverer {
    core: Arc<EngineCore>,
    pending: DueQueue<PendingDelivery>,
    jobs: FuturesUnordered<BoxFuture<'static, (HandleId, DeliveryOutcome)>>,
    scan_at: Instant,
}

impl Deliverer {
    pub(crate) fn new(core: Arc<EngineCore>) -> Self {
        Self { core, pending: DueQueue::default(), jobs: FuturesUnordered::new(), scan_at: Instant::now() }
    }

    /// Runs for ever.
    pub(crate) async fn run(mut self) {
        loop {
            if self.scan_at <= Instant::now() {
                self.scan().await;
            }
            self.take_wanted();
            while let Some((id, delivery)) = self.pending.take_due(Instant::now()) {
                delivery.is_busy = true;
                let core = Arc::clone(&self.core);
                self.jobs.push(Box::pin(async move { (id, deliver(&core, id).await) }));
            }
            let wake_at = self.pending.next_due().map_or(self.scan_at, |due| due.min(self.scan_at));
            let core = Arc::clone(&self.core);
            tokio::select! {
                () = core.effects.deliveries.wake.notified() => {}
                Some((id, outcome)) = self.jobs.next(), if !self.jobs.is_empty() => self.finished(id, outcome),
                () = tokio::time::sleep_until(wake_at) => {}
            }
        }
    }

    /// Finds in the registry what is due. Deliveries go on meanwhile: the few readers of the registry may all be theirs, and
    /// one that is not polled never gives its reader back.
    async fn scan(&mut self) {
        self.scan_at = Instant::now() + self.core.policy.sweep_every;
        let core = Arc::clone(&self.core);
        let reading = due_in_registry(&core);
        tokio::pin!(reading);
        let due = loop {
            tokio::select! {
                due = &mut reading => break due,
                Some((id, outcome)) = self.jobs.next(), if !self.jobs.is_empty() => self.finished(id, outcome),
            }
        };
        let now = Instant::now();
        for id in due {
            if self.pending.get(id).is_none() {
                self.pending.insert(id, PendingDelivery { due: Some(now), ..PendingDelivery::default() });
            }
        }
    }

    fn take_wanted(&mut self) {
        let wanted = self.core.effects.deliveries.take();
        for (id, from) in wanted.handles {
            let due = self.core.time.instant(from);
            if self.pending.get(id).is_none() {
                self.pending.insert(id, PendingDelivery::default());
            }
            // Something new is not held up by earlier failures.
            self.pending.change(id, |delivery| delivery.wake_at(due));
        }
        if wanted.keys.is_empty() {
            return;
        }
        let now = Instant::now();
        let of_returned = |id: &HandleId| {
            self.core.ledger.held(*id).is_some_and(|handle| wanted.keys.contains(&ConnectionKey::of(&handle)))
        };
        let returned: Vec<HandleId> = self.pending.ids().filter(of_returned).collect();
        for id in returned {
            self.pending.change(id, |delivery| {
                delivery.failures = 0;
                delivery.wake_at(now);
            });
        }
    }

    fn finished(&mut self, id: HandleId, outcome: DeliveryOutcome) {
        let core = Arc::clone(&self.core);
        let done = self.pending.change(id, |delivery| {
            delivery.is_busy = false;
            let again = std::mem::take(&mut delivery.again);
            let now = Instant::now();
            delivery.due = match outcome {
                DeliveryOutcome::Clear if !again => return true,
                DeliveryOutcome::Clear => Some(now),
                DeliveryOutcome::Held(until) => Some(if again { now } else { core.time.instant(until) }),
                DeliveryOutcome::Again(after) => {
                    delivery.failures = delivery.failures.saturating_add(1);
                    Some(now + core.time.back_off(delivery.failures).max(after.unwrap_or_default()))
                }
                // Its server's return, or the question when it comes again, wakes it.
                DeliveryOutcome::Unconnected => again.then_some(now),
            };
            false
        });
        if done == Some(true) {
            self.pending.remove(id);
        }
    }
}

/// Ids of handles with something to deliver. The limit grows until everything fits, so that what cannot go now never hides
/// what can. Nothing when the registry cannot be read: the next scan tries again.
async fn due_in_registry(core: &EngineCore) -> Vec<HandleId> {
    let mut limit = core.policy.batch_rows;
    loop {
        match core.registry.deliverable(core.time.now(), limit).await {
            Ok(rows) if rows.len() < usize::try_from(limit).unwrap_or(usize::MAX) || limit == u32::MAX => return rows,
            Ok(_) => limit = limit.saturating_mul(2),
            Err(domain::ports::RegistryError::Closed) => return Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "what is to be delivered cannot be read, trying again");
                return Vec::new();
            }
        }
    }
}

/// Whether anything is being sent at this moment, for an orderly end.
pub(crate) async fn is_clear(core: &EngineCore) -> bool {
    let reachable = |id: &HandleId| {
        let handle = core.ledger.held(*id);
        handle.and_then(|handle| core.connections.of(&handle)).is_some_and(|connection| connection.live().is_some())
    };
    match core.registry.deliverable(core.time.now(), core.policy.batch_rows).await {
        Ok(rows) => !rows.iter().any(reachable),
        Err(_) => true,
    }
}

/// Sends everything that is due for one handle.
async fn deliver(core: &Arc<EngineCore>, id: HandleId) -> DeliveryOutcome {
    let handle = match core.ledger.load(id).await {
        Ok(Some(handle)) => handle,
        Ok(None) => return DeliveryOutcome::Clear,
        Err(_) => return DeliveryOutcome::Again(None),
    };
    let Some(from) = handle.deliver_at() else { return DeliveryOutcome::Clear };
    if from > core.time.now() {
        return DeliveryOutcome::Held(from);
    }
    if let Some(outcome) = cancel::without_server(core, &handle).await {
        return outcome;
    }
    // A server that stands still takes nothing; the end of the freeze wakes this.
    if core.pauses.is_frozen(handle.server) {
        return DeliveryOutcome::Unconnected;
    }
    let Some(connection) = open_connection::reopen(core, &handle) else { return DeliveryOutcome::Unconnected };
    let Some(live) = connection.live() else { return DeliveryOutcome::Unconnected };
    if !live.holds(&handle) {
        return DeliveryOutcome::Unconnected;
    }
    let route = DeliveryRoute { core: Arc::clone(core), connection, live };
    let cancelled = if handle.is_cancel_due() { cancel::send(&route, &handle).await } else { DeliveryOutcome::Clear };
    match cancelled {
        DeliveryOutcome::Clear => {}
        DeliveryOutcome::Held(_) | DeliveryOutcome::Again(_) | DeliveryOutcome::Unconnected => return cancelled,
    }
    let Some(handle) = core.ledger.held(id) else { return DeliveryOutcome::Clear };
    // Its answers wait: the end of the freeze wakes them. A further round is a call as well.
    if core.gate.freezes(&handle).or_else(|| core.gate.refuses(work_of(&handle))).is_some() {
        return DeliveryOutcome::Unconnected;
    }
    let answered = answer::send(&route, &handle).await;
    match answered {
        DeliveryOutcome::Clear => {}
        DeliveryOutcome::Held(_) | DeliveryOutcome::Again(_) | DeliveryOutcome::Unconnected => return answered,
    }
    let Some(handle) = core.ledger.held(id) else { return DeliveryOutcome::Clear };
    let sent = input_round::send(&route, &handle).await;
    match sent {
        DeliveryOutcome::Clear => remaining(core, id),
        DeliveryOutcome::Held(_) | DeliveryOutcome::Again(_) | DeliveryOutcome::Unconnected => sent,
    }
}

/// What is left after everything that could be sent was.
fn remaining(core: &EngineCore, id: HandleId) -> DeliveryOutcome {
    let next = core.ledger.held(id).and_then(|handle: Arc<TaskHandle>| handle.deliver_at());
    match next {
        None => DeliveryOutcome::Clear,
        Some(from) if from > core.time.now() => DeliveryOutcome::Held(from),
        // It could not be sent: the answer to a question whose channel is gone waits until it is asked again.
        Some(_) => DeliveryOutcome::Unconnected,
    }
}
