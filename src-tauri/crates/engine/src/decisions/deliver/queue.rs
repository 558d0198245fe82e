//! Handles that may have something to deliver, each with the earliest time, and a wake for the deliverer.
//!
//! It only says which handle to check: the registry knows what is due. Adding a handle twice is adding it once.

use std::collections::{HashMap, HashSet};

use domain::ids::HandleId;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::connections::connection_key::ConnectionKey;

/// What was added since the deliverer last took it.
#[derive(Default)]
pub(crate) struct WantedDeliveries {
    /// Handles to check, each no earlier than the moment.
    pub(crate) handles: HashMap<HandleId, Timestamp>,
    /// Connections over which servers can be reached again.
    pub(crate) keys: HashSet<ConnectionKey>,
}
#[derive(Default)]
pub(crate) struct DeliveryQueue {
    wanted: Mutex<WantedDeliveries>,
    /// Wakes the deliverer.
    pub(crate) wake: Notify,
}

impl DeliveryQueue {
    /// There may be something to deliver for this handle from then on.
    pub(crate) fn push(&self, id: HandleId, from: Timestamp) {
        {
            let mut wanted = self.wanted.lock();
            let at = wanted.handles.entry(id).or_insert(from);
            *at = from.min(*at);
        }
        self.wake.notify_one();
    }

    /// The server can be reached again over this connection.
    pub(crate) fn connection_restored(&self, key: ConnectionKey) {
        self.wanted.lock().keys.insert(key);
        self.wake.notify_one();
    }

    pub(crate) fn take(&self) -> WantedDeliveries {
        std::mem::take(&mut *self.wanted.lock())
    }
}
