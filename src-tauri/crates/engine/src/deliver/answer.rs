//! Sends recorded answers of a task: under the server's keys, or as the response to a live question.
//!
//! Marked as sent before the wire, as acknowledged after it. An answer under a key is sent again until acknowledged,
//! which is safe because it is never changed (rule 14). A live answer leaves once for each channel: when the channel
//! is gone, it waits until the question comes again (ruling 10). Answers of rounds are in `round.rs`.

use domain::task::{TaskHandle, Transition};
use domain::ids::RequestKey;
use domain::task::payload::PayloadKind;
use domain::ports::{AnswerToSend, RegistryError, UpstreamError};
use domain::raw_message::RawText;
use domain::task::input_request::{AskDoor, InputRequest, RequestState};
use domain::task::status::Delivery;
use domain::time::Timestamp;

use super::{Ended, Way, retry};
use crate::core::{Core, then};
use crate::post::Touch;

/// Sends what is due, all answers of one door together.
pub(super) async fn send(way: &Way, handle: &TaskHandle) -> Ended {
    let due = handle.answers_due(way.core.now());
    let listed: Vec<_> = due.iter().filter(|request| is_listed(&request.door)).copied().collect();
    let mut worst = Ended::Clear;
    if !listed.is_empty() {
        worst = send_together(way, handle, &listed).await;
    }
    for request in due {
        // Each live answer is a response of its own.
        if let AskDoor::Live { connection, .. } = &request.door
            && *connection == way.live.id
        {
            let ended = send_together(way, handle, &[request]).await;
            if worst == Ended::Clear {
                worst = ended;
            }
        }
    }
    worst
}

fn is_listed(door: &AskDoor) -> bool {
    match door {
        AskDoor::Listed { .. } => true,
        AskDoor::Live { .. } | AskDoor::Round { .. } => false,
    }
}

async fn send_together(way: &Way, handle: &TaskHandle, requests: &[&InputRequest]) -> Ended {
    let Ok(answers) = answers(&way.core, handle, requests).await else { return Ended::Again(None) };
    let keys: Vec<RequestKey> = requests.iter().map(|request| request.key.clone()).collect();
    let live = requests.iter().any(|request| !is_listed(&request.door));
    let Ok(lane) = way.post.lane.acquire().await else { return Ended::Unconnected };
    // An answer to one of several calls is tied to none of them.
    let shared = requests.iter().any(|request| handle.shared.stored.contains_key(&request.key));
    let task = handle.view.task().filter(|_| !shared).map(|task| task.id.clone());
    let text = way.live.upstream.answer_text(task.as_ref(), &answers);
    if leaves(way, handle, &keys, text.as_ref()).await.is_err() {
        return Ended::Again(None);
    }
    let outcome = way.core.ask(way.live.upstream.answer(task, answers)).await;
    drop(lane);
    let ended = match outcome {
        Ok(()) => match step(way, handle, &keys, |at| Delivery::Acknowledged { at }).await {
            Ok(()) => Ended::Clear,
            Err(()) => Ended::Again(None),
        },
        Err(error) => failed(way, handle, &keys, &error, live).await,
    };
    let by_person = |request: &&InputRequest| match &request.state {
        RequestState::Answered(answered) => answered.by.person().is_some(),
        RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
    };
    let person_acted = requests.iter().any(by_person);
    way.post.touch(handle.id, Touch { soon: true, person_acted, look_at: None });
    ended
}

async fn failed(way: &Way, handle: &TaskHandle, keys: &[RequestKey], error: &UpstreamError, live: bool) -> Ended {
    way.post.ended(error);
    match (retry(error), error) {
        (None, error) => {
            let why = error.to_string();
            let refused = step(way, handle, keys, |at| Delivery::Refused { at, why: why.clone() }).await;
            error_heard(way, handle, if live { "elicitation/create" } else { "tasks/update" }, error).await;
            match refused {
                Ok(()) => Ended::Clear,
                Err(()) => Ended::Again(None),
            }
        }
        // It never left: it waits for the question to come again.
        (Some(_), UpstreamError::ChannelGone) => {
            let _ = step(way, handle, keys, |_| Delivery::Recorded).await;
            Ended::Unconnected
        }
        // Whether a live answer arrived is unknown, and a second response must never leave.
        (Some(_), _) if live => Ended::Clear,
        (Some(again), _) => again,
    }
}

/// Keeps the error with which the server answered, for people to read; whether that works decides nothing.
pub(super) async fn error_heard(way: &Way, handle: &TaskHandle, about: &str, error: &UpstreamError) {
    if let UpstreamError::Refused(error) = error {
        let policy = &way.core.policy;
        let kept = way.core.ledger.apply(handle.id, |handle, now| handle.error_heard(about, error, now, policy)).await;
        if let Err(failed) = kept {
            tracing::debug!(handle.id = %handle.id, error = %failed, "an error of a server could not be kept");
        }
    }
}

/// Marks these answers as sent and keeps the message that carries them, in one commit.
async fn leaves(way: &Way, handle: &TaskHandle, keys: &[RequestKey], text: Option<&RawText>) -> Result<(), ()> {
    let stored = way.core.must_apply(handle.id, |handle, now| sent(handle, keys, text, now));
    stored.await.map(|_| ()).map_err(|_| ())
}

/// The answers leave now, with the message that carries them.
pub(super) fn sent(handle: &TaskHandle, keys: &[RequestKey], text: Option<&RawText>, now: Timestamp) -> Transition {
    let kept = text.map_or_else(|| Transition::none(handle), |text| handle.answers_left(keys, text, now));
    let delivery = Delivery::Sent { at: now, attempts: 1 };
    keys.iter().fold(kept, |all, key| then(all, |next| next.answer_step(key, &delivery, now)))
}

/// Moves all these answers one step on, in one commit.
async fn step(
    way: &Way,
    handle: &TaskHandle,
    keys: &[RequestKey],
    delivery: impl Fn(Timestamp) -> Delivery,
) -> Result<(), ()> {
    let stored = way.core.must_apply(handle.id, |handle, now| {
        keys.iter()
            .fold(Transition::none(handle), |all, key| then(all, |next| next.answer_step(key, &delivery(now), now)))
    });
    stored.await.map(|_| ()).map_err(|_| ())
}

/// The answers with their contents, which only the registry has.
pub(super) async fn answers(
    core: &Core,
    handle: &TaskHandle,
    requests: &[&InputRequest],
) -> Result<Vec<AnswerToSend>, RegistryError> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let answered = match &request.state {
            RequestState::Answered(answered) => answered,
            RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => continue,
        };
        let content = core.registry.payload(handle.id, PayloadKind::Answer(request.key.clone())).await?;
        answers.push(AnswerToSend { door: request.door.clone(), action: answered.action, content });
    }
    Ok(answers)
}
