//! One call in flight: the connection it went over, whether it has a row, and whether it was cancelled.
//!
//! A person's call has its row before it leaves; an agent's gets one only when it lasts, asks or creates a task
//! (`calls/pending_call.rs`). Whoever needs the row before that asks for it here and waits. Nothing is sent or stored here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use domain::ids::AgentId;
use tokio::sync::Notify;

use crate::connections::live_connection::LiveConnection;

const NO_ROW: u8 = 0;
const RECORDED: u8 = 1;
const FINISHED: u8 = 2;

/// A call in flight in this run of the core.
pub(crate) struct InFlightCall {
    /// The connection it went over; it can be cancelled only there.
    pub(crate) live: Arc<LiveConnection>,
    /// The agent that made the call; `None` for a person's.
    pub(crate) agent: Option<AgentId>,
    /// Notified when the server acknowledged a cancel.
    pub(crate) cancelled: Notify,
    row: AtomicU8,
    /// Notified when somebody needs the row.
    wanted: Notify,
    /// Notified when the row is there, or never will be.
    settled: Notify,
}

impl InFlightCall {
    /// A call that is recorded already.
    pub(crate) fn with_row(live: Arc<LiveConnection>, agent: Option<AgentId>) -> Self {
        Self::new(live, agent, RECORDED)
    }

    /// A call that may never need a row.
    pub(crate) fn without_row(live: Arc<LiveConnection>, agent: AgentId) -> Self {
        Self::new(live, Some(agent), NO_ROW)
    }

    fn new(live: Arc<LiveConnection>, agent: Option<AgentId>, row: u8) -> Self {
        let (cancelled, wanted, settled) = (Notify::new(), Notify::new(), Notify::new());
        Self { live, agent, cancelled, row: AtomicU8::new(row), wanted, settled }
    }

    /// Whether there is a row.
    pub(crate) fn has_row(&self) -> bool {
        self.row.load(Ordering::Acquire) == RECORDED
    }

    /// The row is in the registry.
    pub(crate) fn set_recorded(&self) {
        self.settle(RECORDED);
    }

    /// The call is over without a row.
    pub(crate) fn set_finished(&self) {
        self.settle(FINISHED);
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
                RECORDED => return true,
                FINISHED => return false,
                _ => {}
            }
            self.wanted.notify_one();
            settled.await;
        }
    }
}
