//! The limits of alarms about what agents call.
//!
//! Used by the engine, which looks at calls beside their way, and by whoever sets a rule.

use std::time::Duration;

use super::super::{BadPolicy, KIB, MINUTE, SECOND};
use crate::rule::SameCallLimit;

/// Calls that are remembered of each agent. stop.md §3.4.
pub const CALLS_REMEMBERED: usize = 256;

/// Bytes at the beginning and at the end of arguments or a result by which two are told apart, with their length.
/// Judgement: a loop repeats all of them, and hashing both ends takes 10 µs (measured 2026-11-27).
pub const FINGERPRINT_BYTES: usize = 16 * KIB;

/// When alarms are raised and how they are kept. Rules of people come before the first four numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmPolicy {
    /// Equal calls of one agent; one whose result is that of the call before counts twice. stop.md §2.
    pub same_call_count: u32,
    /// Within this time. stop.md §2.
    pub same_call_window: Duration,
    /// Calls of one agent in a minute. stop.md §2.
    pub calls_per_minute: u32,
    /// Calls of one agent in flight at once. stop.md §2.
    pub open_calls: u32,
    /// Different calls of one tool in a row that bring the same error. stop.md §3.4.
    pub same_errors: u32,
    /// An episode without a further call for this long is over. As the window of equal calls.
    pub quiet: Duration,
    /// How often the calls of agents are looked at while they make some. Judgement: a person is told within a second,
    /// and a look at 256 calls takes 50 µs (measured 2026-11-27).
    pub look_every: Duration,
    /// Episodes of one agent at a time; more raise no alarm. Judgement: whoever has these looks at the agent.
    pub episodes_per_agent: usize,
    /// Alarms of one agent that are kept; those that ended first go. Judgement: a night of one loop each half an hour.
    pub kept_per_agent: u32,
    /// Alarms that one answer lists at most. Judgement: those of ten agents.
    pub listed_max: u32,
    /// Equal calls that a rule may allow at most: each counts twice at most, and no more are remembered.
    pub same_call_count_max: u32,
    /// Longest window of equal calls in a rule. Judgement: a call that is repeated
    /// less than twice a day is no loop.
    pub same_call_window_max: Duration,
    /// Largest number of calls in a rule. Judgement: more than any program makes.
    pub calls_max: u32,
}

impl Default for AlarmPolicy {
    fn default() -> Self {
        Self {
            same_call_count: 10,
            same_call_window: 10 * MINUTE,
            calls_per_minute: 300,
            open_calls: 64,
            same_errors: 5,
            quiet: 10 * MINUTE,
            look_every: SECOND,
            episodes_per_agent: 16,
            kept_per_agent: 20,
            listed_max: 200,
            same_call_count_max: 200,
            same_call_window_max: 24 * 60 * MINUTE,
            calls_max: 1_000_000,
        }
    }
}

impl AlarmPolicy {
    /// What holds for equal calls where no rule says anything.
    #[must_use]
    pub const fn same_call(&self) -> SameCallLimit {
        SameCallLimit { count: self.same_call_count, window: self.same_call_window }
    }

    /// Whether the numbers fit together.
    pub(in crate::policy) fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(!self.quiet.is_zero(), "control.alarms.quiet", "must be above zero")?;
        rule(!self.look_every.is_zero(), "control.alarms.look_every", "must be above zero")?;
        rule(self.same_errors > 1, "control.alarms.same_errors", "must be 2 or more")?;
        rule(self.same_call_count != 1, "control.alarms.same_call_count", "must be 2 or more, or 0 for no alarm")
    }
}
