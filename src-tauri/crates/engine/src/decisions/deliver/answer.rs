//! Sends recorded answers of a task: under the server's keys, or as the response to a live question.
//!
//! Marked as sent before the wire, as acknowledged after it. An answer under a key is sent again until acknowledged,
//! which is safe because it is never changed (rule 14). A live answer is sent once per channel: when the channel is
//! gone, it waits until the question is asked again (ruling 10). Answers of rounds are in `input_round.rs`.

use domain::ids::RequestKey;
use domain::ports::{AnswerToSend, RegistryError, UpstreamError};
use domain::raw_message::RawText;
use domain::task::input_request::{AskDoor, InputRequest, RequestState};
use domain::task::payload::PayloadKind;
use domain::task::status::Delivery;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;

use super::route::{DeliveryOutcome, DeliveryRoute, retry};
use crate::connections::connection::PollRequest;
use crate::core::{EngineCore, then};

/// Sends what is due, all answers of one door together.
pub(crate) async fn send(route: &DeliveryRoute, handle: &TaskHandle) -> DeliveryOutcome {
    let due = handle.answers_due(route.core.time.now());
    let listed: Vec<_> = due.iter().filter(|request| is_listed(&request.door)).copied().collect();
    let mut worst = DeliveryOutcome::Clear;
    if !listed.is_empty() {
        worst = send_together(route, handle, &listed).await;
    }
    for request in due {
        // Each live answer is a response of its own.
        if let AskDoor::Live { connection, .. } = &request.door
            && *connection == route.live.id
        {
            let ended = send_together(route, handle, &[request]).await;
            if worst == DeliveryOutcome::Clear {
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

async fn send_together(route: &DeliveryRoute, handle: &TaskHandle, requests: &[&InputRequest]) -> DeliveryOutcome {
    let Ok(answers) = answers(&route.core, handle, requests).await else { return DeliveryOutcome::Again(None) };
    let keys: Vec<RequestKey> = requests.iter().map(|request| request.key.clone()).collect();
    let live = requests.iter().any(|request| !is_listed(&request.door));
    let Ok(lane) = route.connection.delivery_slots.acquire().await else { return DeliveryOutcome::Unconnected };
    // An answer to one of several calls is tied to none of them.
    let shared = requests.iter().any(|request| handle.shared.stored.contains_key(&request.key));
    let task = handle.view.task().filter(|_| !shared).map(|task| task.id.clone());
    let text = route.live.upstream.answer_text(task.as_ref(), &answers);
    if leaves(route, handle, &keys, text.as_ref()).await.is_err() {
        return DeliveryOutcome::Again(None);
    }
    let outcome = route.core.ask(route.live.upstream.answer(task, answers)).await;
    drop(lane);
    let ended = match outcome {
        Ok(()) => match step(route, handle, &keys, |at| Delivery::Acknowledged { at }).await {
            Ok(()) => DeliveryOutcome::Clear,
            Err(()) => DeliveryOutcome::Again(None),
        },
        Err(error) => failed(route, handle, &keys, &error, live).await,
    };
    let by_person = |request: &&InputRequest| match &request.state {
        RequestState::Answered(answered) => answered.by.person().is_some(),
        RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
    };
    let person_acted = requests.iter().any(by_person);
    route.connection.request_poll(handle.id, PollRequest { soon: true, person_acted, poll_at: None });
    ended
}

async fn failed(
    route: &DeliveryRoute,
    handle: &TaskHandle,
    keys: &[RequestKey],
    error: &UpstreamError,
    live: bool,
) -> DeliveryOutcome {
    route.connection.request_failed(error);
    match (retry(error), error) {
        (None, error) => {
            let why = error.to_string();
            let refused = step(route, handle, keys, |at| Delivery::Refused { at, why: why.clone() }).await;
            store_error(route, handle, if live { "elicitation/create" } else { "tasks/update" }, error).await;
            match refused {
                Ok(()) => DeliveryOutcome::Clear,
                Err(()) => DeliveryOutcome::Again(None),
            }
        }
        // It never left: it waits for the question to come again.
        (Some(_), UpstreamError::ChannelGone) => {
            let _ = step(route, handle, keys, |_| Delivery::Recorded).await;
            DeliveryOutcome::Unconnected
        }
        // Whether a live answer arrived is unknown, and a second response must never leave.
        (Some(_), _) if live => DeliveryOutcome::Clear,
        (Some(again), _) => again,
    }
}

/// Keeps the error with which the server answered, for people to read; whether that works decides nothing.
pub(crate) async fn store_error(route: &DeliveryRoute, handle: &TaskHandle, about: &str, error: &UpstreamError) {
    if let UpstreamError::Refused(error) = error {
        let policy = &route.core.policy;
        let kept =
            route.core.ledger.apply(handle.id, |handle, now| handle.error_heard(about, error, now, policy)).await;
        if let Err(failed) = kept {
            tracing::debug!(handle.id = %handle.id, error = %failed, "an error of a server could not be kept");
        }
    }
}

/// Marks these answers as sent and keeps the message that carries them, in one commit.
async fn leaves(
    route: &DeliveryRoute,
    handle: &TaskHandle,
    keys: &[RequestKey],
    text: Option<&RawText>,
) -> Result<(), ()> {
    let stored = route.core.must_apply(handle.id, |handle, now| sent(handle, keys, text, now));
    stored.await.map(|_| ()).map_err(|_| ())
}

/// The answers leave now, with the message that carries them.
pub(crate) fn sent(handle: &TaskHandle, keys: &[RequestKey], text: Option<&RawText>, now: Timestamp) -> Transition {
    let kept = text.map_or_else(|| Transition::none(handle), |text| handle.answers_left(keys, text, now));
    let delivery = Delivery::Sent { at: now, attempts: 1 };
    keys.iter().fold(kept, |all, key| then(all, |next| next.answer_step(key, &delivery, now)))
}

/// Moves all these answers one step on, in one commit.
async fn step(
    route: &DeliveryRoute,
    handle: &TaskHandle,
    keys: &[RequestKey],
    delivery: impl Fn(Timestamp) -> Delivery,
) -> Result<(), ()> {
    let stored = route.core.must_apply(handle.id, |handle, now| {
        keys.iter()
            .fold(Transition::none(handle), |all, key| then(all, |next| next.answer_step(key, &delivery(now), now)))
    });
    stored.await.map(|_| ()).map_err(|_| ())
}

/// The answers with their contents, which only the registry has.
pub(crate) async fn answers(
    core: &EngineCore,
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
