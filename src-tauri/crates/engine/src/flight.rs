//! One call in flight: the connection it went over, whether it has a row, and whether it was stopped.
//!
//! A person's call has its row before it leaves; an agent's gets one only when it lasts, asks or creates a task
//! (`errand.rs`). Whoever needs the row before that asks for it here and waits. Nothing is sent or stored here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use domain::ids::AgentId;
use tokio::sync::Notify;

use crate::post::Live;

const ABSENT: u8 = 0;
const THERE: u8 = 1;
const OVER: u8 = 2;

/// A call in flight in this run of the core.
pub(crate) struct Flight {
    /// The connection it went over; only there can it be stopped.
    pub(crate) live: Arc<Live>,
    /// Whose call it is, when an agent's.
    pub(crate) agent: Option<AgentId>,
    /// Told when the server acknowledged that it should stop the call.
    pub(crate) stopped: Notify,
    row: AtomicU8,
    /// Told when somebody needs the row.
    wanted: Notify,
    /// Told when the row is there, or never will be.
    settled: Notify,
}

impl Flight {
    /// A call that is recorded already.
    pub(crate) fn recorded(live: Arc<Live>, agent: Option<AgentId>) -> Self {
        Self::new(live, agent, THERE)
    }

    /// A call that may never need a row.
    pub(crate) fn unrecorded(live: Arc<Live>, agent: AgentId) -> Self {
        Self::new(live, Some(agent), ABSENT)
    }

    fn new(live: Arc<Live>, agent: Option<AgentId>, row: u8) -> Self {
        let (stopped, wanted, settled) = (Notify::new(), Notify::new(), Notify::new());
        Self { live, agent, stopped, row: AtomicU8::new(row), wanted, settled }
    }

    /// Whether there is a row.
    pub(crate) fn has_row(&self) -> bool {
        self.row.load(Ordering::Acquire) == THERE
    }

    /// The row is in the registry.
    pub(crate) fn is_recorded(&self) {
        self.settle(THERE);
    }

    /// The call is over without a row.
    pub(crate) fn is_over(&self) {
        self.settle(OVER);
    }

    fn settle(&self, row: u8) {
        self.row.store(row, Ordering::Release);
        self.settled.notify_waiters();
    }

    /// Waits until somebody needs the row.
    pub(crate) async fn row_wanted(&self) {
        self.wanted.notified().await;
    }

    /// Asks for the row and waits until it is there; false when the call ended without one.
    pub(crate) async fn row(&self) -> bool {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            match self.row.load(Ordering::Acquire) {
                THERE => return true,
                OVER => return false,
                _ => {}
            }
            self.wanted.notify_one();
            settled.await;
        }
    }
}
