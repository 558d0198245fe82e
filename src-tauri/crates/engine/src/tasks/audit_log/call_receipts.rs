//! Stores receipts of calls in batches: after a second, or as soon as a batch is full, and at the shutdown.
//!
//! Nothing waits for it, and an idle core stores none. While the registry cannot write, receipts wait in memory, and what is
//! beyond their limit is counted. How a receipt is made is in `calls/receipts.rs`, what a batch proves in `docs/audit.md`.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use domain::audit::receipt::MissedReceipts;
use domain::ports::{Receipt, ReceiptBatch, RegistryError};
use domain::time::Timestamp;
use tokio::time::{Instant, sleep};

use crate::core::EngineCore;
use crate::runtime::gauges::Gauge;

/// What the store of receipts knows between two batches.
#[derive(Default)]
pub(crate) struct ReceiptState(tokio::sync::Mutex<UnstoredReceipts>);

/// Receipts that were taken from their agents and are not stored yet.
#[derive(Default)]
struct UnstoredReceipts {
    /// The number of the last receipt that is stored; `None` until the run has begun.
    last: Option<u64>,
    /// The batch that is being stored, until it is: after an error the same one is tried again.
    storing: Option<ReceiptBatch>,
    /// Those after it, in the order of their time.
    taken: VecDeque<Receipt>,
    missed: Option<MissedReceipts>,
    /// When they were taken: every receipt from before is among them or stored.
    taken_at: Option<Timestamp>,
}

/// Registers the receipts that wait with [`crate::runtime::gauges::Gauges`].
pub(crate) fn gauge(core: &Weak<EngineCore>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let waiting = core.calls.loops.log.receipts.waiting();
    rows.push(Gauge::count("waiting receipts", "agents", wide(waiting), wide(core.policy.audit.receipts_waiting)));
}

/// Begins the run: its first row says whether the run before may have lost receipts. A registry that cannot write now is
/// asked again with the first batch.
pub(crate) async fn begin(core: &EngineCore) -> Result<(), RegistryError> {
    let mut unstored = core.receipts.0.lock().await;
    match core.registry.begin_receipts(core.time.now()).await {
        Ok(last) => unstored.last = Some(last),
        Err(error @ RegistryError::Closed) => return Err(error),
        Err(error) => tracing::warn!(%error, "that receipts of calls are kept in memory could not be recorded"),
    }
    Ok(())
}

/// Stores receipts, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    let (policy, queue) = (&core.policy.audit, &core.calls.loops.log.receipts);
    let mut failures = 0;
    loop {
        queue.holds(1).await;
        tokio::select! {
            () = core.time.next_interval(policy.receipt_every) => {}
            () = queue.holds(policy.receipts_at_once) => {}
        }
        match store(&core).await {
            Ok(()) => failures = 0,
            Err(RegistryError::Closed) => return std::future::pending().await,
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::warn!(%error, "receipts of calls cannot be stored, trying again");
                }
                core.pause(failures).await;
            }
        }
    }
}

/// Stores everything that waits, in the order of its time.
async fn store(core: &EngineCore) -> Result<(), RegistryError> {
    let mut unstored = core.receipts.0.lock().await;
    let unstored = &mut *unstored;
    let mut last = match unstored.last {
        Some(last) => last,
        None => core.registry.begin_receipts(core.time.now()).await?,
    };
    unstored.last = Some(last);
    if unstored.storing.is_none() && unstored.taken.is_empty() {
        // Before they are taken: what comes later is later.
        unstored.taken_at = Some(core.time.now());
        let taken = core.calls.loops.log.take_receipts();
        unstored.taken = taken.receipts.into();
        unstored.missed = match (unstored.missed, taken.missed) {
            (Some(known), Some(missed)) => Some(known.and(missed)),
            (known, missed) => known.or(missed),
        };
    }
    loop {
        if unstored.storing.is_none() {
            unstored.storing = unstored.next_batch(last, core);
        }
        let Some(batch) = unstored.storing.clone() else { return Ok(()) };
        let receipts = Arc::clone(&batch.receipts);
        last = core.registry.put_receipts(batch).await?;
        (unstored.last, unstored.storing) = (Some(last), None);
        core.calls.loops.log.receipts.stored(&receipts);
    }
}

impl UnstoredReceipts {
    /// Takes the next ones off; `None` when there are none.
    fn next_batch(&mut self, after: u64, core: &EngineCore) -> Option<ReceiptBatch> {
        if self.taken.is_empty() {
            return None;
        }
        let most = self.taken.len().min(core.policy.audit.receipts_at_once);
        let receipts: Arc<[Receipt]> = self.taken.drain(..most).collect();
        // Those of the same moment may be in the next batch.
        let now = core.time.now();
        let complete_to = self.taken.front().map(|next| next.at).or(self.taken_at).unwrap_or(now);
        Some(ReceiptBatch { after, receipts, at: now, complete_to, missed: self.missed.take() })
    }
}

/// Stores what is left, and ends the run. Where calls do not end in time, the run stays open, and the next one says so.
pub(crate) async fn finish(core: &EngineCore) {
    let queue = &core.calls.loops.log.receipts;
    let deadline = Instant::now() + core.policy.audit.receipts_drain;
    loop {
        if let Err(error) = store(core).await {
            tracing::warn!(%error, "the last receipts of calls could not be stored");
            return;
        }
        if queue.is_empty() {
            break;
        }
        if Instant::now() >= deadline {
            tracing::warn!("calls were being answered at the shutdown; their receipts may be missing");
            return;
        }
        sleep(core.policy.feed_frame).await;
    }
    if core.receipts.0.lock().await.last.is_some()
        && let Err(error) = core.registry.end_receipts().await
    {
        tracing::warn!(%error, "that all receipts of calls are stored could not be recorded");
    }
}
