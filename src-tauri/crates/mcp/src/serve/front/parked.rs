//! Calls without a task that wait on a question: the client holds a `requestState` and comes back with answers.
//!
//! The state is a random key, good for one retry of the same tool with the same arguments (protocol.md §2.5). What
//! it stands for stays in memory; a call nobody comes back for is stopped when its time is over.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::policy::ServingPolicy;
use engine::Draw;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::serve::desk::Job;
use crate::serve::fault::{Fault, FaultKind};

/// The parked calls.
pub(super) struct Parked {
    calls: Mutex<HashMap<String, Call>>,
    draw: Draw,
    kept_for: Duration,
    most: usize,
}

struct Call {
    job: Arc<dyn Job>,
    tool: &'static str,
    arguments: Map<String, Value>,
    until: Instant,
}

impl Parked {
    pub(super) fn new(draw: Draw, limits: &ServingPolicy) -> Self {
        Self { calls: Mutex::default(), draw, kept_for: limits.parked_for, most: limits.tasks_max }
    }

    /// Parks a call and names it.
    pub(super) fn park(
        &self,
        job: Arc<dyn Job>,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<String, Fault> {
        let mut calls = self.calls.lock();
        if calls.len() >= self.most {
            job.ask_stop();
            return Err(Fault::new(FaultKind::Internal, format!("more than {} calls wait on questions", self.most)));
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
    ) -> Result<Arc<dyn Job>, Fault> {
        match self.calls.lock().get(state) {
            Some(call) if call.tool == tool && call.arguments == *arguments => Ok(call.job.clone()),
            _ => Err(not_known()),
        }
    }

    /// Takes a call up again; only one retry can.
    pub(super) fn resume(&self, state: &str) -> Result<Arc<dyn Job>, Fault> {
        self.calls.lock().remove(state).map(|call| call.job).ok_or_else(not_known)
    }

    /// Stops the calls nobody came back for.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let over: Vec<Call> = self.calls.lock().extract_if(|_, call| call.until <= now).map(|(_, call)| call).collect();
        for call in over {
            call.job.ask_stop();
        }
    }
}

fn not_known() -> Fault {
    Fault::params("this `requestState` is not known here, or belongs to another call")
}
