//! Which named task each thread of the process is running now.
//!
//! The supervisor marks the beginning and end of every poll of its children; a watchdog reads the marks when the
//! runtime hangs. Nothing is measured or decided here.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// What one thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadActivity {
    /// The system's number of the thread, where it is known.
    pub thread: Option<u32>,
    /// The task whose turn it is; `None` between two turns.
    pub task: Option<&'static str>,
    /// Turns begun so far: equal in two readings while one turn lasts.
    pub turns: u64,
}

struct Slot {
    thread: Option<u32>,
    turn: Mutex<Turn>,
}

#[derive(Clone, Copy, Default)]
struct Turn {
    task: Option<&'static str>,
    number: u64,
}

/// Every thread that ever ran a child of a supervisor and still lives.
static THREADS: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

thread_local! {
    static HERE: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
}

/// Marks a turn of a task on this thread until it is dropped.
pub(crate) struct TurnMark {
    slot: Option<Arc<Slot>>,
    before: Option<&'static str>,
}

impl TurnMark {
    pub(crate) fn begin(task: &'static str) -> Self {
        // While a thread ends, its locals are gone: then nothing is marked.
        let slot = HERE.try_with(|here| Arc::clone(here.borrow_mut().get_or_insert_with(register))).ok();
        let before = slot.as_ref().and_then(|slot| {
            let mut turn = slot.turn.lock();
            turn.number = turn.number.wrapping_add(1);
            turn.task.replace(task)
        });
        Self { slot, before }
    }
}

impl Drop for TurnMark {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.turn.lock().task = self.before;
        }
    }
}

fn register() -> Arc<Slot> {
    let slot = Arc::new(Slot { thread: own_number(), turn: Mutex::default() });
    let mut threads = THREADS.lock();
    threads.retain(|thread| thread.strong_count() > 0);
    threads.push(Arc::downgrade(&slot));
    slot
}

/// `/proc/thread-self` is a link to `PID/task/TID`. Where there is none, threads have no number here.
fn own_number() -> Option<u32> {
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}

/// What every thread does now.
#[must_use]
pub fn activities() -> Vec<ThreadActivity> {
    let threads = THREADS.lock();
    let slots = threads.iter().filter_map(Weak::upgrade);
    slots
        .map(|slot| {
            let turn = *slot.turn.lock();
            ThreadActivity { thread: slot.thread, task: turn.task, turns: turn.number }
        })
        .collect()
}
