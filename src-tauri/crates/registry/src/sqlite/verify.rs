//! The audit chain checked row by row, in stretches and off the writer, and segments of it that were removed.
//!
//! A row fits when its number follows, its `previous` is the hash of the row before, and its own hash is what
//! `rows/audit.rs` describes. Removed rows are a segment with a keyed mark; the chain goes on behind the last one.
//! How far it was verified is kept with a keyed mark too. Whoever holds the file and its key can forge all of this
//! (ruling 29), and whoever holds the file can put back an older copy of the whole of it.

use domain::ports::{AuditCheck, BrokenLink, RegistryError};
use domain::time::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use super::script::Script;
use super::unit::Unit;
use super::{Sqlite, unsigned, whole};
use crate::rows::audit::{hash_fields, hex};
use crate::seal::Sealer;

type Hash = [u8; 32];

/// What is hashed before the first row.
const START: Hash = [0; 32];

/// How far the chain is verified.
#[derive(Debug)]
pub(crate) struct VerifiedMark {
    number: u64,
    mark: Hash,
}

impl VerifiedMark {
    pub(crate) fn write(&self, script: &mut Script) {
        script
            .add("UPDATE store SET verified_number = ?, verified_mark = ? WHERE one = 1")
            .with(whole(self.number))
            .with(self.mark.to_vec());
    }
}

fn verified_mark(sealer: &Sealer, number: u64, hash: &Hash) -> Hash {
    sealer.mark(&[b"audit verified", &number.to_be_bytes(), hash])
}

/// Audit rows that are removed in one piece.
#[derive(Debug)]
pub(crate) struct Segment {
    first: u64,
    last: u64,
    previous: Hash,
    hash: Hash,
    removed: i64,
    mark: Hash,
}

impl Segment {
    fn sealed((first, last): (u64, u64), (previous, hash): (Hash, Hash), removed: i64, sealer: &Sealer) -> Self {
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
    pub(crate) fn remove(&self, script: &mut Script) {
        script
            .add("INSERT INTO audit_segments (first, last, previous, hash, removed, mark) VALUES (?, ?, ?, ?, ?, ?)")
            .with(whole(self.first))
            .with(whole(self.last))
            .with(self.previous.to_vec())
            .with(self.hash.to_vec())
            .with(self.removed)
            .with(self.mark.to_vec());
        script.add("DELETE FROM audit WHERE number BETWEEN ? AND ?").with(whole(self.first)).with(whole(self.last));
    }
}

fn hash_in(row: &SqliteRow, column: usize) -> Result<Option<Hash>, sqlx::Error> {
    row.try_get::<&[u8], _>(column).map(|bytes| bytes.try_into().ok())
}

/// The chain as far as it is followed.
struct Chain {
    upto: u64,
    hash: Hash,
}

impl Chain {
    /// Follows one row of `SELECT number, at, actor, verb, subject, note, previous, hash, origin`.
    fn follow(&mut self, row: &SqliteRow) -> Result<Result<(), BrokenLink>, sqlx::Error> {
        let number = unsigned(row.try_get(0)?);
        let broken = |number, why: &str| Ok(Err(BrokenLink { number, why: why.into() }));
        if number != self.upto + 1 {
            return broken(self.upto + 1, "the row is missing");
        }
        if hash_in(row, 6)? != Some(self.hash) {
            return broken(number, "it does not follow the row before");
        }
        let at = row.try_get::<i64, _>(1)?.to_string();
        let counted = number.to_string();
        let fields: [&str; 6] = [&counted, &at, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, row.try_get(5)?];
        let hash = hash_fields(&self.hash, fields, row.try_get(8)?);
        if hash_in(row, 7)? != Some(hash) {
            return broken(number, "its content is not what its hash says");
        }
        (self.upto, self.hash) = (number, hash);
        Ok(Ok(()))
    }
}

/// Reads rows of the chain after this one.
async fn rows_after(connection: &mut SqliteConnection, after: u64, rows: u32) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(
        "SELECT number, at, actor, verb, subject, note, previous, hash, origin FROM audit WHERE number > ? ORDER BY number LIMIT ?",
    )
    .bind(whole(after))
    .bind(rows)
    .fetch_all(connection)
    .await
}

impl Sqlite {
    /// The row up to which the chain was verified, if the mark fits.
    pub(crate) async fn read_verified(&self) -> Result<Option<u64>, RegistryError> {
        let trouble = || self.base.fault("read how far the audit log is verified");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT s.verified_number, s.verified_mark, a.hash FROM store s JOIN audit a ON a.number = s.verified_number \
             WHERE s.one = 1 AND s.verified_mark IS NOT NULL",
        )
        .fetch_optional(&mut *reader)
        .await
        .map_err(trouble())?;
        let Some(row) = row else { return Ok(None) };
        let number = unsigned(row.try_get(0).map_err(trouble())?);
        let mark = hash_in(&row, 1).map_err(trouble())?;
        let hash = hash_in(&row, 2).map_err(trouble())?;
        let fits = hash.is_some_and(|hash| mark == Some(verified_mark(&self.base.sealer, number, &hash)));
        Ok(fits.then_some(number))
    }

    /// Verifies a stretch of the chain.
    pub(crate) async fn verify_stretch(&self, after: Option<u64>, rows: u32) -> Result<AuditCheck, RegistryError> {
        let trouble = || self.base.fault("verify the audit log");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(trouble())?;
        let store = sqlx::query(
            "SELECT audit_number, audit_hash, (SELECT coalesce(min(number), 0) FROM audit) FROM store WHERE one = 1",
        )
        .fetch_one(&mut *snapshot)
        .await
        .map_err(trouble())?;
        let last = unsigned(store.try_get(0).map_err(trouble())?);
        let last_hash = hash_in(&store, 1).map_err(trouble())?;
        let first = unsigned(store.try_get(2).map_err(trouble())?);
        let mut check = AuditCheck { rows: 0, upto: after.unwrap_or(0), last, first, broken: None };
        let mut chain = match self.chain_from(&mut snapshot, after).await? {
            Ok(chain) => chain,
            Err(broken) => return Ok(AuditCheck { broken: Some(broken), ..check }),
        };
        for row in rows_after(&mut snapshot, chain.upto, rows).await.map_err(trouble())? {
            match chain.follow(&row).map_err(trouble())? {
                Ok(()) => check.rows += 1,
                Err(broken) => {
                    check.broken = Some(broken);
                    break;
                }
            }
        }
        check.upto = chain.upto;
        if check.broken.is_none() && check.rows < u64::from(rows) {
            // Everything that is there was followed; it must be everything that was written.
            if chain.upto != last {
                check.broken = Some(BrokenLink { number: chain.upto + 1, why: "the row is missing".into() });
            } else if last_hash != Some(chain.hash) {
                check.broken = Some(BrokenLink { number: last, why: "it is not the last row that was written".into() });
            }
        }
        snapshot.rollback().await.map_err(trouble())?;
        drop(reader);
        if let (Some(writer), None, true) = (&self.writer, &check.broken, check.rows > 0) {
            let mark = verified_mark(&self.base.sealer, chain.upto, &chain.hash);
            let unit = Unit::Verified(VerifiedMark { number: chain.upto, mark });
            if let Err(error) = writer.write(unit).await {
                tracing::debug!(%error, "how far the audit log is verified was not stored");
            }
        }
        Ok(check)
    }

    /// Where the chain goes on: at the row that was verified last, or behind the removed segments.
    async fn chain_from(
        &self,
        connection: &mut SqliteConnection,
        after: Option<u64>,
    ) -> Result<Result<Chain, BrokenLink>, RegistryError> {
        let trouble = || self.base.fault("verify the audit log");
        if let Some(number) = after {
            let row = sqlx::query("SELECT hash FROM audit WHERE number = ?")
                .bind(whole(number))
                .fetch_optional(&mut *connection)
                .await
                .map_err(trouble())?;
            if let Some(row) = row {
                return Ok(match hash_in(&row, 0).map_err(trouble())? {
                    Some(hash) => Ok(Chain { upto: number, hash }),
                    None => Err(BrokenLink { number, why: "its hash is no hash".into() }),
                });
            }
        }
        let found = sqlx::query("SELECT first, last, previous, hash, removed, mark FROM audit_segments ORDER BY first")
            .fetch_all(connection)
            .await
            .map_err(trouble())?;
        let mut chain = Chain { upto: 0, hash: START };
        for row in &found {
            let first = unsigned(row.try_get(0).map_err(trouble())?);
            let last = unsigned(row.try_get(1).map_err(trouble())?);
            let previous = hash_in(row, 2).map_err(trouble())?;
            let hash = hash_in(row, 3).map_err(trouble())?;
            let removed: i64 = row.try_get(4).map_err(trouble())?;
            let mark = hash_in(row, 5).map_err(trouble())?;
            let broken = |why: &str| Ok(Err(BrokenLink { number: first, why: why.into() }));
            let (Some(previous), Some(hash)) = (previous, hash) else {
                return broken("the tombstone of the removed rows from here does not read");
            };
            if first != chain.upto + 1 || previous != chain.hash || last < first {
                return broken("the tombstone of the removed rows from here does not follow the row before");
            }
            let sealed = Segment::sealed((first, last), (previous, hash), removed, &self.base.sealer);
            if mark != Some(sealed.mark) {
                return broken("the tombstone of the removed rows from here is not sealed by this registry");
            }
            chain = Chain { upto: last, hash };
        }
        Ok(Ok(chain))
    }

    /// The range of the oldest segment that may go; `None` when none may. The newest segment always stays, and so does
    /// one with a row of an open task.
    async fn old_segment(
        &self,
        connection: &mut SqliteConnection,
        from: Option<u64>,
        than: Timestamp,
        rows: u64,
    ) -> Result<Option<(u64, u64)>, RegistryError> {
        let trouble = || self.base.fault("find old audit rows");
        let found = sqlx::query("SELECT (SELECT min(number) FROM audit), audit_number FROM store WHERE one = 1")
            .fetch_one(&mut *connection)
            .await
            .map_err(trouble())?;
        let there: Option<i64> = found.try_get(0).map_err(trouble())?;
        let newest = unsigned(found.try_get(1).map_err(trouble())?);
        let Some(first) = from.or(there.map(unsigned)) else { return Ok(None) };
        let last = first.saturating_add(rows).saturating_sub(1);
        if last.saturating_add(rows) > newest {
            return Ok(None);
        }
        let found = sqlx::query(
            "SELECT (SELECT count(*) FROM audit WHERE number BETWEEN ?1 AND ?2 AND at < ?3), \
             EXISTS (SELECT 1 FROM audit a JOIN handles h ON h.id = a.handle WHERE a.number BETWEEN ?1 AND ?2 AND h.is_open = 1)",
        )
        .bind(whole(first))
        .bind(whole(last))
        .bind(than.as_millis())
        .fetch_one(connection)
        .await
        .map_err(trouble())?;
        let old = unsigned(found.try_get(0).map_err(trouble())?);
        let is_open: bool = found.try_get(1).map_err(trouble())?;
        Ok((old == rows && !is_open).then_some((first, last)))
    }

    /// The oldest segment, sealed, when it may go and its rows fit; broken rows are evidence and stay.
    pub(crate) async fn segment_before(
        &self,
        connection: &mut SqliteConnection,
        than: Timestamp,
        rows: u64,
        now: Timestamp,
    ) -> Result<Option<Segment>, RegistryError> {
        let trouble = || self.base.fault("seal old audit rows");
        let Some((first, last)) = self.old_segment(connection, None, than, rows).await? else { return Ok(None) };
        let Ok(mut chain) = self.chain_from(connection, None).await? else { return Ok(None) };
        if chain.upto + 1 != first {
            return Ok(None);
        }
        let previous = chain.hash;
        let most = u32::try_from(rows).unwrap_or(u32::MAX);
        for row in rows_after(connection, chain.upto, most).await.map_err(trouble())? {
            if let Err(broken) = chain.follow(&row).map_err(trouble())? {
                tracing::error!(row = broken.number, why = %broken.why, "old audit rows stay, because they are broken");
                return Ok(None);
            }
        }
        if chain.upto != last {
            return Ok(None);
        }
        let hashes = (previous, chain.hash);
        Ok(Some(Segment::sealed((first, last), hashes, now.as_millis(), &self.base.sealer)))
    }

    /// Rows of all segments that may go.
    pub(crate) async fn old_audit_rows(
        &self,
        connection: &mut SqliteConnection,
        than: Timestamp,
        rows: u64,
    ) -> Result<u64, RegistryError> {
        let (mut all, mut from) = (0_u64, None);
        while let Some((first, last)) = self.old_segment(connection, from, than, rows).await? {
            all = all.saturating_add(last.saturating_sub(first).saturating_add(1));
            from = Some(last.saturating_add(1));
        }
        Ok(all)
    }
}
