//! Work of the scale for the gateway: beside the runtime, a few at a time, and in whose tokens a task is cut.
//!
//! Cutting and trimming read a whole result, which takes milliseconds a megabyte; a call that needs none of it never
//! comes here. What is made is the same each time: it follows from the stored result, the verdict and the family alone.
//! What it is made into is `short.rs` and `slices.rs`.

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::HandleId;
use domain::ports::TokenCounter;
use domain::tokens::Family;

use super::Gate;
use super::guest::Guest;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Results that are cut at once. Judgement: more would take the machine from calls, and each is over in milliseconds.
pub(super) const AT_ONCE: usize = 2;

/// Does this work on a result with the scale. Dropped, the work ends by itself and keeps its place until then.
///
/// # Errors
/// When Taskwarden is stopping, or the result cannot be cut.
pub(super) async fn beside<T: Send + 'static>(
    gate: &Gate,
    id: HandleId,
    work: impl FnOnce(&dyn TokenCounter) -> T + Send + 'static,
) -> Result<T, RequestError> {
    let stopping = || RequestError::new(RequestErrorKind::Internal, "Taskwarden is stopping");
    let place = Arc::clone(&gate.scaling).acquire_owned().await.map_err(|_| stopping())?;
    let scale = Arc::clone(gate.engine.scale());
    let working = tokio::task::spawn_blocking(move || {
        let done = work(&*scale);
        drop(place);
        done
    });
    working.await.map_err(|failed| {
        if !failed.is_panic() {
            return stopping();
        }
        tracing::error!(handle.id = %id, "a result could not be cut for its agent");
        RequestError::new(RequestErrorKind::Internal, "the result could not be cut")
    })
}

/// In whose tokens this task is counted. What was counted once stays so, whatever is set for its agent later: an end that
/// was shown does not change.
pub(super) fn family(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Family {
    handle.tokens.map_or_else(|| gate.engine.measure(guest.agent).family, |tokens| tokens.family)
}
