//! Looks of agents at their tasks: which brought nothing, and which came sooner than was asked for.
//!
//! For each agent, session and task the last sight and its moment are remembered; bounded, the oldest go first. What was
//! pushed to an agent is remembered too, so that fetching the same result after it is not counted twice. It judges looks
//! and never delays one; what they cost is the engine's count.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use domain::task::{AgentView, TaskHandle, agent_task_times, agent_view};
use domain::ids::{AgentId, HandleId};
use domain::task::payload::Payload;
use engine::Passed;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::super::Gate;
use super::super::guest::Guest;
use super::super::wire;

/// Tasks and agents whose last look is remembered. Judgement: open tasks that many agents look at in turns; each is a
/// few words, and forgetting one makes a look count as fresh.
const REMEMBERED: usize = 10_000;
/// A look counts as hasty when it comes sooner than so many tenths of the interval: clocks and networks jitter.
const HASTY_TENTHS: u32 = 9;

type Key = (AgentId, Option<Arc<str>>, Option<HandleId>);

/// The last looks.
#[derive(Default)]
pub(crate) struct Looks(Mutex<Books>);

#[derive(Default)]
struct Books {
    last: HashMap<Key, Last>,
    order: VecDeque<Key>,
}

#[derive(Clone, Copy)]
struct Last {
    sight: u64,
    at: Instant,
    /// The result went out by a push, and no look has fetched it since.
    pushed: bool,
}

/// What a look was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Glance {
    /// It brought nothing that was not told before.
    pub(in super::super) empty: bool,
    /// It came sooner than was asked for.
    pub(in super::super) hasty: bool,
    /// The result in it was pushed before.
    pub(in super::super) pushed: bool,
}

impl Glance {
    /// The look with what was said.
    pub(in super::super) fn look(self, said: Payload) -> Passed {
        Passed::Look { said, empty: self.empty, hasty: self.hasty }
    }
}

impl Looks {
    /// The agent looks at its task now.
    pub(in super::super) fn at(&self, gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Glance {
        let hint = agent_task_times(handle, &gate.policy).hint;
        self.take((guest.agent, guest.session_name(), Some(handle.id)), sight(gate, handle), hint, false)
    }

    /// The agent was told of its task without asking: with its handle, or by a push, which may carry the result.
    pub(in super::super) fn told(&self, gate: &Gate, guest: &Guest, handle: &TaskHandle, with_result: bool) {
        let key = (guest.agent, guest.session_name(), Some(handle.id));
        self.take(key, sight(gate, handle), Duration::ZERO, with_result);
    }

    /// The agent looks at the list of its tasks, which says this. At the door of all servers such a look is nobody's waste:
    /// waste is told by server.
    pub(in super::super) fn at_list(&self, gate: &Gate, guest: &Guest, list: impl Hash) -> Glance {
        let key = (guest.agent, guest.session_name(), None);
        self.take(key, hashed(list), gate.policy.gateway.agent_poll, false)
    }

    fn take(&self, key: Key, sight: u64, hint: Duration, pushed: bool) -> Glance {
        let at = Instant::now();
        let mut books = self.0.lock();
        let before = books.last.insert(key.clone(), Last { sight, at, pushed });
        if before.is_none() {
            books.order.push_back(key);
            if books.order.len() > REMEMBERED
                && let Some(oldest) = books.order.pop_front()
            {
                books.last.remove(&oldest);
            }
        }
        drop(books);
        let soon = hint.saturating_mul(HASTY_TENTHS) / 10;
        Glance {
            empty: before.is_some_and(|before| before.sight == sight),
            hasty: before.is_some_and(|before| at.duration_since(before.at) < soon),
            pushed: before.is_some_and(|before| before.pushed && before.sight == sight),
        }
    }
}

/// What an agent is told of a task now: its word, the words beside it, what is asked of it, and in which form it has the
/// result.
fn sight(gate: &Gate, handle: &TaskHandle) -> u64 {
    let sight = agent_view(handle, gate.clock.now());
    let keys = match &sight {
        AgentView::InputRequired { keys } => keys.as_slice(),
        AgentView::Working { .. } | AgentView::Completed | AgentView::Failed | AgentView::Cancelled | AgentView::Gone => &[],
    };
    let form = handle.form().filter(|_| sight == AgentView::Completed);
    hashed((wire::status(&sight), wire::message(handle, &sight), keys, form))
}

fn hashed(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u128) -> Key {
        (AgentId::from_random(n), None, Some(HandleId::from_random(n)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_says_the_same_is_empty_and_one_before_the_interval_hasty() {
        let (looks, hint) = (Looks::default(), Duration::from_secs(2));
        let first = looks.take(key(1), 7, hint, false);
        assert_eq!((first.empty, first.hasty), (false, false), "nothing was told before");
        let soon = looks.take(key(1), 7, hint, false);
        assert_eq!((soon.empty, soon.hasty), (true, true), "the same, and at once");
        tokio::time::advance(Duration::from_millis(1_850)).await;
        let late = looks.take(key(1), 8, hint, false);
        assert_eq!((late.empty, late.hasty), (false, false), "news, and a tenth too early is no haste");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_pushed_is_fetched_once_without_counting_again() {
        let looks = Looks::default();
        looks.take(key(1), 7, Duration::ZERO, true);
        assert!(looks.take(key(1), 7, Duration::ZERO, false).pushed, "the same result once more");
        assert!(!looks.take(key(1), 7, Duration::ZERO, false).pushed, "and then it is read again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let looks = Looks::default();
        for n in 0..(REMEMBERED as u128 + 10) {
            looks.take(key(n), 1, Duration::ZERO, false);
        }
        let books = looks.0.lock();
        assert_eq!((books.last.len(), books.order.len()), (REMEMBERED, REMEMBERED), "the oldest went");
    }
}
