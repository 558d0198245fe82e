//! What people decide: recorded first, delivered after.
//!
//! Each decision is one commit that either wins or is refused by the state of the task; its delivery follows from the
//! registry (`deliver.rs`). Nothing is sent here, and nothing here waits for a server.

use std::sync::Arc;

use domain::task::decider::Decider;
use domain::task::{AnswerInput, Refusal, ResultForm, TaskHandle, Transition};
use domain::ids::{HandleId, PersonId, RequestKey};
use domain::time::Timestamp;

use crate::core::{Core, then};
use crate::engine::EngineError;
use crate::ledger::LedgerError;
use crate::lines;

/// Records an answer; the first one wins.
pub(crate) async fn answer(core: &Arc<Core>, id: HandleId, input: AnswerInput) -> Result<RequestKey, EngineError> {
    let recorded = record(core, id, |handle, now| handle.answer(input.clone(), now)).await;
    if let (Err(EngineError::Refused(Refusal::AlreadyAnswered { .. })), Some(key)) = (&recorded, &input.key) {
        let told = core.ledger.apply(id, |handle, now| handle.answered_late(key, &input.by, now)).await;
        if let Err(LedgerError::Registry(error)) = told {
            tracing::debug!(handle.id = %id, %error, "that an answer came too late could not be noted");
        }
    }
    recorded
}

/// Takes back an answer that is still held back.
pub(crate) async fn undo_answer(
    core: &Arc<Core>,
    id: HandleId,
    key: &RequestKey,
    by: &PersonId,
) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.undo_answer(key, by, now).map(|step| (step, ()))).await
}

/// Records a cancel request.
pub(crate) async fn cancel(
    core: &Arc<Core>,
    id: HandleId,
    by: &Decider,
    reason: Option<&str>,
) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.cancel(by, reason, now).map(|step| (step, ()))).await
}

/// Takes the handle from its agent, and records a cancel request.
pub(crate) async fn revoke(
    core: &Arc<Core>,
    id: HandleId,
    by: &PersonId,
    reason: Option<&str>,
) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.revoke(by, reason, now).map(|step| (step, ()))).await
}

/// Asks for a stop, and declares the task cancelled to its agent at once (2025 dialect); one commit. A stop that was asked
/// before stays as it is.
pub(crate) async fn agent_told_cancelled(core: &Arc<Core>, id: HandleId, by: &Decider) -> Result<(), EngineError> {
    let told = |handle: &TaskHandle, now| match handle.cancel(by, None, now) {
        Ok(asked) => Ok((then(asked, |next| next.agent_told_cancelled(now)), ())),
        Err(Refusal::AlreadyAsked { .. }) => Ok((handle.agent_told_cancelled(now), ())),
        Err(refusal) => Err(refusal),
    };
    record(core, id, told).await
}

/// Holds the result back from its agent.
pub(crate) async fn hold(core: &Arc<Core>, id: HandleId, by: &PersonId) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.hold(by, now).map(|step| (step, ()))).await
}

/// Decides about a result that is held back.
pub(crate) async fn release(
    core: &Arc<Core>,
    id: HandleId,
    by: &PersonId,
    form: Option<ResultForm>,
    reason: Option<&str>,
) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.release(by, form, reason, now).map(|step| (step, ()))).await
}

/// Lets a task go on past its limit of tokens.
pub(crate) async fn let_go_on(core: &Arc<Core>, id: HandleId, by: &PersonId) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.let_go_on(by, now).map(|step| (step, ()))).await
}

/// Stops looking at a task, or marks one that is beyond reach as resolved.
pub(crate) async fn unwatch(
    core: &Arc<Core>,
    id: HandleId,
    by: &PersonId,
    note: Option<&str>,
) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.unwatch(by, note, now).map(|step| (step, ()))).await
}

async fn record<T>(
    core: &Arc<Core>,
    id: HandleId,
    decide: impl FnMut(&TaskHandle, Timestamp) -> Result<(Transition, T), Refusal>,
) -> Result<T, EngineError> {
    match core.ledger.decide(id, decide).await {
        Ok((_, said)) => {
            hurry(core, id);
            Ok(said)
        }
        Err(LedgerError::Unknown) => Err(EngineError::UnknownHandle),
        Err(LedgerError::Declined(refusal)) => Err(EngineError::Refused(refusal)),
        Err(LedgerError::Registry(error)) => Err(EngineError::Registry(error)),
        // Decisions never move a task to another id.
        Err(LedgerError::Exists(_)) => Err(EngineError::UnknownHandle),
    }
}

/// Somebody did something for a server: when it is not connected, that is tried now and not after the back-off.
fn hurry(core: &Arc<Core>, id: HandleId) {
    let post = core.ledger.held(id).and_then(|handle| lines::reopen(core, &handle));
    if let Some(post) = post.filter(|post| post.live().is_none()) {
        post.connect_now();
    }
}
