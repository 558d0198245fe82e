//! What this run of the core saw of one server, shown to people: the log of its processes, and how its requests went.
//!
//! Shared by all connections to the server, bounded, and in memory only. Nothing is decided by it.

pub(crate) mod request_times;
pub(crate) mod server_log;

use std::sync::Arc;

use domain::ids::AgentId;
use domain::policy::Policy;
use domain::ports::{ProcessListener, ProcessNews, ProcessObserver};

use crate::connections::observed::request_times::RequestTimes;
use crate::connections::observed::server_log::ServerLog;
use crate::runtime::time::Time;

/// What was seen of one server.
pub(crate) struct ObservedServer {
    pub(crate) log: ServerLog,
    pub(crate) times: RequestTimes,
}

impl ObservedServer {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { log: ServerLog::new(&policy.observed), times: RequestTimes::new(&policy.observed) }
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
