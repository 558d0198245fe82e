//! Wakes the readers of the change log, and counts changes of server health.
//!
//! Carries no facts: a reader that misses a wake finds everything in the change log by its own cursor. Health is not in
//! the change log, so each server has a revision here. Read `tasks/feed.rs` for the readers.

use std::collections::HashMap;

use domain::ids::{Seq, ServerId};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The newest change that was seen, and revisions of server health.
pub(crate) struct CommitSignal {
    newest: watch::Sender<Seq>,
    health: watch::Sender<u64>,
    revisions: Mutex<HashMap<ServerId, u64>>,
}

impl CommitSignal {
    pub(crate) fn new(newest: Seq) -> Self {
        Self {
            newest: watch::Sender::new(newest),
            health: watch::Sender::new(0),
            revisions: Mutex::new(HashMap::new()),
        }
    }

    /// Something was committed up to here.
    pub(crate) fn committed(&self, seq: Seq) {
        self.newest.send_if_modified(|newest| {
            let newer = seq > *newest;
            if newer {
                *newest = seq;
            }
            newer
        });
    }

    /// The health of a server changed.
    pub(crate) fn health_changed(&self, server: ServerId) {
        self.health.send_modify(|revision| {
            *revision = revision.saturating_add(1);
            self.revisions.lock().insert(server, *revision);
        });
    }

    /// Servers whose health changed after this revision, and the revision of now.
    pub(crate) fn health_since(&self, revision: u64) -> (Vec<ServerId>, u64) {
        let now = *self.health.borrow();
        let revisions = self.revisions.lock();
        let mut changed: Vec<_> = revisions.iter().filter(|(_, at)| **at > revision).map(|(id, _)| *id).collect();
        changed.sort_unstable();
        (changed, now)
    }

    /// Wakes at every commit.
    pub(crate) fn commits(&self) -> watch::Receiver<Seq> {
        self.newest.subscribe()
    }

    /// Wakes at every change of health.
    pub(crate) fn healths(&self) -> watch::Receiver<u64> {
        self.health.subscribe()
    }
}
