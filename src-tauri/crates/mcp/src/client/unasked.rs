//! What a server says to everybody, for those who relay it: bounded, in order, with a mark where something was missed.
//!
//! List changes, updated resources and log messages are hints and words, not facts: a reader that is too slow misses
//! some, is told so, and reads the lists anew. Facts about tasks go to the engine and never come here. Who wants which
//! of it is decided by those who read.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;

/// Messages that wait for one reader. Judgement: a burst of a hundred updated resources fits; whoever does not read for
/// longer reads everything anew.
const CAPACITY: usize = 256;

/// Something said to everybody.
#[derive(Debug, Clone)]
pub enum Unasked {
    /// A notification.
    Said {
        /// Its method.
        method: Arc<str>,
        /// Its params as they came; `null` when there were none.
        params: Arc<RawValue>,
    },
    /// Something was said that this reader did not get: it was too slow, or a standing stream broke.
    Missed,
    /// The connection is over; nothing follows.
    Over,
}

/// Those who read.
#[derive(Default)]
pub(crate) struct Readers(Mutex<State>);

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
    said: VecDeque<Unasked>,
    missed: bool,
    over: bool,
}

/// One reader's end. What is said from now on comes here.
pub struct Hearing(Arc<Queue>);

impl Readers {
    /// Begins to read.
    pub(crate) fn join(&self) -> Hearing {
        let mut state = self.0.lock();
        let waiting = Waiting { over: state.over, ..Waiting::default() };
        let queue = Arc::new(Queue { waiting: Mutex::new(waiting), wake: Notify::new() });
        state.readers.push(Arc::downgrade(&queue));
        Hearing(queue)
    }

    /// Tells all. Never waits.
    pub(crate) fn tell(&self, method: &str, params: &RawValue) {
        let mut state = self.0.lock();
        if state.readers.is_empty() {
            return;
        }
        let said = Unasked::Said { method: Arc::from(method), params: Arc::from(params.to_owned()) };
        state.each(|waiting| {
            if waiting.said.len() < CAPACITY {
                waiting.said.push_back(said.clone());
            } else {
                waiting.missed = true;
            }
        });
    }

    /// Something may have been said that nobody heard.
    pub(crate) fn missed(&self) {
        self.0.lock().each(|waiting| waiting.missed = true);
    }

    /// The connection is over.
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

impl Hearing {
    /// What was said by now, if anything; as [`Hearing::next`].
    pub fn now(&mut self) -> Option<Unasked> {
        let mut waiting = self.0.waiting.lock();
        if let Some(said) = waiting.said.pop_front() {
            return Some(said);
        }
        if std::mem::take(&mut waiting.missed) {
            return Some(Unasked::Missed);
        }
        waiting.over.then_some(Unasked::Over)
    }

    /// The next thing said; what was missed is told once all before it was read. Cancel-safe.
    pub async fn next(&mut self) -> Unasked {
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
        let readers = Readers::default();
        let (mut slow, gone) = (readers.join(), readers.join());
        drop(gone);
        for _ in 0..CAPACITY + 3 {
            readers.tell("notifications/tools/list_changed", RawValue::NULL);
        }
        assert_eq!(readers.0.lock().readers.len(), 1, "whoever left is not kept");
        for _ in 0..CAPACITY {
            assert!(matches!(slow.next().await, Unasked::Said { .. }), "what fits is kept in order");
        }
        assert!(matches!(slow.next().await, Unasked::Missed), "and what did not is told as missed, once");
        readers.end();
        assert!(matches!(slow.next().await, Unasked::Over), "then the end");
        assert!(matches!(readers.join().next().await, Unasked::Over), "also for who comes late");
    }
}
