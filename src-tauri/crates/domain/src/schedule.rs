//! When to look next. Pure: randomness comes in as a value between 0 and 1.
//!
//! A server's hint and its `Retry-After` are floors: chance only ever lengthens them (ruling 11). Who looks, and how
//! many at a time, is `engine::follow`'s.

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
    let mut wait = match looks.hint {
        Some(hint) => later(hint.max(policy.hint_floor).min(policy.hint_ceiling), random, policy),
        None => around(grown(policy.poll_first, policy.poll_growth, looks.unchanged, policy.poll_last), random, policy),
    };
    if looks.subscribed {
        wait = wait.max(around(policy.poll_subscribed, random, policy));
    }
    if looks.failures > 0 {
        wait = wait.max(next_connect(looks.failures, random, policy));
    }
    if let Some(after) = looks.retry_after {
        wait = wait.max(later(after.min(policy.retry_after_ceiling), random, policy));
    }
    wait.max(policy.hint_floor)
}

/// How long to wait before reconnecting after `failures` failures in a row.
#[must_use]
pub fn next_connect(failures: u32, random: f64, policy: &Policy) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => around(grown(policy.backoff_first, 2.0, doublings, policy.backoff_last), random, policy),
    }
}

/// `first` times `factor` to the power of `times`, at most `last`.
fn grown(first: Duration, factor: f64, times: u32, last: Duration) -> Duration {
    let power = factor.max(1.0).powi(i32::try_from(times).unwrap_or(i32::MAX));
    scaled(first, power).min(last)
}

/// A little longer than `wait`, by chance.
fn later(wait: Duration, random: f64, policy: &Policy) -> Duration {
    scaled(wait, 1.0 + policy.jitter_share / 2.0 * unit(random)).max(wait)
}

/// A little shorter or longer than `wait`, by chance.
fn around(wait: Duration, random: f64, policy: &Policy) -> Duration {
    scaled(wait, 1.0 + policy.jitter_share * (2.0 * unit(random) - 1.0))
}

/// The random value, made fit when it is not between 0 and 1.
fn unit(random: f64) -> f64 {
    if random.is_nan() { 0.5 } else { random.clamp(0.0, 1.0) }
}

/// `span` times `factor`; the longest span instead of an overflow.
fn scaled(span: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
