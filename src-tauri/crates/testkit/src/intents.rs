//! Intents without a file, for tests: what is begun and not ended is left over for the next run.
//!
//! Everything is there at once, as if it had been flushed. Clones share what is kept, so a test can restart everything
//! else around it. The real ones are `registry::SqliteIntents`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{Intent, Intents, PortFuture, RegistryError};
use parking_lot::Mutex;

/// Intents in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryIntents {
    open: Arc<Mutex<BTreeMap<HandleId, Intent>>>,
    /// What was there when this run began.
    earlier: Arc<Mutex<Vec<Intent>>>,
}

impl MemoryIntents {
    /// What a new process would find: everything open is of an earlier run.
    #[must_use]
    pub fn reopened(&self) -> Self {
        let mut left: Vec<Intent> = self.earlier.lock().clone();
        left.extend(self.open.lock().values().cloned());
        Self { open: Arc::default(), earlier: Arc::new(Mutex::new(left)) }
    }

    /// What is begun and not ended in this run.
    #[must_use]
    pub fn open(&self) -> Vec<Intent> {
        self.open.lock().values().cloned().collect()
    }
}

impl Intents for MemoryIntents {
    fn begin(&self, intent: Intent) {
        self.open.lock().insert(intent.id, intent);
    }

    fn end(&self, id: HandleId) {
        self.open.lock().remove(&id);
    }

    fn left_over(&self) -> PortFuture<'_, Result<Vec<Intent>, RegistryError>> {
        let left = self.earlier.lock().clone();
        Box::pin(std::future::ready(Ok(left)))
    }

    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>> {
        self.earlier.lock().retain(|intent| !ids.contains(&intent.id));
        Box::pin(std::future::ready(Ok(())))
    }

    fn flushed(&self) -> PortFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
