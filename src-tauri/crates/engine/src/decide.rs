//! What people decide: recorded first, delivered after.
//!
//! Each decision is one commit that either wins or is refused by the state of the task; its delivery follows from the
//! registry (`deliver.rs`). Nothing is sent here, and nothing here waits for a server.

use domain::handle::{AnswerInput, Refusal, TaskHandle, Transition};
use domain::ids::{HandleId, PersonId, RequestKey};
use domain::time::Timestamp;

use crate::core::Core;
use crate::engine::EngineError;
use crate::ledger::LedgerError;

/// Records an answer; the first one wins.
pub(crate) async fn answer(core: &Core, id: HandleId, input: AnswerInput) -> Result<RequestKey, EngineError> {
    record(core, id, |handle, now| handle.answer(input.clone(), now)).await
}

/// Takes back an answer that is still held back.
pub(crate) async fn undo_answer(core: &Core, id: HandleId, key: &RequestKey, by: &PersonId) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.undo_answer(key, by, now).map(|step| (step, ()))).await
}

/// Records a wish to stop.
pub(crate) async fn cancel(core: &Core, id: HandleId, by: &PersonId, reason: Option<&str>) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.cancel(by, reason, now).map(|step| (step, ()))).await
}

/// Takes the handle from its agent, and records a wish to stop.
pub(crate) async fn revoke(core: &Core, id: HandleId, by: &PersonId, reason: Option<&str>) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.revoke(by, reason, now).map(|step| (step, ()))).await
}

/// Stops looking at a task, or marks one that is beyond reach as resolved.
pub(crate) async fn unwatch(core: &Core, id: HandleId, by: &PersonId, note: Option<&str>) -> Result<(), EngineError> {
    record(core, id, |handle, now| handle.unwatch(by, note, now).map(|step| (step, ()))).await
}

async fn record<T>(
    core: &Core,
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
fn hurry(core: &Core, id: HandleId) {
    let post = core.ledger.held(id).and_then(|handle| core.posts.get(handle.server));
    if let Some(post) = post.filter(|post| post.live().is_none()) {
        post.connect_now();
    }
}
