//! Questions of tasks on their way to the agent, and its answers on their way back.
//!
//! Who is asked was decided by rules; what an agent may see is [`agent_sight`]'s word, and nothing here adds to it. A
//! session is asked by a request of ours (`asking.rs`). A modern agent reads `inputRequests`, in its task or in an
//! `input_required` reply to its call; the retry of that call is matched to the row and never sent on, so that no tool
//! runs twice. The first recorded answer wins: that is the engine's matter. The spelling is in `bridge.rs`.

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::{HandleId, RequestKey};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::input_request::{InputRequest, RequestState};
use serde_json::Value;
use serde_json::value::RawValue;

use super::asking::{self, Asked, Stream};
use super::guest::Guest;
use super::names::ToolPlace;
use super::{Gate, bridge, find, service};
use crate::wire::raw_json::{JsonMembers, member};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RequestParams, ResponseStream};

/// A held call's agent is asked these: a session on `seat`, until one is settled or taken back (`None`); a modern
/// client by the `input_required` result that this returns.
///
/// # Errors
/// When the agent cannot be asked.
pub(super) async fn on_call(
    gate: &Arc<Gate>,
    guest: &Guest,
    handle: &TaskHandle,
    keys: &[RequestKey],
    seat: &ResponseStream,
) -> Result<Option<Box<RawValue>>, RequestError> {
    let Some(session) = guest.session() else { return input_required(gate, handle.id, keys).await.map(Some) };
    let freed = gate.claims.freed();
    match asking::ask_next(gate, session, Stream::Call(seat), handle).await? {
        Asked::Settled => {}
        // What this client cannot be asked waits for somebody else, or for the task to change.
        Asked::Nothing => {
            let Some(mut watch) = asking::watch(gate, handle.id).await? else { return Ok(None) };
            if watch.now().version == handle.version {
                tokio::select! {
                    _ = watch.changed() => {}
                    () = freed => {}
                }
            }
        }
        Asked::StreamLost => return Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone")),
    }
    Ok(None)
}

/// Under which keys a modern agent sees questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Of a task: unique in its whole life.
    Task,
    /// Of a reply to its call: unique in that reply.
    Round,
}

impl Keys {
    fn of(self, request: &InputRequest) -> &str {
        match self {
            Self::Task => bridge::task_key(request),
            Self::Round => bridge::round_key(request),
        }
    }
}

/// `inputRequests` of these open questions of a task, as JSON text.
///
/// # Errors
/// When they cannot be read.
pub(super) async fn input_requests(
    gate: &Gate,
    handle: &TaskHandle,
    keys: &[RequestKey],
) -> Result<Box<RawValue>, RequestError> {
    requests(gate, handle, keys, Keys::Task).await
}

async fn requests(
    gate: &Gate,
    handle: &TaskHandle,
    keys: &[RequestKey],
    as_keys: Keys,
) -> Result<Box<RawValue>, RequestError> {
    let mut members = Vec::new();
    for request in keys.iter().filter_map(|key| handle.requests.get(key)) {
        let whole = asking::payload(gate, handle.id, PayloadKind::Question(request.key.clone())).await?;
        if let Some(question) = bridge::modern_question(handle.id, request, whole.as_ref()) {
            members.push(format!("{}:{question}", Value::from(as_keys.of(request))));
        }
    }
    bridge::raw(format!("{{{}}}", members.join(","))).ok_or_else(unreadable)
}

/// What our `requestState` begins with. Others are those of servers and are never looked into.
const STATE: &str = "taskwarden.1.";

/// The reply to a call that asks first, for a modern agent that gets no handle. The row is durable before: the state
/// names it.
async fn input_required(gate: &Arc<Gate>, id: HandleId, keys: &[RequestKey]) -> Result<Box<RawValue>, RequestError> {
    let handle = gate.engine.give(id).await.map_err(|failed| service::fault(&failed))?;
    let asked = requests(gate, &handle, keys, Keys::Round).await?;
    let state = Value::from(format!("{STATE}{id}.{}", handle.requests.len()));
    let reply =
        format!("{{\"resultType\":\"input_required\",\"inputRequests\":{},\"requestState\":{state}}}", asked.get());
    bridge::raw(reply).ok_or_else(unreadable)
}

/// The handle whose questions this modern retry answers, after the answers were recorded; `None` when the call is no
/// retry of ours and goes to its server.
///
/// # Errors
/// When the answers cannot be read, or the state names no call of this agent, or another call.
pub(super) async fn resume(
    gate: &Arc<Gate>,
    guest: &Guest,
    place: &ToolPlace,
    params: &RequestParams,
) -> Result<Option<HandleId>, RequestError> {
    let unknown = || RequestError::params("this `requestState` is not known here, or belongs to another call");
    let Some(state) = params.text("requestState") else { return Ok(None) };
    let Some(named) = state.strip_prefix(STATE) else { return Ok(None) };
    let (id, asked) = named.split_once('.').ok_or_else(unknown)?;
    let (Ok(id), Ok(asked)) = (id.parse::<HandleId>(), asked.parse::<usize>()) else { return Err(unknown()) };
    let handle = find::task(gate, guest, &id.to_string()).await.map_err(|_| unknown())?;
    let digest = engine::arguments_digest(&Payload::new(params.said("arguments").unwrap_or("{}")));
    let same = handle.server == place.server
        && handle.tool.as_deref() == Some(&*place.tool)
        && handle.arguments_digest.as_ref() == Some(&digest);
    if !same {
        return Err(unknown());
    }
    // A retry that was sent twice must not answer what was asked since.
    if let Some(responses) = params.said("inputResponses").filter(|_| handle.requests.len() == asked) {
        take(gate, guest, &handle, responses, Keys::Round).await?;
    }
    Ok(Some(id))
}

/// Records the `inputResponses` of an agent; unknown and answered keys are passed over (protocol.md §2.6).
///
/// # Errors
/// When they are no object of answers.
pub(super) async fn answer(gate: &Arc<Gate>, guest: &Guest, handle: &TaskHandle, responses: &str) -> Result<(), RequestError> {
    take(gate, guest, handle, responses, Keys::Task).await
}

/// All answers to open questions must be readable before the first is recorded.
async fn take(gate: &Gate, guest: &Guest, handle: &TaskHandle, responses: &str, keys: Keys) -> Result<(), RequestError> {
    if JsonMembers::object(responses).is_none() {
        return Err(RequestError::params("`inputResponses` must be an object"));
    }
    let open = asking::open_to_agent(handle, gate.clock.now());
    let mut answers = Vec::new();
    for request in handle.requests.values() {
        let key = request.key.clone();
        let is_late = match request.state {
            // What people are asked, or what the server took back, the agent does not see.
            RequestState::Open if !open.contains(&key) => continue,
            RequestState::Withdrawn { .. } => continue,
            RequestState::Open => false,
            // Acknowledged and passed over; that somebody was faster is noted with the task.
            RequestState::Answered(_) | RequestState::Confirmed(_) => true,
        };
        let Some(response) = member(responses, keys.of(request)) else { continue };
        let answer = bridge::answer(&request.ask, response);
        match answer {
            Some((action, content)) => answers.push((key, action, content)),
            None if is_late => {}
            None => return Err(RequestError::params("an answer's `action` must be `accept`, `decline` or `cancel`")),
        }
    }
    for (key, action, content) in answers {
        asking::record(gate, handle.id, guest.agent, &key, action, content).await?;
    }
    Ok(())
}

/// Asks an older agent what its server asked before there was a task (`whole` is the `input_required` result), on the
/// stream of its call. Returns the members `inputResponses` and `requestState` of the next round, as JSON text.
///
/// # Errors
/// When the agent cannot be asked, or gives the question up.
pub(super) async fn relay(
    gate: &Arc<Gate>,
    guest: &Guest,
    whole: &str,
    seat: &ResponseStream,
) -> Result<Vec<(&'static str, String)>, RequestError> {
    let session = guest.session().ok_or_else(unreadable)?;
    let mut responses = Vec::new();
    let asked = member(whole, "inputRequests").unwrap_or("{}");
    for part in JsonMembers::object(asked).ok_or_else(unreadable)? {
        let question = asked.get(part.value).ok_or_else(unreadable)?;
        let link = format!("{:032x}", (gate.draw)());
        let response = asking::pass_on(gate, session, seat, question, &link).await?;
        responses.push(format!("{}:{response}", Value::from(&*part.name)));
    }
    let mut members = vec![("inputResponses", format!("{{{}}}", responses.join(",")))];
    // Byte for byte, if and only if it was given (statement 63).
    if let Some(state) = member(whole, "requestState") {
        members.push(("requestState", state.to_owned()));
    }
    Ok(members)
}

fn unreadable() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the question could not be written")
}
