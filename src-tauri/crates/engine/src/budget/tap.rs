//! Where what passed waits to be counted: a queue bounded by messages and by bytes, that never makes anybody wait.
//!
//! What does not fit is not lost: it is booked at once as one token a byte, which is an upper bound. One worker takes
//! from the queue and counts in a thread for such work (`count.rs`); what it has in hand is kept here, so that neither
//! a panic nor the end of the core loses it. It knows no window: see `books.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::ids::{AgentId, HandleId, ServerId};
use domain::task::payload::Payload;
use domain::policy::CountingPolicy;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};

use super::coming::TaskFacts;
use super::seen::Seen;

/// Something to be counted.
#[derive(Debug)]
pub(super) enum Item {
    /// An agent saw it, or said it.
    Saw(Seen),
    /// The arguments with which a task of an agent began.
    Arguments(Matter),
    /// The result of a task of an agent came, and nobody weighed it on its way in. With what it means for the agent, when
    /// that may still read it.
    Outcome(Matter, Option<TaskFacts>),
    /// The error that a task of an agent ended with.
    Failure(Matter),
    /// Output of a task that did not go to its agent.
    Aside(Matter),
    /// What its agent reads of a task from now on when it looks; empty where that is nothing.
    Word(Matter),
    /// Everything before this is counted and booked.
    Mark(Mutex<Option<oneshot::Sender<()>>>),
}

/// A text of a task.
#[derive(Debug)]
pub(super) struct Matter {
    pub(super) agent: AgentId,
    pub(super) server: ServerId,
    pub(super) tool: Option<Arc<str>>,
    pub(super) handle: HandleId,
    pub(super) text: Payload,
}

impl Item {
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Saw(seen) => seen.what.bytes(),
            Self::Arguments(matter)
            | Self::Outcome(matter, _)
            | Self::Failure(matter)
            | Self::Aside(matter)
            | Self::Word(matter) => matter.text.bytes(),
            Self::Mark(_) => 0,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// The queue.
pub(super) struct Tap {
    send: mpsc::Sender<Item>,
    /// Taken by the worker for its life, and by the orderly end after it.
    receive: tokio::sync::Mutex<mpsc::Receiver<Item>>,
    bytes: AtomicUsize,
    bytes_max: usize,
    batch: (usize, usize),
    /// Told when there is room again.
    freed: Notify,
    in_hand: Mutex<Option<Arc<Vec<Item>>>>,
}

impl Tap {
    pub(super) fn new(numbers: &CountingPolicy) -> Self {
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

    /// Leaves something to be counted; gives it back when there is no room.
    pub(super) fn leave(&self, item: Item) -> Option<Item> {
        let bytes = item.bytes();
        if !self.has_taken(bytes, self.bytes_max) {
            return Some(item);
        }
        let refused = self.send.try_send(item).err()?;
        self.give_back(bytes);
        match refused {
            mpsc::error::TrySendError::Full(item) | mpsc::error::TrySendError::Closed(item) => Some(item),
        }
    }

    /// Leaves something that may wait for room: alone, where it is larger than all that may wait.
    pub(super) async fn leave_later(&self, item: Item) {
        let bytes = item.bytes();
        let most = self.bytes_max.max(bytes);
        loop {
            let freed = self.freed.notified();
            if self.has_taken(bytes, most) {
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

    /// Takes room for so many bytes, when with them no more than `most` wait.
    fn has_taken(&self, bytes: usize, most: usize) -> bool {
        let with = |before: usize| before.checked_add(bytes).filter(|after| *after <= most);
        self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, with).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.freed.notify_waiters();
    }

    /// The receiving end, for whoever counts.
    pub(super) async fn receive(&self) -> tokio::sync::MutexGuard<'_, mpsc::Receiver<Item>> {
        self.receive.lock().await
    }

    /// What was in hand when somebody stopped counting.
    pub(super) fn left_in_hand(&self) -> Option<Arc<Vec<Item>>> {
        self.in_hand.lock().clone()
    }

    /// The next batch, kept in hand until [`Tap::is_booked`]. Cancel-safe: nothing is taken before the first message.
    pub(super) async fn next(&self, receive: &mut mpsc::Receiver<Item>) -> Option<Arc<Vec<Item>>> {
        let first = receive.recv().await?;
        Some(self.fill(first, receive))
    }

    /// As [`Tap::next`], of what is there.
    pub(super) fn next_now(&self, receive: &mut mpsc::Receiver<Item>) -> Option<Arc<Vec<Item>>> {
        let first = receive.try_recv().ok()?;
        Some(self.fill(first, receive))
    }

    fn fill(&self, first: Item, receive: &mut mpsc::Receiver<Item>) -> Arc<Vec<Item>> {
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

    /// The batch in hand is booked.
    pub(super) fn is_booked(&self, batch: &[Item]) {
        *self.in_hand.lock() = None;
        self.give_back(batch.iter().map(Item::bytes).fold(0, usize::saturating_add));
    }
}
