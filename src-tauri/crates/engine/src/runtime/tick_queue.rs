//! Tasks that time alone changes before the sweeper reads the registry again, by the moment.
//!
//! Says only which task to look at and when; whether something is due there is the task's to say. An entry that is out
//! of date does no harm. Read `tasks/sweep.rs` for who waits.

use std::collections::BTreeSet;

use domain::ids::HandleId;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Tasks that are due soon, filled by the sweeper and by every commit.
#[derive(Default)]
pub(crate) struct TickQueue {
    soon: Mutex<SoonDue>,
    /// An earlier moment than the first before was noted.
    sooner: Notify,
}

#[derive(Default)]
struct SoonDue {
    ticks: BTreeSet<(Timestamp, HandleId)>,
    /// What is due from then on is read from the registry in time. Nothing is noted before the first read.
    until: Option<Timestamp>,
}

impl TickQueue {
    /// Forgets everything; from now on what is due before `until` is noted.
    pub(crate) fn begin(&self, until: Timestamp) {
        *self.soon.lock() = SoonDue { ticks: BTreeSet::new(), until: Some(until) };
    }

    /// A task is due then, if at all.
    pub(crate) fn note(&self, id: HandleId, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        let mut soon = self.soon.lock();
        if soon.until.is_none_or(|until| at >= until) {
            return;
        }
        let is_first = soon.ticks.first().is_none_or(|(first, _)| at < *first);
        soon.ticks.insert((at, id));
        drop(soon);
        if is_first {
            self.sooner.notify_one();
        }
    }

    /// The first moment at which a task is due.
    pub(crate) fn first_due(&self) -> Option<Timestamp> {
        self.soon.lock().ticks.first().map(|(at, _)| *at)
    }

    /// Takes the tasks that are due now, each once.
    pub(crate) fn take_due(&self, now: Timestamp) -> BTreeSet<HandleId> {
        let mut soon = self.soon.lock();
        let mut due = BTreeSet::new();
        while let Some((_, id)) = soon.ticks.first().copied().filter(|(at, _)| *at <= now) {
            soon.ticks.pop_first();
            due.insert(id);
        }
        due
    }

    /// Waits until the first moment is an earlier one. Cancel-safe.
    pub(crate) async fn sooner(&self) {
        self.sooner.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn what_is_due_before_the_next_read_is_noted_and_taken_in_its_order() {
        let queue = TickQueue::default();
        let (first, second) = (HandleId::from_random(1), HandleId::from_random(2));
        queue.note(first, Some(at(1)));
        assert_eq!(queue.first_due(), None, "the first read finds it");
        queue.begin(at(1_000));
        queue.note(first, Some(at(700)));
        queue.note(second, Some(at(400)));
        queue.note(second, Some(at(1_000)));
        queue.note(second, None);
        assert_eq!((queue.first_due(), queue.take_due(at(399)).len()), (Some(at(400)), 0));
        assert_eq!(queue.take_due(at(400)), BTreeSet::from([second]));
        assert_eq!(queue.first_due(), Some(at(700)), "what is due at the next read or later is left to it");
        queue.begin(at(2_000));
        assert_eq!(queue.first_due(), None, "each read begins anew");
    }
}
