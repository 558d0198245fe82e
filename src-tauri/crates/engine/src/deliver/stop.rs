//! Sends a cancel request, in the way that fits what the call has become.
//!
//! A task is cancelled by its id, a call in flight by its ticket; a call between two rounds of questions is not
//! running anywhere and ends here. An acknowledgement is not obedience: the next looks show what became of it.

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::UpstreamTaskId;
use domain::ports::UpstreamError;
use domain::task::status::{Delivery, Intent, ServerView};

use super::{Ended, Way, retry};
use crate::core::{Core, then};
use crate::post::Touch;

/// Stops what can be stopped, or cannot, without asking the server. `None` when the server must be asked.
pub(super) async fn without_server(core: &Arc<Core>, handle: &TaskHandle) -> Option<Ended> {
    if !handle.is_cancel_due() {
        return None;
    }
    match &handle.view {
        ServerView::Asking { .. } => {
            let stopped = core.must_apply(handle.id, |handle, now| match handle.view {
                ServerView::Asking { .. } => handle.call_cancelled(now),
                ServerView::Awaiting { .. }
                | ServerView::OwnCall { .. }
                | ServerView::NotSent { .. }
                | ServerView::Unanswered { .. }
                | ServerView::Direct(_)
                | ServerView::Refused(_)
                | ServerView::Task(_) => domain::task::Transition::none(handle),
            });
            Some(if stopped.await.is_ok() { Ended::Clear } else { Ended::Again(None) })
        }
        ServerView::Unanswered { .. } => {
            let why = "the reply to this call is lost, so there is nothing by which the server could stop it";
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

/// Asks the server.
pub(super) async fn send(way: &Way, handle: &TaskHandle) -> Ended {
    match &handle.view {
        ServerView::Task(task) => stop_task(way, handle, task.id.clone()).await,
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } => stop_call(way, handle).await,
        ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => Ended::Clear,
    }
}

async fn stop_task(way: &Way, handle: &TaskHandle, task: UpstreamTaskId) -> Ended {
    let Ok(lane) = way.post.lane.acquire().await else { return Ended::Unconnected };
    if !mark_sent(way, handle).await {
        return Ended::Clear;
    }
    let outcome = way.core.ask(way.live.upstream.cancel(task)).await;
    drop(lane);
    match outcome {
        Ok(seen) => {
            let core = &way.core;
            let stored = core
                .must_apply(handle.id, |handle, now| {
                    let acknowledged = handle.cancel_step(&Delivery::Acknowledged { at: now }, now);
                    match &seen {
                        Some(seen) => then(acknowledged, |next| {
                            next.observe_within(seen, core.ledger.question_room(next.server), &core.policy)
                        }),
                        None => acknowledged,
                    }
                })
                .await;
            look_soon(way, handle);
            if stored.is_ok() { Ended::Clear } else { Ended::Again(None) }
        }
        Err(error) => failed(way, handle, &error).await,
    }
}

async fn stop_call(way: &Way, handle: &TaskHandle) -> Ended {
    // Without a flight its end is just being stored.
    let Some(flight) = way.post.flight(handle.id) else { return Ended::Again(None) };
    let Ok(lane) = way.post.lane.acquire().await else { return Ended::Unconnected };
    if !mark_sent(way, handle).await {
        return Ended::Clear;
    }
    let reason = match &handle.intent {
        Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => cancel_request.reason.clone(),
        Intent::None | Intent::Unwatched { .. } => None,
    };
    let outcome = way.core.ask(flight.live.upstream.cancel_call(handle.id, reason)).await;
    drop(lane);
    match outcome {
        Ok(()) => {
            let stored = way
                .core
                .must_apply(handle.id, |handle, now| handle.cancel_step(&Delivery::Acknowledged { at: now }, now))
                .await;
            flight.stopped.notify_one();
            if stored.is_ok() { Ended::Clear } else { Ended::Again(None) }
        }
        Err(error) => failed(way, handle, &error).await,
    }
}

/// Records that it leaves now, before it does. False when there is nothing to send any more.
async fn mark_sent(way: &Way, handle: &TaskHandle) -> bool {
    let marked = way.core.must_apply(handle.id, |handle, now| {
        if handle.is_cancel_due() {
            handle.cancel_step(&Delivery::Sent { at: now, attempts: 1 }, now)
        } else {
            domain::task::Transition::none(handle)
        }
    });
    marked.await.is_ok_and(|applied| applied.handle.is_cancel_due())
}

async fn failed(way: &Way, handle: &TaskHandle, error: &UpstreamError) -> Ended {
    way.post.ended(error);
    look_soon(way, handle);
    if *error == UpstreamError::UnknownTask {
        // It may be over: asking again is of use only after the look, and one server crashes on a second cancel.
        return Ended::Again(handle.view.task().and_then(|task| task.hint));
    }
    match retry(error) {
        Some(again) => again,
        None => {
            let ended = refused(&way.core, handle, &error.to_string()).await;
            super::answer::error_heard(way, handle, "tasks/cancel", error).await;
            ended
        }
    }
}

async fn refused(core: &Arc<Core>, handle: &TaskHandle, why: &str) -> Ended {
    let stored = core.must_apply(handle.id, |handle, now| {
        handle.cancel_step(&Delivery::Refused { at: now, why: why.to_owned() }, now)
    });
    if stored.await.is_ok() { Ended::Clear } else { Ended::Again(None) }
}

fn look_soon(way: &Way, handle: &TaskHandle) {
    let person_acted = match &handle.intent {
        Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => cancel_request.by.person().is_some(),
        Intent::None | Intent::Unwatched { .. } => false,
    };
    way.post.touch(handle.id, Touch { soon: true, person_acted, look_at: None });
}
