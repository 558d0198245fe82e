//! Notifications to everybody, for those who relay them: bounded, in order, with a mark where some were missed.
//!
//! List changes, updated resources and log messages are hints: a reader that is too slow misses some, is told so, and
//! reads the lists again. Facts about tasks go to the engine and never come here.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;

/// Messages that wait for one reader. Judgement: a burst of a hundred updated resources fits; whoever does not read for
/// longer reads everything anew.
const CAPACITY: usize = 256;

/// A notification to everybody, or a gap, or the end.
#[derive(Debug, Clone)]
pub enum Broadcast {
    /// A notification of the server.
    Said {
        /// The JSON-RPC method.
        method: Arc<str>,
        /// Its params as they came; `null` when there were none.
        params: Arc<RawValue>,
    },
    /// This reader missed something: it was too slow, or the stream broke.
    Missed,
    /// The connection has ended; nothing follows.
    Over,
}

/// Sends to all current readers.
#[derive(Default)]
pub(crate) struct BroadcastSender(Mutex<State>);

#[derive(Default)]
struct State {
    readers: Vec<Weak<Queue>>,
    over: bool,
}

struct Queue {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Default)]
struct Waiting {
    said: VecDeque<Broadcast>,
    missed: bool,
    over: bool,
}

/// A reader of what is sent from now on.
pub struct BroadcastReceiver(Arc<Queue>);

impl BroadcastSender {
    /// Adds a reader.
    pub(crate) fn join(&self) -> BroadcastReceiver {
        let mut state = self.0.lock();
        let waiting = Waiting { over: state.over, ..Waiting::default() };
        let queue = Arc::new(Queue { waiting: Mutex::new(waiting), wake: Notify::new() });
        state.readers.push(Arc::downgrade(&queue));
        BroadcastReceiver(queue)
    }

    /// Sends to all readers without waiting.
    pub(crate) fn tell(&self, method: &str, params: &RawValue) {
        let mut state = self.0.lock();
        if state.readers.is_empty() {
            return;
        }
        let said = Broadcast::Said { method: Arc::from(method), params: Arc::from(params.to_owned()) };
        state.each(|waiting| {
            if waiting.said.len() < CAPACITY {
                waiting.said.push_back(said.clone());
            } else {
                waiting.missed = true;
            }
        });
    }

    /// Tells all readers that they may have missed something.
    pub(crate) fn missed(&self) {
        self.0.lock().each(|waiting| waiting.missed = true);
    }

    /// Tells all readers that the connection has ended.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        state.over = true;
        state.each(|waiting| waiting.over = true);
    }
}

impl State {
    fn each(&mut self, change: impl Fn(&mut Waiting)) {
        self.readers.retain(|reader| {
            let Some(queue) = reader.upgrade() else { return false };
            change(&mut queue.waiting.lock());
            queue.wake.notify_one();
            true
        });
    }
}

impl BroadcastReceiver {
    /// As [`BroadcastReceiver::next`], without waiting.
    pub fn now(&mut self) -> Option<Broadcast> {
        let mut waiting = self.0.waiting.lock();
        if let Some(said) = waiting.said.pop_front() {
            return Some(said);
        }
        if std::mem::take(&mut waiting.missed) {
            return Some(Broadcast::Missed);
        }
        waiting.over.then_some(Broadcast::Over)
    }

    /// The next item; a gap is reported once everything before it was read. Cancel-safe.
    pub async fn next(&mut self) -> Broadcast {
        loop {
            if let Some(said) = self.now() {
                return said;
            }
            self.0.wake.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_told_that_it_missed_something_and_a_dropped_one_is_forgotten() {
        let readers = BroadcastSender::default();
        let (mut slow, gone) = (readers.join(), readers.join());
        drop(gone);
        for _ in 0..CAPACITY + 3 {
            readers.tell("notifications/tools/list_changed", RawValue::NULL);
        }
        assert_eq!(readers.0.lock().readers.len(), 1, "whoever left is not kept");
        for _ in 0..CAPACITY {
            assert!(matches!(slow.next().await, Broadcast::Said { .. }), "what fits is kept in order");
        }
        assert!(matches!(slow.next().await, Broadcast::Missed), "and what did not is told as missed, once");
        readers.end();
        assert!(matches!(slow.next().await, Broadcast::Over), "then the end");
        assert!(matches!(readers.join().next().await, Broadcast::Over), "also for who comes late");
    }
}
