//! What the server says about a call and its task, as last applied.
//!
//! These are the server's own words. They are never changed to fit what people want or what we fail to see.

use std::time::Duration;

use crate::ids::{HostId, UpstreamTaskId};
use crate::server::pause::PauseSubject;
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

impl Outcome {
    /// Whether the call brought a result that is stored here; one with `isError` is a result too.
    #[must_use]
    pub const fn has_result(&self) -> bool {
        match self {
            Self::Ok(_) | Self::ToolError(_) | Self::FailedWithResult(_) => true,
            Self::Error(_) | Self::NotFetched | Self::Unavailable => false,
        }
    }
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

/// Why a call waits at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateReason {
    /// New calls of its agent are paused.
    Paused,
    /// The processes of its server are frozen.
    Frozen,
    /// An alarm asks a person about calls like it.
    Alarm,
}

impl GateReason {
    pub const ALL: [Self; 3] = [Self::Paused, Self::Frozen, Self::Alarm];

    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Frozen => "frozen",
            Self::Alarm => "alarm",
        }
    }

    /// Reads [`GateReason::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

impl From<PauseSubject> for GateReason {
    fn from(paused: PauseSubject) -> Self {
        match paused {
            PauseSubject::Agent(_) => Self::Paused,
            PauseSubject::Server(_) => Self::Frozen,
        }
    }
}

/// Why a call was not sent whose server a person removed while it waited.
pub(crate) const REMOVED_BEFORE_SENT: &str = "its server was removed before the call was sent";

/// How the reason of a call begins that its server did not run because it refused the sign-in.
pub(crate) const SIGN_IN_REFUSED: &str = "the server refused the sign-in for this call";

/// How the reason of a call begins that its server did not take because it gets too many requests.
pub(crate) const ASKED_TO_WAIT: &str = "the server did not take this call and asked to wait";

/// How the reason of a call begins whose reply came and could not be taken, such as one that is too large: as
/// [`crate::ports::UpstreamError::Unreadable`] begins.
const REPLY_UNREADABLE: &str = "the server's answer cannot be read";

/// What the server says. One variant a stage of a call's life on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerView {
    /// Recorded and not sent: the server does not know of the call, and a person decides when it leaves.
    Gated {
        /// When it was recorded.
        since: Timestamp,
        reason: GateReason,
    },
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
    /// Nothing of the call runs on the server, and nothing will: it never left this machine, the server refused the
    /// sign-in for it or asked to wait, or it was given up between two rounds of questions. Says why.
    NotSent { why: String },
    /// The reply can no longer arrive: connection or process gone, the core restarted (rule 11, ruling 2), or it came and
    /// could not be read.
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
            Self::Gated { .. }
            | Self::Awaiting { .. }
            | Self::OwnCall { .. }
            | Self::Asking { .. }
            | Self::Unanswered { .. } => false,
        }
    }

    /// Whether the server has no task for the call yet, so that the call itself is all there is to cancel.
    #[must_use]
    pub const fn is_before_task(&self) -> bool {
        match self {
            Self::Gated { .. } | Self::Awaiting { .. } | Self::OwnCall { .. } | Self::Asking { .. } => true,
            Self::NotSent { .. } | Self::Unanswered { .. } | Self::Direct(_) | Self::Refused(_) | Self::Task(_) => {
                false
            }
        }
    }

    /// Whether the call did not run because its server refused the sign-in for it.
    #[must_use]
    pub fn is_sign_in_refused(&self) -> bool {
        matches!(self, Self::NotSent { why } if why.starts_with(SIGN_IN_REFUSED))
    }

    /// Whether the call did not run because its server asked to wait.
    #[must_use]
    pub fn is_asked_to_wait(&self) -> bool {
        matches!(self, Self::NotSent { why } if why.starts_with(ASKED_TO_WAIT))
    }

    /// Whether a reply to the call came and could not be taken, such as one that is too large. It is not asked for again.
    #[must_use]
    pub fn is_reply_unreadable(&self) -> bool {
        matches!(self, Self::Unanswered { why, .. } if why.starts_with(REPLY_UNREADABLE))
    }

    /// Whether the call waits at the gate and was never sent.
    #[must_use]
    pub const fn is_gated(&self) -> bool {
        matches!(self, Self::Gated { .. })
    }

    /// Whether the call holds something on its server: a call in flight, a round of questions or a task.
    #[must_use]
    pub const fn holds_server(&self) -> bool {
        (self.is_before_task() && !self.is_gated()) || matches!(self, Self::Task(_))
    }

    /// Whether the server waits for answers before it starts, so that the call has another round.
    #[must_use]
    pub const fn has_another_round(&self) -> bool {
        matches!(self, Self::Asking { .. })
    }

    /// The run of the core that holds the call in flight, if there is one.
    #[must_use]
    pub const fn held_by(&self) -> Option<HostId> {
        match self {
            Self::Awaiting { host, .. } | Self::OwnCall { host, .. } => Some(*host),
            Self::Gated { .. }
            | Self::Asking { .. }
            | Self::NotSent { .. }
            | Self::Unanswered { .. }
            | Self::Direct(_)
            | Self::Refused(_)
            | Self::Task(_) => None,
        }
    }

    /// Whether a reply to the call would still be taken.
    #[must_use]
    pub const fn may_take_reply(&self) -> bool {
        self.held_by().is_some() || matches!(self, Self::Unanswered { .. })
    }

    /// How the call ended, where it ended with an outcome: answered at once, or as a task that completed.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Direct(outcome) => Some(outcome),
            Self::Task(TaskView { status: TaskStatus::Completed(outcome), .. }) => Some(outcome),
            Self::Gated { .. }
            | Self::Awaiting { .. }
            | Self::OwnCall { .. }
            | Self::Asking { .. }
            | Self::NotSent { .. }
            | Self::Unanswered { .. }
            | Self::Refused(_)
            | Self::Task(_) => None,
        }
    }

    /// Whether the server says that its task completed while the result is still to be fetched.
    #[must_use]
    pub fn lacks_result(&self) -> bool {
        matches!(self, Self::Task(_)) && self.outcome() == Some(&Outcome::NotFetched)
    }

    /// The task, when there is one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskView> {
        match self {
            Self::Task(task) => Some(task),
            Self::Gated { .. }
            | Self::Awaiting { .. }
            | Self::OwnCall { .. }
            | Self::Asking { .. }
            | Self::NotSent { .. }
            | Self::Unanswered { .. }
            | Self::Direct(_)
            | Self::Refused(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One view of each kind, with what follows from it: before a task, holds its server, takes a reply, has an outcome.
    fn views() -> Vec<(ServerView, [bool; 4])> {
        let (since, host) = (Timestamp::EPOCH, HostId::from_random(1));
        let task = |status| {
            ServerView::Task(TaskView {
                id: UpstreamTaskId::new("t-1"),
                status,
                message: None,
                created: None,
                updated: None,
                first_seen: since,
                ttl: Ttl::Unsaid,
                expires: None,
                hint: None,
            })
        };
        vec![
            (ServerView::Gated { since, reason: GateReason::Paused }, [true, false, false, false]),
            (ServerView::Awaiting { since, host, round: 0 }, [true, true, true, false]),
            (ServerView::OwnCall { since, host, round: 0 }, [true, true, true, false]),
            (ServerView::Asking { since, round: 1, has_state: false }, [true, true, false, false]),
            (ServerView::NotSent { why: String::new() }, [false, false, false, false]),
            (ServerView::Unanswered { since, why: String::new() }, [false, false, true, false]),
            (ServerView::Direct(Outcome::Ok(ResultRef { bytes: 2 })), [false, false, false, true]),
            (ServerView::Refused(RpcError { code: 1, message: String::new() }), [false, false, false, false]),
            (task(TaskStatus::Working), [false, true, false, false]),
            (task(TaskStatus::Completed(Outcome::NotFetched)), [false, true, false, true]),
        ]
    }

    #[test]
    fn what_follows_from_a_view_is_the_same_for_everybody_who_asks() {
        for (view, follows) in views() {
            let found = [view.is_before_task(), view.holds_server(), view.may_take_reply(), view.outcome().is_some()];
            assert_eq!(found, follows, "{view:?}");
            assert_eq!(view.has_another_round(), matches!(view, ServerView::Asking { .. }), "{view:?}");
            assert_eq!(view.lacks_result(), view.outcome() == Some(&Outcome::NotFetched), "{view:?}");
        }
    }

    #[test]
    fn a_result_that_was_answered_at_once_is_never_still_to_be_fetched() {
        assert!(!ServerView::Direct(Outcome::NotFetched).lacks_result(), "only a task's result is fetched");
        assert!(Outcome::ToolError(ResultRef { bytes: 2 }).has_result(), "an error of the tool is a result");
        assert!(!Outcome::Unavailable.has_result(), "a payload that is gone is none");
    }
}
