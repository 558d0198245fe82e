//! What the server says about a call and its task, as last applied.
//!
//! These are the server's own words. They are never changed to fit what people want or what we fail to see.

use std::time::Duration;

use crate::ids::{HostId, UpstreamTaskId};
use crate::task::payload::ResultRef;
use crate::time::Timestamp;

/// A JSON-RPC error as a server sent it, with its text capped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    pub code: i64,
    /// The server's text, capped to `server_text_cap_chars`.
    pub message: String,
}

/// How a finished call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The tool succeeded.
    Ok(ResultRef),
    /// The tool ran and reported an error (`isError: true`); the task itself did not fail.
    ToolError(ResultRef),
    /// As `ToolError`, of a task whose server says `failed` and hands over the result all the same (2025 dialect).
    FailedWithResult(ResultRef),
    /// The server says `completed` and answers the request for the result with a JSON-RPC error, which is how the call
    /// ended (2025 dialect, protocol.md §1.4).
    Error(RpcError),
    /// The server says it is finished, the payload is not here yet and still being fetched.
    NotFetched,
    /// The server says it is finished and the payload can no longer be had.
    Unavailable,
}

/// The server's own word, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStatus {
    Working,
    InputRequired,
    /// `completed`; also a 2025 `failed` that has a result, which keeps its word.
    Completed(Outcome),
    /// `failed`; the error may follow later in the 2025 dialect.
    Failed(Option<RpcError>),
    Cancelled,
    /// Any other word: shown verbatim (capped), counts as not finished.
    Other(String),
}

impl TaskStatus {
    /// Whether the server can say nothing more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Cancelled)
    }

    /// The word on the wire.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Failed(_) | Self::Completed(Outcome::FailedWithResult(_)) => "failed",
            Self::Completed(_) => "completed",
            Self::Cancelled => "cancelled",
            Self::Other(word) => word,
        }
    }
}

/// How long a server keeps a task, as it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ttl {
    /// The field was absent.
    Unsaid,
    /// `null`: no limit.
    Unlimited,
    For(Duration),
}

/// What the server says. One variant a stage of a call's life on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerView {
    /// Admitted; the call is on its way or in flight in the core run `host`, no reply yet.
    Awaiting {
        /// When it was admitted.
        since: Timestamp,
        /// The run of the core that holds the call. Any other run cannot receive the reply any more.
        host: HostId,
        /// The round of questions that is being answered; 0 for the first call.
        round: u32,
    },
    /// A plain call that outlasts `promote_after`, kept as a task of the gateway's own (ruling 2).
    OwnCall {
        /// When the call was sent.
        since: Timestamp,
        /// As in `Awaiting`.
        host: HostId,
        /// As in `Awaiting`.
        round: u32,
    },
    /// The server wants input before it starts (multi round-trip, 2026 dialect).
    Asking {
        /// When it asked.
        since: Timestamp,
        /// 1 for the first round of questions.
        round: u32,
        /// Whether a `requestState` is stored and must be echoed.
        has_state: bool,
    },
    /// Nothing of the call runs on the server, and nothing will: it never left this machine, or it was given up
    /// between two rounds of questions. Says why.
    NotSent { why: String },
    /// The reply can no longer arrive: connection or process gone, or the core restarted (rule 11, ruling 2).
    Unanswered {
        /// When we learnt it.
        since: Timestamp,
        why: String,
    },
    /// Answered at once; there was no task.
    Direct(Outcome),
    /// Answered with a JSON-RPC error; there was no task.
    Refused(RpcError),
    /// There is a task on the server.
    Task(TaskView),
}

/// The server's own account of its task, as last applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// The server's id of the task.
    pub id: UpstreamTaskId,
    pub status: TaskStatus,
    pub message: Option<String>,
    /// `createdAt` by the server's clock; another value under the same id is another task.
    pub created: Option<Timestamp>,
    /// `lastUpdatedAt` by the server's clock; orders overlapping observations only.
    pub updated: Option<Timestamp>,
    /// When we first saw it, by our clock.
    pub first_seen: Timestamp,
    /// How long it is kept.
    pub ttl: Ttl,
    /// When it may be gone, by our clock: first seen + ttl.
    pub expires: Option<Timestamp>,
    /// `pollInterval` / `pollIntervalMs`, a floor for our polls.
    pub hint: Option<Duration>,
}

impl ServerView {
    /// Whether nothing more can come from the server about this call.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Task(task) => task.status.is_terminal(),
            Self::Direct(_) | Self::Refused(_) | Self::NotSent { .. } => true,
            Self::Awaiting { .. } | Self::OwnCall { .. } | Self::Asking { .. } | Self::Unanswered { .. } => false,
        }
    }

    /// The task, when there is one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskView> {
        match self {
            Self::Task(task) => Some(task),
            Self::Awaiting { .. }
            | Self::OwnCall { .. }
            | Self::Asking { .. }
            | Self::NotSent { .. }
            | Self::Unanswered { .. }
            | Self::Direct(_)
            | Self::Refused(_) => None,
        }
    }
}
