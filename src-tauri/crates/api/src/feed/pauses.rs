//! The pauses of one feed: those that ask which of the waiting calls are sent are rows of the inbox.
//!
//! One begins to ask when its time has come, without any change of anything, so the next such moment is kept. They are few:
//! all of them are read again when one may ask otherwise than before. When a pause asks is decided in
//! `calls/inbox/pause_choices.rs`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::ids::HandleId;
use domain::task::TaskHandle;
use domain::time::Timestamp;
use engine::Engine;
use tokio::time::Instant;

use crate::api::Api;
use crate::dto::InboxRow;
use crate::error::ApiError;
use crate::lookup::Names;

/// Which pauses have a row, and when that may change.
#[derive(Default)]
pub(crate) struct FeedPauses {
    /// Ids of the pauses that have a row in the inbox.
    told: BTreeSet<String>,
    /// Calls that waited when the pauses were read.
    waiting: HashSet<HandleId>,
    /// When the next pause has lasted so long that it asks.
    next: Option<Timestamp>,
    /// A pause began or ended, or other calls wait.
    is_stale: bool,
}

impl FeedPauses {
    /// A pause may have begun or ended.
    pub(crate) fn stale(&mut self) {
        self.is_stale = true;
    }

    /// A task changed: it matters where it waits, or waited.
    pub(crate) fn task_changed(&mut self, task: &TaskHandle) {
        self.is_stale |= task.may_leave_gate() || self.waiting.contains(&task.id);
    }

    /// Whether the pauses are to be read again.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.is_stale || self.next.is_some_and(|at| at <= now)
    }

    /// When they are to be read again, as far as is known.
    pub(crate) fn due(&self, now: Timestamp) -> Option<Instant> {
        if self.is_stale {
            return Some(Instant::now());
        }
        self.next.map(|at| Instant::now() + at.since(now))
    }

    /// Reads them: the rows of each pause that has some, and none for those that had.
    pub(crate) async fn read(
        &mut self,
        api: &Api,
        engine: &Engine,
        names: &mut Names,
    ) -> Result<BTreeMap<String, Vec<InboxRow>>, ApiError> {
        let after = api.policy.control.pauses.choice_after;
        let now = api.now();
        let mut rows: BTreeMap<String, Vec<InboxRow>> = BTreeMap::new();
        let mut read = Self::default();
        for pause in engine.pauses() {
            let waiting = engine.waiting_calls(pause.subject);
            read.waiting.extend(waiting.iter().map(|call| call.id));
            if !pause.needs_choice(now, after) {
                let due = pause.choice_due(after);
                read.next = Some(read.next.map_or(due, |next| next.min(due)));
            } else if let Some(row) = api.pause_choice(&pause, &waiting, names).await? {
                read.told.insert(pause.id.to_string());
                rows.insert(pause.id.to_string(), vec![row]);
            }
        }
        for gone in std::mem::replace(self, read).told {
            rows.entry(gone).or_default();
        }
        Ok(rows)
    }
}
