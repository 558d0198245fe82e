//! Times of open handles that moved with the wall clock in memory only, because the registry could not store them.
//!
//! A commit that was decided before such a move, and is stored after it, moves as well when it is kept. When the clock was
//! set is found elsewhere (`runtime/clock_steps.rs`).

use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;

use super::{TaskLedger, keep_in};

impl TaskLedger {
    /// By how much the times of a handle in memory are ahead of those in the registry.
    pub(super) fn unrecorded_step_ms(&self, id: HandleId) -> i64 {
        self.open.lock().get(id).map_or(0, |held| held.unrecorded_step_ms)
    }

    /// Moves the times of a handle with the clock, in memory only.
    pub(crate) fn move_in_memory(&self, id: HandleId, millis: i64) {
        let moved = {
            let mut open = self.open.lock();
            let Some(held) = open.get_mut(id) else { return };
            held.handle = Arc::new(held.handle.clock_stepped(millis).next);
            held.unrecorded_step_ms = held.unrecorded_step_ms.saturating_add(millis);
            held.stale_note = true;
            Arc::clone(&held.handle)
        };
        self.effects.ticks.note(id, moved.next_tick(&self.policy));
    }

    /// Stores what moved in memory only. Stops at the first failure: the next call tries again.
    pub(crate) async fn store_moved(&self) {
        let moved: Vec<HandleId> = {
            let mut open = self.open.lock();
            open.all_mut().filter(|held| held.unrecorded_step_ms != 0).map(|held| held.handle.id).collect()
        };
        for id in moved {
            if self.apply(id, |handle, _| Transition { changed: true, ..Transition::none(handle) }).await.is_err() {
                return;
            }
        }
    }

    /// Keeps what was just committed. `stepped_ms` is by how much memory was ahead when this was decided: what moved
    /// since then is missing in it.
    pub(super) fn keep_recorded(&self, recorded: TaskHandle, stepped_ms: i64, now: Timestamp) -> Arc<TaskHandle> {
        let mut open = self.open.lock();
        let ahead = open.get(recorded.id).map_or(0, |held| held.unrecorded_step_ms);
        let missing = ahead.saturating_sub(stepped_ms);
        let next = Arc::new(if missing == 0 { recorded } else { recorded.clock_stepped(missing).next });
        let is_kept = keep_in(&mut open, &next, now);
        if is_kept && let Some(held) = open.get_mut(next.id) {
            held.unrecorded_step_ms = missing;
        }
        drop(open);
        if is_kept {
            self.watchers.show(&next);
        }
        next
    }
}
