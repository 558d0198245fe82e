//! Sends a call again with the answers to its round of questions, before there is a task.
//!
//! One commit marks the answers as sent and the call as on its way; only then it leaves. A kill in between leaves a
//! call whose reply is lost, never one that is sent twice, which could run the tool twice (protocol.md §7.5). A round
//! without questions is answered after a short wait.

use domain::ports::Continuation;
use domain::task::input_request::{AskDoor, InputRequest};
use domain::task::payload::PayloadKind;
use domain::task::status::ServerView;
use domain::task::{TaskHandle, Transition};

use super::answer;
use super::route::{DeliveryOutcome, DeliveryRoute};
use crate::connections::call_reply;
use crate::core::then;

/// Sends the next round, when its answers are all there.
pub(crate) async fn send(route: &DeliveryRoute, handle: &TaskHandle) -> DeliveryOutcome {
    let core = &route.core;
    let ServerView::Asking { since, has_state, .. } = handle.view else { return DeliveryOutcome::Clear };
    let now = core.time.now();
    let Some(ready) = handle.round_ready_at() else { return DeliveryOutcome::Clear };
    let answered: Vec<&InputRequest> = handle.answers_due(now).into_iter().filter(|due| is_round(&due.door)).collect();
    let ready = if answered.is_empty() { ready.max(since.plus(core.policy.round_wait)) } else { ready };
    if ready > now {
        return DeliveryOutcome::Held(ready);
    }
    let Ok(answers) = answer::answers(core, handle, &answered).await else { return DeliveryOutcome::Again(None) };
    let state = match core.registry.payload(handle.id, PayloadKind::RequestState).await {
        Ok(state) => state.filter(|_| has_state),
        Err(_) => return DeliveryOutcome::Again(None),
    };
    let arguments = match core.registry.payload(handle.id, PayloadKind::Arguments).await {
        Ok(Some(arguments)) => arguments,
        Ok(None) | Err(_) => return DeliveryOutcome::Again(None),
    };
    let keys: Vec<_> = answered.iter().map(|request| request.key.clone()).collect();
    let text = route.live.upstream.answer_text(None, &answers);
    let left = core.must_apply(handle.id, |handle, now| match handle.view {
        ServerView::Asking { since: asked, .. } if asked == since && handle.round_ready_at().is_some() => {
            let marked = answer::sent(handle, &keys, text.as_ref(), now);
            then(marked, |next| next.resumed(core.host, now))
        }
        ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => Transition::none(handle),
    });
    match left.await {
        Ok(applied) if applied.changed => {
            let continuation = Continuation { state, answers };
            let live = std::sync::Arc::clone(&route.live);
            call_reply::send_round(core, &route.connection, live, &applied.handle, arguments, continuation);
            DeliveryOutcome::Clear
        }
        Ok(_) => DeliveryOutcome::Clear,
        Err(_) => DeliveryOutcome::Again(None),
    }
}

fn is_round(door: &AskDoor) -> bool {
    match door {
        AskDoor::Round { .. } => true,
        AskDoor::Listed { .. } | AskDoor::Live { .. } => false,
    }
}
