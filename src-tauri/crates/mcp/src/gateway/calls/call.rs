//! A `tools/call` of an agent, from its params to its first reply.
//!
//! The params are opened one level deep and sent as they came; the engine sends them once and returns the outcome. A
//! quick reply goes straight back, raw; what lasts longer has a task from then on and is held (`held_call.rs`). Whether
//! the arguments fit the tool is for the server to say.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use domain::ports::{AnswerToSend, ArgumentsDigest, CallListener, Continuation};
use domain::task::TaskHandle;
use domain::task::input_request::{AnswerAction, AskDoor};
use domain::task::payload::Payload;
use engine::{AgentCall, CallOutcome, EngineError, HangUp, Passed};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::gateway::calls::call_params::CallParams;
use crate::gateway::calls::held_call::{HeldCall, HoldLimit, hold};
use crate::gateway::calls::progress::ProgressSender;
use crate::gateway::calls::{param_headers, resumption, task_tools};
use crate::gateway::clients::call_timeout::{TimeoutWatch, WaitingProgram};
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::result_dialect;
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::names::TargetTool;
use crate::gateway::servers::{identities, offered_names, targets};
use crate::gateway::tasks::modern_elicitation;
use crate::server::request_params::members;
use crate::server::rpc_error::RequestError;
use crate::server::{RawResult, Request, RequestParams, ResponseStream, SessionTransport};
use crate::wire::raw_json::{meaning, text_member};

/// Calls a tool for an agent.
///
/// What a quick call does not need is boxed apart: tools of the gateway's own, answers to questions, and holding.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(crate) async fn call(
    context: &RequestContext,
    request: &Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let begun = Instant::now();
    let params = &request.params;
    let name = tool_name(params)?;
    if offered_names::is_task_tool(context, &name) {
        return Box::pin(of_task_tool(context, &name, request, stream, usage)).await;
    }
    let target = targets::tool(context, &name).await.inspect_err(|_| usage.add_unknown_tool(params))?;
    param_headers::check(&context.state, &target, request).inspect_err(|_| usage.add_local_call(params))?;
    let mut progress = ProgressSender::new(context, target.server, Some(params), begun);
    let timeout_watch = TimeoutWatch::new(context, params, stream, begun);
    if context.is_modern()
        && params.get("requestState").is_some()
        && let Some(id) = Box::pin(modern_elicitation::resume(context, &target, params)).await?
    {
        if let Some(receipt) = usage.receipt() {
            receipt.set_task(target.server, id);
        }
        let program = WaitingProgram::of(context, params, stream);
        let limit = HoldLimit::of(context, &target, &program, begun);
        return Box::pin(hold(context, HeldCall::of(id, limit), &mut progress, stream, usage)).await;
    }
    let outgoing = agent_call(context, &target, params, stream, Some(progress.listener()));
    let outgoing = outgoing.inspect_err(|_| usage.add_local_call(params))?;
    usage.add_call(&outgoing);
    // Pinned here: a future that is passed by value is held twice.
    let calling = pin!(context.state.engine.agent_call(outgoing));
    let (id, is_joined) = match first_outcome(context, calling, &mut progress, stream).await? {
        CallOutcome::Result { payload, .. } => {
            let result = identities::to_agent_text(context, target.server, None, payload);
            let result = result_dialect::for_client(context, result);
            usage.add(Passed::Result(result.clone()));
            return Ok(RawResult::Text(result));
        }
        CallOutcome::Error { payload } => {
            return Err(RequestError::raw(&identities::to_agent(context, target.server, None, &payload)?));
        }
        // The agent is asked as its server asked: its retry goes to the server too, because there is no row.
        CallOutcome::NeedsInput { whole } => {
            return Ok(RawResult::Text(identities::to_agent_text(context, target.server, None, whole)));
        }
        CallOutcome::Handle(id) => (id, false),
        CallOutcome::Joined(id) => (id, true),
    };
    let program = WaitingProgram::of(context, params, stream);
    let mut limit = HoldLimit::of(context, &target, &program, begun);
    let mut timeout_watch = Some(timeout_watch);
    if is_joined {
        progress.make_due();
        // Behind a bridge the program may have been waiting since it first made the call, to another core.
        if program.door() == SessionTransport::Stdio {
            drop(timeout_watch.take());
            let age = |task: Arc<TaskHandle>| task.age(context.state.clock.now());
            limit = limit.joined(begun, context.state.engine.task(id).map_or(Duration::ZERO, age));
        }
    }
    resumption::offer_call(stream, id);
    let held = if is_joined { HeldCall::of_repeat(id, limit) } else { HeldCall::of(id, limit) };
    Box::pin(hold(context, held, &mut progress, stream, usage)).await
}

/// The tool that is called, by the name that the agent has for it.
///
/// # Errors
/// When `name` is no text.
fn tool_name(params: &RequestParams) -> Result<Cow<'_, str>, RequestError> {
    params.get("name").and_then(meaning).ok_or_else(|| RequestError::params("`name` must be a text"))
}

/// The answer of a task tool.
async fn of_task_tool(
    context: &RequestContext,
    name: &str,
    request: &Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    usage.cancel_receipt();
    usage.add_local_call(&request.params);
    resumption::offer_request(&context.state, stream, request);
    task_tools::call(context, name, &request.params, stream, usage).await
}

/// Makes the call, and passes progress on until it is answered.
async fn first_outcome(
    context: &RequestContext,
    mut calling: Pin<&mut impl Future<Output = Result<CallOutcome, EngineError>>>,
    progress: &mut ProgressSender<'_>,
    stream: &ResponseStream,
) -> Result<CallOutcome, RequestError> {
    let _waiting = context.state.reminders.begin(&context.meter);
    loop {
        tokio::select! {
            biased;
            landed = &mut calling => {
                progress.flush(None, stream).await;
                return landed.map_err(|error| engine_errors::fault(&error));
            }
            () = progress.send_next(None, stream) => {}
        }
    }
}

/// The call as the engine takes it.
///
/// # Errors
/// When the arguments are no object.
pub(crate) fn agent_call(
    context: &RequestContext,
    target: &TargetTool,
    params: &RequestParams,
    stream: &ResponseStream,
    listener: Option<CallListener>,
) -> Result<AgentCall, RequestError> {
    let CallParams { whole, arguments } = CallParams::of(params)?;
    Ok(AgentCall {
        agent: context.agent,
        place: Some(engine::Conversation::new(context.agent, context.server, context.session_name.as_deref())),
        server: target.server,
        tool: Arc::clone(&target.tool),
        digest: ArgumentsDigest::of(arguments.clone()),
        arguments,
        agent_params: whole.map(|whole| identities::call_to_server(context, whole)),
        trace: params.get("_meta").and_then(trace_of),
        continuation: continuation(context, params)?,
        abilities: context.abilities(),
        relay_rounds: context.is_modern(),
        limit: None,
        agent_ttl: None,
        own_task: false,
        hang_up: if stream.closing_cancels() { HangUp::Cancel } else { HangUp::Keep },
        listener,
    })
}

/// The trace id in the `_meta` of a call.
fn trace_of(meta: &str) -> Option<Arc<str>> {
    const PARENT: &str = "traceparent";
    // Most calls have none, and are not walked for it. A spelling with escapes names no trace.
    memchr::memmem::find(meta.as_bytes(), PARENT.as_bytes())?;
    trace(&text_member(meta, PARENT)?)
}

/// The trace id of a W3C `traceparent`.
fn trace(parent: &str) -> Option<Arc<str>> {
    let mut parts = parent.split('-');
    let (_version, id) = (parts.next()?, parts.next()?);
    let fits = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    fits.then(|| Arc::from(id.to_ascii_lowercase().as_str()))
}

/// The agent's answers to questions that were relayed to it, and the server's state, byte for byte (statement 63).
fn continuation(context: &RequestContext, params: &RequestParams) -> Result<Option<Continuation>, RequestError> {
    let (request_state, responses) = (params.get("requestState"), params.said("inputResponses"));
    if !context.is_modern() || (request_state.is_none() && responses.is_none()) {
        return Ok(None);
    }
    let answers = members(responses.unwrap_or("{}"));
    let answers = answers.ok_or_else(|| RequestError::params("`inputResponses` must be an object"))?;
    let answer = |(key, response): (Cow<'_, str>, &RawValue)| AnswerToSend {
        door: AskDoor::Round { round: 1, key: key.into_owned() },
        action: AnswerAction::Forwarded,
        content: Some(Payload::new(response.get())),
    };
    Ok(Some(Continuation {
        state: request_state.map(Payload::new),
        answers: answers.into_iter().map(answer).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_known_by_its_32_digits() {
        let parent = "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(trace(parent).as_deref(), Some("0af7651916cd43dd8448eb211c80319c"), "in lower case");
        for none in ["", "00", "00-xyz-1-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
            assert_eq!(trace(none), None, "`{none}` names no trace");
        }
    }
}
