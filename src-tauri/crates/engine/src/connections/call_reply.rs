//! Sends a call that has a row and takes in its reply, however late.
//!
//! Sent once, never again: when the reply is lost, that is what the handle says (rule 11). A slow call becomes a task
//! of our own. Calls begin in `calls/admission.rs`.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{CallError, CallReply, CallRequest, Continuation, UpstreamError};
use domain::task::observation::Observation;
use domain::task::payload::Payload;
use domain::task::status::{GoneWhy, Intent, RpcError, TaskStatus};
use domain::task::{Home, TaskHandle, Transition};
use domain::time::Timestamp;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::connections::connection::{PollRequest, ServerConnection};
use crate::connections::in_flight_call::InFlightCall;
use crate::connections::live_connection::LiveConnection;
use crate::connections::observed::request_times::RequestKind;
use crate::core::{EngineCore, then};
use crate::error::LedgerError;

/// Resolves with the reply of a call; sends it when first polled.
pub(crate) type ReplyFuture = BoxFuture<'static, Result<CallReply, CallError>>;

/// Sends a call whose row says that it is on its way, and takes in its reply in the background.
pub(crate) fn send(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    in_flight: Arc<InFlightCall>,
    request: CallRequest,
) {
    let (id, reply) = (request.ticket, reply_to(core, connection, &in_flight, request));
    await_in_background(core, connection, in_flight, id, reply);
}

/// Makes a call when first polled, and counts how it went.
pub(crate) fn reply_to(
    core: &Arc<EngineCore>,
    connection: &ServerConnection,
    in_flight: &Arc<InFlightCall>,
    request: CallRequest,
) -> ReplyFuture {
    let (time, observed) = (Arc::clone(&core.time), Arc::clone(&connection.observed));
    let in_flight = Arc::clone(in_flight);
    Box::pin(async move {
        let (begun, tool) = (Instant::now(), Arc::clone(&request.tool));
        let reply = in_flight.live.upstream.call(request).await;
        if let Some(noted) = &in_flight.noted {
            noted.replied(&reply);
        }
        let (times, took, now) = (&observed.times, begun.elapsed(), time.now());
        match &reply {
            Ok(CallReply::Error { error, .. }) => times.failed(RequestKind::Call, told(error), now),
            Ok(CallReply::Task { .. } | CallReply::Result { .. } | CallReply::NeedsInput { .. }) => {
                times.answered(RequestKind::Call, took, now);
            }
            Err(error) => times.failed(RequestKind::Call, error.to_string(), now),
        }
        let is_whole = matches!(&reply, Ok(CallReply::Result { .. }));
        observed.calls.called(&tool, is_whole.then_some(took), now);
        reply
    })
}

/// What the server says about an error.
fn told(error: &RpcError) -> String {
    UpstreamError::Refused(error.clone()).to_string()
}

fn await_in_background(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    in_flight: Arc<InFlightCall>,
    id: HandleId,
    call: ReplyFuture,
) {
    let (held, connection, promote_at) =
        (Arc::clone(core), Arc::clone(connection), Instant::now() + core.policy.promote_after);
    core.supervisor.spawn("call", async move {
        let end = await_reply(&held, &in_flight, id, call, promote_at).await;
        take_in(&held, &connection, &in_flight, id, end).await;
    });
}

/// Sends a further round of a call. `resumed` was committed before.
pub(crate) fn send_round(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    live: Arc<LiveConnection>,
    handle: &TaskHandle,
    arguments: Payload,
    continuation: Continuation,
) {
    let Some(tool) = handle.tool.clone() else { return };
    let in_flight =
        connection.register_call(handle.id, InFlightCall::with_row(live, handle.agent, handle.tool.clone()));
    let context = core.calls.contexts.get(handle.id);
    let request = CallRequest {
        ticket: handle.id,
        tool,
        arguments,
        continuation: Some(continuation),
        agent_params: context.agent_params,
        abilities: context.abilities,
        listener: context.listener,
        permit: in_flight.permit(),
    };
    send(core, connection, in_flight, request);
}

/// Takes up a call of an earlier run that a kept child still works on (ruling 16).
pub(crate) fn rejoin(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    live: &Arc<LiveConnection>,
    handle: &TaskHandle,
) {
    let id = handle.id;
    let in_flight =
        connection.register_call(id, InFlightCall::sent_before(Arc::clone(live), handle.agent, handle.tool.clone()));
    let (held, live) = (Arc::clone(core), Arc::clone(live));
    let call = Box::pin(async move {
        store(&held, id, |handle, now| handle.regained(held.host, now)).await;
        live.upstream.rejoin(id).await
    });
    await_in_background(core, connection, in_flight, id, call);
}

/// Stores how a call ended, and takes it out of the calls in flight.
pub(crate) async fn take_in(
    core: &Arc<EngineCore>,
    connection: &ServerConnection,
    in_flight: &InFlightCall,
    id: HandleId,
    end: CallEnd,
) {
    let failure = match end {
        CallEnd::Reply(reply) => {
            store_reply(core, connection, &in_flight.live.home, id, &reply).await;
            None
        }
        CallEnd::Failed(CallError::NotSent(error)) => {
            store(core, id, |handle, now| not_run(handle, &error, now)).await;
            Some(error)
        }
        CallEnd::Failed(CallError::ReplyLost(error)) => {
            let why = error.to_string();
            store(core, id, |handle, now| lost(handle, &in_flight.live, &why, now)).await;
            Some(error)
        }
        CallEnd::GivenUp(why) => {
            store(core, id, |handle, now| lost(handle, &in_flight.live, why, now)).await;
            None
        }
    };
    // A call that a halt refused says nothing about its server.
    if let Some(error) = failure.filter(|_| !in_flight.is_refused()) {
        connection.request_failed(&error);
    }
    finish(core, connection, in_flight, id);
}

/// Nothing of the call ran: it did not leave, or the server turned it away with its answer.
fn not_run(handle: &TaskHandle, error: &UpstreamError, now: Timestamp) -> Transition {
    match error {
        UpstreamError::Unauthorized { why, hint } => handle.sign_in_refused(why, hint, now),
        UpstreamError::RateLimited { after } => handle.asked_to_wait(*after, now),
        UpstreamError::Unreachable { .. }
        | UpstreamError::UnknownTask
        | UpstreamError::Refused(_)
        | UpstreamError::MissingCapability(_)
        | UpstreamError::Unsupported(_)
        | UpstreamError::Unreadable { .. }
        | UpstreamError::GivenUp
        | UpstreamError::ChannelGone => handle.not_sent(&error.to_string(), now),
    }
}

/// The reply of a call over this connection cannot arrive any more: its process was ended by a person, or nobody knows
/// what became of the call.
pub(crate) fn lost(handle: &TaskHandle, live: &LiveConnection, why: &str, now: Timestamp) -> Transition {
    match live.ended_by() {
        Some(end) => gone_with_process(handle, end, now),
        None => handle.reply_lost(why, now),
    }
}

/// It is gone. A call that was to be cancelled when a person ended its process is cancelled for its agent, which waits
/// for that word.
pub(crate) fn gone_with_process(handle: &TaskHandle, end: &GoneWhy, now: Timestamp) -> Transition {
    let by_person = matches!(end, GoneWhy::EndedByPerson { .. });
    if !by_person || handle.cancel_request().is_none() {
        return handle.gone(end, now);
    }
    then(handle.reply_lost("the process that ran it ended", now), |next| next.gone(end, now))
}

/// The call is over, and what became of it is on record.
pub(crate) fn finish(core: &EngineCore, connection: &ServerConnection, in_flight: &InFlightCall, id: HandleId) {
    // A round that began meanwhile replaced this one, here and in what is kept for the next core.
    if connection.remove_round(id, in_flight) {
        core.calls.contexts.round_finished(id, core.ledger.held(id).as_deref());
        in_flight.live.upstream.taken(id);
    }
    connection.request_poll(id, PollRequest::default());
}

/// How a call ended.
pub(crate) enum CallEnd {
    /// With a reply.
    Reply(Box<CallReply>),
    /// Without one, for this reason.
    Failed(CallError),
    /// It was cancelled, and no reply came.
    GivenUp(&'static str),
}

impl From<Result<CallReply, CallError>> for CallEnd {
    fn from(ended: Result<CallReply, CallError>) -> Self {
        ended.map_or_else(Self::Failed, |reply| Self::Reply(Box::new(reply)))
    }
}

/// Waits for the reply of a call that has a row.
pub(crate) async fn await_reply(
    core: &Arc<EngineCore>,
    in_flight: &InFlightCall,
    id: HandleId,
    mut call: ReplyFuture,
    promote_at: Instant,
) -> CallEnd {
    let promote = tokio::time::sleep_until(promote_at);
    tokio::pin!(promote);
    let given_up = async {
        in_flight.cancelled.notified().await;
        tokio::time::sleep(core.policy.cancel_grace).await;
    };
    tokio::pin!(given_up);
    let mut promoted = false;
    loop {
        tokio::select! {
            biased;
            reply = &mut call => return reply.into(),
            // A cancelled request gets no reply by the protocol; waiting for ever would show a call that nobody works on.
            () = &mut given_up => {
                return CallEnd::GivenUp("it was stopped on request, and the server sent no reply");
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

async fn store_reply(
    core: &Arc<EngineCore>,
    connection: &ServerConnection,
    home: &Home,
    id: HandleId,
    reply: &CallReply,
) {
    let mut home = home.clone();
    let reply = &without_bare_failure(reply);
    // The last progress always lands, and before the end, after which none is accepted.
    let last = connection.take_progress(id);
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
            // witness. The other handle keeps its record, and this one gets a generation of its own.
            Err(LedgerError::Exists(other)) if other != id => {
                replaced(core, connection, id, other).await;
                let Some(next) = home.generation.checked_add(1) else { return };
                home.generation = next;
            }
            Ok(_) => return,
            Err(error) => return log_not_stored(id, &error),
        }
    }
}

/// The server gave the id of another task to this one.
pub(crate) async fn replaced(core: &Arc<EngineCore>, connection: &ServerConnection, id: HandleId, other: HandleId) {
    tracing::warn!(handle.id = %id, server.name = %connection.name(), "the server gave an id that is known already");
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

/// A task that failed at once without its error counts as working: the next poll brings both together.
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

async fn store(core: &EngineCore, id: HandleId, decide: impl FnMut(&TaskHandle, Timestamp) -> Transition) {
    if let Err(error) = core.must_apply(id, decide).await {
        log_not_stored(id, &error);
    }
}

fn log_not_stored(id: HandleId, error: &LedgerError<std::convert::Infallible>) {
    tracing::error!(handle.id = %id, %error, "what became of a call could not be stored");
}
