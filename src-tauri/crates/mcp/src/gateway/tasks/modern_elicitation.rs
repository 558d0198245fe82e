//! Questions of tasks for modern agents, and of held calls for agents of either era.
//!
//! Who is asked was decided by rules. A modern agent reads `inputRequests`, in its task or in an `input_required` reply to
//! its call; the retry of that call is matched to its row and never sent on, so that no tool runs twice. A session is
//! asked by a request (`elicitation.rs`). The first recorded answer wins, which the engine decides.

use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use domain::task::TaskHandle;
use domain::task::input_request::{InputRequest, RequestState};
use domain::task::payload::{Payload, PayloadKind};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::gateway::conversion::{input_requests, raw_json};
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::names::TargetTool;
use crate::gateway::state::GatewayState;
use crate::gateway::tasks::elicitation::{ElicitationOutcome, ElicitationStream};
use crate::gateway::tasks::{elicitation, lookup};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RequestParams, ResponseStream};
use crate::wire::raw_json::{JsonMembers, member};

/// Asks the agent of a held call: a session on `stream`, until one question is settled or withdrawn (`None`); a modern
/// client by the `input_required` result that this returns.
///
/// # Errors
/// When the agent cannot be asked.
pub(crate) async fn on_call(
    context: &RequestContext,
    handle: &TaskHandle,
    keys: &[RequestKey],
    stream: &ResponseStream,
) -> Result<Option<Box<RawValue>>, RequestError> {
    let Some(session) = context.session() else {
        return input_required(&context.state, handle.id, keys).await.map(Some);
    };
    let released = context.state.elicitations.released();
    match elicitation::ask_next(&context.state, session, ElicitationStream::Call(stream), handle).await? {
        ElicitationOutcome::Settled => {}
        // A question that this client cannot be asked waits for somebody else, or for the task to change.
        ElicitationOutcome::Nothing => {
            let Some(mut watch) = context.state.watch(handle.id).await? else { return Ok(None) };
            if watch.now().version == handle.version {
                tokio::select! {
                    _ = watch.changed() => {}
                    () = released => {}
                }
            }
        }
        ElicitationOutcome::StreamLost => {
            return Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone"));
        }
    }
    Ok(None)
}

/// In what the keys of questions are unique for a modern agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyScope {
    /// In the whole life of a task.
    Task,
    /// In one reply to a call.
    Round,
}

impl KeyScope {
    fn of(self, request: &InputRequest) -> &str {
        match self {
            Self::Task => input_requests::task_key(request),
            Self::Round => input_requests::round_key(request),
        }
    }
}

/// The `inputRequests` of a task, as JSON text.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn input_requests(
    state: &GatewayState,
    handle: &TaskHandle,
    keys: &[RequestKey],
) -> Result<Box<RawValue>, RequestError> {
    requests(state, handle, keys, KeyScope::Task).await
}

async fn requests(
    state: &GatewayState,
    handle: &TaskHandle,
    keys: &[RequestKey],
    scope: KeyScope,
) -> Result<Box<RawValue>, RequestError> {
    let mut members = Vec::new();
    for request in keys.iter().filter_map(|key| handle.requests.get(key)) {
        let whole = state.payload(handle.id, PayloadKind::Question(request.key.clone())).await?;
        if let Some(question) = input_requests::modern_question(handle.id, request, whole.as_ref()) {
            members.push(format!("{}:{question}", Value::from(scope.of(request))));
        }
    }
    raw_json::raw(format!("{{{}}}", members.join(","))).ok_or_else(unreadable)
}

/// What the gateway's `requestState` begins with. Any other is a server's and is never looked into.
const STATE: &str = "taskwarden.1.";

/// The reply to a call that asks before it answers, for a modern agent that gets no handle. Its state names the row, so
/// the row is durable first.
async fn input_required(
    state: &Arc<GatewayState>,
    id: HandleId,
    keys: &[RequestKey],
) -> Result<Box<RawValue>, RequestError> {
    let handle = state.engine.give(id).await.map_err(|failed| engine_errors::fault(&failed))?;
    let questions = requests(state, &handle, keys, KeyScope::Round).await?;
    let request_state = Value::from(format!("{STATE}{id}.{}", handle.requests.len()));
    let reply = format!(
        "{{\"resultType\":\"input_required\",\"inputRequests\":{},\"requestState\":{request_state}}}",
        questions.get()
    );
    raw_json::raw(reply).ok_or_else(unreadable)
}

/// Records the answers in a modern retry and returns its task; `None` when the call is no retry of such a reply and goes to
/// its server.
///
/// # Errors
/// When the answers cannot be read, or the state names no call of this agent, or another call.
pub(crate) async fn resume(
    context: &RequestContext,
    target: &TargetTool,
    params: &RequestParams,
) -> Result<Option<HandleId>, RequestError> {
    let unknown = || RequestError::params("this `requestState` is not known here, or belongs to another call");
    let Some(request_state) = params.text("requestState") else { return Ok(None) };
    let Some(named) = request_state.strip_prefix(STATE) else { return Ok(None) };
    let (id, asked) = named.split_once('.').ok_or_else(unknown)?;
    let (Ok(id), Ok(asked)) = (id.parse::<HandleId>(), asked.parse::<usize>()) else { return Err(unknown()) };
    let handle = lookup::task(context, &id.to_string()).await.map_err(|_| unknown())?;
    let digest = engine::arguments_digest(&Payload::new(params.said("arguments").unwrap_or("{}")));
    let same = handle.server == target.server
        && handle.tool.as_deref() == Some(&*target.tool)
        && handle.arguments_digest.as_ref() == Some(&digest);
    if !same {
        return Err(unknown());
    }
    // A retry that was sent twice must not answer what was asked since.
    if let Some(responses) = params.said("inputResponses").filter(|_| handle.requests.len() == asked) {
        record(context, &handle, responses, KeyScope::Round).await?;
    }
    Ok(Some(id))
}

/// Records the `inputResponses` of an agent; unknown and answered keys are ignored (protocol.md §2.6).
///
/// # Errors
/// When they are no object of answers.
pub(crate) async fn answer(context: &RequestContext, handle: &TaskHandle, responses: &str) -> Result<(), RequestError> {
    record(context, handle, responses, KeyScope::Task).await
}

/// Records answers, after all of those to open questions could be read. Of one that does not fit its form, the agent
/// learns the field, and may answer again.
async fn record(
    context: &RequestContext,
    handle: &TaskHandle,
    responses: &str,
    scope: KeyScope,
) -> Result<(), RequestError> {
    if JsonMembers::object(responses).is_none() {
        return Err(RequestError::params("`inputResponses` must be an object"));
    }
    let open = elicitation::open_questions(handle, context.state.clock.now());
    let mut answers = Vec::new();
    for request in handle.requests.values() {
        let key = request.key.clone();
        let is_late = match request.state {
            // The agent does not see what people are asked, nor what the server withdrew.
            RequestState::Open if !open.contains(&key) => continue,
            RequestState::Withdrawn { .. } => continue,
            RequestState::Open => false,
            // Acknowledged and ignored: the history of the task says who answered.
            RequestState::Answered(_) | RequestState::Confirmed(_) => true,
        };
        let Some(response) = member(responses, scope.of(request)) else { continue };
        let answer = input_requests::answer(&request.ask, response);
        match answer {
            Some((action, content)) => answers.push((key, scope.of(request), action, content)),
            None if is_late => {}
            None => return Err(RequestError::params("an answer's `action` must be `accept`, `decline` or `cancel`")),
        }
    }
    let mut unfit = None;
    for (key, named, action, content) in answers {
        let broken = elicitation::record(&context.state, handle.id, context.agent, &key, action, content).await?;
        if let Some(broken) = broken {
            let why = format!("the answer to `{named}` does not fit its form and was not sent: {broken}");
            unfit.get_or_insert_with(|| RequestError::params(why));
        }
    }
    unfit.map_or(Ok(()), Err)
}

/// Asks an agent of an older era, on the stream of its call, what its server asked in `whole`, an `input_required` result.
/// Returns the members `inputResponses` and `requestState` of the next round, as JSON text.
///
/// # Errors
/// When the agent cannot be asked, or gives up.
pub(crate) async fn relay(
    context: &RequestContext,
    whole: &str,
    stream: &ResponseStream,
) -> Result<Vec<(&'static str, String)>, RequestError> {
    let session = context.session().ok_or_else(unreadable)?;
    let mut responses = Vec::new();
    let questions = member(whole, "inputRequests").unwrap_or("{}");
    for part in JsonMembers::object(questions).ok_or_else(unreadable)? {
        let question = questions.get(part.value).ok_or_else(unreadable)?;
        let link = format!("{:032x}", (context.state.draw)());
        let response = elicitation::pass_on(&context.state, session, stream, question, &link).await?;
        responses.push(format!("{}:{response}", Value::from(&*part.name)));
    }
    let mut members = vec![("inputResponses", format!("{{{}}}", responses.join(",")))];
    // Byte for byte, and only if there was one (statement 63).
    if let Some(request_state) = member(whole, "requestState") {
        members.push(("requestState", request_state.to_owned()));
    }
    Ok(members)
}

fn unreadable() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the question could not be written")
}
