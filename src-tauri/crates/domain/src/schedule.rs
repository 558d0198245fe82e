//! When to look next. Pure: randomness comes in as a value between 0 and 1.

use std::time::Duration;

use crate::policy::Policy;

/// What is known about looking at one task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Looks {
    /// The server's hint.
    pub hint: Option<Duration>,
    /// Looks in a row that brought no change.
    pub unchanged: u32,
    /// Looks in a row that failed.
    pub failures: u32,
    /// `Retry-After` of the last answer.
    pub retry_after: Option<Duration>,
    /// Whether a live subscription covers the task.
    pub subscribed: bool,
}

/// How long to wait before the next look. Never below the hint (ruling 11) nor below `Retry-After`.
#[must_use]
pub fn next_look(looks: &Looks, random: f64, policy: &Policy) -> Duration {
    let _ = (looks, random, policy);
    todo!()
}

/// How long to wait before reconnecting after `failures` failures in a row.
#[must_use]
pub fn next_connect(failures: u32, random: f64, policy: &Policy) -> Duration {
    let _ = (failures, random, policy);
    todo!()
}
