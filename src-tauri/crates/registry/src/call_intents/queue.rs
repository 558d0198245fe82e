//! Intents that wait for the file: begun and not ended, or ended and still in the file.
//!
//! When the queue is full a caller waits a moment and then goes on without an intent: a disk that hangs must not hang agents.
//! Order does not matter: an intent is begun once and ended once.

use std::collections::HashMap;
use std::time::Duration;

use domain::ids::HandleId;
use domain::ports::CallIntent;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, watch};

#[derive(Debug, Default)]
struct QueueState {
    /// Begun since the writer looked last: they may yet end before they are written.
    young: HashMap<HandleId, CallIntent>,
    /// Begun before that.
    old: HashMap<HandleId, CallIntent>,
    ended: Vec<HandleId>,
    /// How much was asked of the queue so far.
    asked: u64,
    /// Whether somebody waits for it to be written.
    hurried: bool,
    closed: bool,
    /// Whether calls go on without an intent; told once.
    overflowing: bool,
}

impl QueueState {
    fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty() && self.ended.is_empty()
    }

    fn is_full(&self, capacity: usize) -> bool {
        self.young.len() + self.old.len() + self.ended.len() >= capacity
    }
}

#[derive(Debug)]
pub(crate) struct IntentBatch {
    /// To be written.
    pub(crate) begun: Vec<CallIntent>,
    /// To be removed.
    pub(crate) ended: Vec<HandleId>,
    /// How much was asked when somebody waited for it; then the batch is all there was.
    asked: Option<u64>,
}

/// The queue between callers and the writer.
#[derive(Debug)]
pub(crate) struct IntentQueue {
    waiting: Mutex<QueueState>,
    room: Condvar,
    news: Notify,
    hurry: Notify,
    /// How much of what was asked is in the file; `None` when nothing more will be.
    done: watch::Sender<Option<u64>>,
    capacity: usize,
    room_wait: Duration,
}

impl IntentQueue {
    pub(crate) fn new(capacity: usize, room_wait: Duration) -> Self {
        Self {
            waiting: Mutex::default(),
            room: Condvar::new(),
            news: Notify::new(),
            hurry: Notify::new(),
            done: watch::Sender::new(Some(0)),
            capacity,
            room_wait,
        }
    }

    /// Takes in an intent. Wakes the writer only when it sleeps for want of work.
    pub(crate) fn begin(&self, intent: CallIntent) {
        let mut waiting = self.waiting.lock();
        if waiting.is_full(self.capacity) {
            self.room.wait_for(&mut waiting, self.room_wait);
        }
        if waiting.is_full(self.capacity) {
            if !waiting.overflowing {
                waiting.overflowing = true;
                tracing::error!("the file of intents does not keep up; calls go on without being written ahead");
            }
            return;
        }
        waiting.overflowing = false;
        let was_empty = waiting.is_empty();
        waiting.asked += 1;
        waiting.young.insert(intent.id, intent);
        drop(waiting);
        if was_empty {
            self.news.notify_one();
        }
    }

    /// Ends an intent; one that was not written yet never will be.
    pub(crate) fn end(&self, id: HandleId) {
        let mut waiting = self.waiting.lock();
        waiting.asked += 1;
        if waiting.young.remove(&id).is_some() || waiting.old.remove(&id).is_some() {
            return;
        }
        let was_empty = waiting.is_empty();
        waiting.ended.push(id);
        drop(waiting);
        if was_empty {
            self.news.notify_one();
        }
    }

    /// Removes what earlier runs left over.
    pub(crate) fn forget(&self, ids: &[HandleId]) {
        let mut waiting = self.waiting.lock();
        waiting.asked += 1;
        waiting.ended.extend(ids);
        drop(waiting);
        self.news.notify_one();
    }

    /// Waits until all that was asked before is in the file; whether it is.
    pub(crate) async fn flushed(&self) -> bool {
        let mut done = self.done.subscribe();
        let asked = {
            let mut waiting = self.waiting.lock();
            waiting.hurried = true;
            waiting.asked
        };
        self.hurry.notify_one();
        self.news.notify_one();
        let reached = done.wait_for(|done| done.is_none_or(|done| done >= asked)).await;
        reached.is_ok_and(|done| done.is_some())
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.hurry.notify_one();
        self.news.notify_one();
    }

    /// Waits for something to write, and for its end a moment longer. False when nothing more comes.
    pub(crate) async fn wait(&self, settle: Duration) -> bool {
        loop {
            let (empty, hurried, closed) = {
                let waiting = self.waiting.lock();
                (waiting.is_empty(), waiting.hurried, waiting.closed)
            };
            if hurried || (!empty && (closed || settle.is_zero())) {
                return true;
            }
            if closed {
                return false;
            }
            if empty {
                self.news.notified().await;
                continue;
            }
            // Both arms may be dropped: a permit of `hurry` stays, a sleep has no effect.
            tokio::select! {
                () = tokio::time::sleep(settle) => {}
                () = self.hurry.notified() => {}
            }
            return true;
        }
    }

    /// What waits now and did at the last look, too; all of it when somebody waits, nothing more comes, or intents do
    /// not wait for their end.
    pub(crate) fn take(&self, settle: Duration) -> IntentBatch {
        let mut waiting = self.waiting.lock();
        let hurried = std::mem::take(&mut waiting.hurried);
        let mut begun: Vec<CallIntent> = waiting.old.drain().map(|(_, intent)| intent).collect();
        if hurried || waiting.closed || settle.is_zero() {
            begun.extend(waiting.young.drain().map(|(_, intent)| intent));
        }
        waiting.old = std::mem::take(&mut waiting.young);
        let asked = hurried.then_some(waiting.asked);
        let batch = IntentBatch { begun, ended: std::mem::take(&mut waiting.ended), asked };
        drop(waiting);
        self.room.notify_all();
        batch
    }

    /// The batch is in the file.
    pub(crate) fn written(&self, batch: &IntentBatch) {
        if batch.asked.is_some() {
            self.done.send_replace(batch.asked);
        }
    }

    /// The batch is not in the file: it waits again, but for what has ended meanwhile. Whether the queue is closed, so
    /// that trying again would keep the end of the core waiting.
    pub(crate) fn put_back(&self, batch: IntentBatch) -> bool {
        let mut waiting = self.waiting.lock();
        for intent in batch.begun {
            match waiting.ended.iter().position(|ended| *ended == intent.id) {
                Some(place) => {
                    waiting.ended.swap_remove(place);
                }
                None => {
                    waiting.old.insert(intent.id, intent);
                }
            }
        }
        waiting.ended.extend(batch.ended);
        waiting.hurried |= batch.asked.is_some();
        waiting.closed
    }

    /// Nothing more is written.
    pub(crate) fn stopped(&self) {
        self.done.send_replace(None);
    }
}
