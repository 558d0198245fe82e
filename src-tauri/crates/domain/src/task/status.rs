//! The three truths about a task, and the one word shown for them.
//!
//! [`ServerView`] is what the server says, [`Contact`] what we know about reaching it, [`Intent`] what people want.
//! They are stored apart and never merged. [`Phase`] is derived from them by one pure function, in `task/phase.rs`.

mod contact;
pub(crate) mod escalation;
pub mod halted;
mod intent;
mod phase;
mod server_view;

pub use contact::{Contact, GoneWhy, Miss, Needs};
pub use intent::{CancelRequest, CancelState, Delivery, Intent, SentCancel};
pub use phase::{Phase, PhaseGroup};
pub(crate) use server_view::{ASKED_TO_WAIT, REMOVED_BEFORE_SENT, SIGN_IN_REFUSED};
pub use server_view::{GateReason, Outcome, RpcError, ServerView, TaskStatus, TaskView, Ttl};

use crate::time::Timestamp;

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

/// One line of a task's status log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When we saw it.
    pub at: Timestamp,
    /// The server's word at that time.
    pub status: String,
    /// The server's words, capped.
    pub text: String,
}
