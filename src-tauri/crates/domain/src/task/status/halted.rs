//! What became of a task that a halt covers, by what was observed and by nothing else.
//!
//! It changes no task and asks nobody; cancels are recorded in `cancel.rs`. What a halt is: `server/halt.rs`.

use std::time::Duration;

use crate::task::TaskHandle;
use crate::task::status::{CancelState, Phase};
use crate::time::Timestamp;

/// How far a halted task got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HaltedTaskState {
    /// A cancel was recorded, and the server has not said anything yet.
    Requested,
    /// The server acknowledged the cancel.
    Acknowledged,
    /// The server said how it ended, a person ended its process and none of it was left, or nothing of it was sent.
    Confirmed,
    /// Nobody knows whether it ended: refused, not reached, lost, or no word in time.
    NotConfirmed,
    /// No cancel was asked for: the halt refuses new calls only.
    Open,
}

impl HaltedTaskState {
    pub const ALL: [Self; 5] = [Self::Requested, Self::Acknowledged, Self::Confirmed, Self::NotConfirmed, Self::Open];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Acknowledged => "acknowledged",
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "notConfirmed",
            Self::Open => "open",
        }
    }

    /// Whether nothing more can be learnt of a task in this state and phase: contact with it ended, and it did not.
    #[must_use]
    pub const fn is_beyond_reach(self, phase: Phase) -> bool {
        matches!(self, Self::NotConfirmed) && matches!(phase, Phase::Lost | Phase::Unconfirmed)
    }
}

impl TaskHandle {
    /// What became of it under a halt. A cancel of which nothing was heard for `confirm_within` is not confirmed.
    #[must_use]
    pub fn halted_state(&self, now: Timestamp, confirm_within: Duration) -> HaltedTaskState {
        if self.stopped().is_some() {
            return HaltedTaskState::Confirmed;
        }
        if self.contact.is_gone() {
            return HaltedTaskState::NotConfirmed;
        }
        let Some(cancel) = self.cancel_request() else { return HaltedTaskState::Open };
        match self.stop_state() {
            Some(CancelState::Stopped | CancelState::EndedHere | CancelState::FinishedAnyway) => {
                HaltedTaskState::Confirmed
            }
            Some(CancelState::Refused) | None => HaltedTaskState::NotConfirmed,
            Some(CancelState::Asked | CancelState::Acknowledged)
                if now >= cancel.silent_since().plus(confirm_within) =>
            {
                HaltedTaskState::NotConfirmed
            }
            Some(CancelState::Asked) => HaltedTaskState::Requested,
            Some(CancelState::Acknowledged) => HaltedTaskState::Acknowledged,
        }
    }
}
