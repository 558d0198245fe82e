//! A `tools/call` of an agent, from its params to its first reply.
//!
//! The params are opened one level deep and go on as they came; the engine sends them once and says what came of it. A
//! plain reply goes straight back, raw. What lasts longer has a handle from then on and is held (`hold.rs`). Whether the
//! arguments fit their tool is the server's word.

use std::sync::Arc;
use std::time::Duration;

use domain::task::TaskHandle;
use domain::task::payload::Payload;
use domain::ports::{AnswerToSend, CallListener, Continuation};
use domain::task::input_request::{AnswerAction, AskDoor};
use engine::{AgentCall, CallOutcome, HangUp, Passed};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::budget::Tap;
use super::clients::{TimeoutWatch, WaitingProgram};
use super::guest::Guest;
use super::hold::{Held, Patience, hold};
use super::names::ToolPlace;
use super::tell::Teller;
use super::{Gate, era, forward, mirrored, names, own_tools, questions, resume, service};
use crate::server::rpc_error::RequestError;
use crate::server::request_params::members;
use crate::server::{RawResult, Request, RequestParams, ResponseStream, SessionTransport};

/// Calls a tool for an agent.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(super) async fn call(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let begun = Instant::now();
    let params = &request.params;
    let name = params.text("name").ok_or_else(|| RequestError::params("`name` must be a text"))?;
    if own_tools::is_ours(gate, guest, &name).await {
        tap.called_here(params);
        resume::at_request(gate, seat, &request);
        return own_tools::call(gate, guest, &name, params, seat, tap).await;
    }
    let place = names::tool(gate, guest, &name).await.inspect_err(|_| tap.called_here(params))?;
    mirrored::check(gate, &place, &request).inspect_err(|_| tap.called_here(params))?;
    let (mut teller, listener) = Teller::new(gate, guest, place.server, params.progress_token());
    let program = WaitingProgram::of(gate, guest, params, seat);
    let patience = Patience::of(gate, guest, &place, (&program, begun));
    let gives_up = TimeoutWatch::new(gate, guest, program, seat);
    if guest.is_modern()
        && let Some(id) = questions::resume(gate, guest, &place, params).await?
    {
        let held = Held { id, patience, waits: false, since: None };
        return hold(gate, guest, held, &mut teller, seat, tap).await;
    }
    let outgoing = agent_call(gate, guest, &place, params, seat, listener);
    let outgoing = outgoing.inspect_err(|_| tap.called_here(params))?;
    tap.calls(&outgoing);
    match land(gate, outgoing, &mut teller, seat).await? {
        CallOutcome::Result { payload, .. } => {
            let result = forward::down_text(gate, guest, place.server, None, payload);
            let result = era::result(guest, result);
            tap.shows(Passed::Result(result.clone()));
            Ok(RawResult::Text(result))
        }
        CallOutcome::Error { payload } => Err(RequestError::raw(&forward::down(gate, guest, place.server, None, &payload).await?)),
        // The agent is asked as its server asked: its retry goes there too, because there is no row.
        CallOutcome::NeedsInput { whole } => Ok(RawResult::Text(forward::down_text(gate, guest, place.server, None, whole))),
        CallOutcome::Handle(id) => {
            resume::at_call(seat, id);
            let held = Held { id, patience, waits: false, since: None };
            hold(gate, guest, held, &mut teller, seat, tap).await
        }
        CallOutcome::Joined(id) => {
            resume::at_call(seat, id);
            // Behind a bridge the program may have waited since the call was made the first time, to another core.
            let is_bridged = program.door() == SessionTransport::Stdio;
            let age = gate.engine.task(id).map_or(Duration::ZERO, |task| gate.clock.now().since(task.created));
            let patience = if is_bridged { patience.joined(begun, age) } else { patience };
            if is_bridged {
                drop(gives_up);
            }
            teller.hurry();
            let held = Held { id, patience, waits: false, since: None };
            hold(gate, guest, held, &mut teller, seat, tap).await
        }
    }
}

/// Sends the call and tells its agent what it says meanwhile.
async fn land(gate: &Arc<Gate>, call: AgentCall, teller: &mut Teller, seat: &ResponseStream) -> Result<CallOutcome, RequestError> {
    let calling = gate.engine.agent_call(call);
    tokio::pin!(calling);
    loop {
        tokio::select! {
            biased;
            landed = &mut calling => {
                teller.rest(None, seat).await;
                return landed.map_err(|error| service::fault(&error));
            }
            () = teller.next(None::<&TaskHandle>, seat) => {}
        }
    }
}

/// The call as the engine takes it.
///
/// # Errors
/// When the arguments are no object.
pub(super) fn agent_call(
    gate: &Gate,
    guest: &Guest,
    place: &ToolPlace,
    params: &RequestParams,
    seat: &ResponseStream,
    listener: CallListener,
) -> Result<AgentCall, RequestError> {
    let arguments = params.said("arguments").unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Err(RequestError::params("`arguments` must be an object"));
    }
    Ok(AgentCall {
        agent: guest.agent,
        place: Some(engine::Conversation::new(guest.agent, guest.server, guest.session_name().as_deref())),
        server: place.server,
        tool: Arc::clone(&place.tool),
        arguments: Payload::new(arguments),
        agent_params: params.raw().map(|raw| forward::call_up(gate, guest, raw)),
        trace: params.meta().get("traceparent").and_then(|said| trace(said.as_str()?)),
        continuation: continuation(guest, params)?,
        abilities: guest.abilities(),
        relay_rounds: guest.is_modern(),
        limit: None,
        agent_ttl: None,
        own_task: false,
        hang_up: if seat.closing_cancels() { HangUp::Cancel } else { HangUp::Keep },
        listener: Some(listener),
    })
}

/// The trace id of a W3C `traceparent`.
fn trace(parent: &str) -> Option<Arc<str>> {
    let mut parts = parent.split('-');
    let (_version, id) = (parts.next()?, parts.next()?);
    let fits = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    fits.then(|| Arc::from(id.to_ascii_lowercase().as_str()))
}

/// The agent's answers to questions that were relayed to it, and the server's state, byte for byte (statement 63).
fn continuation(guest: &Guest, params: &RequestParams) -> Result<Option<Continuation>, RequestError> {
    let (state, responses) = (params.get("requestState"), params.said("inputResponses"));
    if !guest.is_modern() || (state.is_none() && responses.is_none()) {
        return Ok(None);
    }
    let answers = members(responses.unwrap_or("{}"));
    let answers = answers.ok_or_else(|| RequestError::params("`inputResponses` must be an object"))?;
    let answer = |(key, response): (std::borrow::Cow<'_, str>, &RawValue)| AnswerToSend {
        door: AskDoor::Round { round: 1, key: key.into_owned() },
        action: AnswerAction::Forwarded,
        content: Some(Payload::new(response.get())),
    };
    Ok(Some(Continuation { state: state.map(Payload::new), answers: answers.into_iter().map(answer).collect() }))
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
