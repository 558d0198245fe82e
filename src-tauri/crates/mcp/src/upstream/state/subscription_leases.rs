//! What agents subscribed to on one connection: each lease adds its filter to the union that is subscribed.
//!
//! Only bookkeeping: `agents.rs` opens the stream for the union, and notifications reach all readers of the connection
//! through `notifications/broadcast.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::upstream::state::subscription_filter::SubscriptionFilter;
use crate::upstream::transport::link::RequestTag;
use crate::wire::view::JsonFields;

/// What was accepted, and of which union of filters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Accepted {
    /// The newest union that was answered, by its round.
    round: u64,
    filter: SubscriptionFilter,
}

#[derive(Default)]
struct Requested {
    next: u64,
    by_lease: BTreeMap<u64, SubscriptionFilter>,
    round: u64,
}

/// All leases of one connection, and what the server accepted of their union.
pub(crate) struct SubscriptionLeases {
    requested: Arc<Mutex<Requested>>,
    pub(crate) wanted: Arc<watch::Sender<(u64, SubscriptionFilter)>>,
    accepted: watch::Sender<Accepted>,
    pub(crate) waiting: Mutex<Option<(RequestTag, oneshot::Sender<SubscriptionFilter>)>>,
}

impl Default for SubscriptionLeases {
    fn default() -> Self {
        Self {
            requested: Arc::default(),
            wanted: Arc::new(watch::Sender::new((0, SubscriptionFilter::default()))),
            accepted: watch::Sender::new(Accepted::default()),
            waiting: Mutex::default(),
        }
    }
}

/// Keeps a filter part of the subscription until it is dropped.
pub struct SubscriptionLease {
    filter: SubscriptionFilter,
    held: Option<HeldLease>,
}

struct HeldLease {
    id: u64,
    round: u64,
    requested: Arc<Mutex<Requested>>,
    wanted: Arc<watch::Sender<(u64, SubscriptionFilter)>>,
    accepted: watch::Receiver<Accepted>,
    /// Cancelled when the connection ends: no acknowledgement can come after that.
    closed: CancellationToken,
}

impl SubscriptionLease {
    /// For a 2025 server, which notifies without a subscription.
    pub(crate) const fn idle(filter: SubscriptionFilter) -> Self {
        Self { filter, held: None }
    }

    /// Waits for the server's acknowledgement and returns what it accepted of this filter: nothing, when the connection
    /// ends first. Cancel-safe.
    pub async fn accepted(&mut self) -> SubscriptionFilter {
        let Some(held) = &mut self.held else { return self.filter.clone() };
        let round = held.round;
        tokio::select! {
            biased;
            accepted = held.accepted.wait_for(|accepted| accepted.round >= round) => match accepted {
                Ok(accepted) => self.filter.within(&accepted.filter),
                Err(_) => SubscriptionFilter::default(),
            },
            () = held.closed.cancelled() => SubscriptionFilter::default(),
        }
    }

    /// What the server accepted of this filter, if it has answered.
    #[must_use]
    pub fn accepted_by_now(&self) -> Option<SubscriptionFilter> {
        let Some(held) = &self.held else { return Some(self.filter.clone()) };
        let accepted = held.accepted.borrow();
        (accepted.round >= held.round).then(|| self.filter.within(&accepted.filter))
    }
}

impl Drop for SubscriptionLease {
    fn drop(&mut self) {
        if let Some(held) = &self.held {
            let mut requested = held.requested.lock();
            requested.by_lease.remove(&held.id);
            requested.publish(&held.wanted);
        }
    }
}

impl Requested {
    fn publish(&mut self, wanted: &watch::Sender<(u64, SubscriptionFilter)>) -> u64 {
        let mut union = SubscriptionFilter::default();
        self.by_lease.values().for_each(|filter| union.join(filter));
        self.round += 1;
        let round = self.round;
        wanted.send_replace((round, union));
        round
    }
}

impl SubscriptionLeases {
    /// Adds a filter to the subscription.
    pub(crate) fn lease(&self, filter: SubscriptionFilter, closed: CancellationToken) -> SubscriptionLease {
        let mut requested = self.requested.lock();
        requested.next += 1;
        let id = requested.next;
        requested.by_lease.insert(id, filter.clone());
        let round = requested.publish(&self.wanted);
        drop(requested);
        let (requested, wanted) = (Arc::clone(&self.requested), Arc::clone(&self.wanted));
        SubscriptionLease {
            filter,
            held: Some(HeldLease { id, round, requested, wanted, accepted: self.accepted.subscribe(), closed }),
        }
    }

    /// Takes an acknowledgement. Returns whether it was for this stream.
    pub(crate) fn acknowledged(&self, params: &JsonFields<'_>, on: Option<RequestTag>) -> bool {
        let is_ours = |waiting: &mut (RequestTag, oneshot::Sender<SubscriptionFilter>)| on == Some(waiting.0);
        let Some((_, told)) = self.waiting.lock().take_if(is_ours) else { return false };
        let _ = told.send(SubscriptionFilter::read(params));
        true
    }

    pub(crate) fn settle(&self, round: u64, filter: SubscriptionFilter) {
        self.accepted.send_replace(Accepted { round, filter });
    }
}
