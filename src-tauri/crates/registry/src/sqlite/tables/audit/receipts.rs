//! Receipts of calls and their batches as they are stored, and the rows of the audit log about them.
//!
//! Arguments become a keyed mark here and are stored nowhere. Numbers are given while writing
//! (`write/receipt_batches.rs`), where no other batch can come between. Reading is in `read/receipt_pages.rs`, the check in `read/receipt_check.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::audit::receipt::MissedReceipts;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::digest::hex;
use domain::ids::{AgentId, ServerId};
use domain::ports::{Receipt, ReceiptBatch, ReceiptRow};
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use verify::chain::Hash;
use verify::receipt::{BatchClaim, ReceiptFields};

use crate::seal::Sealer;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit::packed::{PackedBytes, PackedText};
use crate::sqlite::{unsigned, whole};

/// Bytes of the mark of arguments: two of a billion marks are equal by chance with a probability of 10^-21.
const MARK_BYTES: usize = 16;
/// Bytes of a leaf that are stored with its receipt. They only help to name the receipt that was changed.
pub(crate) const LEAF_BYTES: usize = 8;
/// Receipts that are encoded before other work of the thread goes on. Judgement: some tens of microseconds.
const ENCODED_AT_ONCE: usize = 16;
/// The part that writes rows about receipts.
const SELF: Actor = Actor::System("receipts");

/// A receipt as it is written, without its number.
#[derive(Debug)]
pub(crate) struct EncodedReceipt {
    at: i64,
    agent: Arc<str>,
    /// Empty where no server has the tool.
    server: Arc<str>,
    tool: Arc<str>,
    /// `None` where the arguments have no mark.
    args_mark: Option<[u8; MARK_BYTES]>,
    verdict: &'static str,
    outcome: &'static str,
    took_ms: u64,
    bytes_in: u64,
    bytes_out: u64,
    /// Empty where the call has no task.
    handle: Arc<str>,
}

impl EncodedReceipt {
    fn of(sealer: &Sealer, receipt: &Receipt, ids: &mut KnownIds) -> Self {
        let mark = |digest: &str| sealer.mark(&[b"call arguments", digest.as_bytes()]);
        let args_mark = receipt.arguments.as_ref().map(|arguments| mark(arguments.get()));
        Self {
            at: receipt.at.as_millis(),
            agent: ids.agent(receipt.agent),
            server: receipt.server.map(|id| ids.server(id)).unwrap_or_default(),
            tool: Arc::clone(&receipt.tool),
            args_mark: args_mark.and_then(|mark| mark.first_chunk().copied()),
            verdict: receipt.verdict.word(),
            outcome: receipt.outcome.word(),
            took_ms: u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX),
            bytes_in: receipt.bytes_in,
            bytes_out: receipt.bytes_out,
            handle: receipt.handle.map(|id| Arc::from(id.to_string())).unwrap_or_default(),
        }
    }

    pub(crate) fn leaf(&self, number: u64) -> Hash {
        let Self { at, agent, server, tool, args_mark, verdict, outcome, took_ms, bytes_in, bytes_out, handle } = self;
        let (at, took_ms, bytes_in, bytes_out) = (*at, *took_ms, *bytes_in, *bytes_out);
        let args_mark = args_mark.as_ref().map(<[u8; MARK_BYTES]>::as_slice).unwrap_or_default();
        ReceiptFields {
            number,
            at,
            agent,
            server,
            tool,
            args_mark,
            verdict,
            outcome,
            took_ms,
            bytes_in,
            bytes_out,
            handle,
        }
        .leaf()
    }

    /// Adds the values of its row, in the order of [`RECEIPT_COLUMNS`].
    fn add_values(&self, batch: &mut StatementBatch, number: u64, leaf: &Hash) {
        let named = |text: &Arc<str>| Some(Arc::clone(text)).filter(|text| !text.is_empty());
        batch
            .with(whole(number))
            .with(self.at)
            .with(Arc::clone(&self.agent))
            .with(named(&self.server))
            .with(Arc::clone(&self.tool))
            .with(self.args_mark.as_ref().map(<[u8; MARK_BYTES]>::as_slice))
            .with(self.verdict)
            .with(self.outcome)
            .with(whole(self.took_ms))
            .with(whole(self.bytes_in))
            .with(whole(self.bytes_out))
            .with(named(&self.handle))
            .with(leaf.get(..LEAF_BYTES).unwrap_or_default());
    }
}

/// The texts of ids that were met in a batch: most calls are of few agents to few servers.
#[derive(Default)]
struct KnownIds {
    agents: BTreeMap<AgentId, Arc<str>>,
    servers: BTreeMap<ServerId, Arc<str>>,
}

impl KnownIds {
    fn agent(&mut self, id: AgentId) -> Arc<str> {
        Arc::clone(self.agents.entry(id).or_insert_with(|| id.to_string().into()))
    }

    fn server(&mut self, id: ServerId) -> Arc<str> {
        Arc::clone(self.servers.entry(id).or_insert_with(|| id.to_string().into()))
    }
}

/// Rows that one statement writes, the most first. Few sizes, so that their prepared statements are reused. Judgement: a
/// full batch of 256 takes four statements, and an agent alone seldom makes more than a few calls a second.
const ROWS_AT_ONCE: [usize; 3] = [64, 8, 1];

/// Writes these receipts, whose numbers begin at `first`, with their leaves.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    first: u64,
    receipts: &[EncodedReceipt],
    leaves: &[Hash],
) -> Result<(), sqlx::Error> {
    let mut rows = (first..).zip(receipts.iter().zip(leaves));
    let mut left = receipts.len();
    for size in ROWS_AT_ONCE {
        while left >= size {
            let mut batch = StatementBatch::default();
            batch.add(&insert_text(size));
            for (number, (receipt, leaf)) in rows.by_ref().take(size) {
                receipt.add_values(&mut batch, number, leaf);
            }
            batch.run(connection).await?;
            left -= size;
        }
    }
    Ok(())
}

fn insert_text(rows: usize) -> String {
    let row = format!("({})", vec!["?"; RECEIPT_COLUMNS.split(',').count()].join(", "));
    format!("INSERT INTO receipts ({RECEIPT_COLUMNS}) VALUES {}", vec![row; rows].join(", "))
}

/// A change of receipts, ready to write.
#[derive(Debug)]
pub(crate) enum ReceiptWrite {
    /// A run begins.
    Begin(Timestamp),
    Batch(Box<EncodedBatch>),
    /// The run has no receipt in memory any more.
    End,
}

impl ReceiptWrite {
    /// Which statements it is written with.
    pub(crate) const fn shape(&self) -> u8 {
        match self {
            Self::Begin(_) => 26,
            Self::Batch(_) => 27,
            Self::End => 28,
        }
    }
}

/// A batch that has no numbers yet.
#[derive(Debug)]
pub(crate) struct EncodedBatch {
    pub(crate) after: u64,
    pub(crate) receipts: Vec<EncodedReceipt>,
    pub(crate) at: Timestamp,
    pub(crate) complete_to: Timestamp,
    pub(crate) missed: Option<MissedReceipts>,
}

impl EncodedBatch {
    /// Marks the arguments, which may take as long as parsing them: calls that wait for this thread go between.
    pub(crate) async fn of(sealer: &Sealer, batch: &ReceiptBatch) -> Self {
        let ReceiptBatch { after, receipts, at, complete_to, missed } = batch;
        let mut ids = KnownIds::default();
        let mut encoded = Vec::with_capacity(receipts.len());
        for part in receipts.chunks(ENCODED_AT_ONCE) {
            encoded.extend(part.iter().map(|receipt| EncodedReceipt::of(sealer, receipt, &mut ids)));
            tokio::task::yield_now().await;
        }
        Self { after: *after, receipts: encoded, at: *at, complete_to: *complete_to, missed: *missed }
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.receipts.len()).unwrap_or(u64::MAX)
    }
}

pub(crate) fn fact(at: Timestamp, verb: Verb, note: String) -> AuditEvent {
    AuditEvent { at, actor: SELF, verb, subject: Subject::Store, note }
}

/// The number of the newest batch and of the last receipt; 0 without any.
pub(crate) async fn newest(connection: &mut SqliteConnection) -> Result<(u64, u64), sqlx::Error> {
    let found = sqlx::query("SELECT number, last FROM receipt_batches ORDER BY number DESC LIMIT 1")
        .fetch_optional(connection)
        .await?;
    let Some(row) = found else { return Ok((0, 0)) };
    Ok((unsigned(row.try_get(0)?), unsigned(row.try_get(1)?)))
}

/// Batches whose receipts are removed together, each with its mark.
#[derive(Debug, Default)]
pub(crate) struct RemovedBatches {
    pub(crate) last: u64,
    /// As the JSON array that the statement reads.
    marks: Vec<Value>,
    removed: i64,
}

impl RemovedBatches {
    pub(crate) fn at(removed: Timestamp) -> Self {
        Self { removed: removed.as_millis(), ..Self::default() }
    }

    /// Adds the batch that follows.
    pub(crate) fn add(&mut self, sealer: &Sealer, number: u64, claim: &BatchClaim) {
        self.last = claim.last;
        self.marks.push(json!([number, hex(&removal_mark(sealer, number, claim, self.removed))]));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Removes the receipts; the batches stay.
    pub(crate) fn remove(&self, batch: &mut StatementBatch) {
        batch.add("DELETE FROM receipts WHERE number <= ?").with(whole(self.last));
        batch
            .add(
                "UPDATE receipt_batches SET removed = ?, mark = unhex(found.mark) \
                 FROM (SELECT value ->> 0 AS number, value ->> 1 AS mark FROM json_each(?)) AS found \
                 WHERE receipt_batches.number = found.number",
            )
            .with(self.removed)
            .with(Value::Array(self.marks.clone()).to_string());
    }
}

/// What shows that the receipts of a batch were removed by this registry.
pub(crate) fn removal_mark(sealer: &Sealer, number: u64, claim: &BatchClaim, removed: i64) -> [u8; 32] {
    let BatchClaim { first, last, root } = claim;
    sealer.mark(&[
        b"receipts removed",
        &number.to_be_bytes(),
        &first.to_be_bytes(),
        &last.to_be_bytes(),
        root,
        &removed.to_be_bytes(),
    ])
}

/// The columns of a receipt, as they are written and read.
pub(crate) const RECEIPT_COLUMNS: &str =
    "number, at, agent, server, tool, args_mark, verdict, outcome, took_ms, bytes_in, bytes_out, handle, leaf";

/// Receipts of a range of numbers in one column, as in `packed.rs`.
pub(crate) const PACK_RECEIPTS: &str = "SELECT json_group_array(json_array(number, at, agent, server, tool, \
     iif(args_mark IS NULL, NULL, hex(args_mark)), verdict, outcome, took_ms, bytes_in, bytes_out, handle, hex(leaf))) \
     FROM (SELECT * FROM receipts WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?)";

/// A receipt of [`PACK_RECEIPTS`], with every column of the type that it must have.
#[derive(Debug, Deserialize)]
struct PackedReceipt<'r> {
    number: u64,
    at: i64,
    #[serde(borrow)]
    agent: PackedText<'r>,
    #[serde(borrow)]
    server: Option<PackedText<'r>>,
    #[serde(borrow)]
    tool: PackedText<'r>,
    args_mark: Option<PackedBytes>,
    #[serde(borrow)]
    verdict: PackedText<'r>,
    #[serde(borrow)]
    outcome: PackedText<'r>,
    took_ms: u64,
    bytes_in: u64,
    bytes_out: u64,
    #[serde(borrow)]
    handle: Option<PackedText<'r>>,
    leaf: PackedBytes,
}

impl PackedReceipt<'_> {
    fn read(self) -> (ReceiptRow, Hash) {
        let owned = |PackedText(text): PackedText<'_>| text.into_owned();
        let PackedBytes(stored) = self.leaf;
        let mut read = ReceiptRow {
            number: self.number,
            at: Timestamp::from_millis(self.at),
            agent: owned(self.agent),
            server: self.server.map(owned).unwrap_or_default(),
            tool: owned(self.tool),
            args_mark: self.args_mark.map(|PackedBytes(mark)| mark),
            verdict: owned(self.verdict),
            outcome: owned(self.outcome),
            took_ms: self.took_ms,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            handle: self.handle.map(owned).unwrap_or_default(),
            fits: false,
        };
        let leaf = fields(&read).leaf();
        read.fits = leaf.get(..LEAF_BYTES) == Some(stored.as_slice());
        (read, leaf)
    }
}

/// Reads the column of [`PACK_RECEIPTS`], the first receipt first; `None` where one has a value of another type.
pub(crate) fn read_packed_receipts(text: &str) -> Option<Vec<(ReceiptRow, Hash)>> {
    let mut packed: Vec<PackedReceipt<'_>> = serde_json::from_str(text).ok()?;
    // SQLite goes through the range in its order, but promises none.
    packed.sort_by_key(|receipt| receipt.number);
    Some(packed.into_iter().map(PackedReceipt::read).collect())
}

/// A receipt as it is stored, with its leaf. One whose columns do not read is shown as far as they do, and does not fit.
pub(crate) fn read_receipt(row: &SqliteRow) -> Result<(ReceiptRow, Hash), sqlx::Error> {
    let text = |column: usize| row.try_get::<Option<String>, _>(column).ok().flatten().unwrap_or_default();
    let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).unwrap_or_default();
    let stored: Option<&[u8]> = row.try_get(12).ok();
    let mut read = ReceiptRow {
        number: unsigned(row.try_get(0)?),
        at: Timestamp::from_millis(row.try_get(1).unwrap_or_default()),
        agent: text(2),
        server: text(3),
        tool: text(4),
        args_mark: row.try_get::<Option<Vec<u8>>, _>(5).ok().flatten(),
        verdict: text(6),
        outcome: text(7),
        took_ms: count(8),
        bytes_in: count(9),
        bytes_out: count(10),
        handle: text(11),
        fits: false,
    };
    let leaf = fields(&read).leaf();
    read.fits = stored.is_some_and(|stored| leaf.get(..LEAF_BYTES) == Some(stored));
    Ok((read, leaf))
}

fn fields(row: &ReceiptRow) -> ReceiptFields<'_> {
    ReceiptFields {
        number: row.number,
        at: row.at.as_millis(),
        agent: &row.agent,
        server: &row.server,
        tool: &row.tool,
        args_mark: row.args_mark.as_deref().unwrap_or_default(),
        verdict: &row.verdict,
        outcome: &row.outcome,
        took_ms: row.took_ms,
        bytes_in: row.bytes_in,
        bytes_out: row.bytes_out,
        handle: &row.handle,
    }
}
