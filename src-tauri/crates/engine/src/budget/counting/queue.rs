//! The queue of texts to count, bounded by messages and by bytes, with a share for each agent. Nobody ever waits to add
//! to it.
//!
//! Adding wakes nobody while the worker is awake: it looks at intervals until nothing came for one, so a call costs a
//! short lock. What does not fit is entered at once as one token a byte, which is an upper bound. The worker's current
//! batch is kept here, so that neither a panic nor a shutdown loses it. Whose turn it is says `agent_queues.rs`; read
//! `count.rs` for the worker's part.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::{CountingPolicy, SharePolicy};
use domain::task::payload::Payload;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::budget::counting::agent_queues::{AgentQueues, QueueRoom};
use crate::budget::counting::traffic::{AgentTraffic, Passed};
use crate::budget::pending_results::ResultFacts;

/// Something to be counted.
#[derive(Debug)]
pub(crate) enum CountingItem {
    /// Traffic between the gateway and an agent.
    Traffic(AgentTraffic),
    /// The arguments with which a task of an agent began.
    Arguments(TaskText),
    /// The result of an agent's task that was not counted for a limit, with its facts when the agent may still read it.
    Result(TaskText, Option<ResultFacts>),
    /// The error that a task of an agent ended with.
    Error(TaskText),
    /// Output of a task that did not go to its agent.
    KeptOut(TaskText),
    /// The status message that a poll of the agent shows from now on; empty where there is none.
    Status(TaskText),
    /// Notified when everything of this agent before it is counted and entered.
    Marker(AgentId, Mutex<Option<oneshot::Sender<()>>>),
}

/// A text of a task.
#[derive(Debug)]
pub(crate) struct TaskText {
    pub(crate) agent: AgentId,
    pub(crate) server: ServerId,
    pub(crate) tool: Option<Arc<str>>,
    pub(crate) handle: HandleId,
    pub(crate) text: Payload,
}

impl CountingItem {
    /// Whose window it enters.
    pub(crate) fn agent(&self) -> AgentId {
        match self {
            Self::Traffic(seen) => seen.agent,
            Self::Arguments(matter)
            | Self::Result(matter, _)
            | Self::Error(matter)
            | Self::KeptOut(matter)
            | Self::Status(matter) => matter.agent,
            Self::Marker(agent, _) => *agent,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Traffic(seen) => seen.what.bytes(),
            Self::Arguments(matter)
            | Self::Result(matter, _)
            | Self::Error(matter)
            | Self::KeptOut(matter)
            | Self::Status(matter) => matter.text.bytes(),
            Self::Marker(..) => 0,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// What enters a window without a task; results of tasks are pending from their commit on. Lists of tools are mostly
    /// in the window already.
    fn outside_of_tasks(&self) -> Option<(AgentId, u64)> {
        let seen = match self {
            Self::Traffic(seen) => seen,
            Self::Arguments(_)
            | Self::Result(..)
            | Self::Error(_)
            | Self::KeptOut(_)
            | Self::Status(_)
            | Self::Marker(..) => return None,
        };
        let is_list = matches!(seen.what, Passed::Tools { .. });
        (seen.handle.is_none() && !is_list).then(|| (seen.agent, seen.what.bytes()))
    }
}

/// What waits, under one lock.
struct Waiting {
    queues: AgentQueues,
    /// Bytes of what passed outside of tasks and is not entered yet.
    uncounted: HashMap<AgentId, u64>,
    /// The worker sleeps until something comes.
    is_asleep: bool,
}

pub(crate) struct CountingQueue {
    waiting: Mutex<Waiting>,
    room: QueueRoom,
    batch: (usize, usize),
    look_every: Duration,
    /// Held by the worker for its life, and by the shutdown after it.
    consumer: tokio::sync::Mutex<()>,
    /// Wakes a worker that sleeps.
    came: Notify,
    /// Ends an interval early: somebody waits for what is counted, or the queue fills.
    hurry: Notify,
    /// Notified when there is room again.
    freed: Notify,
    in_hand: Mutex<Option<Arc<Vec<CountingItem>>>>,
}

/// The right to take from the queue.
pub(crate) type QueueConsumer<'a> = tokio::sync::MutexGuard<'a, ()>;

impl CountingQueue {
    pub(crate) fn new(numbers: &CountingPolicy, shares: &SharePolicy) -> Self {
        let room = QueueRoom::new(numbers, shares);
        let waiting = Waiting { queues: AgentQueues::new(room), uncounted: HashMap::new(), is_asleep: false };
        Self {
            waiting: Mutex::new(waiting),
            room,
            batch: (numbers.batch_messages, numbers.batch_bytes),
            look_every: numbers.look_every,
            consumer: tokio::sync::Mutex::default(),
            came: Notify::new(),
            hurry: Notify::new(),
            freed: Notify::new(),
            in_hand: Mutex::new(None),
        }
    }

    /// Adds something; gives it back when there is no room. It counts as uncounted until [`CountingQueue::entered`] in
    /// either case.
    pub(crate) fn push(&self, item: CountingItem) -> Option<CountingItem> {
        let mut waiting = self.waiting.lock();
        if let Some((agent, bytes)) = item.outside_of_tasks() {
            let sum = waiting.uncounted.entry(agent).or_default();
            *sum = sum.saturating_add(bytes);
        }
        self.try_add(waiting, item, self.room.bytes())
    }

    /// Adds something that may wait for room: alone, where it is larger than all the room there is.
    pub(crate) async fn push_later(&self, item: CountingItem) {
        let most = self.room.bytes().max(item.bytes());
        let mut item = item;
        loop {
            let freed = self.freed.notified();
            let Some(refused) = self.try_add(self.waiting.lock(), item, most) else { return };
            item = refused;
            self.hurry.notify_one();
            freed.await;
        }
    }

    /// Adds an item, where there is room for it among at most so many bytes.
    fn try_add(
        &self,
        mut waiting: parking_lot::MutexGuard<'_, Waiting>,
        item: CountingItem,
        most: usize,
    ) -> Option<CountingItem> {
        if !waiting.queues.has_room_for(&item, most) {
            return Some(item);
        }
        let is_awaited = matches!(item, CountingItem::Marker(..));
        let fills = waiting.queues.add(item);
        let was_asleep = std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if is_awaited || fills {
            self.hurry.notify_one();
        }
        if was_asleep {
            self.came.notify_one();
        }
        None
    }

    /// An item was entered, whether or not there was room for it.
    pub(crate) fn entered(&self, item: &CountingItem) {
        let Some((agent, bytes)) = item.outside_of_tasks() else { return };
        let mut waiting = self.waiting.lock();
        let left = waiting.uncounted.get(&agent).map_or(0, |sum| sum.saturating_sub(bytes));
        if left > 0 {
            waiting.uncounted.insert(agent, left);
        } else {
            waiting.uncounted.remove(&agent);
        }
    }

    /// Bytes of an agent that passed outside of tasks and are not entered yet.
    pub(crate) fn uncounted(&self, agent: AgentId) -> u64 {
        self.waiting.lock().uncounted.get(&agent).copied().unwrap_or(0)
    }

    /// Agents with something that is not entered yet.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        self.waiting.lock().queues.agents()
    }

    /// Bytes of each agent that are not entered yet, and how many of one may wait.
    pub(crate) fn bytes_by_agent(&self) -> (Vec<(AgentId, usize)>, usize) {
        (self.waiting.lock().queues.bytes_by_agent(), self.room.agent_bytes())
    }

    /// The right to take from the queue, for the worker.
    pub(crate) async fn consumer(&self) -> QueueConsumer<'_> {
        self.consumer.lock().await
    }

    /// The batch that was in hand when the worker ended.
    pub(crate) fn left_in_hand(&self) -> Option<Arc<Vec<CountingItem>>> {
        self.in_hand.lock().clone()
    }

    /// Waits for something to count. While nothing waits the worker does not wake at all. Cancel-safe: nothing is taken.
    pub(crate) async fn wait_until_not_empty(&self) {
        loop {
            {
                let mut waiting = self.waiting.lock();
                if !waiting.queues.is_empty() {
                    return;
                }
                waiting.is_asleep = true;
            }
            self.came.notified().await;
        }
    }

    /// Waits one interval, so that what comes meanwhile is one batch; less when somebody waits for what is counted.
    pub(crate) async fn wait_interval(&self) {
        // Both arms may be dropped: a permit of `hurry` stays, a sleep has no effect.
        tokio::select! {
            () = tokio::time::sleep(self.look_every) => {}
            () = self.hurry.notified() => {}
        }
    }

    /// The next batch, kept in hand until [`CountingQueue::finish_batch`]; `None` when nothing waits.
    pub(crate) fn next_batch(&self, _consumer: &QueueConsumer<'_>) -> Option<Arc<Vec<CountingItem>>> {
        let (messages_max, bytes_max) = self.batch;
        let (mut batch, mut bytes) = (Vec::new(), 0_usize);
        {
            let mut waiting = self.waiting.lock();
            batch.reserve_exact(waiting.queues.messages().min(messages_max));
            while batch.len() < messages_max && bytes < bytes_max {
                let Some(next) = waiting.queues.next() else { break };
                bytes = bytes.saturating_add(next.bytes());
                batch.push(next);
            }
        }
        if batch.is_empty() {
            return None;
        }
        let batch = Arc::new(batch);
        *self.in_hand.lock() = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// The batch in hand was entered.
    pub(crate) fn finish_batch(&self, batch: &[CountingItem]) {
        *self.in_hand.lock() = None;
        let mut waiting = self.waiting.lock();
        batch.iter().for_each(|item| waiting.queues.entered(item));
        drop(waiting);
        self.freed.notify_waiters();
    }
}
