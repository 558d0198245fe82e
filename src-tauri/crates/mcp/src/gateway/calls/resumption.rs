//! Answers a client that comes back for an answer whose stream broke: of this core, or of one that was killed (decision
//! 0024).
//!
//! A tool call resumes at its row, which is there before the client can know of it. Any other request only reads or
//! waits, so it is answered again from its params. Nothing is stored: the client brings the target back itself.

use std::sync::Arc;

use domain::ids::HandleId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::gateway::calls::held_call::{HeldCall, HoldLimit, hold};
use crate::gateway::calls::progress::ProgressSender;
use crate::gateway::clients::call_timeout::WaitingProgram;
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::names::TargetTool;
use crate::gateway::state::GatewayState;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, Request, RequestParams, ResponseStream, ResumeRequest};

/// What a client brings back to have its answer again.
#[derive(Serialize, Deserialize)]
enum ResumeTarget {
    /// The row of a call.
    #[serde(rename = "call")]
    Call(String),
    /// Method and params of any other request.
    #[serde(rename = "again")]
    Again(String, Option<Box<RawValue>>),
}

/// Lets the client come back for the answer of a call.
pub(crate) fn offer_call(stream: &ResponseStream, id: HandleId) {
    offer(stream, || ResumeTarget::Call(id.to_string()));
}

/// Lets the client come back for the answer of a request, unless its params are too long to carry.
pub(crate) fn offer_request(state: &GatewayState, stream: &ResponseStream, request: &Request) {
    if !stream.may_resume() {
        return;
    }
    let raw = request.params.raw();
    if raw.is_none_or(|raw| raw.get().len() <= state.policy.serving.carried_bytes) {
        offer(stream, || ResumeTarget::Again(request.method.clone(), raw.map(ToOwned::to_owned)));
    }
}

fn offer(stream: &ResponseStream, target: impl FnOnce() -> ResumeTarget) {
    if stream.may_resume()
        && let Ok(text) = serde_json::to_string(&target())
    {
        stream.resume_at(&text);
    }
}

/// The request to answer again, and the row when it is a call.
///
/// # Errors
/// When a later version wrote it.
pub(crate) fn read(resumed: ResumeRequest) -> Result<(Request, Option<HandleId>), RequestError> {
    let unreadable = || RequestError::new(RequestErrorKind::InvalidRequest, "this answer cannot be asked for again");
    let ResumeRequest { id, point, principal } = resumed;
    let (method, params, call) = match serde_json::from_str(&point).map_err(|_| unreadable())? {
        ResumeTarget::Call(call) => ("tools/call".to_owned(), None, Some(call.parse().map_err(|_| unreadable())?)),
        ResumeTarget::Again(method, params) => (method, params, None),
    };
    Ok((Request { id, method, params: RequestParams::open(params)?, principal, mirrored: None }, call))
}

/// Holds a call again.
///
/// # Errors
/// When there is no such call of this agent, and what [`hold`] says.
pub(crate) async fn call(
    context: &RequestContext,
    id: HandleId,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let found = context.state.engine.rejoin(context.agent, id).await.map_err(|error| engine_errors::fault(&error))?;
    let handle = found.ok_or_else(RequestError::unknown_task)?;
    offer_call(stream, id);
    let tool = handle.tool.clone().unwrap_or_else(|| Arc::from(""));
    let target = TargetTool { server: handle.server, tool };
    let now = Instant::now();
    let mut progress = ProgressSender::new(context, target.server, None, now);
    // Whether the client asked for progress is not known any more: its fixed timeout counts, from the call's beginning.
    let program = WaitingProgram::of(context, &RequestParams::open(None)?, stream);
    let age = handle.age(context.state.clock.now());
    let limit = HoldLimit::of(context, &target, &program, now).joined(now, age);
    hold(context, HeldCall::of(id, limit), &mut progress, stream, usage).await
}
