//! A `tools/call` with `params.task`, in a session of 2025-11-25 (protocol.md §1, §7.3).
//!
//! In that version the client decides what becomes a task: such a call has a row at once, whatever its server can do, and
//! its handle leaves after the row is durable. All other calls are `call.rs`.

use std::time::Duration;

use domain::policy::{AGENT_TTL_MAX_MILLIS, Policy};
use engine::{CallOutcome, HangUp, Passed};
use serde_json::Value;

use crate::gateway::calls::call;
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::{raw_json, result_dialect};
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::{identities, targets};
use crate::gateway::tasks::{legacy_view, session_notifier};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, Request, RequestParams, ResponseStream};

/// Calls a tool as a task.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(crate) async fn call(
    context: &RequestContext,
    request: &Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let engine = &context.state.engine;
    let params = &request.params;
    let name = params.text("name").ok_or_else(|| RequestError::params("`name` must be a text"))?;
    let target = targets::tool(context, &name).await.inspect_err(|_| usage.add_unknown_tool(params))?;
    let server = target.server;
    // Notifications on the way go to the standing stream, from the row: nobody listens at the call.
    let outgoing = call::agent_call(context, &target, params, stream, None);
    let mut outgoing = outgoing.inspect_err(|_| usage.add_local_call(params))?;
    let ttl = requested_ttl(params, &context.state.policy).inspect_err(|_| usage.add_local_call(params))?;
    usage.add_call(&outgoing);
    outgoing.own_task = true;
    outgoing.hang_up = HangUp::Keep;
    outgoing.agent_ttl = ttl;
    let id = match engine.agent_call(outgoing).await.map_err(|failed| engine_errors::fault(&failed))? {
        CallOutcome::Handle(id) | CallOutcome::Joined(id) => id,
        // Refused before anything was sent, or by a server that made no task of it: passed on as it is.
        CallOutcome::Result { payload, .. } | CallOutcome::NeedsInput { whole: payload } => {
            let result = identities::to_agent_text(context, server, None, payload);
            let result = result_dialect::for_client(context, result);
            usage.add(Passed::Result(result.clone()));
            return Ok(RawResult::Text(result));
        }
        CallOutcome::Error { payload } => {
            return Err(RequestError::raw(&identities::to_agent(context, server, None, &payload)?));
        }
    };
    engine.give(id).await.map_err(|failed| engine_errors::fault(&failed))?;
    let watch = context.state.watch(id).await?.ok_or_else(RequestError::unknown_task)?;
    let handle = watch.now();
    let task = legacy_view::task(context, &handle).await?;
    usage.set_call_task(&handle);
    usage.add_shown_task(&handle, &task.raw, false);
    session_notifier::start(context, watch, params.progress_token());
    if stream.is_gone() {
        engine.hung_up(id, HangUp::Keep).await;
    } else {
        engine.delivered(id);
    }
    let reply = raw_json::raw(format!("{{\"task\":{}}}", task.raw.get()));
    let unwritten = || RequestError::new(RequestErrorKind::Internal, "the task could not be written");
    reply.map(RawResult::Raw).ok_or_else(unwritten)
}

/// How long the agent wants the task kept (`params.task.ttl`); `None` when it does not say.
fn requested_ttl(params: &RequestParams, policy: &Policy) -> Result<Option<Duration>, RequestError> {
    let task = params
        .value("task")
        .filter(Value::is_object)
        .ok_or_else(|| RequestError::params("`task` must be an object"))?;
    let ttl = match task.get("ttl") {
        None | Some(Value::Null) => return Ok(None),
        Some(ttl) => ttl.as_f64().filter(|ttl| *ttl >= 0.0).map(|ttl| ttl as u64),
    };
    // A larger number becomes the largest, which is refused as well.
    let ttl = ttl.filter(|ttl| *ttl <= AGENT_TTL_MAX_MILLIS).ok_or_else(|| {
        RequestError::params(format!("`task.ttl` must be a number of milliseconds from 0 to {AGENT_TTL_MAX_MILLIS}"))
    })?;
    Ok(Some(Duration::from_millis(ttl).max(policy.gateway.agent_ttl_min)))
}
