//! Polls of agents for their tasks: which brought nothing new, and which came sooner than the interval they were given.
//!
//! The last view and its moment are remembered for each agent, session and task, and for results that were pushed, so
//! that fetching the same result afterwards is not counted twice. It judges polls and delays none; what they cost is
//! counted by the engine.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Polls that are remembered; the oldest are forgotten first. Judgement: open tasks that many agents poll in turns; each
/// is a few words, and a poll after a forgotten one counts as the first.
const REMEMBERED: usize = 10_000;
/// A poll is hasty when it comes sooner than this many tenths of the interval: clocks and networks jitter.
const HASTY_TENTHS: u32 = 9;

/// Whose poll, in which session, for which task; `None` for the list of tasks.
type PollKey = (AgentId, Option<Arc<str>>, Option<HandleId>);

#[derive(Default)]
pub(crate) struct PollHistory(Mutex<RememberedPolls>);

#[derive(Default)]
struct RememberedPolls {
    last: HashMap<PollKey, LastPoll>,
    order: VecDeque<PollKey>,
}

#[derive(Clone, Copy)]
struct LastPoll {
    view: u64,
    at: Instant,
    /// The result was pushed, and no poll has fetched it since.
    pushed: bool,
}

/// How a poll compares with the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PollVerdict {
    pub(crate) is_empty: bool,
    pub(crate) is_hasty: bool,
    /// The result that it fetches was pushed before.
    pub(crate) was_pushed: bool,
}

impl PollHistory {
    /// Records what an agent sees now, where `view` stands for all of it. `hint` is the interval it was given.
    pub(crate) fn record(&self, key: PollKey, view: u64, hint: Duration, pushed: bool) -> PollVerdict {
        let at = Instant::now();
        let mut polls = self.0.lock();
        let before = polls.last.insert(key.clone(), LastPoll { view, at, pushed });
        if before.is_none() {
            polls.order.push_back(key);
            if polls.order.len() > REMEMBERED
                && let Some(oldest) = polls.order.pop_front()
            {
                polls.last.remove(&oldest);
            }
        }
        drop(polls);
        let soon = hint.saturating_mul(HASTY_TENTHS) / 10;
        PollVerdict {
            is_empty: before.is_some_and(|before| before.view == view),
            is_hasty: before.is_some_and(|before| at.duration_since(before.at) < soon),
            was_pushed: before.is_some_and(|before| before.pushed && before.view == view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u128) -> PollKey {
        (AgentId::from_random(n), None, Some(HandleId::from_random(n)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_brings_nothing_new_is_empty_and_one_before_the_interval_is_hasty() {
        let (polls, hint) = (PollHistory::default(), Duration::from_secs(2));
        let first = polls.record(key(1), 7, hint, false);
        assert_eq!((first.is_empty, first.is_hasty), (false, false), "nothing was told before");
        let soon = polls.record(key(1), 7, hint, false);
        assert_eq!((soon.is_empty, soon.is_hasty), (true, true), "the same, and at once");
        tokio::time::advance(Duration::from_millis(1_850)).await;
        let late = polls.record(key(1), 8, hint, false);
        assert_eq!((late.is_empty, late.is_hasty), (false, false), "news, and a tenth too early is no haste");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_pushed_is_fetched_once_without_counting_again() {
        let polls = PollHistory::default();
        polls.record(key(1), 7, Duration::ZERO, true);
        assert!(polls.record(key(1), 7, Duration::ZERO, false).was_pushed, "the same result once more");
        assert!(!polls.record(key(1), 7, Duration::ZERO, false).was_pushed, "and then it is read again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let polls = PollHistory::default();
        for n in 0..(REMEMBERED as u128 + 10) {
            polls.record(key(n), 1, Duration::ZERO, false);
        }
        let remembered = polls.0.lock();
        assert_eq!((remembered.last.len(), remembered.order.len()), (REMEMBERED, REMEMBERED), "the oldest went");
    }
}
