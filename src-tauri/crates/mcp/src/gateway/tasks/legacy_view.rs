//! A task as a session of 2025-11-25 sees it, and waiting until it would see something else.
//!
//! How the object is written is in `conversion/legacy_task.rs`; what a poll costs is reported by its caller.

use std::time::Duration;

use domain::policy::LATE_REPLY_WAIT;
use domain::task::TaskHandle;
use domain::task::payload::PayloadKind;
use domain::task::status::{ServerView, TaskStatus};
use engine::HandleWatch;

use crate::gateway::conversion::legacy_task;
use crate::gateway::conversion::legacy_task::LegacyTask;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome;
use crate::server::rpc_error::RequestError;

/// The task in this dialect, with the server's own fields where it speaks the same.
///
/// # Errors
/// When it is unknown to its agent.
pub(crate) async fn task(context: &RequestContext, handle: &TaskHandle) -> Result<LegacyTask, RequestError> {
    polled(context, handle, None).await
}

/// The same as the answer to a poll, with the interval that the agent is told.
///
/// # Errors
/// When it is unknown to its agent.
pub(crate) async fn polled(
    context: &RequestContext,
    handle: &TaskHandle,
    interval: Option<Duration>,
) -> Result<LegacyTask, RequestError> {
    // Only servers of the older eras have a connection for each agent (ruling 14).
    let theirs = match handle.seat {
        Some(_) => outcome::stored(context, handle, PayloadKind::Task).await?,
        None => None,
    };
    let now = context.state.clock.now();
    legacy_task::legacy_task(handle, theirs.as_deref(), interval, now, &context.state.policy)
        .ok_or_else(RequestError::unknown_task)
}

/// Waits until the agent may see something else: the task changed, or the wait for a late reply is over.
pub(crate) async fn changed(watch: &mut HandleWatch) {
    let may_time_out = match &watch.now().view {
        ServerView::Unanswered { .. } => true,
        ServerView::Task(task) => match task.status {
            TaskStatus::Failed(None) => true,
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed(_)
            | TaskStatus::Failed(Some(_))
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => false,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => false,
    };
    if may_time_out {
        drop(tokio::time::timeout(LATE_REPLY_WAIT, watch.changed()).await);
    } else {
        watch.changed().await;
    }
}
