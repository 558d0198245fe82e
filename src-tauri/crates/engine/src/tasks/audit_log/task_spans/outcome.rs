//! How a task ended, in the words of a span: its status and `error.type`.
//!
//! The words are ours, and of a server there is a code at most: what it said stays in the registry.

use domain::task::TaskHandle;
use domain::task::status::{Outcome, Phase, ServerView, TaskStatus};

/// The status of a span. OTLP, `Status.StatusCode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanStatus {
    /// Nobody says whether it is good or bad: people ended it, or its outcome is not known.
    Unset,
    Ok,
    Error,
}

impl SpanStatus {
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Unset => 0,
            Self::Ok => 1,
            Self::Error => 2,
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanOutcome {
    pub(super) status: SpanStatus,
    /// In plain words, of an error.
    pub(super) message: &'static str,
    /// The attribute `error.type`; a code of JSON-RPC where there is one, as the conventions for MCP say.
    pub(super) error: Option<String>,
}

impl SpanOutcome {
    /// Of a task whose record is gone.
    pub(super) const UNKNOWN: Self = Self { status: SpanStatus::Unset, message: "", error: None };

    fn error(message: &'static str, error: impl Into<String>) -> Self {
        Self { status: SpanStatus::Error, message, error: Some(error.into()) }
    }

    /// Of a task in this phase, which is over.
    pub(super) fn of(task: &TaskHandle, phase: Phase) -> Self {
        match phase {
            Phase::Done if has_unknown_outcome(task) => Self::UNKNOWN,
            Phase::Done => Self { status: SpanStatus::Ok, ..Self::UNKNOWN },
            Phase::DoneWithError => Self::error("the tool reported an error", "tool_error"),
            Phase::Failed if task.view.is_sign_in_refused() => {
                Self::error("the server refused the sign-in", "sign_in_refused")
            }
            Phase::Failed if task.view.is_asked_to_wait() => Self::error("the server asked to wait", "asked_to_wait"),
            Phase::Failed if matches!(task.view, ServerView::NotSent { .. }) => {
                Self::error("the call was not sent", "not_sent")
            }
            Phase::Failed => Self::error("the call failed", code(task).unwrap_or_else(|| "failed".into())),
            Phase::Lost => Self::error("the task is out of reach", "lost"),
            Phase::Expired => Self::error("its time on the server ran out", "expired"),
            Phase::Cancelled
            | Phase::Unwatched
            | Phase::Revoked
            | Phase::Unconfirmed
            | Phase::Running
            | Phase::Waiting
            | Phase::Answering
            | Phase::Cancelling
            | Phase::Silent
            | Phase::Blocked
            | Phase::Overdue => Self::UNKNOWN,
        }
    }
}

fn status(task: &TaskHandle) -> Option<&TaskStatus> {
    task.view.task().map(|view| &view.status)
}

fn outcome(task: &TaskHandle) -> Option<&Outcome> {
    if let ServerView::Direct(outcome) = &task.view {
        return Some(outcome);
    }
    if let Some(TaskStatus::Completed(outcome)) = status(task) { Some(outcome) } else { None }
}

/// Whether the server says that it is finished and its result, which may be an error, is still being fetched.
pub(super) fn awaits_result(task: &TaskHandle) -> bool {
    outcome(task) == Some(&Outcome::NotFetched)
}

fn has_unknown_outcome(task: &TaskHandle) -> bool {
    matches!(outcome(task), Some(Outcome::NotFetched | Outcome::Unavailable))
}

/// The code of the JSON-RPC error that it ended with.
fn code(task: &TaskHandle) -> Option<String> {
    let error = if let ServerView::Refused(error) = &task.view {
        error
    } else if let Some(TaskStatus::Failed(Some(error))) = status(task) {
        error
    } else if let Some(Outcome::Error(error)) = outcome(task) {
        error
    } else {
        return None;
    };
    Some(error.code.to_string())
}
