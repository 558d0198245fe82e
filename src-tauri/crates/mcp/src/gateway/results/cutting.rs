//! Runs the tokeniser over whole results: on blocking threads, a few at a time.
//!
//! Cutting takes milliseconds a megabyte; a call that needs none of it never comes here. What is made is the same each
//! time: it follows from the stored result, the decision and the family of tokens alone.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::TokenCounter;
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use domain::tokens::Family;

use crate::gateway::request_context::RequestContext;
use crate::gateway::results::pages::{PageRange, ResultPage};
use crate::gateway::results::{hold_limit, pages};
use crate::gateway::state::GatewayState;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Results that are cut at once. Judgement: more would take the machine from calls, and each takes milliseconds.
pub(crate) const AT_ONCE: usize = 2;

/// Runs `work` on a blocking thread. If the future is dropped, the work still ends and keeps its slot until then.
///
/// # Errors
/// When Taskwarden is stopping, or the result cannot be cut.
pub(crate) async fn run<T: Send + 'static>(
    state: &GatewayState,
    id: HandleId,
    work: impl FnOnce(&dyn TokenCounter) -> T + Send + 'static,
) -> Result<T, RequestError> {
    let stopping = || RequestError::new(RequestErrorKind::Internal, "Taskwarden is stopping");
    let slot = Arc::clone(&state.cutting_slots).acquire_owned().await.map_err(|_| stopping())?;
    let scale = Arc::clone(state.engine.scale());
    let working = tokio::task::spawn_blocking(move || {
        let done = work(&*scale);
        drop(slot);
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

/// A page of a result, as large as it may be.
///
/// # Errors
/// As [`run`].
pub(crate) async fn page(
    context: &RequestContext,
    handle: &TaskHandle,
    result: Payload,
    range: PageRange,
) -> Result<ResultPage, RequestError> {
    let family = family(context, handle);
    let most = hold_limit::page_tokens(&context.state, handle);
    let cut = move |scale: &dyn TokenCounter| pages::cut(scale, family, &scale.words(result.as_str()), range, most);
    run(&context.state, handle.id, cut).await
}

/// The tokens that a task is counted in. Once counted they stay, whatever is set for the agent later: an end that was
/// shown does not change.
pub(crate) fn family(context: &RequestContext, handle: &TaskHandle) -> Family {
    handle.tokens.map_or_else(|| context.state.engine.measure(context.agent).family, |tokens| tokens.family)
}
