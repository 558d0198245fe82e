//! Call intents without a file: what is begun and not ended is found by the next run.
//!
//! Everything counts as flushed at once. Clones share their state, so a test can restart everything around it. The real one is
//! `registry::SqliteCallIntents`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{CallIntent, CallIntents, PortFuture, RegistryError};
use parking_lot::Mutex;

/// Call intents in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryCallIntents {
    open: Arc<Mutex<BTreeMap<HandleId, CallIntent>>>,
    /// What was there when this run began.
    earlier: Arc<Mutex<Vec<CallIntent>>>,
}

impl MemoryCallIntents {
    /// What a new process would find: everything open is of an earlier run.
    #[must_use]
    pub fn reopened(&self) -> Self {
        let mut left: Vec<CallIntent> = self.earlier.lock().clone();
        left.extend(self.open.lock().values().cloned());
        Self { open: Arc::default(), earlier: Arc::new(Mutex::new(left)) }
    }

    /// What is begun and not ended in this run.
    #[must_use]
    pub fn open(&self) -> Vec<CallIntent> {
        self.open.lock().values().cloned().collect()
    }
}

impl CallIntents for MemoryCallIntents {
    fn begin(&self, intent: CallIntent) {
        self.open.lock().insert(intent.id, intent);
    }

    fn end(&self, id: HandleId) {
        self.open.lock().remove(&id);
    }

    fn left_over(&self) -> PortFuture<'_, Result<Vec<CallIntent>, RegistryError>> {
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
