//! The part of the registry that stores receipts of calls, in batches that rows of the audit log vouch for.
//!
//! Words stay texts where receipts are read, because a newer version may have written words that this one does not know.
//! The hash of a receipt and the root of a batch are described in `docs/audit.md`.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::receipt::{MissedReceipts, ReceiptOutcome, ReceiptVerdict};
use crate::ids::{AgentId, HandleId, ServerId};
use crate::ports::{ArgumentsDigest, LogHash, PortFuture, RegistryError};
use crate::time::Timestamp;

/// The receipt of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// When it was made: when the agent got its first answer, or was refused.
    pub at: Timestamp,
    pub agent: AgentId,
    /// `None` when no server has the tool.
    pub server: Option<ServerId>,
    /// The server's name for the tool, or the one that the agent used where no server has it; cut to `receipt_tool_bytes`.
    pub tool: Arc<str>,
    /// What its mark is made of; `None` when too many arguments waited, or the call had none that read.
    pub arguments: Option<ArgumentsDigest>,
    pub verdict: ReceiptVerdict,
    pub outcome: ReceiptOutcome,
    /// From the call to the first answer.
    pub took: Duration,
    /// Size of the arguments.
    pub bytes_in: u64,
    /// Size of the first answer; zero where it was no answer of a server.
    pub bytes_out: u64,
    /// The task that the call has or joined.
    pub handle: Option<HandleId>,
}

/// Receipts to store in one transaction, with the row of the audit log that has their root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptBatch {
    /// The number of the last receipt before them.
    pub after: u64,
    /// One or more, in the order of their time. Clones share them.
    pub receipts: Arc<[Receipt]>,
    pub at: Timestamp,
    /// Every receipt that was made before this moment is in this batch or in one before it.
    pub complete_to: Timestamp,
    /// Calls that left none since the batch before; a row says so.
    pub missed: Option<MissedReceipts>,
}

/// Which receipts are wanted; what is absent lets every one pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiptFilter {
    /// The first number.
    pub first: Option<u64>,
    /// The last number.
    pub last: Option<u64>,
    /// Receipts of this moment pass.
    pub since: Option<Timestamp>,
    /// Receipts of this moment do not pass.
    pub until: Option<Timestamp>,
    pub agent: Option<AgentId>,
    pub server: Option<ServerId>,
    /// The whole name of a tool.
    pub tool: Option<String>,
    /// One of these words; every verdict when empty.
    pub verdicts: Vec<String>,
    /// One of these words; every outcome when empty.
    pub outcomes: Vec<String>,
    pub task: Option<HandleId>,
}

/// A page of receipts to read, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptQuery {
    pub filter: ReceiptFilter,
    /// The receipt before which the page begins; `None` at the newest.
    pub before: Option<u64>,
    pub limit: u32,
}

/// A receipt as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptRow {
    /// From 1 without gaps.
    pub number: u64,
    pub at: Timestamp,
    pub agent: String,
    /// Empty where no server has the tool.
    pub server: String,
    pub tool: String,
    /// Equal arguments, equal marks; without the key of the registry it says nothing about them.
    pub args_mark: Option<Vec<u8>>,
    pub verdict: String,
    pub outcome: String,
    pub took_ms: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Empty where the call has no task.
    pub handle: String,
    /// Whether its fields give the beginning of its hash that is stored with it.
    pub fits: bool,
}

/// A page of receipts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiptRows {
    pub rows: Vec<ReceiptRow>,
    /// Where the next page begins; `None` when every receipt was looked at. A page may be short, even empty, and not the
    /// last: one read looks at a limited number of receipts.
    pub next: Option<u64>,
    /// The first receipt that is still there; 0 without any.
    pub first: u64,
    /// The last receipt that was stored; 0 without any.
    pub last: u64,
}

/// A batch with its receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// The row of the audit log that vouches for it.
    pub audit_number: u64,
    /// The first receipt.
    pub first: u64,
    /// The last receipt.
    pub last: u64,
    pub root: LogHash,
    /// Empty once retention removed them.
    pub receipts: Vec<ReceiptRow>,
}

/// A batch or a receipt that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenReceipt {
    /// The first receipt that is wrong, or the first of its batch where only the batch is known.
    pub number: u64,
    /// What is wrong with it, without its content.
    pub why: String,
}

/// How receipts compare with the rows that vouch for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiptCheck {
    /// Batches checked in this read.
    pub batches: u64,
    /// Receipts checked in this read.
    pub receipts: u64,
    /// Receipts of these batches that retention removed.
    pub removed: u64,
    /// The first that does not hold.
    pub broken: Option<BrokenReceipt>,
    /// The batch behind which the check goes on; `None` at the end.
    pub next: Option<u64>,
}

/// Stores receipts, and reads them back.
pub trait ReceiptStore: Send + Sync {
    /// Begins a run that leaves receipts: from here to [`ReceiptStore::end_receipts`] the registry knows that receipts may
    /// be in memory. When the run before did not end, its first row says which time that concerns. Returns the number of
    /// the last receipt.
    fn begin_receipts(&self, now: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>>;
    /// Stores a batch with its row. Not a change of the change log. A batch that was stored before is not stored again.
    /// Returns the number of the last receipt.
    fn put_receipts(&self, batch: ReceiptBatch) -> PortFuture<'_, Result<u64, RegistryError>>;
    /// Ends a run: no receipt is in memory any more.
    fn end_receipts(&self) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Receipts by a filter.
    fn receipts(&self, query: ReceiptQuery) -> PortFuture<'_, Result<ReceiptRows, RegistryError>>;
    /// The batches that these rows of the audit log vouch for, in their order; other rows are skipped.
    fn receipt_batches(&self, audit_numbers: Vec<u64>) -> PortFuture<'_, Result<Vec<StoredBatch>, RegistryError>>;
    /// Checks at most `batches` batches after batch `after`: their receipts, their roots, and the rows that vouch for
    /// them. Whether these rows are genuine is the chain's check.
    fn check_receipts(&self, after: u64, batches: u32) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>>;
    /// The same behind batch `after`, or where the read before stopped; behind the last batch the next read begins at the
    /// first. With a writer, the place is remembered; one that does not fit its mark counts for nothing.
    fn recheck_receipts(&self, after: Option<u64>, batches: u32)
    -> PortFuture<'_, Result<ReceiptCheck, RegistryError>>;
}
