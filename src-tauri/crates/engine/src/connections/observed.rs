//! What this run of the core saw of one server, shown to people: the log of its processes, and how its requests went.
//!
//! Shared by all connections to the server, bounded, and in memory only. Nothing is decided by it.

pub(crate) mod request_times;
pub(crate) mod server_log;
pub(crate) mod tool_use;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::ids::AgentId;
use domain::policy::Policy;
use domain::ports::{ProcessListener, ProcessNews, ProcessObserver};
use tokio::time::Instant;

use crate::connections::observed::request_times::RequestTimes;
use crate::connections::observed::server_log::ServerLog;
use crate::connections::observed::tool_use::ToolCalls;
use crate::runtime::time::Time;

/// What was seen of one server.
pub(crate) struct ObservedServer {
    pub(crate) log: ServerLog,
    pub(crate) times: RequestTimes,
    pub(crate) tools: ToolChanges,
    pub(crate) calls: ToolCalls,
}

/// What of a server's tools differs from what a person last saw.
#[derive(Default)]
pub(crate) struct ToolChanges {
    /// One comparison at a time.
    pub(crate) turn: tokio::sync::Mutex<ToolRowTimes>,
    changed: AtomicU64,
}

/// When the audit log got a row about the tools of a server in this run.
#[derive(Default)]
pub(crate) struct ToolRowTimes {
    at: Option<Instant>,
}

impl ToolRowTimes {
    /// Whether a changed list gets its row now. A server that changes its tools all the time is told of no more often
    /// than it is asked for them because it says so.
    pub(crate) fn is_due(&self, every: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= every)
    }

    /// A person looked: what comes next is news at once.
    pub(crate) fn seen(&mut self) {
        self.at = None;
    }

    pub(crate) fn recorded(&mut self) {
        self.at = Some(Instant::now());
    }
}

impl ToolChanges {
    /// How many tools differ, as compared last in this run.
    pub(crate) fn count(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// So many differ now; whether that is news.
    pub(crate) fn set_count(&self, changed: u64) -> bool {
        self.changed.swap(changed, Ordering::Relaxed) != changed
    }
}

impl ObservedServer {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            log: ServerLog::new(&policy.observed),
            times: RequestTimes::new(&policy.observed),
            tools: ToolChanges::default(),
            calls: ToolCalls::new(&policy.observed),
        }
    }

    /// Takes what is learnt of the process behind the connection of this agent, or behind the shared one.
    pub(crate) fn listener(self: &Arc<Self>, seat: Option<AgentId>, time: &Arc<Time>) -> ProcessListener {
        ProcessListener(Arc::new(SeatLog { observed: Arc::clone(self), seat, time: Arc::clone(time) }))
    }
}

/// The process behind one connection.
struct SeatLog {
    observed: Arc<ObservedServer>,
    seat: Option<AgentId>,
    time: Arc<Time>,
}

impl ProcessObserver for SeatLog {
    fn heard(&self, news: ProcessNews) {
        self.observed.log.process(self.seat, news, self.time.now());
    }
}
