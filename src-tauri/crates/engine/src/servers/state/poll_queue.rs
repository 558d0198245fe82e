//! Which tasks of one connection are polled, and when next.
//!
//! An entry is what a poll needs to know and nothing more; 10,000 of them fit in a few megabytes. What a poll does is
//! `servers/poll.rs`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::policy::Policy;
use domain::policy::schedule::{PollState, next_poll};
use tokio::time::Instant;

use crate::runtime::due_queue::{DueQueue, HasDueTime};

/// What is remembered between two polls of one task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskPolling {
    /// When it is polled next; `None` while a poll is under way.
    pub(crate) due: Option<Instant>,
    /// When the last poll began.
    pub(crate) began: Option<Instant>,
    /// Polls that an act of a person earned, the earlier first; they are due regardless of the hint (ruling 46).
    pub(crate) earned: [Option<Instant>; 2],
    /// A poll is under way.
    pub(crate) reading: bool,
    /// Poll again as soon as the one under way is done.
    pub(crate) again: bool,
    /// A live subscription covers it.
    pub(crate) subscribed: bool,
    /// Polls in a row that brought no change.
    pub(crate) unchanged: u32,
    /// Polls in a row that failed.
    pub(crate) failures: u32,
    /// "Unknown task" answers in a row.
    pub(crate) unknown: u32,
    /// How long the last poll took before it failed; zero after one that succeeded.
    pub(crate) failed_after: Duration,
}

impl TaskPolling {
    /// Whether its last poll kept others from being polled, and for nothing.
    pub(crate) fn is_slow(&self, policy: &Policy) -> bool {
        self.failed_after >= policy.poll_first
    }

    /// A person acted: two polls are earned, unless the ones of an act a moment ago are still to come.
    pub(crate) fn earn(&mut self, now: Instant, after: [Duration; 2]) {
        if self.earned.iter().all(Option::is_none) {
            self.earned = after.map(|wait| Some(now + wait));
        }
        self.apply_earned(now);
    }

    /// The next poll is no later than the next one that was earned. What was earned until now is used up, polled or not:
    /// without a connection it must not be due again and again.
    pub(crate) fn apply_earned(&mut self, now: Instant) {
        for earned in &mut self.earned {
            earned.take_if(|at| *at <= now);
        }
        if let (Some(due), Some(earned)) = (&mut self.due, self.earned.iter().flatten().min()) {
            *due = (*due).min(*earned);
        }
    }
}

#[derive(Debug)]
struct PollEntry {
    state: TaskPolling,
    task: UpstreamTaskId,
}

impl HasDueTime for PollEntry {
    fn due_mut(&mut self) -> &mut Option<Instant> {
        &mut self.state.due
    }
}

/// The polled tasks of one connection.
#[derive(Debug, Default)]
pub(crate) struct PollQueue {
    queue: DueQueue<PollEntry>,
    tasks: HashMap<UpstreamTaskId, HandleId>,
}

impl PollQueue {
    /// The handle of a polled task.
    pub(crate) fn handle_of(&self, task: &UpstreamTaskId) -> Option<HandleId> {
        self.tasks.get(task).copied()
    }

    pub(crate) fn state(&self, id: HandleId) -> Option<TaskPolling> {
        self.queue.get(id).map(|entry| entry.state)
    }

    pub(crate) fn change<R>(&mut self, id: HandleId, change: impl FnOnce(&mut TaskPolling) -> R) -> Option<R> {
        self.queue.change(id, |entry| change(&mut entry.state))
    }

    /// Begins to poll a task; returns whether it is new here.
    pub(crate) fn open(&mut self, id: HandleId, task: &UpstreamTaskId, due: Instant) -> bool {
        if self.queue.get(id).is_some() {
            return false;
        }
        self.tasks.insert(task.clone(), id);
        let state = TaskPolling { due: Some(due), ..TaskPolling::default() };
        self.queue.insert(id, PollEntry { state, task: task.clone() });
        true
    }

    /// Polls it no more; returns whether it was polled.
    pub(crate) fn close(&mut self, id: HandleId) -> bool {
        let Some(PollEntry { task, .. }) = self.queue.remove(id) else { return false };
        if self.tasks.get(&task) == Some(&id) {
            self.tasks.remove(&task);
        }
        true
    }

    /// When the next poll is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.queue.next_due()
    }

    /// Takes the handle whose poll has been due for longest; its poll is then under way.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<HandleId> {
        self.queue.take_due(now).map(|(id, entry)| begin_poll(id, entry))
    }

    /// Takes the handle that is due first, also before its time; its poll is then under way.
    pub(crate) fn take_first(&mut self) -> Option<HandleId> {
        self.queue.take_first().map(|(id, entry)| begin_poll(id, entry))
    }

    /// Every handle that is polled.
    pub(crate) fn handles(&self) -> Vec<HandleId> {
        self.queue.ids().collect()
    }

    /// Every task that is polled, for a subscription.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (&UpstreamTaskId, HandleId)> {
        self.tasks.iter().map(|(task, id)| (task, *id))
    }

    /// How many tasks are polled.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// From now on exactly these are pushed. Those that no longer are get their next poll by their own interval.
    pub(crate) fn subscribed(
        &mut self,
        pushed: &HashSet<HandleId>,
        mut due: impl FnMut(HandleId, &TaskPolling) -> Instant,
    ) {
        for id in self.handles() {
            let now = pushed.contains(&id);
            self.change(id, |state| {
                let lost = state.subscribed && !now;
                state.subscribed = now;
                if lost && let Some(at) = state.due {
                    state.due = Some(at.min(due(id, state)));
                }
            });
        }
    }
}

fn begin_poll(id: HandleId, entry: &mut PollEntry) -> HandleId {
    entry.state.reading = true;
    id
}

/// How long to wait until the next poll.
pub(crate) fn poll_delay(
    state: &TaskPolling,
    hint: Option<Duration>,
    retry_after: Option<Duration>,
    random: f64,
    policy: &Policy,
) -> Duration {
    // A subscription says nothing about a task that a poll could not find.
    let subscribed = state.subscribed && state.failures == 0;
    let looks = PollState { hint, unchanged: state.unchanged, failures: state.failures, retry_after, subscribed };
    // A task whose polls take long and fail uses a slot for half of the time at most.
    next_poll(&looks, random, policy).max(state.failed_after.min(policy.poll_last))
}

/// The interval between polls without failures, for counting intervals without news.
pub(crate) fn poll_interval(state: &TaskPolling, hint: Option<Duration>, policy: &Policy) -> Duration {
    let calm = TaskPolling { failures: 0, failed_after: Duration::ZERO, ..*state };
    poll_delay(&calm, hint, None, 0.0, policy)
}
