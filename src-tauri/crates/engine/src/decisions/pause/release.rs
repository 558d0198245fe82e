//! Lets calls leave that waited at the gate: those of one agent to one server in their order, each once.
//!
//! One commit marks a call as on its way; only then it leaves. A kill in between leaves a call whose reply is lost, never
//! one that is sent twice. Each call passes the gates again as a new one would: a halt refuses it, and its server may be
//! down. Another agent's calls, and those to another server, do not wait for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::ids::HandleId;
use domain::ports::{Abilities, CallRequest, SendGate, SendPermit};
use domain::server::pause::GateVerdict;
use domain::task::decider::Decider;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::GateReason;
use domain::task::{LetThrough, TaskHandle, Transition};
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::in_order;
use crate::access::halt_gate::work_of;
use crate::access::pause_gate::GateLane;
use crate::connections::call_reply;
use crate::connections::in_flight_call::InFlightCall;
use crate::connections::lease::ConnectionLease;
use crate::core::EngineCore;
use crate::error::{EngineError, LedgerError};
use crate::servers::open_connection::{self, LeasedConnection};

/// Lets everything leave that no pause holds any more. What still waits says for what.
pub(crate) fn begin(core: &Arc<EngineCore>) {
    say_what_holds(core);
    let lanes: Vec<GateLane> =
        core.ledger.all().iter().filter(|handle| is_due(core, handle)).map(|h| lane_of(h)).collect();
    for lane in lanes {
        if core.pauses.leaving.lock().insert(lane) {
            let held = Arc::clone(core);
            core.supervisor.spawn("gate", async move { empty(&held, lane).await });
        }
    }
}

/// Calls that waited for something that is over, and wait for something else.
fn say_what_holds(core: &Arc<EngineCore>) {
    let held_further = |handle: &Arc<TaskHandle>| {
        let (_, told) = handle.gated()?;
        let holds = core.pauses.holds(work_of(handle))?;
        let waits = core.pauses.verdict(handle) == Some(GateVerdict::Waits);
        (waits && told != holds && !still_holds(core, handle, told)).then_some((handle.id, holds))
    };
    let further: Vec<(HandleId, GateReason)> = core.ledger.all().iter().filter_map(held_further).collect();
    if further.is_empty() {
        return;
    }
    let held = Arc::clone(core);
    core.supervisor.spawn("gate", async move {
        for (id, holds) in further {
            if let Err(error) = apply(&held, id, |handle, now| handle.held_further(holds, now)).await {
                tracing::warn!(handle.id = %id, %error, "for what a call waits could not be recorded");
            }
        }
    });
}

/// Whether what a call is told to wait for is one of several that hold it.
fn still_holds(core: &EngineCore, handle: &TaskHandle, told: GateReason) -> bool {
    let work = work_of(handle);
    match told {
        GateReason::Alarm => core.pauses.asks_about(work),
        GateReason::Paused | GateReason::Frozen => {
            core.pauses.all().iter().any(|pause| {
                pause.is_in_force() && pause.subject.covers(work) && GateReason::from(pause.subject) == told
            })
        }
    }
}

fn lane_of(handle: &TaskHandle) -> GateLane {
    (handle.server, handle.agent)
}

/// Whether a call waits for nothing but its turn.
fn is_due(core: &EngineCore, handle: &TaskHandle) -> bool {
    match core.pauses.verdict(handle) {
        Some(GateVerdict::Leaves | GateVerdict::LeftOut(_)) => true,
        Some(GateVerdict::Waits) | None => false,
    }
}

/// The first call of a lane that may leave.
fn next(core: &EngineCore, lane: GateLane) -> Option<Arc<TaskHandle>> {
    let open = core.ledger.of_server(lane.0);
    let due = open.into_iter().filter(|handle| lane_of(handle) == lane && is_due(core, handle));
    in_order(due.collect()).into_iter().next()
}

/// Lets the calls of one lane leave, one after the other.
async fn empty(core: &Arc<EngineCore>, lane: GateLane) {
    loop {
        let Some(call) = next(core, lane) else {
            let mut leaving = core.pauses.leaving.lock();
            // Whoever began meanwhile saw this lane busy.
            if next(core, lane).is_none() {
                leaving.remove(&lane);
                return;
            }
            continue;
        };
        if core.stopping.load(Ordering::Acquire) {
            core.pauses.leaving.lock().remove(&lane);
            return;
        }
        if let Err(error) = settle(core, &call).await {
            tracing::warn!(handle.id = %call.id, %error, "a call that waited could not leave, trying again");
            tokio::time::sleep(core.policy.control.pauses.retry_after).await;
        }
    }
}

/// Sends a call, cancels it, or says why it was not sent. An error means that nothing is known to have changed.
async fn settle(core: &Arc<EngineCore>, call: &TaskHandle) -> Result<(), EngineError> {
    match core.pauses.verdict(call) {
        Some(GateVerdict::LeftOut(by)) => {
            let (by, gate) = (Decider::Person(by), core.pauses.left_out_at(call));
            apply(core, call.id, |handle, now| handle.left_out(&by, gate, now)).await
        }
        Some(GateVerdict::Leaves) => match leave(core, call).await {
            Err(EngineError::Registry(error)) => Err(error.into()),
            Err(EngineError::Stopping) => Err(EngineError::Stopping),
            // What a new call would be told.
            Err(refused) => {
                let why = refused.to_string();
                apply(core, call.id, |handle, now| refused_at_gate(handle, &why, now)).await
            }
            Ok(()) => Ok(()),
        },
        Some(GateVerdict::Waits) | None => Ok(()),
    }
}

fn refused_at_gate(handle: &TaskHandle, why: &str, now: Timestamp) -> Transition {
    if handle.may_leave_gate() { handle.not_sent(why, now) } else { Transition::none(handle) }
}

async fn apply(
    core: &EngineCore,
    id: HandleId,
    decide: impl FnMut(&TaskHandle, Timestamp) -> Transition,
) -> Result<(), EngineError> {
    match core.ledger.apply(id, decide).await {
        Ok(_) | Err(LedgerError::Unknown) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn leave(core: &Arc<EngineCore>, call: &TaskHandle) -> Result<(), EngineError> {
    if let Some(halted) = core.gate.refuses(work_of(call)) {
        return Err(EngineError::Halted(halted));
    }
    let context = core.calls.contexts.get(call.id);
    let Some(tool) = call.tool.clone() else { return Err(EngineError::UnknownHandle) };
    let arguments = core.registry.payload(call.id, PayloadKind::Arguments).await?;
    let arguments = arguments.ok_or(EngineError::ArgumentsNotKept)?;
    let leased = connection(core, call, context.abilities, &arguments).await?;
    let LeasedConnection { connection, live, lease } = leased;
    let home = live.home.clone();
    let in_flight = InFlightCall::with_row(live, call.agent, Some(Arc::clone(&tool)));
    // Registered before the gates are read again, so that a halt finds it.
    let in_flight = connection.register_call(call.id, in_flight);
    let halted = core.gate.refuses(work_of(call));
    if halted.is_some() || core.pauses.verdict(call) != Some(GateVerdict::Leaves) {
        connection.remove_call(call.id);
        return halted.map_or(Ok(()), |halted| Err(EngineError::Halted(halted)));
    }
    let through = LetThrough { host: core.host, home, seat: connection.key.seat };
    let left = core.ledger.apply(call.id, |handle, now| handle.let_through(through.clone(), now)).await;
    match left {
        Ok(applied) if applied.changed => {}
        Ok(_) | Err(LedgerError::Unknown) => {
            connection.remove_call(call.id);
            return Ok(());
        }
        Err(error) => {
            connection.remove_call(call.id);
            return Err(error.into());
        }
    }
    let (permit, begun) = LeaveNotice::of(&in_flight);
    let request = CallRequest {
        ticket: call.id,
        tool,
        arguments,
        continuation: None,
        agent_params: context.agent_params,
        abilities: context.abilities,
        listener: context.listener,
        permit,
    };
    call_reply::send(core, &connection, in_flight, request);
    drop(lease);
    // The next one follows when this one has begun to leave, or never will.
    drop(tokio::time::timeout(core.policy.control.pauses.leave_limit, begun).await);
    Ok(())
}

/// The connection that a new call would take. A person's arguments are checked as then.
async fn connection(
    core: &Arc<EngineCore>,
    call: &TaskHandle,
    abilities: Abilities,
    arguments: &Payload,
) -> Result<LeasedConnection, EngineError> {
    if let Some(agent) = call.agent {
        return open_connection::for_agent(core, call.server, agent, abilities).await;
    }
    let (connection, live) = open_connection::shared(core, call.server).await?;
    if let Some(tool) = &call.tool {
        live.upstream.check_arguments(Arc::clone(tool), arguments.clone()).await?;
    }
    Ok(LeasedConnection { connection, live, lease: ConnectionLease::shared() })
}

/// Asks the call in flight for permission, and tells that its first byte leaves.
struct LeaveNotice {
    call: Arc<InFlightCall>,
    begun: Mutex<Option<oneshot::Sender<()>>>,
}

impl LeaveNotice {
    /// The permit, and what ends when the call has begun to leave or is over.
    fn of(call: &Arc<InFlightCall>) -> (SendPermit, oneshot::Receiver<()>) {
        let (tell, begun) = oneshot::channel();
        let notice = Self { call: Arc::clone(call), begun: Mutex::new(Some(tell)) };
        (SendPermit(Some(Arc::new(notice))), begun)
    }
}

impl SendGate for LeaveNotice {
    fn begin_sending(&self) -> bool {
        let may_leave = self.call.begin_sending();
        self.begun.lock().take();
        may_leave
    }
}
