//! Handles by the moment they are due, with what is remembered of each.
//!
//! It neither waits nor acts: its owner sleeps until [`DueQueue::next_due`] and takes what is due.

use std::collections::{BTreeSet, HashMap};

use domain::ids::HandleId;
use tokio::time::Instant;

/// An entry that knows when it is due; `None` while it waits for something other than time.
pub(crate) trait HasDueTime {
    fn due_mut(&mut self) -> &mut Option<Instant>;
}

#[derive(Debug)]
pub(crate) struct DueQueue<E> {
    entries: HashMap<HandleId, E>,
    /// Every entry that is due at some time, the earliest first.
    due: BTreeSet<(Instant, HandleId)>,
}

impl<E> Default for DueQueue<E> {
    fn default() -> Self {
        Self { entries: HashMap::new(), due: BTreeSet::new() }
    }
}

impl<E: HasDueTime> DueQueue<E> {
    pub(crate) fn get(&self, id: HandleId) -> Option<&E> {
        self.entries.get(&id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = HandleId> {
        self.entries.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Changes an entry; its place in the queue follows. `None` when there is none.
    pub(crate) fn change<R>(&mut self, id: HandleId, change: impl FnOnce(&mut E) -> R) -> Option<R> {
        let entry = self.entries.get_mut(&id)?;
        let before = *entry.due_mut();
        let changed = change(entry);
        let after = *entry.due_mut();
        if before != after {
            if let Some(at) = before {
                self.due.remove(&(at, id));
            }
            if let Some(at) = after {
                self.due.insert((at, id));
            }
        }
        Some(changed)
    }

    pub(crate) fn insert(&mut self, id: HandleId, mut entry: E) {
        self.remove(id);
        if let Some(at) = *entry.due_mut() {
            self.due.insert((at, id));
        }
        self.entries.insert(id, entry);
    }

    pub(crate) fn remove(&mut self, id: HandleId) -> Option<E> {
        let mut entry = self.entries.remove(&id)?;
        if let Some(at) = *entry.due_mut() {
            self.due.remove(&(at, id));
        }
        Some(entry)
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes what has been due for longest; it is not due again before its entry says so.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(HandleId, &mut E)> {
        if self.next_due()? > now {
            return None;
        }
        self.take_first()
    }

    /// As [`DueQueue::take_due`], also before its time.
    pub(crate) fn take_first(&mut self) -> Option<(HandleId, &mut E)> {
        let (_, id) = self.due.pop_first()?;
        let entry = self.entries.get_mut(&id)?;
        *entry.due_mut() = None;
        Some((id, entry))
    }
}
