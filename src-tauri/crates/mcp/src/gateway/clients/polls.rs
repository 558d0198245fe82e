//! Polls of agents for their tasks: which brought nothing new, and which came sooner than the interval they were given.
//!
//! The last view and its moment are remembered for each agent, session and task, and for results that were pushed, so
//! that fetching the same result afterwards is not counted twice. It judges polls and delays none: an agent that polls far
//! more often than it was told is answered like any other, and told to wait longer. What polls cost is counted by the
//! engine.

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
pub(crate) type PollKey = (AgentId, Option<Arc<str>>, Option<HandleId>);

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
    storm: Storm,
}

/// Whether more polls come in an interval than may.
#[derive(Clone, Copy)]
struct Storm {
    /// When the interval began, and the polls in it.
    began: Instant,
    polls: u32,
    /// Intervals in a row with more polls than may be.
    crowded: u32,
}

impl Storm {
    const fn new(at: Instant) -> Self {
        Self { began: at, polls: 0, crowded: 0 }
    }

    fn polled(mut self, at: Instant, interval: Duration, most: u32) -> Self {
        if at.duration_since(self.began) >= interval {
            let crowded = if self.polls > most { self.crowded } else { 0 };
            self = Self { crowded, ..Self::new(at) };
        }
        self.polls = self.polls.saturating_add(1);
        if self.polls == most.saturating_add(1) {
            self.crowded = self.crowded.saturating_add(1);
        }
        self
    }
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
    /// Records what an agent sees now, where `view` stands for all of it. `interval` is that of the task, in which `most`
    /// polls are usual.
    pub(crate) fn record(&self, key: PollKey, view: u64, interval: Duration, most: u32, pushed: bool) -> PollVerdict {
        let at = Instant::now();
        let mut polls = self.0.lock();
        let storm = polls.last.get(&key).map_or(Storm::new(at), |before| before.storm);
        let storm = if pushed { storm } else { storm.polled(at, interval, most) };
        let before = polls.last.insert(key.clone(), LastPoll { view, at, pushed, storm });
        if before.is_none() {
            polls.order.push_back(key);
            if polls.order.len() > REMEMBERED
                && let Some(oldest) = polls.order.pop_front()
            {
                polls.last.remove(&oldest);
            }
        }
        drop(polls);
        let soon = interval.saturating_mul(HASTY_TENTHS) / 10;
        PollVerdict {
            is_empty: before.is_some_and(|before| before.view == view),
            is_hasty: before.is_some_and(|before| at.duration_since(before.at) < soon),
            was_pushed: before.is_some_and(|before| before.pushed && before.view == view),
        }
    }

    /// The interval that an agent is told: that of the task, twice as long for each interval in a row that was crowded, and
    /// at most `longest`.
    pub(crate) fn interval(&self, key: &PollKey, interval: Duration, longest: Duration) -> Duration {
        let crowded = self.0.lock().last.get(key).map_or(0, |poll| poll.storm.crowded);
        let grown = interval.saturating_mul(2_u32.saturating_pow(crowded));
        grown.min(longest.max(interval))
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
        let first = polls.record(key(1), 7, hint, 4, false);
        assert_eq!((first.is_empty, first.is_hasty), (false, false), "nothing was told before");
        let soon = polls.record(key(1), 7, hint, 4, false);
        assert_eq!((soon.is_empty, soon.is_hasty), (true, true), "the same, and at once");
        tokio::time::advance(Duration::from_millis(1_850)).await;
        let late = polls.record(key(1), 8, hint, 4, false);
        assert_eq!((late.is_empty, late.is_hasty), (false, false), "news, and a tenth too early is no haste");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_pushed_is_fetched_once_without_counting_again() {
        let polls = PollHistory::default();
        polls.record(key(1), 7, Duration::ZERO, 4, true);
        assert!(polls.record(key(1), 7, Duration::ZERO, 4, false).was_pushed, "the same result once more");
        assert!(!polls.record(key(1), 7, Duration::ZERO, 4, false).was_pushed, "and then it is read again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let polls = PollHistory::default();
        for n in 0..(REMEMBERED as u128 + 10) {
            polls.record(key(n), 1, Duration::ZERO, 4, false);
        }
        let remembered = polls.0.lock();
        assert_eq!((remembered.last.len(), remembered.order.len()), (REMEMBERED, REMEMBERED), "the oldest went");
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_polls_without_end_is_told_to_wait_longer_until_it_does() {
        let (polls, hint, longest) = (PollHistory::default(), Duration::from_secs(2), Duration::from_secs(60));
        let told = || polls.interval(&key(1), hint, longest).as_secs();
        let poll_for = async |seconds: u64, every: u64| {
            for _ in 0..seconds * 1_000 / every {
                polls.record(key(1), 7, hint, 4, false);
                tokio::time::advance(Duration::from_millis(every)).await;
            }
        };
        poll_for(10, 600).await;
        assert_eq!(told(), 2, "four in an interval are a client that does not look at it");
        poll_for(2, 100).await;
        assert_eq!(told(), 4, "twenty are a loop");
        poll_for(4, 100).await;
        assert_eq!(told(), 16, "that grows with each interval");
        poll_for(60, 100).await;
        assert_eq!(told(), 60, "and ends somewhere");
        poll_for(10, 2_000).await;
        assert_eq!(told(), 2, "who waits is told the task's own interval again");
    }
}
