//! Asks an agent of the older eras on one of its streams, and records what it answers.
//!
//! Two places may want to ask the same question (the stream of a `tasks/result`, the standing stream, a held call); a
//! [`Claims`] slip says which one does. What may be asked is [`agent_sight`]'s word alone. A question that somebody else
//! settled meanwhile is taken back from the agent. The spelling is in `bridge.rs`; modern agents are in `questions.rs`.

use std::collections::HashSet;
use std::sync::Arc;

use domain::task::decider::Decider;
use domain::task::{AgentView, AnswerInput, TaskHandle, agent_view};
use domain::ids::{AgentId, HandleId, RequestKey};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::input_request::{AnswerAction, Ask, InputRequest};
use domain::time::Timestamp;
use engine::{EngineError, HandleWatch};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::bridge::{self, LegacyQuestion};
use super::{Gate, service};
use crate::wire::message::Answer;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{ClientRequestError, ResponseStream, Session};

/// Which questions are being asked somewhere, so that no second stream asks the same.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    held: Arc<Mutex<HashSet<(HandleId, RequestKey)>>>,
    freed: Arc<Notify>,
}

impl Claims {
    /// Claims a question, unless it is asked somewhere else now.
    fn take(&self, handle: HandleId, key: &RequestKey) -> Option<Claim> {
        let slip = (handle, key.clone());
        self.held.lock().insert(slip.clone()).then(|| Claim { of: self.clone(), slip })
    }

    /// Resolves at the next claim that ends. Create it before looking, await it after.
    pub(super) fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }
}

/// A question being asked by its holder.
struct Claim {
    of: Claims,
    slip: (HandleId, RequestKey),
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.of.held.lock().remove(&self.slip);
        self.of.freed.notify_waiters();
    }
}

/// The stream on which an agent is asked.
#[derive(Clone, Copy)]
pub(super) enum Stream<'a> {
    /// The response stream of one of its requests.
    Call(&'a ResponseStream),
    /// Its standing stream.
    Standing,
}

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// There is nothing that could be asked on this stream now.
    Nothing,
    /// One question is settled, whoever settled it.
    Settled,
    /// The stream is gone or overfull; what was asked stays open.
    StreamLost,
}

/// Asks the agent the next question that is its to answer and that no other stream asks, and waits until it is
/// settled. A task that the agent knows by its handle is named with it. Dropping the future takes the question back.
///
/// # Errors
/// When the registry cannot be read or written.
pub(super) async fn ask_next(
    gate: &Gate,
    session: &Session,
    stream: Stream<'_>,
    handle: &TaskHandle,
) -> Result<Asked, RequestError> {
    let Some(agent) = handle.agent else { return Ok(Asked::Nothing) };
    for key in open_to_agent(handle, gate.clock.now()) {
        let Some(request) = handle.requests.get(&key) else { continue };
        if !is_shown_by(session.capabilities(), &request.ask) {
            continue;
        }
        let whole = payload(gate, handle.id, PayloadKind::Question(key.clone())).await?;
        let in_task = handle.given.is_some();
        let question = bridge::legacy_question(handle.id, request, whole.as_ref(), session.version(), in_task);
        // Claimed last: a claim that ends wakes whoever waits for one, and that may be this very caller.
        let Some(question) = question else { continue };
        let Some(_claim) = gate.claims.take(handle.id, &key) else { continue };
        match ask(gate, session, stream, handle, request, &question).await? {
            Reply::Settled => return Ok(Asked::Settled),
            Reply::StreamLost => return Ok(Asked::StreamLost),
            Reply::Answer(action, content) => {
                record(gate, handle.id, agent, &key, action, content).await?;
                return Ok(Asked::Settled);
            }
        }
    }
    Ok(Asked::Nothing)
}

/// What a stream gave back.
enum Reply {
    /// Somebody else was faster, or the question is gone.
    Settled,
    /// The stream is gone or overfull.
    StreamLost,
    /// What the agent says.
    Answer(AnswerAction, Option<Payload>),
}

async fn ask(
    gate: &Gate,
    session: &Session,
    stream: Stream<'_>,
    handle: &TaskHandle,
    request: &InputRequest,
    question: &LegacyQuestion,
) -> Result<Reply, RequestError> {
    let asking = async {
        match stream {
            Stream::Call(seat) => seat.ask_raw(&question.method, &*question.params).await,
            Stream::Standing => session.ask_raw(&question.method, &*question.params).await,
        }
    };
    let answer = tokio::select! {
        answer = asking => answer,
        settled = settled(gate, handle.id, &request.key) => return settled.map(|()| Reply::Settled),
    };
    Ok(match answer {
        Ok(Answer::Result(raw)) => {
            let (action, content) = bridge::answer(&request.ask, raw.get()).unwrap_or((AnswerAction::Dismiss, None));
            Reply::Answer(action, content)
        }
        // A client that refuses to show a question has dismissed it.
        Ok(Answer::Error(_)) | Err(ClientRequestError::Refused(_)) => Reply::Answer(AnswerAction::Dismiss, None),
        Err(ClientRequestError::Gone | ClientRequestError::TooMany) => Reply::StreamLost,
    })
}

/// Resolves when a question is not the agent's to answer any more.
async fn settled(gate: &Gate, handle: HandleId, key: &RequestKey) -> Result<(), RequestError> {
    let Some(mut watch) = watch(gate, handle).await? else { return Ok(()) };
    while open_to_agent(&watch.now(), gate.clock.now()).contains(key) {
        watch.changed().await;
    }
    Ok(())
}

/// The questions that are the agent's to answer now.
pub(super) fn open_to_agent(handle: &TaskHandle, now: Timestamp) -> Vec<RequestKey> {
    match agent_view(handle, now) {
        AgentView::InputRequired { keys } => keys,
        AgentView::Working { .. } | AgentView::Completed | AgentView::Failed | AgentView::Cancelled | AgentView::Gone => Vec::new(),
    }
}

/// Whether a client that declared this can be asked this.
fn is_shown_by(capabilities: &Value, ask: &Ask) -> bool {
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

/// Records an answer of the agent. Being second is no error: the question is settled all the same.
///
/// # Errors
/// When the registry cannot be written.
pub(super) async fn record(
    gate: &Gate,
    handle: HandleId,
    agent: AgentId,
    key: &RequestKey,
    action: AnswerAction,
    content: Option<Payload>,
) -> Result<(), RequestError> {
    let input = AnswerInput { key: Some(key.clone()), action, content, by: Decider::Agent(agent), not_before: None };
    match gate.engine.answer(handle, input).await {
        Ok(_) | Err(EngineError::Refused(_) | EngineError::UnknownHandle) => Ok(()),
        Err(failed) => Err(service::fault(&failed)),
    }
}

/// Asks a question that no row keeps, on the stream of its call, and returns the bare answer. `link` names a link.
///
/// # Errors
/// When this client cannot be asked this, its stream is gone, or it refuses what has no word for a refusal.
pub(super) async fn pass_on(
    gate: &Gate,
    session: &Session,
    seat: &ResponseStream,
    question: &str,
    link: &str,
) -> Result<String, RequestError> {
    let cannot = || RequestError::new(RequestErrorKind::Internal, "the server asks what this client did not declare that it answers");
    let passed = bridge::passed_on(question, link, session.version(), &gate.policy);
    let (kind, question) = passed.filter(|(kind, _)| is_shown_by(session.capabilities(), kind)).ok_or_else(cannot)?;
    match (seat.ask_raw(&question.method, &*question.params).await, kind) {
        (Ok(Answer::Result(raw)), _) => Ok(bridge::untied(raw.get())),
        // A client that refuses to show a question has dismissed it.
        (Ok(Answer::Error(_)), Ask::Form { .. } | Ask::Visit { .. }) => Ok(r#"{"action":"cancel"}"#.to_owned()),
        (Ok(Answer::Error(raw)), Ask::Sampling | Ask::Roots | Ask::Unsupported(_)) => Err(RequestError::raw(&raw)),
        (Err(ClientRequestError::Gone | ClientRequestError::Refused(_) | ClientRequestError::TooMany), _) => {
            Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone"))
        }
    }
}

/// Watches a task from its newest state; `None` when there is none.
///
/// # Errors
/// When the registry cannot be read.
pub(super) async fn watch(gate: &Gate, id: HandleId) -> Result<Option<HandleWatch>, RequestError> {
    gate.engine.watch(id).await.map_err(|failed| service::fault(&failed))
}

/// A payload of a task.
///
/// # Errors
/// When the registry cannot be read.
pub(super) async fn payload(gate: &Gate, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, RequestError> {
    gate.registry.payload(id, kind).await.map_err(|failed| service::unreadable(&failed))
}
