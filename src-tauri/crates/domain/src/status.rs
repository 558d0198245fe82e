//! The three truths about a task, and the one word shown for them.
//!
//! [`ServerView`] is what the server says, [`Contact`] what we know about reaching it, [`Intent`] what people
//! want. They are stored apart and never merged; [`Phase`] is derived from them by one pure function in
//! `phase.rs`. Nothing here changes state: see `handle.rs` for the transitions.

mod phase;

use std::time::Duration;

pub use phase::{Phase, PhaseGroup};

use crate::decider::Decider;
use crate::ids::{HostId, PersonId, UpstreamTaskId};
use crate::payload::ResultRef;
use crate::time::Timestamp;

/// A JSON-RPC error as a server sent it, with its text capped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// JSON-RPC code.
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
    /// `working`.
    Working,
    /// `input_required`.
    InputRequired,
    /// `completed`; also a 2025 `failed` that has a result, which keeps its word.
    Completed(Outcome),
    /// `failed`; the error may follow later in the 2025 dialect.
    Failed(Option<RpcError>),
    /// `cancelled`.
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
    /// From creation.
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
    NotSent {
        /// Plain sentence.
        why: String,
    },
    /// The reply can no longer arrive: connection or process gone, or the core restarted (rule 11, ruling 2).
    Unanswered {
        /// When we learnt it.
        since: Timestamp,
        /// Plain sentence.
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
    /// Its word.
    pub status: TaskStatus,
    /// `statusMessage`, capped.
    pub message: Option<String>,
    /// `createdAt` by the server's clock; another value under the same id is another task.
    pub created: Option<Timestamp>,
    /// `lastUpdatedAt` by the server's clock; orders overlapping observations only.
    pub updated: Option<Timestamp>,
    /// When we first saw it, by our clock.
    pub first_seen: Timestamp,
    /// How long it is kept.
    pub ttl: Ttl,
    /// When it may be gone, by our clock: first sight + ttl.
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

/// Why the last look brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// No connection, or it broke; plain sentence.
    Unreachable(String),
    /// The server said it no longer knows the task, before the task's time was up (rule 9).
    UnknownTask,
    /// The answer could not be read (rule 10).
    Unreadable {
        /// The JSON path that was wrong.
        path: String,
        /// In what way, in our words; never quotes the answer.
        why: String,
    },
    /// The server answered with another error.
    Refused(RpcError),
}

/// Why a task is beyond reach for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoneWhy {
    /// The server does not know it (any more), though its time was not up.
    Unknown,
    /// Its time on the server ran out.
    Expired,
    /// The process that ran it ended, with what is known of the end.
    ProcessEnded(String),
    /// The server shows another task under the same id.
    Replaced,
    /// The server was removed from the configuration.
    ServerRemoved,
}

/// What must happen before the server can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// Sign-in or a valid token; the hint.
    SignIn(String),
    /// The server asks for something this version cannot do; its name.
    Upgrade(String),
}

/// What we know about reaching the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// Last heard at `seen`.
    Fresh {
        /// When the last observation was applied, by our clock.
        seen: Timestamp,
    },
    /// Not heard for longer than it should be.
    Silent {
        /// Last heard.
        since: Timestamp,
        /// Looks that brought nothing since then.
        failures: u32,
        /// What the last one said.
        last: Miss,
    },
    /// Beyond reach for good.
    Gone {
        /// When we learnt it.
        at: Timestamp,
        /// Last heard.
        seen: Timestamp,
        /// Why.
        why: GoneWhy,
    },
    /// Reachable again only after a person acts.
    Blocked {
        /// Last heard.
        since: Timestamp,
        /// What is needed.
        needs: Needs,
    },
}

impl Contact {
    /// When the task was last heard of.
    #[must_use]
    pub fn seen(&self) -> Timestamp {
        match self {
            Self::Fresh { seen } | Self::Gone { seen, .. } => *seen,
            Self::Silent { since, .. } | Self::Blocked { since, .. } => *since,
        }
    }
}

/// How far something that people want has got on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// In the registry, not yet sent.
    Recorded,
    /// Sent at least once, outcome not known.
    Sent {
        /// When last.
        at: Timestamp,
        /// How often.
        attempts: u32,
    },
    /// The server acknowledged; that is not yet obedience.
    Acknowledged {
        /// When.
        at: Timestamp,
    },
    /// The server refused, or has no such method; plain sentence.
    Refused {
        /// When.
        at: Timestamp,
        /// Why.
        why: String,
    },
}

impl Delivery {
    /// Whether the reconciler still has something to do.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Recorded | Self::Sent { .. })
    }
}

/// What people want of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Nothing in particular.
    None,
    /// To be stopped by its server.
    Cancel(Wish),
    /// Taken from its agent at once, and to be stopped.
    Revoked(Wish),
    /// No longer looked at; nothing was asked of the server.
    Unwatched {
        /// Who.
        by: PersonId,
        /// When.
        at: Timestamp,
    },
}

/// A wish to stop, with its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Who.
    pub by: Decider,
    /// When.
    pub at: Timestamp,
    /// In the person's words.
    pub reason: Option<String>,
    /// How far it got.
    pub delivery: Delivery,
    /// When it was first sent; kept when the delivery goes on.
    pub sent: Option<Timestamp>,
}

impl Wish {
    /// A wish of this moment.
    #[must_use]
    pub fn new(by: &Decider, at: Timestamp, reason: Option<&str>, delivery: Delivery) -> Self {
        Self { by: by.clone(), at, reason: reason.map(str::to_owned), delivery, sent: None }
    }

    /// When the server acknowledged it, if it did.
    #[must_use]
    pub fn acknowledged_at(&self) -> Option<Timestamp> {
        match &self.delivery {
            Delivery::Acknowledged { at } => Some(*at),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Refused { .. } => None,
        }
    }
}

/// Where a wish to stop stands, in the words of promise R1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopState {
    /// Recorded or sent; no word from the server.
    Asked,
    /// The server acknowledged; it may go on.
    Acknowledged,
    /// The server says it stopped.
    Stopped,
    /// It ended by itself in spite of the wish.
    FinishedAnyway,
    /// The server refused to stop it, or cannot.
    Refused,
}

impl StopState {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Acknowledged => "acknowledged",
            Self::Stopped => "stopped",
            Self::FinishedAnyway => "finishedAnyway",
            Self::Refused => "refused",
        }
    }
}

/// Why a task counts as overdue (ruling 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueWhy {
    /// Past the limit agreed for it.
    Agreed,
    /// Past the 95th percentile of what this tool on this server took before.
    Usual,
}

/// When a task should be finished. Waiting for a person moves it (promise A5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The moment, by our clock.
    pub at: Timestamp,
    /// Where it comes from.
    pub why: DueWhy,
}
