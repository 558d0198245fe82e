//! Leases of an agent's own connection: how many there are, and since when there is none.
//!
//! Taking a lease and closing the connection exclude each other here, so that nobody holds a lease of a closed
//! connection. When an idle connection is closed is decided by its actor (`servers/resume.rs`).

use std::sync::Arc;
use std::time::Duration;

use domain::ports::Abilities;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::connections::connection::ServerConnection;

struct LeaseState {
    holders: usize,
    /// When the last lease closed, or the connection was opened.
    idle_since: Instant,
    /// No further lease is given.
    closed: bool,
    /// Its agent lost its access: it is closed as soon as nothing needs it.
    unwanted: bool,
    abilities: Abilities,
}

/// The leases of one connection.
pub(crate) struct LeaseCount(Mutex<LeaseState>);

impl Default for LeaseCount {
    fn default() -> Self {
        let idle_since = Instant::now();
        let abilities = Abilities::default();
        Self(Mutex::new(LeaseState { holders: 0, idle_since, closed: false, unwanted: false, abilities }))
    }
}

impl LeaseCount {
    /// Counts one lease more; false when the connection was closed.
    fn acquire(&self) -> bool {
        let mut state = self.0.lock();
        if !state.closed {
            state.holders += 1;
        }
        !state.closed
    }

    fn release(&self) {
        let mut state = self.0.lock();
        state.holders = state.holders.saturating_sub(1);
        state.idle_since = Instant::now();
    }

    /// When the connection may be closed, unless there is a lease before; `None` while there is one.
    pub(crate) fn closes_at(&self, patience: Duration) -> Option<Instant> {
        let state = self.0.lock();
        let patience = if state.unwanted { Duration::ZERO } else { patience };
        (state.holders == 0).then(|| state.idle_since + patience)
    }

    /// Closes it, unless there is a lease; returns whether it is closed.
    pub(crate) fn try_close(&self) -> bool {
        let mut state = self.0.lock();
        state.closed |= state.holders == 0;
        state.closed
    }

    /// Its agent lost its access.
    pub(crate) fn set_unwanted(&self) {
        self.0.lock().unwanted = true;
    }

    /// Whether its agent lost its access.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.0.lock().unwanted
    }

    /// What its agent can be asked, for the next attempt to connect.
    pub(crate) fn set_abilities(&self, abilities: Abilities) {
        self.0.lock().abilities = abilities;
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.0.lock().abilities
    }
}

/// Keeps an agent's own connection from being closed for idleness. The shared one needs no lease.
pub struct ConnectionLease(Option<Arc<ServerConnection>>);

impl ConnectionLease {
    /// The lease of a connection that is never closed for idleness.
    pub(crate) const fn shared() -> Self {
        Self(None)
    }

    /// `None` when the connection was just closed.
    pub(crate) fn on(connection: &Arc<ServerConnection>) -> Option<Self> {
        if connection.key.seat.is_none() {
            return Some(Self(None));
        }
        connection.leases.acquire().then(|| Self(Some(Arc::clone(connection))))
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.leases.release();
        }
    }
}
