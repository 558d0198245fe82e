//! Receipts of calls in memory, hashed from the documentation alone.
//!
//! Marks of arguments have no key here.

use domain::audit::receipt::unclean_end_note;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::policy::RetentionPolicy;
use domain::ports::{
    BrokenReceipt, LogHash, PortFuture, Receipt, ReceiptBatch, ReceiptCheck, ReceiptFilter, ReceiptQuery, ReceiptRow,
    ReceiptRows, ReceiptStore, RegistryError, StoredBatch,
};
use domain::time::Timestamp;
use sha2::{Digest, Sha256};

use super::{add, unhex};
use crate::memory_registry::MemoryRegistry;
use crate::memory_registry::checkpoints::tree_hash;
use crate::memory_registry::store::MemoryStore;

/// Receipts and the batches that they were stored in.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryReceipts {
    begun: Option<Timestamp>,
    pub(crate) rows: Vec<ReceiptRow>,
    /// Each with the moment up to which it is complete, and whether its receipts were removed.
    batches: Vec<(StoredBatch, Timestamp, bool)>,
}

fn leaf(row: &ReceiptRow) -> LogHash {
    let mut digest = Sha256::new();
    for text in ["taskwarden receipt 1", &row.number.to_string(), &row.at.as_millis().to_string()] {
        add(&mut digest, text.as_bytes());
    }
    for text in [&row.agent, &row.server, &row.tool] {
        add(&mut digest, text.as_bytes());
    }
    add(&mut digest, row.args_mark.as_deref().unwrap_or_default());
    for text in [&row.verdict, &row.outcome] {
        add(&mut digest, text.as_bytes());
    }
    for number in [row.took_ms, row.bytes_in, row.bytes_out] {
        add(&mut digest, number.to_string().as_bytes());
    }
    add(&mut digest, row.handle.as_bytes());
    let hash = digest.finalize();
    Sha256::new().chain_update([0]).chain_update(hash).finalize().into()
}

fn row(number: u64, receipt: &Receipt) -> ReceiptRow {
    let text = |id: Option<String>| id.unwrap_or_default();
    let mark = |digest: &str| unhex(digest).into_iter().take(16).collect();
    ReceiptRow {
        number,
        at: receipt.at,
        agent: receipt.agent.to_string(),
        server: text(receipt.server.map(|id| id.to_string())),
        tool: receipt.tool.as_ref().to_owned(),
        args_mark: receipt.arguments.as_ref().map(|arguments| mark(arguments.get())),
        verdict: receipt.verdict.word().to_owned(),
        outcome: receipt.outcome.word().to_owned(),
        took_ms: u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX),
        bytes_in: receipt.bytes_in,
        bytes_out: receipt.bytes_out,
        handle: text(receipt.handle.map(|id| id.to_string())),
        fits: true,
    }
}

fn passes(filter: &ReceiptFilter, row: &ReceiptRow) -> bool {
    let ReceiptFilter { first, last, since, until, agent, server, tool, verdicts, outcomes, task } = filter;
    let is = |wanted: Option<String>, text: &str| wanted.is_none_or(|wanted| wanted == text);
    first.is_none_or(|first| row.number >= first)
        && last.is_none_or(|last| row.number <= last)
        && since.is_none_or(|since| row.at >= since)
        && until.is_none_or(|until| row.at < until)
        && is(agent.map(|id| id.to_string()), &row.agent)
        && is(server.map(|id| id.to_string()), &row.server)
        && is(task.map(|id| id.to_string()), &row.handle)
        && is(tool.clone(), &row.tool)
        && (verdicts.is_empty() || verdicts.contains(&row.verdict))
        && (outcomes.is_empty() || outcomes.contains(&row.outcome))
}

fn fact(at: Timestamp, verb: Verb, note: String) -> AuditEvent {
    AuditEvent { at, actor: Actor::System("receipts"), verb, subject: Subject::Store, note }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

impl MemoryStore {
    fn last_receipt(&self) -> u64 {
        self.receipts.batches.last().map_or(0, |(batch, ..)| batch.last)
    }

    fn begin_receipts(&mut self, now: Timestamp) -> u64 {
        if let Some(begun) = self.receipts.begun.replace(now) {
            let from = self.receipts.batches.last().map_or(begun, |(_, complete_to, _)| begun.max(*complete_to));
            self.facts(vec![fact(now, Verb::ReceiptsMissing, unclean_end_note(from, now))]);
        }
        self.last_receipt()
    }

    fn put_receipts(&mut self, batch: &ReceiptBatch) -> u64 {
        let last = self.last_receipt();
        if last == batch.after + count(batch.receipts.len()) || batch.receipts.is_empty() {
            return last;
        }
        let rows: Vec<ReceiptRow> =
            (last + 1..).zip(batch.receipts.iter()).map(|(number, receipt)| row(number, receipt)).collect();
        let leaves: Vec<LogHash> = rows.iter().map(leaf).collect();
        let (first, last, root) = (last + 1, last + count(rows.len()), tree_hash(&leaves));
        if let Some(missed) = batch.missed {
            self.facts(vec![fact(batch.at, Verb::ReceiptsMissing, missed.note())]);
        }
        let hex: String = root.iter().map(|byte| format!("{byte:02x}")).collect();
        let note = format!("receipts {first} to {last}, {} in all, root {hex}", rows.len());
        self.facts(vec![fact(batch.at, Verb::Called, note)]);
        let audit_number = self.audit.last().map_or(0, |row| row.number);
        let stored = StoredBatch { audit_number, first, last, root, receipts: Vec::new() };
        self.receipts.batches.push((stored, batch.complete_to, false));
        self.receipts.rows.extend(rows);
        last
    }

    /// The last receipt of the batches that are over a limit, with how many receipts they have.
    pub(crate) fn old_receipts(&self, limits: &RetentionPolicy, than: Timestamp) -> Option<(u64, u64)> {
        let newest = self.receipts.batches.last()?.0.last;
        let last_row = self.receipts.rows.last().map_or(0, |row| row.number);
        let is_old = |batch: &StoredBatch, complete_to: Timestamp| {
            batch.last < newest && (complete_to < than || batch.last + limits.receipts <= last_row)
        };
        let kept = self.receipts.batches.iter().filter(|(.., removed)| !removed);
        let old = kept.take_while(|(batch, complete_to, _)| is_old(batch, *complete_to));
        let ends: Vec<(u64, u64)> = old.map(|(batch, ..)| (batch.first, batch.last)).collect();
        let ((first, _), (_, last)) = (ends.first()?, ends.last()?);
        Some((*last, last + 1 - first))
    }

    pub(crate) fn remove_receipts(&mut self, upto: u64) {
        self.receipts.rows.retain(|row| row.number > upto);
        for (batch, _, removed) in &mut self.receipts.batches {
            *removed |= batch.last <= upto;
        }
    }

    fn page_of_receipts(&self, query: &ReceiptQuery, most: u32) -> ReceiptRows {
        let limit = usize::try_from(query.limit.clamp(1, most)).unwrap_or(usize::MAX);
        let rows = &self.receipts.rows;
        let is_before = |row: &&ReceiptRow| query.before.is_none_or(|before| row.number < before);
        let asked = rows.iter().rev().filter(is_before).filter(|row| passes(&query.filter, row));
        let found: Vec<ReceiptRow> = asked.take(limit).cloned().collect();
        let first = rows.first().map_or(0, |row| row.number);
        let low = query.filter.first.unwrap_or(1).max(first);
        let next = found.last().map(|row| row.number).filter(|next| found.len() == limit && *next > low);
        ReceiptRows { rows: found, next, first, last: rows.last().map_or(0, |row| row.number) }
    }

    fn with_receipts(&self, batch: &StoredBatch) -> StoredBatch {
        let its = |row: &&ReceiptRow| (batch.first..=batch.last).contains(&row.number);
        StoredBatch { receipts: self.receipts.rows.iter().filter(its).cloned().collect(), ..batch.clone() }
    }

    fn check_receipts(&self) -> ReceiptCheck {
        let mut check = ReceiptCheck::default();
        for (batch, _, removed) in &self.receipts.batches {
            let leaves: Vec<LogHash> = self.with_receipts(batch).receipts.iter().map(leaf).collect();
            check.batches += 1;
            if *removed {
                check.removed += batch.last + 1 - batch.first;
            } else if tree_hash(&leaves) == batch.root {
                check.receipts += count(leaves.len());
            } else {
                check.broken = Some(BrokenReceipt { number: batch.first, why: "the root is another".into() });
                return check;
            }
        }
        check
    }
}

impl ReceiptStore for MemoryRegistry {
    fn begin_receipts(&self, now: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>> {
        let done = self.with(|state, _| state.begin_receipts(now));
        Box::pin(async move { done })
    }

    fn put_receipts(&self, batch: ReceiptBatch) -> PortFuture<'_, Result<u64, RegistryError>> {
        let done = self.with(|state, _| state.put_receipts(&batch));
        Box::pin(async move { done })
    }

    fn end_receipts(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| state.receipts.begun = None);
        Box::pin(async move { done })
    }

    fn receipts(&self, query: ReceiptQuery) -> PortFuture<'_, Result<ReceiptRows, RegistryError>> {
        let found = self.with(|state, policy| state.page_of_receipts(&query, policy.page_rows_max));
        Box::pin(async move { found })
    }

    fn receipt_batches(&self, audit_numbers: Vec<u64>) -> PortFuture<'_, Result<Vec<StoredBatch>, RegistryError>> {
        let found = self.with(|state, _| {
            let asked = state.receipts.batches.iter().filter(|(batch, ..)| audit_numbers.contains(&batch.audit_number));
            asked.map(|(batch, ..)| state.with_receipts(batch)).collect()
        });
        Box::pin(async move { found })
    }

    fn recheck_receipts(
        &self,
        _after: Option<u64>,
        _batches: u32,
    ) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        let found = self.with(|state, _| state.check_receipts());
        Box::pin(async move { found })
    }

    fn check_receipts(&self, _after: u64, _batches: u32) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        let found = self.with(|state, _| state.check_receipts());
        Box::pin(async move { found })
    }
}
