//! When to poll next, and when to reconnect. Randomness is passed in as a value between 0 and 1.
//!
//! A server's hint and its `Retry-After` are floors: chance only ever lengthens them (ruling 11). The engine decides
//! who polls, and how many at a time.

use std::time::Duration;

use crate::policy::Policy;

/// What is known about looking at one task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PollState {
    /// The server's hint.
    pub hint: Option<Duration>,
    /// Polls in a row that brought no change.
    pub unchanged: u32,
    /// Polls in a row that failed.
    pub failures: u32,
    /// `Retry-After` of the last answer.
    pub retry_after: Option<Duration>,
    /// Whether a live subscription covers the task.
    pub subscribed: bool,
}

/// How long to wait before the next poll. Never below the hint (ruling 11) nor below `Retry-After`.
#[must_use]
pub fn next_poll(looks: &PollState, random: f64, policy: &Policy) -> Duration {
    let mut wait = match looks.hint {
        Some(hint) => later(hint.max(policy.hint_floor).min(policy.hint_ceiling), random, policy),
        None => around(grown(policy.poll_first, policy.poll_growth, looks.unchanged, policy.poll_last), random, policy),
    };
    if looks.subscribed {
        wait = wait.max(around(policy.poll_subscribed, random, policy));
    }
    if looks.failures > 0 {
        wait = wait.max(next_reconnect(looks.failures, random, policy));
    }
    if let Some(after) = looks.retry_after {
        wait = wait.max(later(after.min(policy.retry_after_ceiling), random, policy));
    }
    wait.max(policy.hint_floor)
}

/// How long to wait before reconnecting after `failures` failures in a row.
#[must_use]
pub fn next_reconnect(failures: u32, random: f64, policy: &Policy) -> Duration {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait(looks: PollState, random: f64) -> Duration {
        next_poll(&looks, random, &Policy::default())
    }

    #[test]
    fn without_a_hint_looks_begin_at_five_seconds_and_grow_to_a_minute() {
        let after = |unchanged| wait(PollState { unchanged, ..PollState::default() }, 0.5);
        assert_eq!(after(0), 5 * SECOND);
        assert_eq!(after(1), 7 * SECOND + SECOND / 2);
        assert_eq!(after(50), 60 * SECOND);
        assert_eq!(after(u32::MAX), 60 * SECOND, "no count overflows");
    }

    #[test]
    fn a_hint_is_obeyed_from_a_tenth_of_a_second_up_to_an_hour() {
        let hinted = |hint| wait(PollState { hint: Some(hint), unchanged: 9, ..PollState::default() }, 0.0);
        assert_eq!(hinted(Duration::ZERO), SECOND / 10);
        assert_eq!(hinted(1_500 * SECOND), 1_500 * SECOND, "a long hint is not shortened to our own pace");
        assert_eq!(hinted(Duration::MAX), 3_600 * SECOND);
    }

    #[test]
    fn failures_push_looks_apart_but_never_closer_than_the_hint() {
        let failed = |failures, hint| wait(PollState { failures, hint, ..PollState::default() }, 0.5);
        assert_eq!(failed(10, Some(SECOND)), 300 * SECOND);
        assert!(failed(1, Some(1_000 * SECOND)) >= 1_000 * SECOND, "a failure is no reason to hurry");
        let asked = PollState { retry_after: Some(40 * SECOND), ..PollState::default() };
        assert!(wait(asked, 0.0) >= 40 * SECOND, "a server that asks to wait is obeyed");
        let pushed = PollState { subscribed: true, hint: Some(SECOND), ..PollState::default() };
        assert_eq!(wait(pushed, 0.5), 60 * SECOND, "with push, a look is only a safety net");
    }

    #[test]
    fn reconnecting_waits_a_second_then_doubles_to_five_minutes() {
        let waits: Vec<u64> = (0..12).map(|n| next_reconnect(n, 0.5, &Policy::default()).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    proptest! {
        #[test]
        fn chance_never_makes_a_look_earlier_than_the_server_wants(
            hint in any::<Option<Duration>>(),
            unchanged in any::<u32>(),
            failures in any::<u32>(),
            retry_after in any::<Option<Duration>>(),
            subscribed in any::<bool>(),
            random in any::<f64>(),
        ) {
            let policy = Policy::default();
            let looks = PollState { hint, unchanged, failures, retry_after, subscribed };
            let wait = next_poll(&looks, random, &policy);
            prop_assert!(wait >= policy.hint_floor);
            prop_assert!(hint.is_none_or(|hint| wait >= hint.min(policy.hint_ceiling)), "{wait:?} for {looks:?}");
            prop_assert!(retry_after.is_none_or(|after| wait >= after.min(policy.retry_after_ceiling)));
            prop_assert!(wait <= policy.hint_ceiling * 2, "no wait is without end: {wait:?}");
        }
    }
}
