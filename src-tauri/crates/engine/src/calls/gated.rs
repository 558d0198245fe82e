//! Admits calls that wait at the gate: recorded, and not sent.
//!
//! Such a call needs no connection and costs its server nothing. It leaves when the pause ends
//! (`decisions/pause/release.rs`) or is cancelled, and its server never hears of it then.

use std::sync::Arc;

use domain::audit::Actor;
use domain::ids::{AgentId, HandleId, JobKey, ServerId};
use domain::ports::{CommitError, RegistryError, arguments_digest};
use domain::rule::ResolvedRule;
use domain::task::status::GateReason;
use domain::task::{Audience, Home, NewCall, TaskHandle, TaskRunLimits, Transition};
use tokio::sync::oneshot;

use crate::calls::admission::StartCall;
use crate::calls::agent_call::{AgentCall, CallOutcome};
use crate::calls::context::CallContext;
use crate::calls::{handle_release, lineage};
use crate::connections::call_reply::released;
use crate::core::{EngineCore, then};
use crate::decisions::pause::release;
use crate::error::EngineError;

/// Records a call of an agent that waits. Its caller gets a task.
pub(crate) async fn admit(
    core: &Arc<EngineCore>,
    call: AgentCall,
    rules: ResolvedRule,
    reason: GateReason,
) -> Result<CallOutcome, EngineError> {
    check_room(core, call.server, Some(call.agent))?;
    core.access.presences.called(core, call.agent, core.time.now());
    let (tell, told) = oneshot::channel();
    let held = Arc::clone(core);
    // Its caller may hang up while the row is written.
    core.supervisor.spawn("gated call", async move {
        let hang_up = call.hang_up;
        let admitted = record(&held, call, rules, reason).await;
        let id = admitted.as_ref().ok().copied();
        if let (Err(_), Some(id)) = (tell.send(admitted), id) {
            handle_release::hung_up(&held, id, hang_up).await;
        }
        // The pause may have ended while the row was written.
        release::begin(&held);
    });
    told.await.map_err(|_| EngineError::Stopping)?.map(CallOutcome::Handle)
}

/// Records a call of a person that waits because its server is frozen.
pub(crate) async fn admit_for_person(
    core: &Arc<EngineCore>,
    start: StartCall,
    reason: GateReason,
) -> Result<HandleId, EngineError> {
    check_room(core, start.server, None)?;
    let (tool, digest) = (Arc::from(start.tool.as_str()), arguments_digest(&start.arguments));
    let usual = core.registry.usual(start.server, &start.tool, core.policy.usual_samples_min).await?;
    let id = HandleId::from_random(core.time.random.bits());
    let new = NewCall {
        id,
        server: start.server,
        agent: None,
        by: Actor::Person(start.by),
        tool,
        arguments: start.arguments,
        arguments_digest: digest,
        usual,
        usual_late_min: core.policy.usual_late_min,
        limit: start.limit,
        host: core.host,
        home: home(core, start.server)?,
        seat: None,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: None,
        attempt: 1,
        hold: false,
        run_limits: TaskRunLimits::default(),
        agent_ttl: None,
    };
    store(core, TaskHandle::admit_gated(new, reason, core.time.now())).await?;
    release::begin(core);
    Ok(id)
}

/// Refuses a call while as many as may wait already, so that a paused agent cannot fill the registry.
fn check_room(core: &EngineCore, server: ServerId, agent: Option<AgentId>) -> Result<(), EngineError> {
    let limits = &core.policy.control.pauses;
    let (most, open) = match agent {
        Some(agent) => (limits.waiting_per_agent, core.ledger.of_agent(agent)),
        None => (limits.waiting_of_people, core.ledger.of_server(server)),
    };
    let waiting = open.iter().filter(|handle| handle.agent == agent && handle.view.is_gated()).count();
    if waiting >= most { Err(EngineError::TooManyWaiting { most }) } else { Ok(()) }
}

/// Where the task of a call would live that left now; set anew when it does.
fn home(core: &EngineCore, server: ServerId) -> Result<Home, EngineError> {
    let connection = core.connections.shared(server).ok_or(EngineError::UnknownServer)?;
    Ok(Home { generation: connection.configured().generation, session: None })
}

async fn record(
    core: &EngineCore,
    call: AgentCall,
    rules: ResolvedRule,
    reason: GateReason,
) -> Result<HandleId, EngineError> {
    let now = core.time.now();
    let digest = Arc::clone(call.digest.get());
    let job = JobKey::of(call.server, &call.tool, &digest);
    let lineage = lineage::of(core, &call, &job).await;
    let id = HandleId::from_random(core.time.random.bits());
    let new = NewCall {
        id,
        server: call.server,
        agent: Some(call.agent),
        by: Actor::Agent(call.agent),
        tool: Arc::clone(&call.tool),
        arguments: call.arguments.clone(),
        arguments_digest: digest,
        usual: lineage.usual,
        usual_late_min: core.policy.usual_late_min,
        limit: call.limit,
        host: core.host,
        home: home(core, call.server)?,
        seat: None,
        audience: rules.asked.audience(now),
        parent: lineage.parent,
        trace: call.trace.clone(),
        job: Some(job),
        attempt: lineage.attempt,
        hold: rules.hold_results,
        run_limits: TaskRunLimits::begun(&rules, now),
        agent_ttl: call.agent_ttl,
    };
    let admitted = TaskHandle::admit_gated(new, reason, now);
    // As for any call with a row: until somebody says otherwise a repeated call joins it.
    let admitted = match call.own_task {
        true => released(admitted, now),
        false => then(admitted, |next| next.undeliver(now)),
    };
    store(core, admitted).await?;
    core.calls.contexts.insert(id, CallContext::of(&call), &core.ledger);
    core.budget.call_became_task(id, call.place.as_ref());
    Ok(id)
}

async fn store(core: &EngineCore, admitted: Transition) -> Result<(), EngineError> {
    match core.ledger.admit(admitted).await {
        Ok(_) => Ok(()),
        Err(CommitError::Registry(error)) => Err(error.into()),
        Err(CommitError::Conflict | CommitError::Exists(_)) => {
            Err(RegistryError::Other { operation: "admit a call", why: "its new identity is taken".into() }.into())
        }
    }
}
