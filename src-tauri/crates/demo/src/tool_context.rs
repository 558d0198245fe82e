//! What a tool works with: its arguments, progress reports, questions to people, and the cancel token.
//!
//! A tool ends with a [`ToolOutcome`], which becomes the last stage of its job here and nowhere else.

use std::path::PathBuf;
use std::sync::Arc;

use crate::script_server::script::{Elicitation, ElicitationReply, JobProgress, JobStage};
use domain::policy::ServingPolicy;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use mcp::server::rpc_error::RequestError;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::job::DemoJob;

/// How a tool ends.
pub(crate) enum ToolOutcome {
    /// With text for the model, and the same as data where that helps.
    Text(String, Option<Value>),
    /// With an error that the model should read.
    ToolError(String),
    /// With a JSON-RPC error.
    RpcError(RequestError),
    /// It stopped because it was asked to.
    Stopped,
}

impl ToolOutcome {
    /// The end of the job.
    pub(crate) fn stage(self) -> JobStage {
        let result = |text: String, is_error: bool, data: Option<Value>| {
            let mut result = json!({"content": [{"type": "text", "text": text}]});
            if let Some(members) = result.as_object_mut() {
                if let Some(data) = data {
                    members.insert("structuredContent".to_owned(), data);
                }
                members.insert("isError".to_owned(), is_error.into());
            }
            JobStage::Done(Arc::new(result))
        };
        match self {
            Self::Text(text, data) => result(text, false, data),
            Self::ToolError(text) => result(text, true, None),
            Self::RpcError(fault) => JobStage::Failed(fault),
            Self::Stopped => JobStage::Cancelled,
        }
    }
}

/// A tool at work.
#[derive(Clone)]
pub(crate) struct ToolContext {
    pub(crate) job: Arc<DemoJob>,
    pub(crate) arguments: Arc<Map<String, Value>>,
    pub(crate) limits: Arc<ServingPolicy>,
    pub(crate) draw: Draw,
    /// The scope of the server, for what a tool runs beside itself.
    pub(crate) supervisor: Supervisor,
}

impl ToolContext {
    /// Says how far the work is: `done` of `total`, and a line.
    pub(crate) fn report(&self, message: String, done: u64, total: Option<u64>) {
        // Exact up to 2^53, far beyond any count of files or bytes here.
        let progress = JobProgress { done: done as f64, total: total.map(|total| total as f64) };
        self.job.report(message, Some(progress));
    }

    /// Says a line.
    pub(crate) fn say(&self, message: impl Into<String>) {
        self.job.report(message.into(), self.last_progress());
    }

    /// Asks people and waits; a job that has ended gets `Dismiss`.
    pub(crate) async fn ask(&self, ask: Elicitation) -> ElicitationReply {
        self.job.open(ask).await.unwrap_or(ElicitationReply::Dismiss)
    }

    /// Cancelled when a stop is asked.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.job.stopping()
    }

    /// An argument that is a whole number; the schema has checked its range.
    pub(crate) fn whole(&self, name: &str, default: u64) -> u64 {
        self.arguments.get(name).and_then(Value::as_f64).map_or(default, |number| number as u64)
    }

    /// An argument that is a yes or no.
    pub(crate) fn yes(&self, name: &str, default: bool) -> bool {
        self.arguments.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    /// An argument that is a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.arguments.get(name).and_then(Value::as_str).map(PathBuf::from)
    }

    fn last_progress(&self) -> Option<JobProgress> {
        crate::script_server::script::ScriptJob::snapshot(&*self.job).progress
    }
}
