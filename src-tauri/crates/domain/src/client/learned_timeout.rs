//! Learns a program's timeout for tools from the calls that it gave up (decision 0020).
//!
//! A timer differs from a person: it says that it ran out, or it strikes twice after the same time. The engine
//! remembers the last call that was given up; what a timeout is used for is decided by the gateway.

use std::time::Duration;

use crate::policy::GatewayPolicy;
use crate::time::Timestamp;

/// A timeout that was concluded from a program's behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedTimeout {
    /// After this the program gives a call up.
    pub after: Duration,
    /// When it last did so.
    pub at: Timestamp,
}

impl LearnedTimeout {
    /// Whether it still counts at this moment.
    #[must_use]
    pub fn is_current(&self, now: Timestamp, policy: &GatewayPolicy) -> bool {
        now.since(self.at) <= policy.learned_timeout_kept
    }
}

/// A call that was given up while it was held. Calls whose reply was lost with a core or a connection of ours are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbandonedCall {
    /// When it was given up.
    pub at: Timestamp,
    /// How long its program had waited.
    pub waited: Duration,
    /// Whether the program said that it ran out of time, and nothing that we sent in between made it wait longer.
    pub is_timeout: bool,
}

/// The program's timeout, where this call shows one: by its own word, or because the call before it was given up after
/// the same time. Calls that were open together are one observation: a person who leaves ends them all at once.
#[must_use]
pub fn learn(before: Option<AbandonedCall>, call: AbandonedCall, policy: &GatewayPolicy) -> Option<LearnedTimeout> {
    if call.waited < policy.learned_timeout_min {
        return None;
    }
    let learned = |after| Some(LearnedTimeout { after, at: call.at });
    if call.is_timeout {
        return learned(call.waited);
    }
    let before = before?;
    let (shorter, longer) = (before.waited.min(call.waited), before.waited.max(call.waited));
    let allowed = (shorter * policy.learned_timeout_percent / 100).min(policy.learned_timeout_spread);
    let began_later = call.at.since(before.at) >= call.waited;
    (longer - shorter <= allowed && began_later).then_some(shorter).and_then(learned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// Given up `waited` seconds after it began.
    fn call(began: i64, waited: u64) -> AbandonedCall {
        let waited = Duration::from_secs(waited);
        AbandonedCall { at: at(began).plus(waited), waited, is_timeout: false }
    }

    fn learned(before: Option<AbandonedCall>, call: AbandonedCall) -> Option<u64> {
        learn(before, call, &GatewayPolicy::default()).map(|timeout| timeout.after.as_secs())
    }

    #[test]
    fn the_same_duration_twice_is_a_timeout_and_different_ones_are_a_person() {
        assert_eq!(learned(None, call(0, 40)), None, "once is nothing");
        assert_eq!(learned(Some(call(0, 40)), call(100, 41)), Some(40), "the shorter of two equal ones");
        for other in [18, 37, 43, 90] {
            assert_eq!(learned(Some(call(0, 40)), call(100, other)), None, "{other} s after 40 s");
        }
        assert_eq!(learned(Some(call(0, 200)), call(300, 203)), None, "10 % of a long wait is no precise timer");
        assert_eq!(learned(Some(call(0, 5)), call(100, 5)), None, "and nobody sets a timeout of 5 s");
    }

    #[test]
    fn calls_that_were_open_together_are_one_observation() {
        assert_eq!(learned(Some(call(0, 40)), call(1, 40)), None, "a person left two calls at once");
        assert_eq!(learned(Some(call(0, 40)), call(40, 40)), Some(40), "one after the other");
    }

    #[test]
    fn a_program_that_says_that_it_ran_out_of_time_is_believed_at_once() {
        assert_eq!(learned(None, AbandonedCall { is_timeout: true, ..call(0, 45) }), Some(45));
        assert_eq!(learned(None, AbandonedCall { is_timeout: true, ..call(0, 3) }), None, "unless it is too short");
    }

    #[test]
    fn a_learned_timeout_is_forgotten_after_a_month() {
        let policy = GatewayPolicy::default();
        let timeout = LearnedTimeout { after: Duration::from_secs(40), at: at(0) };
        assert!(timeout.is_current(at(29 * 86_400), &policy));
        assert!(!timeout.is_current(at(31 * 86_400), &policy));
    }
}
