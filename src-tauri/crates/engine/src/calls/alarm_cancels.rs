//! Cancels the open tasks that an alarm is about, where a rule says so.
//!
//! The alarm is a row before the first is asked. Whatever is open while it goes on is asked once: a task that was asked
//! before refuses. A call whose reply is quick leaves nothing that could be cancelled.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::agent::alarm::CallAlarm;
use domain::ids::HandleId;
use domain::rule::{LimitKind, RunAction};
use domain::server::halt::HaltedWork;
use domain::task::Transition;
use domain::task::decider::Decider;
use futures::stream::{self, StreamExt};

use crate::access::halt_gate::work_of;
use crate::connections::in_flight_call::InFlightCall;
use crate::core::EngineCore;

/// Asks what is open now to cancel, if the alarm says so and nobody has dismissed it.
pub(crate) fn begin(core: &Arc<EngineCore>, alarm: &CallAlarm) {
    if alarm.action != RunAction::Cancel || !alarm.needs_look() {
        return;
    }
    let recorded = open_tasks(core, alarm);
    let in_flight = calls_in_flight(core, alarm);
    if recorded.is_empty() && in_flight.is_empty() {
        return;
    }
    let (held, reason) = (Arc::clone(core), reason(alarm));
    core.supervisor.spawn("alarm", async move { cancel_all(&held, recorded, in_flight, &reason).await });
}

/// Open tasks that nobody asked to cancel.
fn open_tasks(core: &EngineCore, alarm: &CallAlarm) -> BTreeSet<HandleId> {
    let open = core.ledger.of_agent(alarm.agent);
    let may_be_asked = open.iter().filter(|handle| !handle.is_over() && handle.cancel_request().is_none());
    may_be_asked.filter(|handle| alarm.covers(work_of(handle))).map(|handle| handle.id).collect()
}

/// Calls that have no row yet.
fn calls_in_flight(core: &EngineCore, alarm: &CallAlarm) -> Vec<(HandleId, Arc<InFlightCall>)> {
    let mut calls = Vec::new();
    for connection in core.connections.all() {
        let mine = connection.in_flight_of(alarm.agent).into_iter().filter(|(_, call)| {
            let work = HaltedWork { server: connection.server, agent: call.agent, tool: call.tool.as_deref() };
            !call.has_row() && alarm.covers(work)
        });
        calls.extend(mine);
    }
    calls
}

async fn cancel_all(
    core: &EngineCore,
    recorded: BTreeSet<HandleId>,
    in_flight: Vec<(HandleId, Arc<InFlightCall>)>,
    reason: &str,
) {
    let rows = in_flight.into_iter().map(|(id, call)| async move {
        let row = tokio::time::timeout(core.policy.cancel_grace, call.row()).await;
        // One that ended meanwhile has its reply.
        row.is_ok_and(|is_there| is_there).then_some(id)
    });
    let rows = futures::future::join_all(rows).await.into_iter().flatten();
    stream::iter(recorded.into_iter().chain(rows))
        .map(|id| cancel(core, id, reason))
        .buffer_unordered(core.policy.control.tasks_per_commit)
        .collect::<()>()
        .await;
}

async fn cancel(core: &EngineCore, id: HandleId, reason: &str) {
    let by = Decider::Limit(LimitKind::Calls);
    let asked = core
        .ledger
        .apply(id, |handle, now| handle.cancel(&by, Some(reason), now).unwrap_or_else(|_| Transition::none(handle)));
    if let Err(error) = asked.await {
        tracing::warn!(handle.id = %id, %error, "a task that an alarm is about could not be asked to cancel");
    }
}

/// Why, for people and for the agent: which alarm, and which rule.
fn reason(alarm: &CallAlarm) -> String {
    let rule = alarm.rule.map(|rule| format!(", by {}", rule.words())).unwrap_or_default();
    let calls = if alarm.limit == 1 { "call" } else { "calls" };
    format!("alarm {} at {} {calls}{rule}", alarm.kind.word(), alarm.limit)
}
