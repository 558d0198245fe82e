//! The audit log: facts in one chain, numbered without gaps, and the segments of it that were removed.
//!
//! Rows are added inside the transaction they describe (`write/transaction.rs`) and never changed. The hash, and what a
//! stand-alone verifier needs, is described in `docs/audit.md`; the chain is checked in `read/audit_check.rs`.

pub(crate) mod checkpoints;
pub(crate) mod packed;
pub(crate) mod receipts;
pub(crate) mod sinks;

use std::ops::RangeInclusive;

use domain::audit::AuditEvent;
use domain::digest::hex;
use domain::ids::HandleId;
use domain::ports::{AuditLink, AuditPage, ErasableDetail, RegistryError, SaltedFields};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use verify::chain::{ChainRow, RowText};

use self::packed::{PACK_ROWS, PackedBytes, PackedRow, PackedRows, PackedText};
use crate::codec::audit::{EncodedAuditRow, EventColumns, handle_in, read};
use crate::seal::Sealer;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, unsigned, whole};

pub(crate) type AuditHash = [u8; 32];

/// What ties one row, or one segment of rows, to what is before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashLink {
    pub(crate) previous: AuditHash,
    pub(crate) hash: AuditHash,
}

/// Rows after a number, with the columns that [`StoredAuditRow`] reads.
pub(crate) const ROWS_AFTER: &str = "SELECT number, at, actor, verb, subject, note, previous, hash, origin, layout, server, \
     agent, detail, salt, commitment, handle FROM audit WHERE number > ? ORDER BY number LIMIT ?";
/// The same for one task.
const ROWS_OF_TASK: &str = "SELECT number, at, actor, verb, subject, note, previous, hash, origin, layout, server, \
     agent, detail, salt, commitment, handle FROM audit WHERE handle = ? AND number > ? ORDER BY number LIMIT ?";

/// Adds a row of layout 2 behind the row with the hash `previous`.
pub(crate) fn insert(batch: &mut StatementBatch, previous: AuditHash, event: &AuditEvent, row: EncodedAuditRow) {
    let named = |id: String| Some(id).filter(|id| !id.is_empty());
    batch
        .add(
            "INSERT INTO audit (number, at, actor, verb, subject, handle, note, previous, hash, layout, server, agent, \
             detail, salt, commitment) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 2, ?, ?, ?, ?, ?)",
        )
        .with(whole(row.number))
        .with(event.at.as_millis())
        .with(row.actor)
        .with(event.verb.word())
        .with(row.subject)
        .with(row.handle)
        .with(event.note.clone())
        .with(previous.to_vec())
        .with(row.hash.to_vec())
        .with(named(row.server))
        .with(named(row.agent))
        .with(row.detail)
        .with(row.salt.to_vec())
        .with(row.commitment.to_vec());
}

/// A row of the table, borrowed from what was read.
#[derive(Debug)]
pub(crate) struct StoredAuditRow<'r> {
    pub(crate) number: u64,
    pub(crate) previous: &'r [u8],
    pub(crate) hash: &'r [u8],
    layout: i64,
    event: EventColumns<'r>,
    server: Option<&'r str>,
    agent: Option<&'r str>,
    salt: Option<&'r [u8]>,
    commitment: Option<&'r [u8]>,
    handle: Option<&'r str>,
}

impl<'r> StoredAuditRow<'r> {
    /// Reads the columns of [`ROWS_AFTER`].
    pub(crate) fn of(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: unsigned(row.try_get(0)?),
            previous: row.try_get(6)?,
            hash: row.try_get(7)?,
            layout: row.try_get(9)?,
            event: EventColumns {
                at: row.try_get(1)?,
                actor: row.try_get(2)?,
                verb: row.try_get(3)?,
                subject: row.try_get(4)?,
                note: row.try_get(5)?,
                origin: row.try_get(8)?,
                detail: row.try_get(12)?,
            },
            server: row.try_get(10)?,
            agent: row.try_get(11)?,
            salt: row.try_get(13)?,
            commitment: row.try_get(14)?,
            handle: row.try_get(15)?,
        })
    }

    /// The same from a packed row.
    pub(crate) fn of_packed(row: &'r PackedRow<'_>) -> Self {
        let text = |packed: &'r Option<PackedText<'_>>| packed.as_ref().map(|PackedText(text)| &**text);
        let bytes = |packed: &'r Option<PackedBytes>| packed.as_ref().map(|PackedBytes(bytes)| bytes.as_slice());
        Self {
            number: row.number,
            previous: &row.previous.0,
            hash: &row.hash.0,
            layout: row.layout,
            event: EventColumns {
                at: row.at,
                actor: &row.actor.0,
                verb: &row.verb.0,
                subject: &row.subject.0,
                note: &row.note.0,
                origin: text(&row.origin),
                detail: text(&row.detail),
            },
            server: text(&row.server),
            agent: text(&row.agent),
            salt: bytes(&row.salt),
            commitment: bytes(&row.commitment),
            handle: text(&row.handle),
        }
    }

    /// The fields as they are hashed; `None` when columns are filled that do not belong together.
    pub(crate) fn chain_row(&self) -> Option<ChainRow<'r>> {
        let EventColumns { at, actor, verb, subject, note, origin, detail } = self.event;
        let text = match (self.layout, detail, self.salt) {
            (1, None, None) if self.server.is_none() && self.agent.is_none() => Some(RowText::Plain { note, origin }),
            (2, Some(detail), Some(salt)) if origin.is_none() => Some(RowText::Salted { note, detail, salt }),
            (2, None, None) if origin.is_none() && note.is_empty() => None,
            _ => return None,
        };
        let is_found_by_task = self.handle == handle_in(subject);
        is_found_by_task.then_some(())?;
        Some(ChainRow {
            number: self.number,
            layout: u8::try_from(self.layout).ok()?,
            at,
            actor,
            verb,
            subject,
            server: self.server.unwrap_or_default(),
            agent: self.agent.unwrap_or_default(),
            text,
            commitment: match self.commitment {
                Some(bytes) => Some(bytes.try_into().ok()?),
                None => None,
            },
        })
    }

    /// Whether its text was erased, so that only its commitment is left.
    pub(crate) fn is_erased(&self) -> bool {
        self.layout == 2 && self.salt.is_none()
    }

    fn link(&self) -> AuditLink {
        let salted = self.commitment.map(|commitment| SaltedFields {
            server: self.server.unwrap_or_default().into(),
            agent: self.agent.unwrap_or_default().into(),
            erasable: self
                .event
                .detail
                .zip(self.salt)
                .map(|(detail, salt)| ErasableDetail { detail: detail.into(), salt: hex(salt) }),
            commitment: hex(commitment),
        });
        AuditLink {
            number: self.number,
            event: read(self.event),
            salted,
            previous: hex(self.previous),
            hash: hex(self.hash),
        }
    }
}

/// Rows from after this one up to that one, packed; `None` where they have to be read one by one.
pub(crate) async fn packed_after(connection: &mut SqliteConnection, after: u64, upto: u64) -> Option<PackedRows> {
    let mut find = StatementBatch::default();
    find.add(&format!("{PACK_ROWS}number > ? AND number <= ?")).with(whole(after)).with(whole(upto));
    PackedRows::read(connection, find).await
}

/// What is verified up to a place.
#[derive(Debug, Clone, Copy)]
enum VerifiedKind {
    Rows,
    /// Rows that were verified before.
    RowsAgain,
    /// Batches of receipts.
    Batches,
}

/// How far the chain is verified, or how far it or its receipts were verified again in this round.
#[derive(Debug)]
pub(crate) struct VerifiedMark {
    pub(crate) number: u64,
    pub(crate) mark: AuditHash,
    kind: VerifiedKind,
}

impl VerifiedMark {
    pub(crate) fn of(sealer: &Sealer, number: u64, hash: &AuditHash) -> Self {
        Self { number, mark: verified_mark(sealer, number, hash), kind: VerifiedKind::Rows }
    }

    pub(crate) fn again(sealer: &Sealer, number: u64, hash: &AuditHash) -> Self {
        Self { number, mark: reverified_mark(sealer, number, hash), kind: VerifiedKind::RowsAgain }
    }

    pub(crate) fn of_batch(sealer: &Sealer, number: u64, root: &AuditHash) -> Self {
        Self { number, mark: batch_mark(sealer, number, root), kind: VerifiedKind::Batches }
    }

    /// Which statement it is written with.
    pub(crate) const fn shape(&self) -> usize {
        match self.kind {
            VerifiedKind::Rows => 0,
            VerifiedKind::RowsAgain => 1,
            VerifiedKind::Batches => 2,
        }
    }

    pub(crate) fn write(&self, batch: &mut StatementBatch) {
        let statement = match self.kind {
            VerifiedKind::Rows => "UPDATE store SET verified_number = ?, verified_mark = ? WHERE one = 1",
            VerifiedKind::RowsAgain => "UPDATE store SET reverified_number = ?, reverified_mark = ? WHERE one = 1",
            VerifiedKind::Batches => "UPDATE store SET reverified_batch = ?, reverified_batch_mark = ? WHERE one = 1",
        };
        batch.add(statement).with(whole(self.number)).with(self.mark.to_vec());
    }
}

pub(crate) fn verified_mark(sealer: &Sealer, number: u64, hash: &AuditHash) -> AuditHash {
    sealer.mark(&[b"audit verified", &number.to_be_bytes(), hash])
}

pub(crate) fn reverified_mark(sealer: &Sealer, number: u64, hash: &AuditHash) -> AuditHash {
    sealer.mark(&[b"audit verified again", &number.to_be_bytes(), hash])
}

pub(crate) fn batch_mark(sealer: &Sealer, number: u64, root: &AuditHash) -> AuditHash {
    sealer.mark(&[b"receipts verified again", &number.to_be_bytes(), root])
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
        // Nothing vouches for these any more; the newest one stays, for the numbers of what comes.
        batch
            .add(
                "DELETE FROM receipt_batches WHERE audit_number BETWEEN ? AND ? AND removed IS NOT NULL \
                 AND number < (SELECT max(number) FROM receipt_batches)",
            )
            .with(whole(self.first))
            .with(whole(self.last));
    }
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
            Some(id) => find.add(ROWS_OF_TASK).with(id.to_string()),
            None => find.add(ROWS_AFTER),
        }
        .with(whole(after))
        .with(i64::from(limit) + 1);
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let link = |row| StoredAuditRow::of(row).map(|row| row.link());
        let mut rows = found.iter().map(link).collect::<Result<Vec<_>, _>>().map_err(failed())?;
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > kept;
        rows.truncate(kept);
        Ok(AuditPage { next_after: rows.last().filter(|_| more).map(|last| last.number), rows })
    }
}
