//! Which sessions of 2025-11-25 are notified about which tasks.
//!
//! Only the book; the notifications are `session_notifier.rs`.

use std::collections::{HashMap, HashSet};

use domain::ids::HandleId;
use parking_lot::Mutex;

use crate::server::Session;

#[derive(Default)]
pub(crate) struct NotifiedTasks(Mutex<HashMap<String, HashSet<HandleId>>>);

impl NotifiedTasks {
    /// Returns whether the task is new to the session. A session with too many tasks polls for the rest.
    pub(crate) fn add(&self, session: &Session, id: HandleId, most: usize) -> bool {
        let mut sessions = self.0.lock();
        let tasks = sessions.entry(session.id().to_owned()).or_default();
        tasks.len() < most && tasks.insert(id)
    }

    pub(crate) fn remove(&self, session: &Session, id: HandleId) {
        if let Some(tasks) = self.0.lock().get_mut(session.id()) {
            tasks.remove(&id);
        }
    }

    /// The session has ended, and its notifications with its scope.
    pub(crate) fn remove_session(&self, session: &Session) {
        self.0.lock().remove(session.id());
    }

    /// Whether a task that the session is notified about is still open.
    pub(crate) fn has_open(&self, session: &Session) -> bool {
        self.0.lock().get(session.id()).is_some_and(|tasks| !tasks.is_empty())
    }
}
