//! What all requests of one script server share, and what both dialects read of a request's params.

use std::sync::Arc;

use domain::policy::ServingPolicy;
use mcp::server::rpc_error::RequestError;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::argument_check::ArgumentChecks;
use super::elicitation::QuestionClaims;
use super::parked_calls::ParkedCalls;
use super::script::{ToolCard, ToolScript};

pub(super) struct ScriptState {
    pub(super) script: Arc<dyn ToolScript>,
    pub(super) limits: ServingPolicy,
    pub(super) checks: ArgumentChecks,
    pub(super) parked: ParkedCalls,
    pub(super) claims: QuestionClaims,
    pub(super) listens: Arc<Semaphore>,
}

impl ScriptState {
    /// The tool and the checked arguments of a `tools/call`.
    pub(super) fn tool_call(
        &self,
        params: &Map<String, Value>,
    ) -> Result<(&ToolCard, Map<String, Value>), RequestError> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| RequestError::params("`name` must be a string"))?;
        let tool = self.script.tools().iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| RequestError::params("there is no tool of this name"))?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(RequestError::params("`arguments` must be an object")),
        };
        let arguments = self.checks.check(tool.name, arguments)?;
        Ok((tool, arguments))
    }
}

/// The task id of a request about one.
pub(super) fn task_id(params: &Map<String, Value>) -> Result<&str, RequestError> {
    params.get("taskId").and_then(Value::as_str).ok_or_else(|| RequestError::params("`taskId` must be a string"))
}

/// The token for progress that a request carries: text or number, as it came.
pub(super) fn progress_token(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}
