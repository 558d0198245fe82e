//! Asks an agent of an older era on one of its streams, and records what it answers.
//!
//! What may be asked is decided by `agent_view` alone. The stream of a held call, that of a `tasks/result` and the
//! standing stream may want to ask the same question: whoever holds its claim does. A question that somebody else
//! settles is withdrawn from the agent. Modern agents are `modern_elicitation.rs`.

use domain::ids::{AgentId, HandleId, RequestKey};
use domain::task::decider::Decider;
use domain::task::input_request::form::FormError;
use domain::task::input_request::{AnswerAction, Ask, InputRequest};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::{AgentView, AnswerInput, Audience, Refusal, TaskHandle, Told, agent_view};
use domain::time::Timestamp;
use engine::EngineError;
use serde_json::Value;

use crate::gateway::conversion::input_requests;
use crate::gateway::conversion::input_requests::LegacyQuestion;
use crate::gateway::engine_errors;
use crate::gateway::state::GatewayState;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{ClientRequestError, ResponseStream, Session};
use crate::wire::message::Answer;

/// The stream on which an agent is asked.
#[derive(Clone, Copy)]
pub(crate) enum ElicitationStream<'a> {
    /// The response stream of one of its requests.
    Call(&'a ResponseStream),
    /// Its standing stream.
    Standing,
}

/// How asking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElicitationOutcome {
    /// Nothing can be asked on this stream now.
    Nothing,
    /// One question is settled, by the agent or somebody else.
    Settled,
    /// The stream is gone or full; what was asked stays open.
    StreamLost,
}

/// Asks the agent the next question that it may answer and no other stream asks, and waits until it is settled. The
/// question is tied to its task if the agent has its handle. Dropping the future withdraws the question.
///
/// # Errors
/// When the registry cannot be read or written.
pub(crate) async fn ask_next(
    state: &GatewayState,
    session: &Session,
    stream: ElicitationStream<'_>,
    handle: &TaskHandle,
) -> Result<ElicitationOutcome, RequestError> {
    let Some(agent) = handle.agent else { return Ok(ElicitationOutcome::Nothing) };
    for key in open_questions(handle, state.clock.now()) {
        let Some(request) = handle.requests.get(&key) else { continue };
        // Its answer to a form did not fit: a client that repeats it would be asked without end.
        let is_unfit = matches!(request.ask, Ask::Form { .. }) && handle.told.contains(&Told::AnswerUnfit);
        if is_unfit || !can_ask(session.capabilities(), &request.ask) {
            continue;
        }
        let whole = state.payload(handle.id, PayloadKind::Question(key.clone())).await?;
        let in_task = handle.given.is_some();
        let question = input_requests::legacy_question(handle.id, request, whole.as_ref(), session.version(), in_task);
        // Claimed last: releasing a claim wakes those who wait for one, which may be this very caller.
        let Some(question) = question else { continue };
        let Some(_claim) = state.elicitations.claim(handle.id, &key) else { continue };
        match ask(state, session, stream, handle, request, &question).await? {
            ElicitationReply::Settled => return Ok(ElicitationOutcome::Settled),
            ElicitationReply::StreamLost => return Ok(ElicitationOutcome::StreamLost),
            ElicitationReply::Answer(action, content) => {
                if record(state, handle.id, agent, &key, action, content).await?.is_some() {
                    unanswered(state, handle, agent, &key).await?;
                }
                return Ok(ElicitationOutcome::Settled);
            }
        }
    }
    Ok(ElicitationOutcome::Nothing)
}

/// The agent's answer does not fit, and there is no reply that could tell it: people are asked instead. Where they
/// never are, it counts as dismissed.
async fn unanswered(
    state: &GatewayState,
    handle: &TaskHandle,
    agent: AgentId,
    key: &RequestKey,
) -> Result<(), RequestError> {
    if handle.audience == Audience::Agent {
        record(state, handle.id, agent, key, AnswerAction::Dismiss, None).await?;
        return Ok(());
    }
    match state.engine.ask_people_now(handle.id, key).await {
        Ok(()) | Err(EngineError::Refused(_) | EngineError::UnknownHandle) => Ok(()),
        Err(failed) => Err(engine_errors::fault(&failed)),
    }
}

/// What asking on a stream returned.
enum ElicitationReply {
    /// Somebody else answered, or the question is gone.
    Settled,
    /// The stream is gone or full.
    StreamLost,
    Answer(AnswerAction, Option<Payload>),
}

async fn ask(
    state: &GatewayState,
    session: &Session,
    stream: ElicitationStream<'_>,
    handle: &TaskHandle,
    request: &InputRequest,
    question: &LegacyQuestion,
) -> Result<ElicitationReply, RequestError> {
    let asking = async {
        match stream {
            ElicitationStream::Call(stream) => stream.ask_raw(&question.method, &*question.params).await,
            ElicitationStream::Standing => session.ask_raw(&question.method, &*question.params).await,
        }
    };
    let answer = tokio::select! {
        answer = asking => answer,
        settled = settled(state, handle.id, &request.key) => return settled.map(|()| ElicitationReply::Settled),
    };
    Ok(match answer {
        Ok(Answer::Result(raw)) => {
            let (action, content) =
                input_requests::answer(&request.ask, raw.get()).unwrap_or((AnswerAction::Dismiss, None));
            ElicitationReply::Answer(action, content)
        }
        // A client that refuses to show a question has dismissed it.
        Ok(Answer::Error(_)) | Err(ClientRequestError::Refused(_)) => {
            ElicitationReply::Answer(AnswerAction::Dismiss, None)
        }
        Err(ClientRequestError::Gone | ClientRequestError::TooMany) => ElicitationReply::StreamLost,
    })
}

/// Resolves when the agent may not answer the question any more.
async fn settled(state: &GatewayState, handle: HandleId, key: &RequestKey) -> Result<(), RequestError> {
    let Some(mut watch) = state.watch(handle).await? else { return Ok(()) };
    while open_questions(&watch.now(), state.clock.now()).contains(key) {
        watch.changed().await;
    }
    Ok(())
}

/// The questions that the agent may answer now.
pub(crate) fn open_questions(handle: &TaskHandle, now: Timestamp) -> Vec<RequestKey> {
    match agent_view(handle, now) {
        AgentView::InputRequired { keys } => keys,
        AgentView::Working { .. }
        | AgentView::Completed
        | AgentView::Failed
        | AgentView::Cancelled
        | AgentView::Gone => Vec::new(),
    }
}

/// Whether a client with these capabilities can be asked this.
fn can_ask(capabilities: &Value, ask: &Ask) -> bool {
    let elicitation = || capabilities.get("elicitation").and_then(Value::as_object);
    match ask {
        // An empty object means forms (protocol.md §2.8).
        Ask::Form { .. } => elicitation().is_some_and(|modes| modes.is_empty() || modes.contains_key("form")),
        Ask::Visit { .. } => elicitation().is_some_and(|modes| modes.contains_key("url")),
        Ask::Sampling => capabilities.get("sampling").is_some_and(Value::is_object),
        Ask::Roots => capabilities.get("roots").is_some_and(Value::is_object),
        Ask::Unsupported(_) => false,
    }
}

/// Records an answer of the agent. Coming second is no error: the question is settled all the same. Returns what is
/// wrong with an answer that does not fit its form; then no answer was recorded, and the question is still open.
///
/// # Errors
/// When the registry cannot be written.
pub(crate) async fn record(
    state: &GatewayState,
    handle: HandleId,
    agent: AgentId,
    key: &RequestKey,
    action: AnswerAction,
    content: Option<Payload>,
) -> Result<Option<Box<FormError>>, RequestError> {
    let input = AnswerInput { key: Some(key.clone()), action, content, by: Decider::Agent(agent), not_before: None };
    match state.engine.answer(handle, input).await {
        Err(EngineError::Refused(Refusal::DoesNotFit { broken, .. })) => Ok(Some(broken)),
        Ok(_) | Err(EngineError::Refused(_) | EngineError::UnknownHandle) => Ok(None),
        Err(failed) => Err(engine_errors::fault(&failed)),
    }
}

/// The answer to a question that nobody chose anything for.
const DISMISSED: &str = r#"{"action":"cancel"}"#;

/// Asks a question that has no row, on the stream of its call, and returns the bare answer. `link` is the id for a link.
/// An answer that does not fit the form is not sent, and counts as dismissed: nobody else can be asked.
///
/// # Errors
/// When this client cannot be asked this, its stream is gone, or it refuses a question that cannot be declined.
pub(crate) async fn pass_on(
    state: &GatewayState,
    session: &Session,
    stream: &ResponseStream,
    question: &str,
    link: &str,
) -> Result<String, RequestError> {
    let cannot = || {
        RequestError::new(
            RequestErrorKind::Internal,
            "the server asks what this client did not declare that it answers",
        )
    };
    let passed = input_requests::passed_on(question, link, session.version(), &state.policy);
    let (kind, question) = passed.filter(|(kind, _)| can_ask(session.capabilities(), kind)).ok_or_else(cannot)?;
    match (stream.ask_raw(&question.method, &*question.params).await, kind) {
        (Ok(Answer::Result(raw)), form @ Ask::Form { .. }) => {
            let untied = input_requests::untied(raw.get());
            let fits = input_requests::answer(&form, &untied)
                .is_some_and(|(action, content)| form.check_answer(action, content.as_ref()).is_ok());
            Ok(if fits { untied } else { DISMISSED.to_owned() })
        }
        (Ok(Answer::Result(raw)), _) => Ok(input_requests::untied(raw.get())),
        // A client that refuses to show a question has dismissed it.
        (Ok(Answer::Error(_)), Ask::Form { .. } | Ask::Visit { .. }) => Ok(DISMISSED.to_owned()),
        (Ok(Answer::Error(raw)), Ask::Sampling | Ask::Roots | Ask::Unsupported(_)) => Err(RequestError::raw(&raw)),
        (Err(ClientRequestError::Gone | ClientRequestError::Refused(_) | ClientRequestError::TooMany), _) => {
            Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone"))
        }
    }
}
