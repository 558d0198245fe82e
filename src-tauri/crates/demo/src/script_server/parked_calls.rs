//! Calls without a task that wait on a question: the client holds a `requestState` and retries with answers.
//!
//! The state is a random key, good for one retry of the same tool with the same arguments (protocol.md §2.5). A call
//! that nobody retries in time is cancelled. Nothing is stored on disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::policy::ServingPolicy;
use engine::Draw;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::script_server::script::ScriptJob;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};

/// The parked calls.
pub(super) struct ParkedCalls {
    calls: Mutex<HashMap<String, Call>>,
    draw: Draw,
    kept_for: Duration,
    most: usize,
}

struct Call {
    job: Arc<dyn ScriptJob>,
    tool: &'static str,
    arguments: Map<String, Value>,
    until: Instant,
}

impl ParkedCalls {
    pub(super) fn new(draw: Draw, limits: &ServingPolicy) -> Self {
        Self { calls: Mutex::default(), draw, kept_for: limits.parked_for, most: limits.tasks_max }
    }

    /// Parks a call and names it.
    pub(super) fn park(
        &self,
        job: Arc<dyn ScriptJob>,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<String, RequestError> {
        let mut calls = self.calls.lock();
        if calls.len() >= self.most {
            job.request_cancel();
            return Err(RequestError::new(
                RequestErrorKind::Internal,
                format!("more than {} calls wait on questions", self.most),
            ));
        }
        let state = format!("{:032x}", (self.draw)());
        calls.insert(state.clone(), Call { job, tool, arguments, until: Instant::now() + self.kept_for });
        Ok(state)
    }

    /// The job of a call that is parked under this state, if it is the same call. It stays parked.
    pub(super) fn find(
        &self,
        state: &str,
        tool: &'static str,
        arguments: &Map<String, Value>,
    ) -> Result<Arc<dyn ScriptJob>, RequestError> {
        match self.calls.lock().get(state) {
            Some(call) if call.tool == tool && call.arguments == *arguments => Ok(call.job.clone()),
            _ => Err(not_known()),
        }
    }

    /// Resumes a parked call; only one retry can.
    pub(super) fn resume(&self, state: &str) -> Result<Arc<dyn ScriptJob>, RequestError> {
        self.calls.lock().remove(state).map(|call| call.job).ok_or_else(not_known)
    }

    /// Cancels calls that were not retried in time.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let over: Vec<Call> = self.calls.lock().extract_if(|_, call| call.until <= now).map(|(_, call)| call).collect();
        for call in over {
            call.job.request_cancel();
        }
    }
}

fn not_known() -> RequestError {
    RequestError::params("this `requestState` is not known here, or belongs to another call")
}
