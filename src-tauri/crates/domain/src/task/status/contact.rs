//! What we know about reaching a task: fresh, silent, blocked or gone.
//!
//! When a missed poll leads from one to the next is decided in `observation/missed_polls.rs`.

use super::RpcError;
use crate::ids::PersonId;
use crate::server::ServerAct;
use crate::time::Timestamp;

/// Why the last poll brought nothing.
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
    /// Its process may go on where this core does not reach it, for this reason. Nothing is known of its end.
    OutOfReach(String),
    /// A person ended the process that ran it, knowing that it ends with it.
    EndedByPerson { by: PersonId, act: ServerAct },
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
    /// Last seen at `seen`.
    Fresh {
        /// When the last observation was applied, by our clock.
        seen: Timestamp,
    },
    /// Without news for longer than it should be.
    Silent {
        since: Timestamp,
        /// Polls that brought nothing since then.
        failures: u32,
        /// What the last one said.
        last: Miss,
    },
    /// Beyond reach for good.
    Gone {
        /// When we learnt it.
        at: Timestamp,
        seen: Timestamp,
        why: GoneWhy,
    },
    /// Reachable again only after a person acts.
    Blocked {
        since: Timestamp,
        /// What is needed.
        needs: Needs,
    },
}

impl Contact {
    /// Whether the task is beyond reach for good.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }

    /// When the task was last seen.
    #[must_use]
    pub fn seen(&self) -> Timestamp {
        match self {
            Self::Fresh { seen } | Self::Gone { seen, .. } => *seen,
            Self::Silent { since, .. } | Self::Blocked { since, .. } => *since,
        }
    }
}
