//! Asks the open tasks that a halt covers to cancel, and holds what still arrives of them.
//!
//! The tasks are on record before the first is asked, so that a restart goes on where this one ended: asking twice is
//! refused by the task itself. Cancels leave in their own lane (`deliver.rs`).

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::{HaltId, HandleId, PersonId};
use domain::ports::{HaltUnit, RegistryError};
use domain::server::halt::{Halt, HaltEffect, HaltOrder, HaltedWork};
use domain::task::decider::Decider;
use domain::task::status::halted::HaltedTaskState;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt, TryStreamExt};
use tokio::sync::oneshot;

use crate::access::halt_gate::work_of;
use crate::connections::in_flight_call::InFlightCall;
use crate::core::{EngineCore, then};
use crate::decisions::halt::record;
use crate::error::{EngineError, LedgerError};

/// Open tasks that an order to cancel covers now. One that is over, or lost, cannot be asked any more.
pub(super) fn targets(core: &EngineCore, is_covered: impl Fn(HaltedWork<'_>) -> bool) -> Vec<HandleId> {
    let open = core.ledger.all();
    open.iter().filter(|handle| !handle.is_over() && is_covered(work_of(handle))).map(|handle| handle.id).collect()
}

/// Puts calls that had begun to leave on record, and asks everything that is to be cancelled. What it returns ends when
/// those calls are listed.
pub(super) fn begin(
    core: &Arc<EngineCore>,
    halt: HaltId,
    sent: Vec<(HandleId, Arc<InFlightCall>)>,
) -> oneshot::Receiver<()> {
    let (listed, are_listed) = oneshot::channel();
    let held = Arc::clone(core);
    core.supervisor.spawn("halt", async move {
        record_sent(&held, halt, sent).await;
        drop(listed);
        cancel_all(&held, halt).await;
    });
    are_listed
}

/// Goes on with what an earlier run began.
pub(crate) fn go_on(core: &Arc<EngineCore>) {
    let Some(halt) = core.gate.state().current else { return };
    let held = Arc::clone(core);
    core.supervisor.spawn("halt", async move {
        if let Err(error) = list_interrupted(&held, halt.id).await {
            tracing::error!(%error, "calls that had left before an earlier run ended could not be listed for its halt");
        }
        if halt.orders.iter().any(|order| order.has(HaltEffect::Running)) {
            cancel_all(&held, halt.id).await;
        }
    });
}

/// Lists calls that had left when an earlier run closed the gate and ended before it had listed them, and says when it
/// closed where that run did not: none has left since this one started.
async fn list_interrupted(core: &EngineCore, halt: HaltId) -> Result<(), EngineError> {
    let _turn = core.gate.turn.lock().await;
    let Some(current) = core.gate.state().current.filter(|current| current.id == halt) else { return Ok(()) };
    let closed = current.closed_at.unwrap_or_else(|| core.time.now());
    // Where calls pass, what is open began after the order.
    let had_left = |work: HaltedWork<'_>| {
        let stops = |order: &HaltOrder| order.has(HaltEffect::Calls) && order.has(HaltEffect::Running);
        current.orders.iter().any(|order| stops(order) && order.covers(work))
    };
    let mut targets = targets(core, had_left);
    targets.retain(|id| core.ledger.held(*id).is_some_and(|handle| handle.created <= closed));
    let listed = listed(core, halt).await?;
    targets.retain(|id| !listed.contains(id));
    if targets.is_empty() && current.closed_at.is_some() {
        return Ok(());
    }
    let halt = Halt { closed_at: Some(closed), ..(*current).clone() };
    record(core, HaltUnit { halt: halt.clone(), targets, audit: Vec::new() }).await?;
    core.gate.set(halt);
    Ok(())
}

/// The tasks that are listed for a halt.
async fn listed(core: &EngineCore, halt: HaltId) -> Result<HashSet<HandleId>, RegistryError> {
    let (rows, mut after, mut all) = (core.policy.page_rows_max, None, HashSet::new());
    loop {
        let page = core.registry.halted_tasks(halt, after, rows).await?;
        after = page.last().copied();
        let is_last = page.len() < usize::try_from(rows).unwrap_or(usize::MAX);
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Calls that were on their way get their rows and are listed. One that ends first needs none: its caller has its reply.
async fn record_sent(core: &EngineCore, halt: HaltId, sent: Vec<(HandleId, Arc<InFlightCall>)>) {
    let rows = sent.into_iter().map(|(id, call)| async move {
        let row = tokio::time::timeout(core.policy.cancel_grace, call.row()).await;
        row.is_ok_and(|is_there| is_there).then_some(id)
    });
    let rows: Vec<HandleId> = futures::future::join_all(rows).await.into_iter().flatten().collect();
    if rows.is_empty() {
        return;
    }
    let _turn = core.gate.turn.lock().await;
    let Some(current) = core.gate.state().current.filter(|current| current.id == halt) else { return };
    let unit = HaltUnit { halt: (*current).clone(), targets: rows, audit: Vec::new() };
    if let Err(error) = record(core, unit).await {
        tracing::error!(%error, "calls that were on their way when work was halted could not be listed");
    }
}

async fn cancel_all(core: &Arc<EngineCore>, halt: HaltId) {
    let (rows, mut after) = (core.policy.page_rows_max, None);
    loop {
        let page = match core.registry.halted_tasks(halt, after, rows).await {
            Ok(page) => page,
            Err(RegistryError::Closed) => return,
            Err(error) => {
                return tracing::error!(%error, "the tasks of a halt cannot be read; a restart asks them to cancel");
            }
        };
        after = page.last().copied();
        let is_last = page.len() < usize::try_from(rows).unwrap_or(usize::MAX);
        stream::iter(page)
            .map(|id| cancel(core, id))
            .buffer_unordered(core.policy.halt.cancels_at_once)
            .collect::<()>()
            .await;
        if is_last {
            return;
        }
    }
}

async fn cancel(core: &EngineCore, id: HandleId) {
    let decided = core.ledger.decide(id, |handle, now| {
        let step = match core.gate.cancels(handle) {
            Some((by, reason)) => halted(handle, &by, &reason, now),
            None => Transition::none(handle),
        };
        Ok::<_, std::convert::Infallible>((step, ()))
    });
    match decided.await {
        Ok(_) | Err(LedgerError::Unknown | LedgerError::Exists(_) | LedgerError::Registry(RegistryError::Closed)) => {}
        Err(LedgerError::Registry(error)) => {
            tracing::error!(handle.id = %id, %error, "a halted task could not be asked to cancel");
        }
        Err(LedgerError::Declined(never)) => match never {},
    }
}

/// Asks again what the halt covers and nobody confirmed; returns how many were asked. What is lost cannot be asked.
pub(super) async fn ask_again(core: &EngineCore, halt: HaltId, by: &PersonId) -> Result<u64, RegistryError> {
    let (rows, mut after, mut asked) = (core.policy.page_rows_max, None, 0_u64);
    loop {
        let page = core.registry.halted_tasks(halt, after, rows).await?;
        after = page.last().copied();
        let is_last = page.len() < usize::try_from(rows).unwrap_or(usize::MAX);
        let again: Vec<bool> = stream::iter(page)
            .map(|id| cancel_again(core, id, by))
            .buffer_unordered(core.policy.halt.cancels_at_once)
            .try_collect()
            .await?;
        asked += u64::try_from(again.into_iter().filter(|is_asked| *is_asked).count()).unwrap_or(u64::MAX);
        if is_last {
            return Ok(asked);
        }
    }
}

async fn cancel_again(core: &EngineCore, id: HandleId, by: &PersonId) -> Result<bool, RegistryError> {
    let decided = core.ledger.decide(id, |handle, now| {
        let is_open = handle.halted_state(now, core.policy.halt.confirm_within) == HaltedTaskState::NotConfirmed;
        let step = is_open.then(|| handle.cancel_again(by, now).ok()).flatten();
        let is_asked = step.is_some();
        Ok::<_, std::convert::Infallible>((step.unwrap_or_else(|| Transition::none(handle)), is_asked))
    });
    match decided.await {
        Ok((_, is_asked)) => Ok(is_asked),
        Err(LedgerError::Unknown | LedgerError::Exists(_)) => Ok(false),
        Err(LedgerError::Registry(error)) => Err(error),
        Err(LedgerError::Declined(never)) => match never {},
    }
}

/// A cancel, and a hold of what may still arrive. A task that is over, or was asked before, stays as it is.
fn halted(handle: &TaskHandle, by: &Decider, reason: &str, now: Timestamp) -> Transition {
    let asked = handle.cancel(by, Some(reason), now).unwrap_or_else(|_| Transition::none(handle));
    then(asked, |next| next.hold(by, now).unwrap_or_else(|_| Transition::none(next)))
}
