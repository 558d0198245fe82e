//! Agents' calls that may be on their way, in a file of their own (ruling 21, decision 0012).
//!
//! The file survives the death of the process, not of the machine: nothing here waits for the disk. The writer looks at
//! intervals of `gateway.intent_settle`; an intent that ends before it is written is never written, so a quick call costs
//! two look-ups in a map and wakes nobody (decision 0027). The next opening reads what a crash
//! left. The durable record of tasks is [`crate::SqliteRegistry`]; what an interrupted call means is not decided here.

mod file;
mod queue;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{CallIntent, CallIntents, PortFuture, RegistryError};
use futures_core::future::BoxFuture;
use parking_lot::Mutex;

use self::file::IntentFile;
use crate::call_intents::queue::{IntentBatch, IntentQueue};
use crate::seal::{SealKey, Sealer};

/// What opening needs.
#[derive(Debug)]
pub struct CallIntentsOptions<'a> {
    /// The file; its folder is there already.
    pub path: &'a Path,
    /// The key of the registry beside it.
    pub key: SealKey,
    /// The numbers that bind.
    pub policy: &'a Policy,
}

/// Call intents in one SQLite file. Dropping it ends its work when what was begun and ended is written.
#[derive(Debug)]
pub struct SqliteCallIntents {
    queue: Arc<IntentQueue>,
    earlier: Arc<Mutex<Vec<CallIntent>>>,
}

impl SqliteCallIntents {
    /// Opens or makes the file, for the one core that may write to it, and reads what earlier runs left over. A file
    /// that is damaged is moved aside. `spawn` gets the writer's work; it ends when this is dropped.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub async fn open(
        opening: CallIntentsOptions<'_>,
        spawn: impl FnOnce(BoxFuture<'static, ()>),
    ) -> Result<Self, RegistryError> {
        let CallIntentsOptions { path, key, policy } = opening;
        let numbers = &policy.gateway;
        let (file, earlier) = IntentFile::open(path, Sealer::new(&key), policy).await?;
        let queue = Arc::new(IntentQueue::new(numbers.intents_queue, numbers.intent_room_wait));
        spawn(Box::pin(work(Arc::clone(&queue), file, numbers.intent_settle, numbers.intent_retry)));
        Ok(Self { queue, earlier: Arc::new(Mutex::new(earlier)) })
    }
}

impl CallIntents for SqliteCallIntents {
    fn begin(&self, intent: CallIntent) {
        self.queue.begin(intent);
    }

    fn end(&self, id: HandleId) {
        self.queue.end(id);
    }

    fn left_over(&self) -> PortFuture<'_, Result<Vec<CallIntent>, RegistryError>> {
        let left = self.earlier.lock().clone();
        Box::pin(std::future::ready(Ok(left)))
    }

    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            self.queue.forget(&ids);
            let written = self.queue.flushed().await;
            self.earlier.lock().retain(|intent| !ids.contains(&intent.id));
            if written { Ok(()) } else { Err(RegistryError::Closed) }
        })
    }

    fn flushed(&self) -> PortFuture<'_, ()> {
        Box::pin(async move {
            self.queue.flushed().await;
        })
    }
}

impl Drop for SqliteCallIntents {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Writes what waits, until the queue is closed and empty. What could not be written is tried again.
async fn work(queue: Arc<IntentQueue>, mut file: IntentFile, settle: Duration, retry: Duration) {
    while queue.wait(settle).await {
        let batch: IntentBatch = queue.take(settle);
        match file.write(&batch).await {
            Ok(()) => queue.written(&batch),
            Err(error) => {
                tracing::error!(%error, "calls of agents are not written ahead; a crash now would forget them");
                if queue.put_back(batch) {
                    break;
                }
                tokio::time::sleep(retry).await;
            }
        }
    }
    queue.stopped();
    file.close().await;
}
