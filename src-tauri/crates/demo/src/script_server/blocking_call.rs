//! A call whose client gets no task: waits for the job, reports progress and relays questions.
//!
//! Dropping the future cancels the job. A modern client's question parks the call until its retry (`parked_calls.rs`);
//! a 2025 client is asked on the stream of the call.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::dialect_json::object;
use super::job_watch::JobWatch;
use super::state::ScriptState;
use super::{dialect_json, elicitation};
use crate::script_server::script::{ElicitationReply, JobSnapshot, JobStage, ScriptJob};
use mcp::server::ResponseStream;
use mcp::server::Session;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};

/// Cancels the job when dropped, unless it was released.
struct CancelOnDrop(Option<Arc<dyn ScriptJob>>);

impl CancelOnDrop {
    fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.request_cancel();
        }
    }
}

/// Builds progress notifications, only when progress grew.
pub(super) struct ProgressReporter {
    token: Option<Value>,
    told: Option<f64>,
}

impl ProgressReporter {
    pub(super) const fn new(token: Option<Value>) -> Self {
        Self { token, told: None }
    }

    /// The next progress notification, if progress grew.
    pub(super) fn news(&mut self, snapshot: &JobSnapshot) -> Option<Value> {
        let (Some(token), Some(progress)) = (&self.token, snapshot.progress) else { return None };
        if self.told.is_some_and(|told| progress.done <= told) {
            return None;
        }
        self.told = Some(progress.done);
        Some(dialect_json::progress(token, progress, snapshot.message.as_deref()))
    }
}

/// Waits for the job of a modern call.
pub(super) async fn modern(
    state: &ScriptState,
    job: Arc<dyn ScriptJob>,
    tool: &'static str,
    arguments: Map<String, Value>,
    token: Option<Value>,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let mut hold = CancelOnDrop(Some(job.clone()));
    let mut watch = JobWatch::of(&*job, state.limits.push_rest);
    let mut reporter = ProgressReporter::new(token);
    loop {
        let snapshot = job.snapshot();
        match &snapshot.stage {
            JobStage::Working => {}
            JobStage::Asking => {
                hold.release();
                let request_state = state.parked.park(job, tool, arguments)?;
                let input = json!({"inputRequests": dialect_json::input_requests(&snapshot.questions), "requestState": request_state});
                return Ok(dialect_json::modern_result("input_required", object(input), &state.script.card()));
            }
            JobStage::Done(result) => return Ok(dialect_json::modern_tool_result(result, &state.script.card())),
            JobStage::Failed(fault) => return Err(fault.clone()),
            JobStage::Cancelled => return Err(stopped()),
        }
        if let Some(news) = reporter.news(&snapshot) {
            // A client that is gone has dropped this future, or will.
            drop(stream.notify("notifications/progress", &news).await);
        }
        if !watch.changed().await {
            return Err(stopped());
        }
    }
}

/// Waits for the job of a 2025 call.
pub(super) async fn legacy(
    state: &ScriptState,
    session: &Session,
    job: Arc<dyn ScriptJob>,
    token: Option<Value>,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let _hold = CancelOnDrop(Some(job.clone()));
    let mut watch = JobWatch::of(&*job, state.limits.push_rest);
    let mut reporter = ProgressReporter::new(token);
    loop {
        let snapshot = job.snapshot();
        if let Some(ended) = outcome(&snapshot.stage) {
            return ended;
        }
        if let Some(news) = reporter.news(&snapshot) {
            drop(stream.notify("notifications/progress", &news).await);
        }
        if let Some(question) = snapshot.questions.first() {
            let params = dialect_json::legacy_elicitation(job.id(), question, session.version(), None);
            let asked = stream.ask("elicitation/create", &params);
            if !elicitation::settle(&*job, &question.key, asked).await {
                job.answer(&question.key, ElicitationReply::Dismiss);
            }
            continue;
        }
        if !watch.changed().await {
            return Err(stopped());
        }
    }
}

/// The final answer to a 2025 client, once the job has ended.
pub(super) fn outcome(stage: &JobStage) -> Option<Result<Value, RequestError>> {
    match stage {
        JobStage::Working | JobStage::Asking => None,
        JobStage::Done(result) => Some(Ok((**result).clone())),
        JobStage::Failed(fault) => Some(Err(fault.clone())),
        JobStage::Cancelled => Some(Err(stopped())),
    }
}

fn stopped() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the work was cancelled")
}
