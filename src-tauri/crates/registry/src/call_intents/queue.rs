//! Intents that wait for the file: begun and not ended, or ended and still in the file.
//!
//! The writer looks at intervals while calls begin, and sleeps from the first interval in which none did: a call wakes
//! nobody but a writer that sleeps. When the queue is full a caller waits a moment and then goes on without an intent: a
//! disk that hangs must not hang agents. Order does not matter: an intent is begun once and ended once.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::ids::HandleId;
use domain::ports::CallIntent;
use parking_lot::{Condvar, Mutex, MutexGuard};
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
    /// Whether something was asked since the writer looked last.
    has_news: bool,
    /// Whether the writer sleeps until something is asked.
    is_asleep: bool,
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
    /// Wakes a writer that sleeps.
    news: Notify,
    /// Ends an interval early.
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

    /// Takes in an intent. Wakes the writer only when it sleeps for want of calls.
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
        waiting.young.insert(intent.id, intent);
        let fills = waiting.is_full(self.capacity / 2);
        self.asked(waiting);
        if fills {
            self.hurry.notify_one();
        }
    }

    /// Something was asked: wakes the writer, if it sleeps.
    fn asked(&self, mut waiting: MutexGuard<'_, QueueState>) {
        waiting.asked += 1;
        waiting.has_news = true;
        let was_asleep = std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if was_asleep {
            self.news.notify_one();
        }
    }

    /// Ends an intent; one that was not written yet never will be.
    pub(crate) fn end(&self, id: HandleId) {
        let mut waiting = self.waiting.lock();
        if waiting.young.remove(&id).is_some() || waiting.old.remove(&id).is_some() {
            waiting.asked += 1;
            return;
        }
        waiting.ended.push(id);
        self.asked(waiting);
    }

    /// Removes what earlier runs left over.
    pub(crate) fn forget(&self, ids: &[HandleId]) {
        let mut waiting = self.waiting.lock();
        waiting.ended.extend(ids);
        self.asked(waiting);
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

    /// Waits until the writer should look: one interval while calls begin or something waits, else until something is
    /// asked. False when nothing more comes.
    pub(crate) async fn wait(&self, settle: Duration) -> bool {
        loop {
            let (empty, sleeps) = {
                let mut waiting = self.waiting.lock();
                let empty = waiting.is_empty();
                if waiting.hurried || (!empty && (waiting.closed || settle.is_zero())) {
                    return true;
                }
                if waiting.closed {
                    return false;
                }
                let has_news = std::mem::take(&mut waiting.has_news);
                waiting.is_asleep = empty && !has_news;
                (empty, waiting.is_asleep)
            };
            if sleeps {
                self.news.notified().await;
                continue;
            }
            if empty && settle.is_zero() {
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
        let (hurried, is_closed) = (std::mem::take(&mut waiting.hurried), waiting.closed);
        let QueueState { young, old, .. } = &mut *waiting;
        let mut begun: Vec<CallIntent> = old.drain().map(|(_, intent)| intent).collect();
        if hurried || is_closed || settle.is_zero() {
            begun.extend(young.drain().map(|(_, intent)| intent));
        }
        // Both keep their room for the next interval.
        std::mem::swap(young, old);
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
        let mut ended: HashSet<HandleId> = waiting.ended.drain(..).collect();
        for intent in batch.begun {
            if !ended.remove(&intent.id) {
                waiting.old.insert(intent.id, intent);
            }
        }
        waiting.ended.extend(ended);
        waiting.ended.extend(batch.ended);
        waiting.hurried |= batch.asked.is_some();
        waiting.closed
    }

    /// Nothing more is written.
    pub(crate) fn stopped(&self) {
        self.done.send_replace(None);
    }
}

#[cfg(test)]
mod tests {
    use testkit::contract::call_intents::intent;

    use super::*;

    const SETTLE: Duration = Duration::from_millis(20);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn ids(batch: &IntentBatch) -> Vec<HandleId> {
        batch.begun.iter().map(|intent| intent.id).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_without_calls_sleeps_until_the_first_one() {
        let queue = IntentQueue::new(10, Duration::ZERO);
        assert!(tokio::time::timeout(HOUR, queue.wait(SETTLE)).await.is_err(), "nothing wakes it");
        queue.begin(intent(1));
        queue.end(intent(1).id);
        assert!(queue.wait(SETTLE).await);
        assert_eq!(ids(&queue.take(SETTLE)), [], "the quick call is not written");
        assert!(tokio::time::timeout(HOUR, queue.wait(SETTLE)).await.is_err(), "and it sleeps again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_that_was_not_written_comes_again_without_what_ended_meanwhile() {
        let queue = IntentQueue::new(10, Duration::ZERO);
        for number in 1..=3 {
            queue.begin(intent(number));
        }
        let batch = queue.take(Duration::ZERO);
        assert_eq!(batch.begun.len(), 3);
        queue.end(intent(2).id);
        assert!(!queue.put_back(batch), "the queue is open");
        let again = queue.take(Duration::ZERO);
        let mut left = ids(&again);
        left.sort_unstable();
        assert_eq!(left, [intent(1).id, intent(3).id], "the ended one was never in the file");
        assert_eq!(again.ended, [], "and need not be removed from it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_lasts_is_written_within_two_intervals_however_many_begin() {
        let queue = IntentQueue::new(1_000, Duration::ZERO);
        let begun = tokio::time::Instant::now();
        queue.begin(intent(1));
        let busy = async {
            for number in 2.. {
                queue.begin(intent(number));
                tokio::time::sleep(Duration::from_millis(1)).await;
                queue.end(intent(number).id);
            }
        };
        let writer = async {
            loop {
                assert!(queue.wait(SETTLE).await);
                let written = ids(&queue.take(SETTLE));
                if !written.is_empty() {
                    return written;
                }
            }
        };
        tokio::select! {
            written = writer => assert_eq!(written, [intent(1).id], "the call that lasts, and no quick one"),
            () = busy => {}
        }
        assert!(begun.elapsed() <= SETTLE * 2 + Duration::from_millis(2), "after {:?}", begun.elapsed());
    }
}
