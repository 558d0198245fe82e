//! Replies that reached their agents and whose rows do not say so yet.
//!
//! Nobody waits for a receipt, so it is stored with the next change of the task, or in a batch. Replies that did not
//! arrive are in `calls/dedup.rs`.

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::task::TaskHandle;
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;

use crate::core::EngineCore;
use crate::error::LedgerError;

/// Receipts that are stored at a time, so that their commits share fsyncs.
const STORED_AT_ONCE: usize = 64;

/// Replies that were delivered, and whose rows do not say so yet.
#[derive(Default)]
pub(crate) struct DeliveryReceipts(Mutex<HashSet<HandleId>>);

impl DeliveryReceipts {
    /// This reply reached its agent.
    pub(crate) fn add(&self, id: HandleId) {
        self.0.lock().insert(id);
    }

    /// Takes the receipt of this reply, if there is one.
    pub(crate) fn take(&self, id: HandleId) -> bool {
        self.0.lock().remove(&id)
    }

    fn take_all(&self) -> HashSet<HandleId> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Stores receipts, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    loop {
        core.time.next_interval(core.policy.gateway.notes_flush).await;
        flush(&core).await;
    }
}

/// Stores the receipts that are left.
pub(crate) async fn flush(core: &EngineCore) {
    let stored = stream::iter(core.ledger.receipts.take_all()).map(|id| async move {
        match core.ledger.apply(id, TaskHandle::delivered).await {
            Ok(_) | Err(LedgerError::Unknown | LedgerError::Registry(RegistryError::Closed)) => {}
            Err(error) => {
                tracing::warn!(handle.id = %id, %error, "that an agent has its reply could not be stored, trying again");
                core.ledger.receipts.add(id);
            }
        }
    });
    stored.buffer_unordered(STORED_AT_ONCE).collect::<()>().await;
}
