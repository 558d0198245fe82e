//! One call in flight: the connection it goes over, whether it has begun to leave, has a row, or was cancelled.
//!
//! A person's call has its row before it leaves; an agent's gets one only when it lasts, asks or creates a task
//! (`calls/pending_call.rs`). Whoever needs the row before that asks for it here and waits. Nothing is sent or stored here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::Poll;

use domain::ids::AgentId;
use domain::ports::{SendGate, SendPermit};
use futures::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::connections::call_log::NotedCall;
use crate::connections::live_connection::LiveConnection;

/// Not on the wire: a halt may still refuse it.
const QUEUED: u8 = 0;
/// Its first byte left, or leaves now.
const SENDING: u8 = 1;
/// A halt refused it: nothing of it ever leaves.
const REFUSED: u8 = 2;

const NO_ROW: u8 = 0;
const RECORDED: u8 = 1;
const FINISHED: u8 = 2;

/// A call in flight in this run of the core.
pub(crate) struct InFlightCall {
    /// The connection it went over; it can be cancelled only there.
    pub(crate) live: Arc<LiveConnection>,
    /// The agent that made the call; `None` for a person's.
    pub(crate) agent: Option<AgentId>,
    /// The server's name for the tool; `None` where it is not known.
    pub(crate) tool: Option<Arc<str>>,
    /// Changed once: by the wire, or by a halt.
    leaving: AtomicU8,
    /// When it was registered, just before it left.
    pub(crate) since: Instant,
    /// Notified when the server acknowledged a cancel.
    pub(crate) cancelled: Notify,
    row: AtomicU8,
    /// Somebody needs the row.
    is_row_wanted: AtomicBool,
    /// The caller, which waits for the reply and makes the row. Quicker than a `Notify`, whose list every call would enter
    /// and leave.
    caller: AtomicWaker,
    /// The look for calls that last (`calls/show_sweep.rs`) found the machine busy: it gets its row later.
    is_deferred: AtomicBool,
    /// What an agent's call brings back is noted here; `None` for a person's, and for a further round.
    pub(crate) noted: Option<NotedCall>,
    /// Notified when the row is there, or never will be.
    settled: Notify,
}

impl InFlightCall {
    /// A call that is recorded already.
    pub(crate) fn with_row(live: Arc<LiveConnection>, agent: Option<AgentId>, tool: Option<Arc<str>>) -> Self {
        Self::new(live, agent, tool, RECORDED)
    }

    /// A call that an earlier core sent.
    pub(crate) fn sent_before(live: Arc<LiveConnection>, agent: Option<AgentId>, tool: Option<Arc<str>>) -> Self {
        Self { leaving: AtomicU8::new(SENDING), ..Self::new(live, agent, tool, RECORDED) }
    }

    /// A call that may never need a row.
    pub(crate) fn without_row(
        live: Arc<LiveConnection>,
        agent: AgentId,
        tool: Arc<str>,
        noted: Option<NotedCall>,
    ) -> Self {
        Self { noted, ..Self::new(live, Some(agent), Some(tool), NO_ROW) }
    }

    fn new(live: Arc<LiveConnection>, agent: Option<AgentId>, tool: Option<Arc<str>>, row: u8) -> Self {
        Self {
            live,
            agent,
            tool,
            leaving: AtomicU8::new(QUEUED),
            since: Instant::now(),
            cancelled: Notify::new(),
            row: AtomicU8::new(row),
            is_row_wanted: AtomicBool::new(false),
            caller: AtomicWaker::new(),
            is_deferred: AtomicBool::new(false),
            noted: None,
            settled: Notify::new(),
        }
    }

    /// Refuses the call for a halt; false when it has begun to leave.
    pub(crate) fn refuse_unsent(&self) -> bool {
        let refused = self.leaving.compare_exchange(QUEUED, REFUSED, Ordering::AcqRel, Ordering::Acquire);
        refused.is_ok() || refused == Err(REFUSED)
    }

    /// Whether a halt refused it.
    pub(crate) fn is_refused(&self) -> bool {
        self.leaving.load(Ordering::Acquire) == REFUSED
    }

    /// What the wire asks before the first byte of this call leaves.
    pub(crate) fn permit(self: &Arc<Self>) -> SendPermit {
        SendPermit(Some(Arc::clone(self) as Arc<dyn SendGate>))
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

    /// Waits until somebody needs the row. For one caller at a time.
    pub(crate) async fn row_wanted(&self) {
        std::future::poll_fn(|cx| {
            if self.is_row_wanted.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            self.caller.register(cx.waker());
            // Wanted between the look and the registration.
            if self.is_row_wanted.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Asks for the row without waiting for it.
    pub(crate) fn want_row(&self) {
        if !self.is_row_wanted.swap(true, Ordering::AcqRel) {
            self.caller.wake();
        }
    }

    /// Whether its row comes later.
    pub(crate) fn is_deferred(&self) -> bool {
        self.is_deferred.load(Ordering::Relaxed)
    }

    /// Its row comes later, because the machine is busy.
    pub(crate) fn defer_row(&self) {
        self.is_deferred.store(true, Ordering::Relaxed);
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
            self.want_row();
            settled.await;
        }
    }
}

impl SendGate for InFlightCall {
    fn begin_sending(&self) -> bool {
        match self.leaving.compare_exchange(QUEUED, SENDING, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            // A second try of a call that has begun to leave is the same call.
            Err(before) => before == SENDING,
        }
    }
}
