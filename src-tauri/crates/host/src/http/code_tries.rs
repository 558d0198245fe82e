//! Limits how many wrong sign-in codes are answered as wrong, so that guessing is slow, seen and logged.
//!
//! One limit for all, because every local process looks alike here. A right code is accepted at any time: a process that
//! guesses without end keeps nobody out, and does not find one of 2^60 codes in the minutes that one counts.

use std::collections::VecDeque;
use std::time::Duration;

use domain::policy::HostPolicy;

/// When the latest wrong codes came, as times of one steady clock.
#[derive(Debug, Default)]
pub(crate) struct CodeTries(VecDeque<Duration>);

impl CodeTries {
    /// How long wrong codes are answered with a wait, because too many of them came; `None` where the next one is not.
    pub(crate) fn wait(&mut self, now: Duration, hosting: &HostPolicy) -> Option<Duration> {
        let is_over = |at: &Duration| at.saturating_add(hosting.code_tries_span) <= now;
        while self.0.front().is_some_and(is_over) {
            self.0.pop_front();
        }
        let first = *self.0.front().filter(|_| self.0.len() >= hosting.code_tries_max)?;
        Some(first.saturating_add(hosting.code_tries_span).saturating_sub(now))
    }

    /// A code was wrong and answered as such.
    pub(crate) fn was_wrong(&mut self, now: Duration, hosting: &HostPolicy) {
        self.0.push_back(now);
        if self.0.len() >= hosting.code_tries_max {
            tracing::warn!("too many wrong sign-in codes; a program on this machine may be guessing them");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_mistypes_now_and_then_never_waits() {
        let (hosting, mut tries, mut now) = (HostPolicy::default(), CodeTries::default(), Duration::ZERO);
        for _ in 0..100 {
            assert_eq!(tries.wait(now, &hosting), None, "it is answered as wrong");
            tries.was_wrong(now, &hosting);
            now += hosting.code_tries_span / 10;
        }
        assert!(tries.0.len() <= 10, "what is over is forgotten");
    }

    #[test]
    fn who_guesses_waits_until_the_oldest_guess_is_a_minute_old() {
        let (hosting, mut tries) = (HostPolicy::default(), CodeTries::default());
        let at = |second: u64| Duration::from_secs(second);
        for _ in 0..hosting.code_tries_max {
            assert_eq!(tries.wait(at(5), &hosting), None, "it is answered as wrong");
            tries.was_wrong(at(5), &hosting);
        }
        assert_eq!(tries.wait(at(5), &hosting), Some(hosting.code_tries_span));
        assert_eq!(tries.wait(at(25), &hosting), Some(hosting.code_tries_span.saturating_sub(at(20))));
        assert_eq!(tries.wait(at(5).saturating_add(hosting.code_tries_span), &hosting), None, "and then again");
    }
}
