//! The limits of pauses.
//!
//! Used by the engine, which keeps calls of paused agents waiting and freezes processes, and by the api.

use std::time::Duration;

use crate::policy::{BadPolicy, MINUTE, SECOND};

/// How pauses are kept and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausePolicy {
    /// Whoever ends a pause that lasted this long chooses which of the waiting calls are sent. stop.md §3.6.
    pub choice_after: Duration,
    /// Waiting calls that the inbox names with such a pause; `pauses.list` has all. Judgement: a screenful.
    pub calls_shown: usize,
    /// Calls of one agent that wait at most; more are refused. Judgement: a list that a person can read, and an agent
    /// with this many waiting calls is in a loop.
    pub waiting_per_agent: usize,
    /// Calls of people to one frozen server that wait at most. As for an agent.
    pub waiting_of_people: usize,
    /// Pauses that are over and still kept; what was chosen at their end is carried out long before. Judgement: months.
    pub kept: u32,
    /// How long a freeze waits until two readings of the processes agree. Judgement: a process stops within a
    /// millisecond unless it waits for a disk.
    pub freeze_limit: Duration,
    /// How long a call that leaves the gate may take until its first byte left, before the next one leaves. Judgement:
    /// a connection is opened within this time or fails.
    pub leave_limit: Duration,
    /// When the gate is looked at again after a call could not be let through. Judgement: as the first reconnects.
    pub retry_after: Duration,
}

impl Default for PausePolicy {
    fn default() -> Self {
        Self {
            choice_after: 15 * MINUTE,
            calls_shown: 20,
            waiting_per_agent: 100,
            waiting_of_people: 100,
            kept: 500,
            freeze_limit: 5 * SECOND,
            leave_limit: 30 * SECOND,
            retry_after: 5 * SECOND,
        }
    }
}

impl PausePolicy {
    /// Whether the numbers fit together.
    pub(in crate::policy) fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(self.kept > 0, "control.pauses.kept", "must be above zero: what was chosen at an end is read from it")?;
        rule(!self.retry_after.is_zero(), "control.pauses.retry_after", "must be above zero")
    }
}
