//! Sends a cancel, in the way that fits what the call has become.
//!
//! A task is cancelled by its id, a call in flight by its ticket; a call between two rounds of questions runs nowhere
//! and ends here. An acknowledged cancel need not be obeyed: the next polls show what became of it.

use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::ports::UpstreamError;
use domain::task::TaskHandle;
use domain::task::status::{Delivery, Intent, ServerView};
use tokio::sync::SemaphorePermit;

use super::route::{DeliveryOutcome, DeliveryRoute, retry};
use crate::connections::connection::PollRequest;
use crate::core::{EngineCore, then};

/// Settles a cancel that needs no server. `None` when the server must be asked.
pub(crate) async fn without_server(core: &Arc<EngineCore>, handle: &TaskHandle) -> Option<DeliveryOutcome> {
    if !handle.is_cancel_due() {
        return None;
    }
    match &handle.view {
        ServerView::Asking { .. } | ServerView::Gated { .. } => {
            let ended = core.must_apply(handle.id, |handle, now| match handle.view {
                ServerView::Asking { .. } | ServerView::Gated { .. } => handle.call_cancelled(now),
                ServerView::Awaiting { .. }
                | ServerView::OwnCall { .. }
                | ServerView::NotSent { .. }
                | ServerView::Unanswered { .. }
                | ServerView::Direct(_)
                | ServerView::Refused(_)
                | ServerView::Task(_) => domain::task::Transition::none(handle),
            });
            Some(if ended.await.is_ok() { DeliveryOutcome::Clear } else { DeliveryOutcome::Again(None) })
        }
        ServerView::Unanswered { .. } => {
            let why = "the reply to this call is lost, so there is no task that the server could cancel";
            Some(refused(core, handle, why).await)
        }
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::NotSent { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => None,
    }
}

/// Asks the server to cancel.
pub(crate) async fn send(route: &DeliveryRoute, handle: &TaskHandle) -> DeliveryOutcome {
    match &handle.view {
        ServerView::Task(task) => cancel_task(route, handle, task.id.clone()).await,
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } => cancel_call_in_flight(route, handle).await,
        ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => DeliveryOutcome::Clear,
    }
}

async fn cancel_task(route: &DeliveryRoute, handle: &TaskHandle, task: UpstreamTaskId) -> DeliveryOutcome {
    let lane = match begin_sending(route, handle).await {
        Ok(lane) => lane,
        Err(outcome) => return outcome,
    };
    let outcome = route.core.ask(route.live.upstream.cancel(task)).await;
    drop(lane);
    match outcome {
        Ok(seen) => {
            let core = &route.core;
            let stored = core
                .must_apply(handle.id, |handle, now| {
                    let acknowledged = handle.cancel_step(&Delivery::Acknowledged { at: now }, now);
                    match &seen {
                        Some(seen) => then(acknowledged, |next| {
                            next.observe_within(seen, core.ledger.question_room(next), &core.policy)
                        }),
                        None => acknowledged,
                    }
                })
                .await;
            poll_soon(route, handle);
            if stored.is_ok() { DeliveryOutcome::Clear } else { DeliveryOutcome::Again(None) }
        }
        Err(error) => failed(route, handle, &error).await,
    }
}

async fn cancel_call_in_flight(route: &DeliveryRoute, handle: &TaskHandle) -> DeliveryOutcome {
    // Without a flight its end is just being stored.
    let Some(in_flight) = route.connection.in_flight_call(handle.id) else { return DeliveryOutcome::Again(None) };
    let lane = match begin_sending(route, handle).await {
        Ok(lane) => lane,
        Err(outcome) => return outcome,
    };
    let reason = match &handle.intent {
        Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => cancel_request.reason.clone(),
        Intent::None | Intent::Unwatched { .. } => None,
    };
    let outcome = route.core.ask(in_flight.live.upstream.cancel_call(handle.id, reason)).await;
    drop(lane);
    match outcome {
        Ok(()) => {
            let stored = route
                .core
                .must_apply(handle.id, |handle, now| handle.cancel_step(&Delivery::Acknowledged { at: now }, now))
                .await;
            in_flight.cancelled.notify_one();
            if stored.is_ok() { DeliveryOutcome::Clear } else { DeliveryOutcome::Again(None) }
        }
        Err(error) => failed(route, handle, &error).await,
    }
}

/// Permission to send one cancel.
struct CancelLane<'a> {
    _leaving: SemaphorePermit<'a>,
    _lane: SemaphorePermit<'a>,
}

/// Records that a cancel leaves, and waits for its place in the lane. The commit is waited for outside the lane: inside, a
/// lane of 16 would share each commit among 16 cancels, and 1,000 would take sixty commits one after the other. `Err` is
/// how the delivery ended, where there is nothing to send any more.
async fn begin_sending<'a>(route: &'a DeliveryRoute, handle: &TaskHandle) -> Result<CancelLane<'a>, DeliveryOutcome> {
    let closed = |_| DeliveryOutcome::Unconnected;
    let leaving = route.connection.leaving_cancels.acquire().await.map_err(closed)?;
    if !mark_sent(route, handle).await {
        return Err(DeliveryOutcome::Clear);
    }
    let lane = route.connection.delivery_slots.acquire().await.map_err(closed)?;
    // It may have ended while the lane was full.
    let is_due = route.core.ledger.held(handle.id).is_some_and(|handle| handle.is_cancel_due());
    if is_due { Ok(CancelLane { _leaving: leaving, _lane: lane }) } else { Err(DeliveryOutcome::Clear) }
}

/// Records that it leaves now, before it does. False when there is nothing to send any more.
async fn mark_sent(route: &DeliveryRoute, handle: &TaskHandle) -> bool {
    let marked = route.core.must_apply(handle.id, |handle, now| {
        if handle.is_cancel_due() {
            handle.cancel_step(&Delivery::Sent { at: now, attempts: 1 }, now)
        } else {
            domain::task::Transition::none(handle)
        }
    });
    marked.await.is_ok_and(|applied| applied.handle.is_cancel_due())
}

async fn failed(route: &DeliveryRoute, handle: &TaskHandle, error: &UpstreamError) -> DeliveryOutcome {
    route.connection.request_failed(error);
    poll_soon(route, handle);
    if *error == UpstreamError::UnknownTask {
        // It may be over: asking again is of use only after the poll, and one server crashes on a second cancel.
        return DeliveryOutcome::Again(handle.view.task().and_then(|task| task.hint));
    }
    match retry(error) {
        Some(again) => again,
        None => {
            let ended = refused(&route.core, handle, &error.to_string()).await;
            super::answer::store_error(route, handle, "tasks/cancel", error).await;
            ended
        }
    }
}

async fn refused(core: &Arc<EngineCore>, handle: &TaskHandle, why: &str) -> DeliveryOutcome {
    let stored = core.must_apply(handle.id, |handle, now| {
        handle.cancel_step(&Delivery::Refused { at: now, why: why.to_owned() }, now)
    });
    if stored.await.is_ok() { DeliveryOutcome::Clear } else { DeliveryOutcome::Again(None) }
}

fn poll_soon(route: &DeliveryRoute, handle: &TaskHandle) {
    let person_acted = match &handle.intent {
        Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => cancel_request.by.person().is_some(),
        Intent::None | Intent::Unwatched { .. } => false,
    };
    route.connection.request_poll(handle.id, PollRequest { soon: true, person_acted, poll_at: None });
}
