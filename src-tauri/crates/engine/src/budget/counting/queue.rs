//! The queue of texts to count, bounded by messages and by bytes. Nobody ever waits to add to it.
//!
//! What does not fit is entered at once as one token a byte, which is an upper bound. The worker's current batch is
//! kept here, so that neither a panic nor a shutdown loses it. Read `count.rs` for the worker's part.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::CountingPolicy;
use domain::task::payload::Payload;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::budget::counting::traffic::AgentTraffic;
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
    /// Notified when everything before it is counted and entered.
    Marker(Mutex<Option<oneshot::Sender<()>>>),
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
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Traffic(seen) => seen.what.bytes(),
            Self::Arguments(matter)
            | Self::Result(matter, _)
            | Self::Error(matter)
            | Self::KeptOut(matter)
            | Self::Status(matter) => matter.text.bytes(),
            Self::Marker(_) => 0,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

pub(crate) struct CountingQueue {
    send: mpsc::Sender<CountingItem>,
    /// Taken by the worker for its life, and by the shutdown after it.
    receive: tokio::sync::Mutex<mpsc::Receiver<CountingItem>>,
    bytes: AtomicUsize,
    bytes_max: usize,
    batch: (usize, usize),
    /// Notified when there is room again.
    freed: Notify,
    in_hand: Mutex<Option<Arc<Vec<CountingItem>>>>,
}

impl CountingQueue {
    pub(crate) fn new(numbers: &CountingPolicy) -> Self {
        let (send, receive) = mpsc::channel(numbers.queue_messages);
        Self {
            send,
            receive: tokio::sync::Mutex::new(receive),
            bytes: AtomicUsize::new(0),
            bytes_max: numbers.queue_bytes,
            batch: (numbers.batch_messages, numbers.batch_bytes),
            freed: Notify::new(),
            in_hand: Mutex::new(None),
        }
    }

    /// Adds something; gives it back when there is no room.
    pub(crate) fn push(&self, item: CountingItem) -> Option<CountingItem> {
        let bytes = item.bytes();
        if !self.try_take(bytes, self.bytes_max) {
            return Some(item);
        }
        let refused = self.send.try_send(item).err()?;
        self.give_back(bytes);
        match refused {
            mpsc::error::TrySendError::Full(item) | mpsc::error::TrySendError::Closed(item) => Some(item),
        }
    }

    /// Adds something that may wait for room: alone, where it is larger than all the room there is.
    pub(crate) async fn push_later(&self, item: CountingItem) {
        let bytes = item.bytes();
        let most = self.bytes_max.max(bytes);
        loop {
            let freed = self.freed.notified();
            if self.try_take(bytes, most) {
                break;
            }
            freed.await;
        }
        match self.send.reserve().await {
            Ok(room) => room.send(item),
            // Nobody counts any more.
            Err(_) => self.give_back(bytes),
        }
    }

    /// Takes room for so many bytes, when no more than `most` wait with them.
    fn try_take(&self, bytes: usize, most: usize) -> bool {
        let with = |before: usize| before.checked_add(bytes).filter(|after| *after <= most);
        self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, with).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.freed.notify_waiters();
    }

    /// The receiving end, for the worker.
    pub(crate) async fn receive(&self) -> tokio::sync::MutexGuard<'_, mpsc::Receiver<CountingItem>> {
        self.receive.lock().await
    }

    /// The batch that was in hand when the worker ended.
    pub(crate) fn left_in_hand(&self) -> Option<Arc<Vec<CountingItem>>> {
        self.in_hand.lock().clone()
    }

    /// The next batch, kept in hand until [`CountingQueue::finish_batch`]. Cancel-safe: nothing is taken before the first message.
    pub(crate) async fn next(&self, receive: &mut mpsc::Receiver<CountingItem>) -> Option<Arc<Vec<CountingItem>>> {
        let first = receive.recv().await?;
        Some(self.fill(first, receive))
    }

    /// As [`CountingQueue::next`], without waiting.
    pub(crate) fn next_now(&self, receive: &mut mpsc::Receiver<CountingItem>) -> Option<Arc<Vec<CountingItem>>> {
        let first = receive.try_recv().ok()?;
        Some(self.fill(first, receive))
    }

    fn fill(&self, first: CountingItem, receive: &mut mpsc::Receiver<CountingItem>) -> Arc<Vec<CountingItem>> {
        let (messages_max, bytes_max) = self.batch;
        let mut bytes = first.bytes();
        let mut batch = vec![first];
        while batch.len() < messages_max && bytes < bytes_max {
            let Ok(next) = receive.try_recv() else { break };
            bytes = bytes.saturating_add(next.bytes());
            batch.push(next);
        }
        let batch = Arc::new(batch);
        *self.in_hand.lock() = Some(Arc::clone(&batch));
        batch
    }

    /// The batch in hand was entered.
    pub(crate) fn finish_batch(&self, batch: &[CountingItem]) {
        *self.in_hand.lock() = None;
        self.give_back(batch.iter().map(CountingItem::bytes).fold(0, usize::saturating_add));
    }
}
