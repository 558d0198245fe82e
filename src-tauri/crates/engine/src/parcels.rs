//! What may have to be delivered: a set of handles with the moment from which, and a wake.
//!
//! Only says "look at this handle": the registry knows what is due. A word left twice is one word, so nothing can be
//! lost and nobody who leaves one waits. Read `deliver.rs` for the reconciler.

use std::collections::{HashMap, HashSet};

use domain::ids::HandleId;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::line::Line;

/// What was left since the reconciler looked last.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Handles to look at, no earlier than the moment.
    pub(crate) handles: HashMap<HandleId, Timestamp>,
    /// Lines over which servers can be reached again.
    pub(crate) lines: HashSet<Line>,
}

/// The desk where work for the deliverer is left.
#[derive(Default)]
pub(crate) struct Parcels {
    wanted: Mutex<Wanted>,
    /// Wakes the deliverer.
    pub(crate) wake: Notify,
}

impl Parcels {
    /// There may be something to deliver for this handle from then on.
    pub(crate) fn leave(&self, id: HandleId, from: Timestamp) {
        {
            let mut wanted = self.wanted.lock();
            let at = wanted.handles.entry(id).or_insert(from);
            *at = from.min(*at);
        }
        self.wake.notify_one();
    }

    /// The server can be reached again over this line.
    pub(crate) fn line_up(&self, line: Line) {
        self.wanted.lock().lines.insert(line);
        self.wake.notify_one();
    }

    /// Takes what was left.
    pub(crate) fn take(&self) -> Wanted {
        std::mem::take(&mut *self.wanted.lock())
    }
}
