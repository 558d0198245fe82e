//! Answers that hold until something is written, so that an idle core reads nothing from its registry.
//!
//! The core asks at intervals what is due, what changed and how much is stored. An answer is kept with the number of writes
//! that came before it and used while no other write has begun. Nothing is kept where another process writes: in a registry
//! that is open for reading only.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::ids::Seq;
use domain::ports::StoredUse;
use domain::time::Timestamp;
use parking_lot::Mutex;

use crate::sqlite::SqliteRegistry;

/// Counts the writer's transactions: once when one begins, once when it ended, whatever became of it.
#[derive(Debug, Default)]
pub(crate) struct WriteCount(AtomicU64);

impl WriteCount {
    /// A transaction begins, or has ended.
    pub(crate) fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// The count between two transactions; `None` during one.
    fn between(&self) -> Option<u64> {
        Some(self.0.load(Ordering::SeqCst)).filter(|count| count.is_multiple_of(2))
    }
}

/// One answer, with the count of writes at which it was asked for.
#[derive(Debug)]
pub(crate) struct KeptAnswer<T>(Mutex<Option<(u64, T)>>);

impl<T> Default for KeptAnswer<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> KeptAnswer<T> {
    /// The answer, if nothing was written since; `asked` is [`SqliteRegistry::writes_so_far`].
    pub(crate) fn get(&self, asked: Option<u64>) -> Option<T> {
        let kept = self.0.lock();
        kept.as_ref().filter(|(at, _)| Some(*at) == asked).map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer that was read after `asked` was taken.
    pub(crate) fn keep(&self, asked: Option<u64>, answer: T) {
        if let Some(at) = asked {
            *self.0.lock() = Some((at, answer));
        }
    }
}

/// What a core asks again and again.
#[derive(Debug, Default)]
pub(crate) struct KeptAnswers {
    pub(crate) writes: WriteCount,
    pub(crate) newest: KeptAnswer<Seq>,
    /// When the phase of a task may change next by time alone; kept only while none is due.
    pub(crate) next_tick: KeptAnswer<Option<Timestamp>>,
    /// When something is to be delivered next; kept only while nothing is.
    pub(crate) next_delivery: KeptAnswer<Option<Timestamp>>,
    pub(crate) stored_use: KeptAnswer<Vec<StoredUse>>,
}

impl SqliteRegistry {
    /// The number of writes so far, to be taken before an answer is read; `None` where none may be kept.
    pub(crate) fn writes_so_far(&self) -> Option<u64> {
        self.writer.as_ref().and_then(|_| self.base.kept.writes.between())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_used_until_the_next_write_begins_and_none_is_kept_during_one() {
        let kept = KeptAnswers::default();
        let before = kept.writes.between();
        kept.newest.keep(before, Seq(7));
        assert_eq!(kept.newest.get(kept.writes.between()), Some(Seq(7)));
        kept.writes.advance();
        assert_eq!(kept.newest.get(kept.writes.between()), None, "a write is under way");
        kept.newest.keep(kept.writes.between(), Seq(8));
        kept.writes.advance();
        assert_eq!(kept.newest.get(kept.writes.between()), None, "what was read during a write may be older than it");
        kept.newest.keep(before, Seq(7));
        assert_eq!(
            kept.newest.get(kept.writes.between()),
            None,
            "an answer that took longer than the write is not used"
        );
    }
}
