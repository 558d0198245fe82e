//! The audit log: facts in one chain, numbered without gaps, and the segments of it that were removed.
//!
//! Rows are added inside the transaction they describe (`write/transaction.rs`) and never changed. The hash, and what a
//! stand-alone verifier needs, is described in `codec/audit.rs`; the chain is checked in `read/audit_check.rs`.

use std::ops::RangeInclusive;

use domain::audit::AuditEvent;
use domain::ids::HandleId;
use domain::ports::{AuditLink, AuditPage, RegistryError};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::audit::{hex, read, subject, subject_handle};
use crate::seal::Sealer;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

pub(crate) type AuditHash = [u8; 32];

/// What ties one row, or one segment of rows, to what is before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashLink {
    pub(crate) previous: AuditHash,
    pub(crate) hash: AuditHash,
}

/// Adds a row with its link.
pub(crate) fn insert(batch: &mut StatementBatch, number: u64, event: &AuditEvent, link: HashLink) {
    batch
        .add(
            "INSERT INTO audit (number, at, actor, verb, subject, handle, note, previous, hash, origin) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .with(whole(number))
        .with(event.at.as_millis())
        .with(event.actor.to_string())
        .with(event.verb.word())
        .with(subject(&event.subject))
        .with(subject_handle(&event.subject).map(|id| id.to_string()))
        .with(event.note.clone())
        .with(link.previous.to_vec())
        .with(link.hash.to_vec())
        .with(event.origin().map(ToString::to_string));
}

/// How far the chain is verified.
#[derive(Debug)]
pub(crate) struct VerifiedMark {
    pub(crate) number: u64,
    pub(crate) mark: AuditHash,
}

impl VerifiedMark {
    pub(crate) fn write(&self, batch: &mut StatementBatch) {
        batch
            .add("UPDATE store SET verified_number = ?, verified_mark = ? WHERE one = 1")
            .with(whole(self.number))
            .with(self.mark.to_vec());
    }
}

pub(crate) fn verified_mark(sealer: &Sealer, number: u64, hash: &AuditHash) -> AuditHash {
    sealer.mark(&[b"audit verified", &number.to_be_bytes(), hash])
}

/// Audit rows that are removed in one piece.
#[derive(Debug)]
pub(crate) struct AuditSegment {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) previous: AuditHash,
    pub(crate) hash: AuditHash,
    pub(crate) removed: i64,
    pub(crate) mark: AuditHash,
}

impl AuditSegment {
    pub(crate) fn sealed(sealer: &Sealer, rows: RangeInclusive<u64>, link: HashLink, removed: i64) -> Self {
        let (first, last) = rows.into_inner();
        let HashLink { previous, hash } = link;
        let mark = sealer.mark(&[
            b"audit segment",
            &first.to_be_bytes(),
            &last.to_be_bytes(),
            &previous,
            &hash,
            &removed.to_be_bytes(),
        ]);
        Self { first, last, previous, hash, removed, mark }
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// The note of its audit row.
    pub(crate) fn note(&self) -> String {
        format!("rows {} to {}, last hash {}, seal {}", self.first, self.last, hex(&self.hash), hex(&self.mark))
    }

    /// Leaves the tombstone and removes the rows.
    pub(crate) fn remove(&self, batch: &mut StatementBatch) {
        batch
            .add("INSERT INTO audit_segments (first, last, previous, hash, removed, mark) VALUES (?, ?, ?, ?, ?, ?)")
            .with(whole(self.first))
            .with(whole(self.last))
            .with(self.previous.to_vec())
            .with(self.hash.to_vec())
            .with(self.removed)
            .with(self.mark.to_vec());
        batch.add("DELETE FROM audit WHERE number BETWEEN ? AND ?").with(whole(self.first)).with(whole(self.last));
    }
}

fn link(base: &StoreContext, row: &SqliteRow) -> Result<AuditLink, RegistryError> {
    let failed = || base.failed("read the audit log");
    let number = unsigned(row.try_get(0).map_err(failed())?);
    let at = Timestamp::from_millis(row.try_get(1).map_err(failed())?);
    let event = read(
        at,
        [
            row.try_get(2).map_err(failed())?,
            row.try_get(3).map_err(failed())?,
            row.try_get(4).map_err(failed())?,
            row.try_get(5).map_err(failed())?,
        ],
        row.try_get(8).map_err(failed())?,
    )
    .map_err(|error| StoreContext::bad_row("read `audit`", &number.to_string(), &error))?;
    Ok(AuditLink {
        number,
        event,
        previous: hex(row.try_get(6).map_err(failed())?),
        hash: hex(row.try_get(7).map_err(failed())?),
    })
}

impl SqliteRegistry {
    /// The audit rows of one handle (or all), after a position.
    pub(crate) async fn read_audit(
        &self,
        handle: Option<HandleId>,
        after: u64,
        limit: u32,
    ) -> Result<AuditPage, RegistryError> {
        let failed = || self.base.failed("read the audit log");
        let limit = limit.clamp(1, self.base.limits.page_rows_max);
        let mut find = StatementBatch::default();
        match handle {
            Some(id) => find
                .add(
                    "SELECT number, at, actor, verb, subject, note, previous, hash, origin FROM audit \
                     WHERE handle = ? AND number > ? ORDER BY number LIMIT ?",
                )
                .with(id.to_string()),
            None => find.add(
                "SELECT number, at, actor, verb, subject, note, previous, hash, origin FROM audit \
                 WHERE number > ? ORDER BY number LIMIT ?",
            ),
        }
        .with(whole(after))
        .with(i64::from(limit) + 1);
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let mut rows = found.iter().map(|row| link(&self.base, row)).collect::<Result<Vec<_>, _>>()?;
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > kept;
        rows.truncate(kept);
        Ok(AuditPage { next_after: rows.last().filter(|_| more).map(|last| last.number), rows })
    }
}
