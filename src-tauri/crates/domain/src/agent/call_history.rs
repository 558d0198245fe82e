//! The last calls of one agent: fingerprints and times, never an argument or a result.
//!
//! A ring of fixed size, so that a call costs the same however many there were. Times are monotonic, from the start of
//! the core on. What is read from it is in `call_pattern.rs`.

use std::collections::VecDeque;
use std::time::Duration;

use crate::agent::alarm::CalledTool;
use crate::policy::CALLS_REMEMBERED;

/// Seconds for which calls are counted.
const RATE_SECONDS: usize = 60;

/// What a call brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenResult {
    pub fingerprint: u64,
    /// The server or the tool says that it went wrong.
    pub is_error: bool,
}

/// One call, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenCall {
    /// Counts the calls of this agent.
    pub number: u64,
    pub at: Duration,
    pub called: CalledTool,
    /// Equal for calls of one tool with the same arguments.
    pub fingerprint: u64,
    /// `None` until it came.
    pub result: Option<SeenResult>,
}

/// The last calls of one agent, the oldest first.
#[derive(Debug)]
pub struct CallHistory {
    calls: VecDeque<SeenCall>,
    next: u64,
    /// Calls in each of the last seconds, by the second modulo their number.
    per_second: [u32; RATE_SECONDS],
    /// The second of the newest call.
    second: u64,
}

impl Default for CallHistory {
    fn default() -> Self {
        Self { calls: VecDeque::with_capacity(CALLS_REMEMBERED), next: 0, per_second: [0; RATE_SECONDS], second: 0 }
    }
}

impl CallHistory {
    /// Remembers a call; returns its number.
    pub fn called(&mut self, at: Duration, called: CalledTool, fingerprint: u64) -> u64 {
        self.pass_to(at);
        if let Some(count) = self.per_second.get_mut(slot(self.second)) {
            *count = count.saturating_add(1);
        }
        if self.calls.len() >= CALLS_REMEMBERED {
            self.calls.pop_front();
        }
        let number = self.next;
        self.next += 1;
        self.calls.push_back(SeenCall { number, at, called, fingerprint, result: None });
        number
    }

    /// Remembers what a call brought back, if the call is remembered.
    pub fn replied(&mut self, number: u64, result: SeenResult) {
        if let Ok(index) = self.calls.binary_search_by_key(&number, |call| call.number)
            && let Some(call) = self.calls.get_mut(index)
        {
            call.result = Some(result);
        }
    }

    /// The calls, the oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &SeenCall> {
        self.calls.iter()
    }

    /// How many calls there were in the minute before this moment.
    pub fn in_last_minute(&mut self, now: Duration) -> u32 {
        self.pass_to(now);
        self.per_second.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Forgets these calls, so that they belong to no later episode.
    pub fn forget(&mut self, fingerprints: &[u64]) {
        self.calls.retain(|call| !fingerprints.contains(&call.fingerprint));
    }

    /// Seconds without a call count none.
    fn pass_to(&mut self, at: Duration) {
        let now = at.as_secs().max(self.second);
        let passed = now.saturating_sub(self.second).min(u64::try_from(RATE_SECONDS).unwrap_or(u64::MAX));
        for second in (now.saturating_sub(passed)..now).map(|second| second + 1) {
            if let Some(count) = self.per_second.get_mut(slot(second)) {
                *count = 0;
            }
        }
        self.second = now;
    }
}

fn slot(second: u64) -> usize {
    usize::try_from(second).unwrap_or_default() % RATE_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ServerId;
    use proptest::prelude::*;

    fn tool() -> CalledTool {
        CalledTool { server: ServerId::from_random(1), tool: "search".into() }
    }

    #[test]
    fn a_result_belongs_to_its_call_and_one_of_a_forgotten_call_to_none() {
        let mut history = CallHistory::default();
        let [first, second] = [7, 8].map(|print| history.called(Duration::ZERO, tool(), print));
        let result = SeenResult { fingerprint: 1, is_error: false };
        history.replied(second, result);
        history.forget(&[8]);
        history.replied(second, result);
        let left: Vec<_> = history.calls().map(|call| (call.number, call.result)).collect();
        assert_eq!(left, [(first, None)]);
    }

    proptest! {
        #[test]
        fn the_last_minute_is_counted_whatever_the_gaps(gaps in prop::collection::vec(0_u64..40_000, 1..400)) {
            let mut history = CallHistory::default();
            let mut at = Duration::ZERO;
            let mut calls = Vec::new();
            for gap in gaps {
                at += Duration::from_millis(gap);
                history.called(at, tool(), 1);
                calls.push(at);
            }
            // To the second: the minute is the sixty seconds up to this one.
            let begins = at.as_secs().saturating_sub(59);
            let exact = calls.iter().filter(|call| call.as_secs() >= begins).count();
            prop_assert_eq!(usize::try_from(history.in_last_minute(at)).unwrap(), exact);
            prop_assert!(history.calls().count() <= CALLS_REMEMBERED);
            prop_assert_eq!(history.in_last_minute(at + Duration::from_secs(61)), 0);
        }
    }
}
