//! Admits calls of people and of agents, and sends them.
//!
//! A person's call is recorded before anything leaves the machine. An agent's call leaves at once, behind an intent that
//! nobody waits for: a reply within `shown_after` goes back as it came and leaves nothing behind, and a call that lasts
//! longer, creates a task, asks people or loses its reply gets a row (`pending_call.rs`). Read `dedup.rs` for repeats.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::alarm::CalledTool;
use domain::audit::Actor;
use domain::ids::{HandleId, JobKey, PersonId, ServerId};
use domain::ports::{Abilities, CallError, CallReply, CallRequest, CommitError, RegistryError, arguments_digest};
use domain::rule::{AudienceRule, RepeatRule, ResolvedRule};
use domain::server::halt::HaltedWork;
use domain::task::payload::Payload;
use domain::task::status::GateReason;
use domain::task::{Audience, NewCall, TaskHandle, TaskRunLimits};
use futures::FutureExt;

use crate::calls::agent_call::{AgentCall, CallOutcome};
use crate::calls::call_share::check_agent_share;
use crate::calls::dedup::may_join;
use crate::calls::pending_call::{CallResult, PendingCall};
use crate::calls::receipts::OpenReceipt;
use crate::calls::unrecorded::CallerReply;
use crate::calls::{gated, recording};
use crate::connections::call_log::AgentCalls;
use crate::connections::call_reply::send;
use crate::connections::in_flight_call::InFlightCall;
use crate::connections::task_needs::holds_server;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::open_connection;

/// A call that a person starts.
#[derive(Debug, Clone)]
pub struct StartCall {
    /// Where the tool runs.
    pub server: ServerId,
    /// The server's name for it.
    pub tool: String,
    /// A JSON object.
    pub arguments: Payload,
    /// The person who starts it.
    pub by: PersonId,
    /// After this it is overdue.
    pub limit: Option<Duration>,
}

impl Engine {
    /// Admits a call (durable when this returns) and sends it. Waits for the server's connection for a short while.
    ///
    /// # Errors
    /// When the server is unknown or unreachable, or the arguments do not fit: then nothing was recorded or sent.
    pub async fn call(&self, start: StartCall) -> Result<HandleId, EngineError> {
        let core = &self.core;
        let work = HaltedWork { server: start.server, agent: None, tool: Some(start.tool.as_str()) };
        check_gate(core, work)?;
        if let Some(reason) = core.pauses.holds(work) {
            return Box::pin(gated::admit_for_person(core, start, reason)).await;
        }
        let (connection, live) = open_connection::shared(core, start.server).await?;
        let tool: Arc<str> = Arc::from(start.tool.as_str());
        live.upstream.check_arguments(Arc::clone(&tool), start.arguments.clone()).await?;
        check_open_calls(core, start.server).await?;
        let usual = core.registry.usual(start.server, &tool, core.policy.usual_samples_min).await?;
        let id = HandleId::from_random(core.time.random.bits());
        let call = NewCall {
            id,
            server: start.server,
            agent: None,
            by: Actor::Person(start.by),
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
            // Rules are about the calls of agents.
            run_limits: TaskRunLimits::default(),
            agent_ttl: None,
        };
        // Registered as in flight before it is recorded, so that nobody takes it for a call without a caller.
        let in_flight = connection.register_call(id, InFlightCall::with_row(live, None, Some(Arc::clone(&tool))));
        // From here on a halt finds the call and refuses it at the wire.
        if let Err(halted) = check_gate(core, work) {
            connection.remove_call(id);
            return Err(halted);
        }
        if let Err(error) = core.ledger.admit(TaskHandle::admit(call, core.time.now())).await {
            connection.remove_call(id);
            return Err(EngineError::Registry(match error {
                CommitError::Registry(error) => error,
                CommitError::Conflict | CommitError::Exists(_) => {
                    RegistryError::Other { operation: "admit a call", why: "its new identity is taken".into() }
                }
            }));
        }
        let request = CallRequest {
            ticket: id,
            tool,
            arguments: start.arguments,
            continuation: None,
            agent_params: None,
            abilities: Abilities::default(),
            listener: None,
            permit: in_flight.permit(),
        };
        send(core, &connection, in_flight, request);
        Ok(id)
    }

    /// Makes a call of an agent, which leaves its receipt. Dropping the future is the agent hanging up before there is a row
    /// ([`HangUp`](super::agent_call::HangUp)).
    ///
    /// # Errors
    /// When the agent has no access, the server is unknown or unreachable, or nothing could be sent.
    pub fn agent_call(&self, call: AgentCall) -> impl Future<Output = Result<CallOutcome, EngineError>> {
        let calls = self.core.calls.loops.log.of(call.agent);
        let receipt = OpenReceipt::of(&self.core, &calls, &call);
        self.admitted_call(call, calls).inspect(move |answer| receipt.leave(answer))
    }

    async fn admitted_call(&self, call: AgentCall, calls: Arc<AgentCalls>) -> Result<CallOutcome, EngineError> {
        let core = &self.core;
        let snapshot = core.access.snapshot();
        if !snapshot.has_access(call.agent) {
            return Err(EngineError::UnknownAgent);
        }
        check_gate(core, work_of(&call))?;
        // A further round is the same call.
        let noted = call.continuation.is_none().then(|| {
            let called = CalledTool { server: call.server, tool: Arc::clone(&call.tool) };
            core.calls.loops.log.called(calls, called, call.arguments.as_str())
        });
        let mut rules = snapshot.resolve(call.agent, call.server, &call.tool);
        if !call.abilities.elicitation {
            // An agent that cannot be asked is not asked.
            rules.asked = AudienceRule::People;
        }
        // What few calls do is boxed, so that the others do not carry its state.
        if may_join_earlier(core, &call, &rules)
            && let Some(joined) = Box::pin(join_earlier(core, &call)).await?
        {
            return Ok(joined);
        }
        // What cannot be recorded is not sent: a person must be able to see and to cancel it, and a repeat to join it.
        if let Some(fault) = recording::fault(core) {
            return Err(EngineError::CannotRecord(fault));
        }
        core.retention.check_quota(call.agent, call.server)?;
        if let Some(reason) = waits(core, &call) {
            return Box::pin(gated::admit(core, call, rules, reason)).await;
        }
        let leased = match open_connection::shared_modern(core, call.server)? {
            Some(leased) => leased,
            None => Box::pin(open_connection::for_agent(core, call.server, call.agent, call.abilities)).await?,
        };
        check_agent_share(core, call.server, call.agent)?;
        let began = core.time.now();
        core.access.presences.called(core, call.agent, began);
        let id = HandleId::from_random(core.time.random.bits());
        let in_flight = InFlightCall::without_row(Arc::clone(&leased.live), call.agent, Arc::clone(&call.tool), noted);
        let in_flight = leased.connection.register_call(id, in_flight);
        // A revocation stores that access is gone and then reads the calls in flight. This call is registered before it
        // reads access again, so one of the two sees the other.
        if !core.access.has_access(call.agent) {
            in_flight.set_finished();
            leased.connection.remove_call(id);
            return Err(EngineError::UnknownAgent);
        }
        // The same holds for a halt.
        if let Err(halted) = check_gate(core, work_of(&call)) {
            in_flight.set_finished();
            leased.connection.remove_call(id);
            return Err(halted);
        }
        // And for a pause that began while the connection was opened.
        if let Some(reason) = waits(core, &call) {
            in_flight.set_finished();
            leased.connection.remove_call(id);
            return Box::pin(gated::admit(core, call, rules, reason)).await;
        }
        core.calls.show_sweep.call_began();
        let mut pending = PendingCall::new(core, leased, in_flight, id, call, rules, began);
        match pending.first_reply().await {
            None => Box::pin(record(pending, None)).await,
            Some(Ok(reply)) if pending.needs_row(&reply) => Box::pin(record(pending, Some(Ok(reply)))).await,
            Some(Ok(reply)) => {
                pending.finish();
                outcome_without_row(reply)
            }
            // Nothing left this machine: there is nothing to remember.
            Some(Err(CallError::NotSent(error))) => {
                let halted = pending.refused_by_halt();
                pending.finish_unsent(&error);
                Err(halted.unwrap_or_else(|| error.into()))
            }
            Some(lost @ Err(CallError::ReplyLost(_))) => Box::pin(record(pending, Some(lost))).await,
        }
    }
}

/// A call as orders look at it. Made for each look: kept over an await, it would lengthen the future of every call.
fn work_of(call: &AgentCall) -> HaltedWork<'_> {
    HaltedWork { server: call.server, agent: Some(call.agent), tool: Some(&*call.tool) }
}

/// Why a call waits at the gate: one atomic read while nothing is paused. A further round of a call belongs to a call that
/// has left, and does not wait.
fn waits(core: &EngineCore, call: &AgentCall) -> Option<GateReason> {
    if call.continuation.is_some() { None } else { core.pauses.holds(work_of(call)) }
}

/// Refuses a call that a halt covers: one atomic read while nothing is halted.
fn check_gate(core: &EngineCore, call: HaltedWork<'_>) -> Result<(), EngineError> {
    core.gate.refuses(call).map_or(Ok(()), |halted| Err(EngineError::Halted(halted)))
}

/// Refuses a call while as many as allowed are open on the server.
async fn check_open_calls(core: &EngineCore, server: ServerId) -> Result<(), EngineError> {
    let most = core.policy.open_calls_per_server;
    if core.registry.open_count(Some(server)).await? < most {
        return Ok(());
    }
    // Calls whose reply is lost hold nothing on the server; they are open only for people to see.
    let busy = core.ledger.of_server(server).iter().filter(|handle| holds_server(handle)).count();
    if u64::try_from(busy).unwrap_or(u64::MAX) >= most {
        return Err(EngineError::TooManyOpenCalls { most });
    }
    Ok(())
}

/// Lets the call continue with a row of its own, and waits for what its caller gets.
async fn record(pending: PendingCall, reply: Option<CallResult>) -> Result<CallOutcome, EngineError> {
    let Some(told) = pending.detach(reply) else { return Err(EngineError::Stopping) };
    caller_outcome(told.await.ok())
}

/// Whether there is anything that this call might join.
fn may_join_earlier(core: &EngineCore, call: &AgentCall, rules: &ResolvedRule) -> bool {
    let joins = match rules.repeat {
        RepeatRule::New => false,
        RepeatRule::Join => call.continuation.is_none(),
    };
    joins && (core.calls.dedup.has_any(call.agent) || !core.calls.unrecorded.is_empty())
}

/// The earlier call that this one joins, if any.
async fn join_earlier(core: &Arc<EngineCore>, call: &AgentCall) -> Result<Option<CallOutcome>, EngineError> {
    let job = || JobKey::of(call.server, &call.tool, call.digest.get());
    while let Some(id) = core.calls.dedup.take(call.agent, job) {
        let known = core.ledger.load(id).await?;
        if known.is_some_and(|handle| may_join(core, &handle, core.time.now())) {
            tracing::debug!(handle.id = %id, "a repeated call joins its task");
            return Ok(Some(CallOutcome::Joined(id)));
        }
    }
    match core.calls.unrecorded.join(call.agent, job) {
        Some(told) => {
            tracing::debug!("a repeated call joins one that could not be recorded");
            match told.await {
                Ok(CallerReply::Row(id)) => Ok(Some(CallOutcome::Joined(id))),
                other => caller_outcome(other.ok()).map(Some),
            }
        }
        None => Ok(None),
    }
}

/// What a caller gets that waited for the row of its call.
fn caller_outcome(told: Option<CallerReply>) -> Result<CallOutcome, EngineError> {
    match told {
        Some(CallerReply::Row(id)) => Ok(CallOutcome::Handle(id)),
        Some(CallerReply::Reply(reply)) => match *reply {
            Ok(reply) => outcome_without_row(reply),
            Err(CallError::NotSent(error)) => Err(error.into()),
            Err(CallError::ReplyLost(error)) => Err(EngineError::ReplyLost(error)),
        },
        Some(CallerReply::Cancelled) => Err(EngineError::Cancelled),
        None => Err(EngineError::Stopping),
    }
}

fn outcome_without_row(reply: CallReply) -> Result<CallOutcome, EngineError> {
    Ok(match reply {
        CallReply::Result { payload, is_error } => CallOutcome::Result { payload, is_error },
        CallReply::Error { payload, .. } => CallOutcome::Error { payload },
        CallReply::NeedsInput { whole, .. } => CallOutcome::NeedsInput { whole },
        // It always needs a row.
        CallReply::Task { .. } => return Err(EngineError::Stopping),
    })
}
