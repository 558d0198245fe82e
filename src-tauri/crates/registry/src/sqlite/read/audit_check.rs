//! Checks the audit chain row by row, in stretches and off the writer.
//!
//! A row fits when its number follows, its `previous` is the hash of the row before, its own hash is what
//! `docs/audit.md` describes, and no column is filled that its layout does not have. Removed rows are a segment with a keyed
//! mark; the chain continues behind the last one. How far the chain was checked is kept with a keyed mark, too; a row that
//! does not fit it is broken. Rows before it are checked again in rounds (decision 0119). Whoever holds the file and its key can forge all of this (ruling 29), and whoever holds the
//! file can put back an older copy of the whole of it.

use std::cmp::Ordering;

use domain::ports::{AuditCheck, AuditRecheck, BrokenLink, RegistryError};
use domain::time::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::seal::Sealer;
use crate::sqlite::tables::audit::packed::PackedRows;
use crate::sqlite::tables::audit::{
    AuditHash, AuditSegment, HashLink, ROWS_AFTER, StoredAuditRow, VerifiedMark, packed_after, reverified_mark,
    verified_mark,
};
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// Rows that are read at once while those before them are hashed. Judgement: some two megabytes, and some ten
/// milliseconds of either.
const PART_ROWS: u64 = 4_096;
/// What is hashed before the first row.
const START: AuditHash = [0; 32];

fn hash_in(row: &SqliteRow, column: usize) -> Result<Option<AuditHash>, sqlx::Error> {
    row.try_get::<&[u8], _>(column).map(|bytes| bytes.try_into().ok())
}

/// The chain as far as it is followed.
struct ChainCursor {
    upto: u64,
    hash: AuditHash,
    /// Rows without their text that were followed, and the first of them.
    erased: u64,
    first_erased: Option<u64>,
}

impl ChainCursor {
    const fn behind(upto: u64, hash: AuditHash) -> Self {
        Self { upto, hash, erased: 0, first_erased: None }
    }

    /// Follows one row of [`ROWS_AFTER`].
    fn follow(&mut self, row: &SqliteRow) -> Result<(), BrokenLink> {
        let Ok(row) = StoredAuditRow::of(row) else {
            let why = "a column has a value of another type".into();
            return Err(BrokenLink { number: self.upto + 1, why });
        };
        self.follow_stored(&row)
    }

    fn follow_stored(&mut self, row: &StoredAuditRow<'_>) -> Result<(), BrokenLink> {
        let next = self.upto + 1;
        let broken = |why: &str| Err(BrokenLink { number: next, why: why.to_owned() });
        if row.number != next {
            return broken("the row is missing");
        }
        if row.previous != self.hash {
            return broken("it does not follow the row before");
        }
        let Some(fields) = row.chain_row() else {
            return broken("columns are filled that do not belong together");
        };
        let hash = match fields.hash(&self.hash) {
            Ok(hash) => hash,
            Err(fault) => return broken(&fault.to_string()),
        };
        if row.hash != hash {
            return broken("its content is not what its hash says");
        }
        (self.upto, self.hash) = (next, hash);
        if row.is_erased() {
            self.erased += 1;
            self.first_erased = self.first_erased.or(Some(next));
        }
        Ok(())
    }

    /// Follows packed rows as far as they fit; whether they all do.
    fn follow_packed(&mut self, part: &PackedRows) -> bool {
        let rows = part.rows().unwrap_or_default();
        !rows.is_empty() && rows.iter().all(|row| self.follow_stored(&StoredAuditRow::of_packed(row)).is_ok())
    }

    /// Follows at most `rows` rows, the next ones being read while some are hashed. Stops without a word at the end and at a
    /// row that does not fit: whoever goes on there row by row finds out what it is.
    async fn follow_parts(&mut self, connection: &mut SqliteConnection, rows: u32) {
        let end = self.upto.saturating_add(u64::from(rows));
        let mut upto = self.upto.saturating_add(PART_ROWS).min(end);
        let mut part = packed_after(connection, self.upto, upto).await;
        while let Some(read) = part.take() {
            let next = upto.saturating_add(PART_ROWS).min(end);
            // The statement is on its way to the thread of the connection when this one begins to hash.
            let ahead = async { if next > upto { packed_after(connection, upto, next).await } else { None } };
            let hashed = async { self.follow_packed(&read) };
            let (following, is_whole) = futures::join!(ahead, hashed);
            part = following.filter(|_| is_whole && self.upto == upto);
            upto = next;
        }
    }
}

/// Reads rows of the chain after this one.
async fn rows_after(connection: &mut SqliteConnection, after: u64, rows: u32) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(ROWS_AFTER).bind(whole(after)).bind(rows).fetch_all(connection).await
}

impl SqliteRegistry {
    /// The row up to which the chain was verified, if the mark fits.
    pub(crate) async fn read_verified(&self) -> Result<Option<u64>, RegistryError> {
        let failed = || self.base.failed("read how far the audit log is verified");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT s.verified_number, s.verified_mark, a.hash FROM store s JOIN audit a ON a.number = s.verified_number \
             WHERE s.one = 1 AND s.verified_mark IS NOT NULL",
        )
        .fetch_optional(&mut *reader)
        .await
        .map_err(failed())?;
        let Some(row) = row else { return Ok(None) };
        let number = unsigned(row.try_get(0).map_err(failed())?);
        let mark = hash_in(&row, 1).map_err(failed())?;
        let hash = hash_in(&row, 2).map_err(failed())?;
        let fits = hash.is_some_and(|hash| mark == Some(verified_mark(&self.base.sealer, number, &hash)));
        Ok(fits.then_some(number))
    }

    /// Why the row that was verified last is not there as it was. A row that retention removed has a tombstone.
    async fn verified_fault(
        &self,
        connection: &mut SqliteConnection,
        last: u64,
    ) -> Result<Option<BrokenLink>, RegistryError> {
        let failed = || self.base.failed("read how far the audit log is verified");
        let row = sqlx::query(
            "SELECT s.verified_number, s.verified_mark, a.hash FROM store s \
             LEFT JOIN audit a ON a.number = s.verified_number WHERE s.one = 1 AND s.verified_mark IS NOT NULL",
        )
        .fetch_optional(connection)
        .await
        .map_err(failed())?;
        let Some(row) = row else { return Ok(None) };
        let number = unsigned(row.try_get(0).map_err(failed())?);
        let mark = hash_in(&row, 1).map_err(failed())?;
        let hash: Option<&[u8]> = row.try_get(2).map_err(failed())?;
        let broken = |why: &str| Ok(Some(BrokenLink { number, why: why.into() }));
        match hash.map(AuditHash::try_from) {
            None if number > last => broken("it was verified before, and was removed with the rows after it"),
            None => Ok(None),
            Some(Ok(hash)) if mark == Some(verified_mark(&self.base.sealer, number, &hash)) => Ok(None),
            Some(_) => broken("it was verified before, and it or a row before it is another one now"),
        }
    }

    /// Verifies a stretch of the chain, and gives the mark to store for it when its rows fit.
    pub(crate) async fn verify_stretch(
        &self,
        after: Option<u64>,
        rows: u32,
    ) -> Result<(AuditCheck, Option<VerifiedMark>), RegistryError> {
        let failed = || self.base.failed("verify the audit log");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let store = sqlx::query(
            "SELECT audit_number, audit_hash, (SELECT coalesce(min(number), 0) FROM audit) FROM store WHERE one = 1",
        )
        .fetch_one(&mut *snapshot)
        .await
        .map_err(failed())?;
        let last = unsigned(store.try_get(0).map_err(failed())?);
        let last_hash = hash_in(&store, 1).map_err(failed())?;
        let first = unsigned(store.try_get(2).map_err(failed())?);
        let mut check = AuditCheck { upto: after.unwrap_or(0), last, first, ..AuditCheck::default() };
        let mut chain = match self.chain_from(&mut snapshot, after).await? {
            Ok(chain) => chain,
            Err(broken) => return Ok((AuditCheck { broken: Some(broken), ..check }, None)),
        };
        let begin = chain.upto;
        chain.follow_parts(&mut snapshot, rows).await;
        let left = u32::try_from(u64::from(rows).saturating_sub(chain.upto - begin)).unwrap_or(0);
        if left > 0 {
            let rows = rows_after(&mut snapshot, chain.upto, left).await.map_err(failed())?;
            check.broken = rows.iter().find_map(|row| chain.follow(row).err());
        }
        check.rows = chain.upto - begin;
        check.upto = chain.upto;
        (check.erased, check.first_erased) = (chain.erased, chain.first_erased);
        if check.broken.is_none() && (check.rows < u64::from(rows) || chain.upto >= last) {
            // Everything that is there was followed; it must be everything that was written.
            let wrong = match chain.upto.cmp(&last) {
                Ordering::Less => Some((chain.upto + 1, "the row is missing")),
                Ordering::Greater => Some((last + 1, "it was put in behind the last row that was written")),
                Ordering::Equal if last_hash == Some(chain.hash) => None,
                Ordering::Equal => Some((last, "it is not the last row that was written")),
            };
            check.broken = wrong.map(|(number, why)| BrokenLink { number, why: why.into() });
        }
        if check.broken.is_none() {
            check.broken = self.verified_fault(&mut snapshot, last).await?;
        }
        snapshot.rollback().await.map_err(failed())?;
        let is_newly_verified = check.broken.is_none() && check.rows > 0;
        let mark = is_newly_verified.then(|| VerifiedMark::of(&self.base.sealer, chain.upto, &chain.hash));
        Ok((check, mark))
    }

    /// Verifies a stretch of rows again that were verified before, and gives the mark to store for it when they fit.
    pub(crate) async fn reverify_stretch(
        &self,
        after: Option<u64>,
        rows: u32,
    ) -> Result<(AuditRecheck, Option<VerifiedMark>), RegistryError> {
        let failed = || self.base.failed("verify the audit log again");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let store = sqlx::query(
            "SELECT s.verified_number, s.verified_mark, v.hash, s.reverified_number, s.reverified_mark, \
             (SELECT hash FROM audit WHERE number = s.reverified_number), (SELECT min(number) FROM audit) \
             FROM store s JOIN audit v ON v.number = s.verified_number WHERE s.one = 1 AND s.verified_mark IS NOT NULL",
        )
        .fetch_optional(&mut *snapshot)
        .await
        .map_err(failed())?;
        let Some(store) = store else { return Ok((AuditRecheck::default(), None)) };
        let bytes = |column: usize| -> Option<AuditHash> {
            store.try_get::<Option<&[u8]>, _>(column).ok().flatten()?.try_into().ok()
        };
        let marked = |column: usize, mark: fn(&Sealer, u64, &AuditHash) -> AuditHash| -> Option<u64> {
            let place = unsigned(store.try_get(column).ok()?);
            let hash = bytes(column + 2)?;
            (bytes(column + 1)? == mark(&self.base.sealer, place, &hash)).then_some(place)
        };
        // Where this mark does not fit, `verify_stretch` says so.
        let Some(end) = marked(0, verified_mark) else { return Ok((AuditRecheck::default(), None)) };
        // A place that somebody else wrote is none: the round begins anew.
        let kept = marked(3, reverified_mark);
        let first = unsigned(store.try_get(6).map_err(failed())?);
        let of = end.saturating_add(1).saturating_sub(first);
        let place = after.or(kept).filter(|place| *place < end);
        let mut check = AuditRecheck { upto: place.unwrap_or(0), end, of, ..AuditRecheck::default() };
        let mut chain = match self.chain_from(&mut snapshot, place).await? {
            Ok(chain) => chain,
            Err(broken) => return Ok((AuditRecheck { broken: Some(broken), ..check }, None)),
        };
        let begin = chain.upto;
        let most = u32::try_from(end.saturating_sub(begin)).unwrap_or(u32::MAX).min(rows);
        chain.follow_parts(&mut snapshot, most).await;
        let left = u32::try_from(u64::from(most).saturating_sub(chain.upto - begin)).unwrap_or(0);
        if left > 0 {
            // The row at the end is there, so one that is missing before it is found by the number of the next.
            let found = rows_after(&mut snapshot, chain.upto, left).await.map_err(failed())?;
            check.broken = found.iter().find_map(|row| chain.follow(row).err());
        }
        snapshot.rollback().await.map_err(failed())?;
        (check.rows, check.upto) = (chain.upto - begin, chain.upto);
        let fits = check.broken.is_none() && check.rows > 0;
        Ok((check, fits.then(|| VerifiedMark::again(&self.base.sealer, chain.upto, &chain.hash))))
    }

    /// Where the chain goes on: at the row that was verified last, or behind the removed segments.
    async fn chain_from(
        &self,
        connection: &mut SqliteConnection,
        after: Option<u64>,
    ) -> Result<Result<ChainCursor, BrokenLink>, RegistryError> {
        let failed = || self.base.failed("verify the audit log");
        if let Some(number) = after {
            let row = sqlx::query("SELECT hash FROM audit WHERE number = ?")
                .bind(whole(number))
                .fetch_optional(&mut *connection)
                .await
                .map_err(failed())?;
            if let Some(row) = row {
                return Ok(match hash_in(&row, 0).map_err(failed())? {
                    Some(hash) => Ok(ChainCursor::behind(number, hash)),
                    None => Err(BrokenLink { number, why: "its hash is no hash".into() }),
                });
            }
        }
        let found = sqlx::query("SELECT first, last, previous, hash, removed, mark FROM audit_segments ORDER BY first")
            .fetch_all(connection)
            .await
            .map_err(failed())?;
        let mut chain = ChainCursor::behind(0, START);
        for row in &found {
            let first = unsigned(row.try_get(0).map_err(failed())?);
            let last = unsigned(row.try_get(1).map_err(failed())?);
            let previous = hash_in(row, 2).map_err(failed())?;
            let hash = hash_in(row, 3).map_err(failed())?;
            let removed: i64 = row.try_get(4).map_err(failed())?;
            let mark = hash_in(row, 5).map_err(failed())?;
            let broken = |why: &str| Ok(Err(BrokenLink { number: first, why: why.into() }));
            let (Some(previous), Some(hash)) = (previous, hash) else {
                return broken("the record of the rows that were removed from here cannot be read");
            };
            if first != chain.upto + 1 || previous != chain.hash || last < first {
                return broken("the record of the rows that were removed from here does not follow the row before");
            }
            let sealed = AuditSegment::sealed(&self.base.sealer, first..=last, HashLink { previous, hash }, removed);
            if mark != Some(sealed.mark) {
                return broken("the record of the rows that were removed from here was not made by this registry");
            }
            chain = ChainCursor::behind(last, hash);
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
        let failed = || self.base.failed("find old audit rows");
        let found = sqlx::query("SELECT (SELECT min(number) FROM audit), audit_number FROM store WHERE one = 1")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed())?;
        let there: Option<i64> = found.try_get(0).map_err(failed())?;
        let newest = unsigned(found.try_get(1).map_err(failed())?);
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
        .map_err(failed())?;
        let old = unsigned(found.try_get(0).map_err(failed())?);
        let is_open: bool = found.try_get(1).map_err(failed())?;
        Ok((old == rows && !is_open).then_some((first, last)))
    }

    /// The oldest segment, sealed, when it may go and its rows fit; broken rows are evidence and stay.
    pub(crate) async fn segment_before(
        &self,
        connection: &mut SqliteConnection,
        than: Timestamp,
        rows: u64,
        now: Timestamp,
    ) -> Result<Option<AuditSegment>, RegistryError> {
        let failed = || self.base.failed("seal old audit rows");
        let Some((first, last)) = self.old_segment(connection, None, than, rows).await? else { return Ok(None) };
        let Ok(mut chain) = self.chain_from(connection, None).await? else { return Ok(None) };
        if chain.upto + 1 != first {
            return Ok(None);
        }
        let previous = chain.hash;
        let most = u32::try_from(rows).unwrap_or(u32::MAX);
        for row in rows_after(connection, chain.upto, most).await.map_err(failed())? {
            if let Err(broken) = chain.follow(&row) {
                tracing::error!(row = broken.number, why = %broken.why, "old audit rows stay, because they are broken");
                return Ok(None);
            }
        }
        if chain.upto != last {
            return Ok(None);
        }
        let link = HashLink { previous, hash: chain.hash };
        Ok(Some(AuditSegment::sealed(&self.base.sealer, first..=last, link, now.as_millis())))
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
