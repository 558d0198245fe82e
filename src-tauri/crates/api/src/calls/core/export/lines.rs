//! The lines of an export, with the hashes that prove them.
//!
//! Their shape is that of the crate `verify`, which reads them; nothing here decides what is exported.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::ports::{AuditRow, Checkpoint, LeafSpan, LogHash, ReceiptRow, StoredBatch};
use serde::Serialize;
use verify::chain::{ChainRow, START};
use verify::export::{
    EarlierTree, ExportLine, FORMAT, GapKind, Manifest, ReceiptLine, ReceiptsLine, RowLine, Trailer, texts_of,
};
use verify::filter::{RowFilter, RowMatch};
use verify::receipt::{CALLED, batch_path};
use verify::tree::{LeafRange, consistency_ranges, inclusion_ranges};
use verify::{hex, note::SignedNote};

use super::ExportGaps;
use crate::api::Api;
use crate::error::{ApiError, Code};

fn line(line: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(line).map(|text| text + "\n").map_err(|error| ApiError::unwritable(&error))
}

/// Whether a row passes a filter: by its hashed fields, and by the words of its note.
pub(super) fn matches(filter: &RowFilter, row: &AuditRow) -> bool {
    let fields = ChainRow {
        number: row.number,
        layout: row.layout,
        at: row.at.as_millis(),
        actor: &row.actor,
        verb: &row.verb,
        subject: &row.subject,
        server: &row.server,
        agent: &row.agent,
        text: None,
        commitment: row.commitment,
    };
    let has_words = |words: &String| {
        let note = row.note.as_deref().unwrap_or_default().to_ascii_lowercase();
        note.contains(&words.to_ascii_lowercase())
    };
    filter.matches(&fields) == RowMatch::Yes && filter.text.as_ref().is_none_or(has_words)
}

/// A row, or a stub of one that does not match; with its place in the tree where no other row shows it.
pub(super) fn row<'r>(row: &'r AuditRow, is_row: bool, path: Option<Vec<LogHash>>) -> Result<String, ApiError> {
    // Rows of layout 1 have no commitment, so their hash needs their text; and receipts need that of the row before them.
    let has_text = is_row || row.layout == 1 || row.verb == CALLED;
    let text = |text: &'r Option<String>| text.as_deref().filter(|_| has_text).map(Cow::Borrowed);
    let is_whole = row.note.is_some() && has_text;
    let line_of = RowLine {
        number: row.number,
        layout: row.layout,
        at: row.at.as_millis(),
        actor: Cow::Borrowed(&row.actor),
        verb: Cow::Borrowed(&row.verb),
        subject: Cow::Borrowed(&row.subject),
        server: Cow::Borrowed(&row.server),
        agent: Cow::Borrowed(&row.agent),
        note: text(&row.note),
        origin: text(&row.origin),
        detail: text(&row.detail),
        salt: row.salt.as_ref().filter(|_| is_whole).map(|salt| Cow::Owned(hex::encode(salt))),
        commitment: row.commitment.map(|commitment| Cow::Owned(hex::encode(&commitment))),
        hash: Cow::Owned(hex::encode(&row.hash)),
        previous: path.is_some().then(|| Cow::Owned(hex::encode(&row.previous))),
        path: path.map(|path| texts_of(&path)),
    };
    let boxed = Box::new(line_of);
    line(&if is_row { ExportLine::Row(boxed) } else { ExportLine::Stub(boxed) })
}

fn receipt(row: &ReceiptRow) -> ReceiptLine<'_> {
    ReceiptLine {
        at: row.at.as_millis(),
        agent: Cow::Borrowed(&row.agent),
        server: Cow::Borrowed(&row.server),
        tool: Cow::Borrowed(&row.tool),
        args_mark: Cow::Owned(row.args_mark.as_deref().map(hex::encode).unwrap_or_default()),
        verdict: Cow::Borrowed(&row.verdict),
        outcome: Cow::Borrowed(&row.outcome),
        took_ms: row.took_ms,
        bytes_in: row.bytes_in,
        bytes_out: row.bytes_out,
        handle: Cow::Borrowed(&row.handle),
        ..ReceiptLine::default()
    }
}

/// Receipts of one batch as a line, and how many there are.
pub(super) struct ReceiptsText {
    pub(super) text: String,
    pub(super) count: u64,
}

/// The receipts of a batch, which stand behind the row that vouches for them: all of them, or with a filter those that it
/// wants, each with its place in the batch. `None` where there is none.
fn receipts(batch: &StoredBatch, filter: Option<&RowFilter>) -> Result<Option<ReceiptsText>, ApiError> {
    let mut calls: Vec<ReceiptLine<'_>> = batch.receipts.iter().map(receipt).collect();
    let is_wanted = |call: &ReceiptLine<'_>| filter.is_none_or(|filter| filter.matches_receipt(&call.fields(0, &[])));
    if !calls.iter().all(is_wanted) {
        // What does not read has no leaf; then the verifier names the receipt.
        let leaves: Vec<LogHash> = (batch.first..).zip(&calls).filter_map(|(number, call)| call.leaf(number)).collect();
        for (place, (number, call)) in (batch.first..).zip(&mut calls).enumerate() {
            if is_wanted(call) {
                (call.number, call.path) = (Some(number), Some(texts_of(&batch_path(&leaves, place))));
            }
        }
        calls.retain(|call| call.path.is_some());
    }
    if calls.is_empty() {
        return Ok(None);
    }
    let count = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let text = line(&ExportLine::Receipts(Box::new(ReceiptsLine { row: batch.audit_number, calls })))?;
    Ok(Some(ReceiptsText { text, count }))
}

/// Batches of receipts that were read before the rows that vouch for them are written.
#[derive(Default)]
pub(super) struct BatchesAhead {
    /// By the number of the row.
    batches: BTreeMap<u64, StoredBatch>,
    /// The last row whose batch was read.
    upto: u64,
}

pub(super) fn trailer(counts: Trailer) -> Result<String, ApiError> {
    line(&ExportLine::Trailer(counts))
}

fn incomplete() -> ApiError {
    ApiError::new(
        Code::Failed,
        "the tree over the audit log is not complete, so nothing can be proven",
        "`taskwarden audit verify` says which row is missing.",
    )
}

impl Api {
    /// The roots over these leaves; `None` where one is not known.
    async fn roots(&self, ranges: Vec<LeafRange>) -> Result<Option<Vec<LogHash>>, ApiError> {
        let spans = ranges.into_iter().map(|LeafRange { begin, end }| LeafSpan { begin, end }).collect();
        Ok(self.registry.tree_roots(spans).await?.into_iter().collect())
    }

    /// The roots of the largest complete subtrees over these leaves.
    async fn cover(&self, range: LeafRange) -> Result<Vec<String>, ApiError> {
        let span = |subtree: verify::tree::Subtree| {
            let begin = subtree.index << subtree.level;
            LeafRange { begin, end: begin + (1 << subtree.level) }
        };
        let roots = self.roots(range.cover().into_iter().map(span).collect()).await?;
        Ok(texts_of(&roots.ok_or_else(incomplete)?))
    }

    /// The receipts that a row of a page vouches for, as far as they are kept; with a filter, those that it wants.
    pub(super) async fn receipts_of(
        &self,
        row: &AuditRow,
        page: &[AuditRow],
        ahead: &mut BatchesAhead,
        filter: Option<&RowFilter>,
    ) -> Result<Option<ReceiptsText>, ApiError> {
        if row.verb != CALLED {
            return Ok(None);
        }
        if row.number > ahead.upto {
            let called = page.iter().filter(|other| other.number >= row.number && other.verb == CALLED);
            let numbers: Vec<u64> =
                called.map(|called| called.number).take(self.policy.audit.export_batches_at_once).collect();
            ahead.upto = numbers.last().copied().unwrap_or(row.number);
            let batches = self.registry.receipt_batches(numbers).await?;
            ahead.batches = batches.into_iter().map(|batch| (batch.audit_number, batch)).collect();
        }
        ahead.batches.remove(&row.number).map_or(Ok(None), |batch| receipts(&batch, filter))
    }

    /// The inclusion proof of each row.
    pub(super) async fn paths(&self, rows: &[AuditRow], size: u64) -> Result<Vec<Vec<LogHash>>, ApiError> {
        let ranges: Vec<Vec<LeafRange>> =
            rows.iter().map(|row| inclusion_ranges(row.number.saturating_sub(1), size)).collect();
        let lengths: Vec<usize> = ranges.iter().map(Vec::len).collect();
        let roots = self.roots(ranges.into_iter().flatten().collect()).await?;
        let mut roots = roots.ok_or_else(incomplete)?.into_iter();
        Ok(lengths.into_iter().map(|length| roots.by_ref().take(length).collect()).collect())
    }

    /// Proofs that earlier trees are the beginning of this one: those of the newest checkpoints.
    async fn earlier(&self, size: u64, is_shown: impl Fn(u64) -> bool) -> Result<Vec<EarlierTree>, ApiError> {
        let known = self.registry.checkpoints(self.policy.audit.export_earlier_max).await?;
        let mut sizes: Vec<u64> = known.into_iter().map(|one| one.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut proofs = Vec::new();
        for earlier in sizes.into_iter().filter(|earlier| *earlier < size && !is_shown(*earlier)) {
            if let Some(proof) = self.roots(consistency_ranges(earlier, size)).await? {
                proofs.push(EarlierTree { size: earlier, proof: texts_of(&proof) });
            }
        }
        Ok(proofs)
    }

    /// The first line of a file about these leaves.
    pub(super) async fn manifest(
        &self,
        filter: RowFilter,
        gaps: ExportGaps,
        checkpoint: &Checkpoint,
        rows: LeafRange,
    ) -> Result<String, ApiError> {
        let (first, last) = (rows.begin.saturating_add(1), rows.end);
        let before = LeafRange { begin: 0, end: rows.begin };
        let after = LeafRange { begin: rows.end, end: checkpoint.size };
        let has_stubs = gaps == ExportGaps::Stubs;
        let (before, after) = match gaps.kind() {
            GapKind::Stubs => (self.cover(before).await?, self.cover(after).await?),
            GapKind::Hashes => (Vec::new(), Vec::new()),
        };
        let previous = if first == 1 { START } else { self.one_row(first).await?.previous };
        let origin =
            SignedNote::parse(&checkpoint.note).ok().and_then(|note| note.text().lines().next().map(str::to_owned));
        let manifest = Manifest {
            format: FORMAT.into(),
            origin: origin.ok_or_else(incomplete)?,
            keys: self.registry.log_keys().await?.into_iter().map(|key| key.public).collect(),
            checkpoint: checkpoint.note.clone(),
            filter,
            gaps: gaps.kind(),
            first,
            last,
            previous: hex::encode(&previous),
            before,
            after,
            earlier: self.earlier(checkpoint.size, |size| has_stubs && (first..=last).contains(&size)).await?,
        };
        line(&ExportLine::Manifest(Box::new(manifest)))
    }
}
