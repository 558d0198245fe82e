//! Watches one handle: its newest committed state, and a wake when there is a newer one.
//!
//! A level, not a stream: a slow watcher sees the newest state and misses only what it replaced. Nothing is kept for a
//! handle that nobody watches. `ledger.rs` shows every state.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::TaskHandle;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::engine::Engine;
use crate::error::EngineError;

type Level = watch::Sender<Option<Arc<TaskHandle>>>;

/// Every watched handle.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<HashMap<HandleId, Level>>);

impl Watchers {
    /// Begins to watch; the first state is shown by [`Watchers::show`].
    pub(crate) fn watch(self: &Arc<Self>, id: HandleId) -> PendingWatch {
        let mut watched = self.0.lock();
        let level = watched.entry(id).or_insert_with(|| Level::new(None));
        PendingWatch { level: Some(level.subscribe()), id, watchers: Arc::clone(self) }
    }

    /// Shows a state to the watchers, unless it is older than what they saw.
    pub(crate) fn show(&self, handle: &Arc<TaskHandle>) {
        let watched = self.0.lock();
        let Some(level) = watched.get(&handle.id) else { return };
        level.send_if_modified(|shown| {
            let newer = shown.as_ref().is_none_or(|shown| shown.version < handle.version);
            if newer {
                *shown = Some(Arc::clone(handle));
            }
            newer
        });
    }
}

/// A watch whose first state is not known yet.
pub(crate) struct PendingWatch {
    level: Option<watch::Receiver<Option<Arc<TaskHandle>>>>,
    id: HandleId,
    watchers: Arc<Watchers>,
}

impl PendingWatch {
    /// Starts with this state, or with a newer one that was shown since.
    pub(crate) fn from(mut self, loaded: Arc<TaskHandle>) -> HandleWatch {
        self.watchers.show(&loaded);
        let newest = self.level.as_mut().and_then(|level| level.borrow_and_update().clone());
        HandleWatch { newest: newest.unwrap_or(loaded), watching: self }
    }
}

impl Drop for PendingWatch {
    fn drop(&mut self) {
        self.level = None;
        let mut watched = self.watchers.0.lock();
        if watched.get(&self.id).is_some_and(|level| level.receiver_count() == 0) {
            watched.remove(&self.id);
        }
    }
}

/// One handle, watched.
pub struct HandleWatch {
    newest: Arc<TaskHandle>,
    watching: PendingWatch,
}

impl HandleWatch {
    /// The newest committed state.
    #[must_use]
    pub fn now(&self) -> Arc<TaskHandle> {
        let shown = self.watching.level.as_ref().and_then(|level| level.borrow().clone());
        shown.unwrap_or_else(|| Arc::clone(&self.newest))
    }

    /// Waits for a state that [`HandleWatch::changed`] or the beginning did not bring yet, and returns it. For ever
    /// pending when nothing changes any more. Cancel-safe: a state that is not returned is returned by the next call.
    pub async fn changed(&mut self) -> Arc<TaskHandle> {
        if let Some(level) = &mut self.watching.level
            && level.changed().await.is_ok()
            && let Some(shown) = level.borrow_and_update().clone()
        {
            self.newest = Arc::clone(&shown);
            return shown;
        }
        std::future::pending().await
    }
}

impl Engine {
    /// Watches a task, open or over; `None` when there is no such task. Whose it is, is the caller's to check.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn watch(&self, id: HandleId) -> Result<Option<HandleWatch>, EngineError> {
        let watching = self.core.ledger.watchers.watch(id);
        Ok(self.core.ledger.load(id).await?.map(|handle| watching.from(handle)))
    }
}
