//! Records a call before anything leaves the machine, sends it, and takes in what it brings.
//!
//! Sent once, never again: when the reply is lost, that is what the handle says (rule 11). A slow call becomes a task
//! of our own. It does not look at tasks (`follow.rs`) and does not answer rounds of questions (`deliver/round.rs`
//! decides when; [`fly`] is the flight of either). Calls of agents begin in `agent_call.rs` and land here too.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::audit::Actor;
use domain::budget::{AtLimit, Budget, Decision, Limit, Proposal, Scope, Usage, decide};
use domain::task::{Audience, Home, NewCall, TaskHandle, Transition};
use domain::ids::{HandleId, PersonId, ServerId};
use domain::task::observation::Observation;
use domain::task::payload::Payload;
use domain::ports::{Abilities, CallError, CallReply, CallRequest, CommitError, Continuation};
use domain::server::ServerHealth;
use domain::task::status::{GoneWhy, Intent, ServerView, TaskStatus};
use domain::time::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::company::Company;
use crate::core::{Core, then};
use crate::engine::{EngineError, StartCall};
use crate::errand::Flying;
use crate::flight::Flight;
use crate::ledger::LedgerError;
use crate::lines::up;
use crate::post::{Live, Post};

/// Admits a call a person starts; durable when this returns, and on its way.
pub(crate) async fn call(core: &Arc<Core>, start: StartCall) -> Result<HandleId, EngineError> {
    let (post, live) = connected(core, start.server).await?;
    let tool: Arc<str> = Arc::from(start.tool.as_str());
    live.upstream.check_arguments(Arc::clone(&tool), start.arguments.clone()).await?;
    within_budget(core, start.server).await?;
    let usual = core.registry.usual(start.server, &tool, core.policy.usual_samples_min).await?;
    let call = NewCall {
        id: HandleId::from_random(core.dice.bits()),
        server: start.server,
        agent: None,
        by: Actor::Person(PersonId::clone(&start.by)),
        tool: Arc::clone(&tool),
        arguments: start.arguments.clone(),
        arguments_digest: arguments_digest(&start.arguments),
        usual,
        usual_late_min: core.policy.usual_late_min,
        limit: start.limit,
        host: core.host,
        home: live.home.clone(),
        seat: None,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: None,
        attempt: 1,
        hold: false,
        agent_ttl: None,
    };
    let id = call.id;
    // Known as in flight before it is recorded, so that nobody takes it for a call without a caller.
    let flight = post.takes_off(id, Flight::recorded(live, None));
    if let Err(error) = core.ledger.admit(TaskHandle::admit(call, core.now())).await {
        post.landed(id);
        return Err(match error {
            CommitError::Registry(error) => error.into(),
            CommitError::Conflict | CommitError::Exists(_) => domain::ports::RegistryError::Other {
                operation: "admit a call",
                why: "its new identity is taken".into(),
            }
            .into(),
        });
    }
    let request = CallRequest {
        ticket: id,
        tool,
        arguments: start.arguments,
        continuation: None,
        agent_params: None,
        abilities: Abilities::default(),
        listener: None,
    };
    send(core, &post, flight, request);
    Ok(id)
}

/// The connection of a server, waiting for it a short while.
pub(crate) async fn connected(core: &Arc<Core>, server: ServerId) -> Result<(Arc<Post>, Arc<Live>), EngineError> {
    if core.stopping.load(Ordering::Acquire) {
        return Err(EngineError::Stopping);
    }
    let post = core.posts.shared(server).ok_or(EngineError::UnknownServer)?;
    let live = up(&post, core.policy.initialize_limit + core.policy.probe_first_output).await?;
    Ok((post, live))
}

/// Waits until the server is up, down or blocked, at most `limit`.
pub(crate) async fn settled(post: &Post, limit: std::time::Duration) -> ServerHealth {
    let mut healths = post.healths();
    let wait = healths.wait_for(|health| match health {
        ServerHealth::Unknown | ServerHealth::Connecting => false,
        ServerHealth::Up { .. } | ServerHealth::Down { .. } | ServerHealth::Blocked { .. } => true,
    });
    match tokio::time::timeout(limit, wait).await {
        Ok(Ok(health)) => health.clone(),
        Ok(Err(_)) | Err(_) => post.health(),
    }
}

/// Says that a server is not connected, in the words of its health.
pub(crate) fn not_connected(health: &ServerHealth) -> EngineError {
    match health {
        ServerHealth::Down { why, hint, .. } | ServerHealth::Blocked { why, hint, .. } => {
            EngineError::NotConnected { why: why.clone(), hint: hint.clone() }
        }
        ServerHealth::Unknown | ServerHealth::Connecting | ServerHealth::Up { .. } => EngineError::NotConnected {
            why: "it has not answered yet".into(),
            hint: "Try again in a moment; `taskwarden servers show` says how far the connection is.".into(),
        },
    }
}

async fn within_budget(core: &Arc<Core>, server: ServerId) -> Result<(), EngineError> {
    let most = core.policy.open_calls_per_server;
    let budget = Budget { scope: Scope::Server(server), limit: Limit::Concurrent(most), at_limit: AtLimit::Refuse };
    let mut usage = Usage { open: core.registry.open_count(Some(server)).await?, ..Usage::default() };
    if usage.open >= most {
        // Calls whose reply is lost hold nothing on the server; they are open only for people to see.
        let busy = core.ledger.of_server(server).iter().filter(|handle| holds_server(handle)).count();
        usage.open = u64::try_from(busy).unwrap_or(u64::MAX);
    }
    match decide(&[(budget, usage)], Proposal::default()) {
        Decision::Allow | Decision::AllowAndWarn(_) => Ok(()),
        Decision::Ask(_) | Decision::Refuse(_) => Err(EngineError::OverBudget { most }),
    }
}

/// Whether the task holds something on its server.
pub(crate) fn holds_server(handle: &TaskHandle) -> bool {
    match handle.view {
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } | ServerView::Asking { .. } | ServerView::Task(_) => {
            true
        }
        ServerView::NotSent { .. } | ServerView::Unanswered { .. } | ServerView::Direct(_) | ServerView::Refused(_) => {
            false
        }
    }
}

/// Hex SHA-256 of the canonical arguments; of the bytes as they are when they have no canonical form.
#[must_use]
pub fn arguments_digest(arguments: &Payload) -> Arc<str> {
    let canonical = serde_json::from_str::<serde_json::Value>(arguments.as_str())
        .ok()
        .and_then(|value| serde_json_canonicalizer::to_vec(&value).ok());
    let digest = Sha256::digest(canonical.as_deref().unwrap_or(arguments.as_str().as_bytes()));
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let hex: String = digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    Arc::from(hex)
}

/// Sends a call that is recorded as on its way, and takes in its reply, however late.
fn send(core: &Arc<Core>, post: &Arc<Post>, flight: Arc<Flight>, request: CallRequest) {
    let (id, live) = (request.ticket, Arc::clone(&flight.live));
    fly(core, post, flight, id, Box::pin(async move { live.upstream.call(request).await }));
}

fn fly(core: &Arc<Core>, post: &Arc<Post>, flight: Arc<Flight>, id: HandleId, call: Flying) {
    let (held, post, promote_at) = (Arc::clone(core), Arc::clone(post), Instant::now() + core.policy.promote_after);
    core.scope.spawn("call", async move {
        let landing = race(&held, &flight, id, call, promote_at).await;
        land(&held, &post, &flight, id, landing).await;
    });
}

/// Sends a further round of a call. `resumed` was committed before.
pub(crate) fn send_round(
    core: &Arc<Core>,
    post: &Arc<Post>,
    live: Arc<Live>,
    handle: &TaskHandle,
    arguments: Payload,
    continuation: Continuation,
) {
    let Some(tool) = handle.tool.clone() else { return };
    let flight = post.takes_off(handle.id, Flight::recorded(live, handle.agent));
    let Company { agent_params, abilities, listener } = core.companies.get(handle.id);
    let continuation = Some(continuation);
    let request = CallRequest { ticket: handle.id, tool, arguments, continuation, agent_params, abilities, listener };
    send(core, post, flight, request);
}

/// Goes on with a call of an earlier run that a kept child still works on (ruling 16).
pub(crate) fn rejoin(core: &Arc<Core>, post: &Arc<Post>, live: &Arc<Live>, handle: &TaskHandle) {
    let id = handle.id;
    let flight = post.takes_off(id, Flight::recorded(Arc::clone(live), handle.agent));
    let (held, live) = (Arc::clone(core), Arc::clone(live));
    let call = Box::pin(async move {
        store(&held, id, |handle, now| handle.regained(held.host, now)).await;
        live.upstream.rejoin(id).await
    });
    fly(core, post, flight, id, call);
}

/// Stores how a call ended, and says so to whom it concerns.
pub(crate) async fn land(core: &Arc<Core>, post: &Post, flight: &Flight, id: HandleId, landing: Landing) {
    let failure = match landing {
        Landing::Reply(reply) => {
            took_in(core, post, &flight.live.home, id, &reply).await;
            None
        }
        Landing::Failed(CallError::NotSent(error)) => {
            store(core, id, |handle, now| handle.not_sent(&error.to_string(), now)).await;
            Some(error)
        }
        Landing::Failed(CallError::ReplyLost(error)) => {
            store(core, id, |handle, now| handle.reply_lost(&error.to_string(), now)).await;
            Some(error)
        }
        Landing::GivenUp(why) => {
            store(core, id, |handle, now| handle.reply_lost(why, now)).await;
            None
        }
    };
    if let Some(error) = failure {
        post.ended(&error);
    }
    came_in(core, post, flight, id);
}

/// The call is over, and what became of it is on record.
pub(crate) fn came_in(core: &Core, post: &Post, flight: &Flight, id: HandleId) {
    core.companies.came_in(id, core.ledger.held(id).as_deref());
    post.landed(id);
    flight.live.upstream.taken(id);
    post.touch(id, crate::post::Touch::default());
}

/// How a call ended.
pub(crate) enum Landing {
    /// With a reply.
    Reply(Box<CallReply>),
    /// Without one, for this reason.
    Failed(CallError),
    /// Nobody waits for it any more.
    GivenUp(&'static str),
}

impl From<Result<CallReply, CallError>> for Landing {
    fn from(ended: Result<CallReply, CallError>) -> Self {
        ended.map_or_else(Self::Failed, |reply| Self::Reply(Box::new(reply)))
    }
}

/// Waits for the reply of a call that has a row.
pub(crate) async fn race(
    core: &Arc<Core>,
    flight: &Flight,
    id: HandleId,
    mut call: Flying,
    promote_at: Instant,
) -> Landing {
    let promote = tokio::time::sleep_until(promote_at);
    tokio::pin!(promote);
    let given_up = async {
        flight.stopped.notified().await;
        tokio::time::sleep(core.policy.cancel_grace).await;
    };
    tokio::pin!(given_up);
    let mut promoted = false;
    loop {
        tokio::select! {
            biased;
            reply = &mut call => return reply.into(),
            // A stopped request gets no reply by the protocol; waiting for ever would show a call nobody holds.
            () = &mut given_up => {
                return Landing::GivenUp("it was stopped on request, and the server sent no reply");
            }
            () = &mut promote, if !promoted => {
                promoted = true;
                // The call goes on while this is stored: only the row changes.
                let step = store(core, id, |handle, now| handle.promoted(now));
                tokio::pin!(step);
                tokio::select! {
                    () = &mut step => {}
                    reply = &mut call => {
                        step.await;
                        return reply.into();
                    }
                }
            }
        }
    }
}

async fn took_in(core: &Arc<Core>, post: &Post, home: &Home, id: HandleId, reply: &CallReply) {
    let mut home = home.clone();
    let reply = &without_bare_failure(reply);
    // The last progress always lands, and before the end, after which none is accepted.
    let last = post.take_progress(id);
    let policy = &core.policy;
    loop {
        let applied = core
            .must_apply(id, |handle, now| {
                let replied = match &last {
                    Some(last) => {
                        then(handle.progressed(last, now, policy), |next| next.replied(reply, &home, now, policy))
                    }
                    None => handle.replied(reply, &home, now, policy),
                };
                if waits_for_task(handle, reply) { released(replied, now) } else { replied }
            })
            .await;
        match applied {
            // The server's own list was faster than its reply, or it uses an id again: the reply is the better
            // witness. The other handle keeps its record, and this one gets a place of its own.
            Err(LedgerError::Exists(other)) if other != id => {
                replaced(core, post, id, other).await;
                let Some(next) = home.generation.checked_add(1) else { return };
                home.generation = next;
            }
            Ok(_) => return,
            Err(error) => return tell(id, &error),
        }
    }
}

/// The server gave the id of another task to this one.
pub(crate) async fn replaced(core: &Arc<Core>, post: &Post, id: HandleId, other: HandleId) {
    tracing::warn!(handle.id = %id, server.name = %post.name(), "the server gave an id that is known already");
    store(core, other, |handle, now| handle.gone(&GoneWhy::Replaced, now)).await;
}

/// Whether an agent that has nothing yet waits for the task that is just created.
fn waits_for_task(handle: &TaskHandle, reply: &CallReply) -> bool {
    let revoked = match handle.intent {
        Intent::Revoked(_) => true,
        Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => false,
    };
    let created = match reply {
        CallReply::Task { .. } => true,
        CallReply::Result { .. } | CallReply::Error { .. } | CallReply::NeedsInput { .. } => false,
    };
    created && handle.agent.is_some() && handle.given.is_none() && !revoked
}

/// The handle may be released with the same commit, so that a task costs no second one. That the reply with it arrives
/// is another thing.
pub(crate) fn released(before: Transition, now: Timestamp) -> Transition {
    then(then(before, |next| next.give(now)), |next| next.undeliver(now))
}

/// A task that failed at once, without its error: the look that follows brings both together.
pub(crate) fn without_bare_failure(reply: &CallReply) -> CallReply {
    match reply {
        CallReply::Task { id, seen } if seen.status == TaskStatus::Failed(None) => {
            let seen = Observation { status: TaskStatus::Working, ..seen.clone() };
            CallReply::Task { id: id.clone(), seen }
        }
        CallReply::Task { .. } | CallReply::Result { .. } | CallReply::Error { .. } | CallReply::NeedsInput { .. } => {
            reply.clone()
        }
    }
}

async fn store(core: &Core, id: HandleId, decide: impl FnMut(&TaskHandle, Timestamp) -> Transition) {
    if let Err(error) = core.must_apply(id, decide).await {
        tell(id, &error);
    }
}

fn tell(id: HandleId, error: &LedgerError<std::convert::Infallible>) {
    tracing::error!(handle.id = %id, %error, "what became of a call could not be stored");
}
