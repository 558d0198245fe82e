//! A tool call of an agent, from its arrival to the first thing that can be told about it.
//!
//! The call leaves at once, behind an intent that nobody waits for. What is answered within `shown_after` goes back as
//! it came and leaves nothing behind; what lasts longer, creates a task, asks people or loses its reply becomes a row
//! (`errand.rs`) and is watched from then on. A call that was made before and whose reply never reached its agent is
//! joined instead (`repeats.rs`). It never gives a handle to anybody: that is asked for (`given.rs`).

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, JobKey, ServerId};
use domain::task::payload::Payload;
use domain::ports::{Abilities, CallError, CallListener, CallReply, CallRequest, Continuation};
use domain::rule::{AudienceRule, RepeatRule, ResolvedRule};
use tokio::sync::oneshot;

use crate::admission::arguments_digest;
use crate::budget::Place;
use crate::core::Core;
use crate::engine::EngineError;
use crate::errand::{Aloft, Errand, Told};
use crate::flight::Flight;
use crate::open_calls::check_agent_share;
use crate::repeats::may_join;
use crate::unrecorded::News;
use crate::{errand, lines, recording};

/// A call of an agent.
#[derive(Debug, Clone)]
pub struct AgentCall {
    /// Whose.
    pub agent: AgentId,
    /// From where its agent makes it, for the limit of that window; `None`: the fullest counts.
    pub place: Option<Place>,
    /// Where.
    pub server: ServerId,
    /// Which tool, by the server's name for it.
    pub tool: Arc<str>,
    /// A JSON object, as it came.
    pub arguments: Payload,
    /// The agent's own `params` object, for what goes along with the call.
    pub agent_params: Option<Payload>,
    /// Answers to a round of questions that was relayed to the agent.
    pub continuation: Option<Continuation>,
    /// The 32 hex digits of its trace id.
    pub trace: Option<Arc<str>>,
    /// What the agent can be asked.
    pub abilities: Abilities,
    /// Who hears what the server says on the way to the reply.
    pub listener: Option<CallListener>,
    /// Whether questions before a task may be relayed to the agent instead of being asked here.
    pub relay_rounds: bool,
    /// Time agreed for it.
    pub limit: Option<Duration>,
    /// The `ttl` a 2025 agent asked for.
    pub agent_ttl: Option<Duration>,
    /// The agent wants a task whatever the server does: there is a row in any case.
    pub own_task: bool,
    /// What it means that the agent hangs up.
    pub hang_up: HangUp,
}

/// What it means that an agent hangs up before it has its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// It cancels a call that has no task yet.
    Cancel,
    /// The call goes on, and the same call, made again, joins it.
    Keep,
}

/// What became of a call so far.
#[derive(Debug, Clone, PartialEq)]
pub enum Landed {
    /// A plain result; there is no row.
    Result {
        /// As received.
        payload: Payload,
        /// `isError`.
        is_error: bool,
    },
    /// A JSON-RPC error; there is no row.
    Error {
        /// As received.
        payload: Payload,
    },
    /// The server asks before it starts, and the agent is to answer; there is no row.
    NeedsInput {
        /// The `result` member as received.
        whole: Payload,
    },
    /// There is a row: watch it.
    Handle(HandleId),
    /// The agent made this call before and never got its reply: watch that one.
    Joined(HandleId),
}

/// Makes a call of an agent. Dropping the future is the agent hanging up.
pub(crate) async fn agent_call(core: &Arc<Core>, call: AgentCall) -> Result<Landed, EngineError> {
    let roster = core.roster();
    if !roster.has_access(call.agent) {
        return Err(EngineError::UnknownAgent);
    }
    let mut rules = roster.resolve(call.agent, call.server, &call.tool);
    if !call.abilities.elicitation {
        // An agent that cannot be asked is not asked.
        rules.asked = AudienceRule::People;
    }
    let digest = arguments_digest(&call.arguments);
    if let Some(joined) = repeated(core, &call, &rules, &digest).await? {
        return Ok(joined);
    }
    // What cannot be recorded is not sent: a person must be able to see and to cancel it, and a repeat to join it.
    if let Some(fault) = recording::fault(core) {
        return Err(EngineError::CannotRecord(fault));
    }
    core.storage.within_quota(call.agent, call.server)?;
    let way = lines::for_agent(core, call.server, call.agent, call.abilities).await?;
    check_agent_share(core, call.server, call.agent)?;
    core.presences.called(core, call.agent);
    let id = HandleId::from_random(core.dice.bits());
    let flight = way.post.takes_off(id, Flight::unrecorded(Arc::clone(&way.live), call.agent));
    // Whoever revokes access reads the calls in flight after that: one of the two sees this call.
    if !core.roster().has_access(call.agent) {
        flight.is_over();
        way.post.landed(id);
        return Err(EngineError::UnknownAgent);
    }
    let request = CallRequest {
        ticket: id,
        tool: Arc::clone(&call.tool),
        arguments: call.arguments.clone(),
        continuation: call.continuation.clone(),
        agent_params: call.agent_params.clone(),
        abilities: call.abilities,
        listener: call.listener.clone(),
    };
    let errand = Errand::new(core, way, flight, id, call, rules, digest);
    errand.begin();
    let mut aloft = Aloft::new(errand, request);
    match aloft.first_news().await {
        Some(reply) => landed(aloft, reply).await,
        None => recorded(aloft, None).await,
    }
}

/// The earlier call that this one joins, if any.
async fn repeated(
    core: &Arc<Core>,
    call: &AgentCall,
    rules: &ResolvedRule,
    digest: &Arc<str>,
) -> Result<Option<Landed>, EngineError> {
    match rules.repeat {
        RepeatRule::New => return Ok(None),
        RepeatRule::Join if call.continuation.is_some() => return Ok(None),
        RepeatRule::Join => {}
    }
    let job = || JobKey::of(call.server, &call.tool, digest);
    while let Some(id) = core.repeats.take(call.agent, job) {
        let known = core.ledger.load(id).await?;
        if known.is_some_and(|handle| may_join(core, &handle, core.now())) {
            tracing::debug!(handle.id = %id, "a repeated call joins its task");
            return Ok(Some(Landed::Joined(id)));
        }
    }
    match core.unrecorded.join(call.agent, job) {
        Some(told) => {
            tracing::debug!("a repeated call joins one that could not be recorded");
            match told.await {
                Ok(News::Row(id)) => Ok(Some(Landed::Joined(id))),
                other => without_row(other.ok()).map(Some),
            }
        }
        None => Ok(None),
    }
}

/// What a caller gets of a call that has no row.
fn without_row(news: Option<News>) -> Result<Landed, EngineError> {
    match news {
        Some(News::Row(id)) => Ok(Landed::Handle(id)),
        Some(News::Reply(reply)) => match *reply {
            Ok(reply) => plain(reply),
            Err(CallError::NotSent(error)) => Err(error.into()),
            Err(CallError::ReplyLost(error)) => Err(EngineError::ReplyLost(error)),
        },
        Some(News::Cancelled) => Err(EngineError::Cancelled),
        None => Err(EngineError::Stopping),
    }
}

/// A reply that leaves nothing behind.
fn plain(reply: CallReply) -> Result<Landed, EngineError> {
    Ok(match reply {
        CallReply::Result { payload, is_error } => Landed::Result { payload, is_error },
        CallReply::Error { payload, .. } => Landed::Error { payload },
        CallReply::NeedsInput { whole, .. } => Landed::NeedsInput { whole },
        // It always needs a row.
        CallReply::Task { .. } => return Err(EngineError::Stopping),
    })
}

/// A reply that came at once.
async fn landed(aloft: Aloft, reply: Result<CallReply, CallError>) -> Result<Landed, EngineError> {
    let reply = match reply {
        Ok(reply) => reply,
        // Nothing left this machine: there is nothing to remember.
        Err(CallError::NotSent(error)) => {
            if let Some(errand) = aloft.over() {
                errand.post().ended(&error);
            }
            return Err(error.into());
        }
        Err(CallError::ReplyLost(error)) => return recorded(aloft, Some(Err(CallError::ReplyLost(error)))).await,
    };
    if aloft.errand().is_some_and(|errand| errand.needs_row(&reply)) {
        return recorded(aloft, Some(Ok(reply))).await;
    }
    drop(aloft.over());
    plain(reply)
}

/// Gives the call a row, beside which it goes on without this caller.
async fn recorded(aloft: Aloft, reply: Option<Result<CallReply, CallError>>) -> Result<Landed, EngineError> {
    let (tell, told) = oneshot::channel();
    let Some((errand, call)) = aloft.detach() else { return Err(EngineError::Stopping) };
    let core = Arc::clone(errand.core());
    core.scope.spawn("call", errand::go_on(errand, call, reply, Told::Caller(tell)));
    without_row(told.await.ok())
}
