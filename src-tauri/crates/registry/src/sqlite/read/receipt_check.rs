//! Checks receipts against the rows of the audit log that vouch for them, batch by batch.
//!
//! A batch holds when its numbers follow those of the batch before, the root over its receipts is that of its row, and all
//! of them are there. What retention removed has a keyed mark. The rows are believed here: that they are genuine is the
//! chain's check (`audit_check.rs`), which runs beside it.

use domain::ports::{BrokenReceipt, ReceiptCheck, RegistryError};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};
use verify::chain::Hash;
use verify::receipt::{BatchClaim, CALLED, batch_root};

use super::receipt_pages::receipts_between;
use crate::seal::Sealer;
use crate::sqlite::tables::audit::receipts::removal_mark;
use crate::sqlite::tables::audit::{VerifiedMark, batch_mark};
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// The columns that [`StoredClaim::of`] reads, with the row of the log that vouches for the batch, as far as it is there.
const BATCHES_AFTER: &str = "SELECT b.number, b.first, b.last, b.root, b.audit_number, b.removed, b.mark, a.verb, a.note, \
     a.salt IS NULL, (SELECT coalesce(min(number), 0) FROM audit) FROM receipt_batches b \
     LEFT JOIN audit a ON a.number = b.audit_number WHERE b.number > ? ORDER BY b.number LIMIT ?";

/// A batch as it is stored, and what its row says.
struct StoredClaim {
    number: u64,
    claim: BatchClaim,
    /// When its receipts were removed, and the mark of that.
    removed: Option<(i64, Vec<u8>)>,
    row: RowClaim,
}

/// What the row that vouches for a batch says.
enum RowClaim {
    /// It is there, and names a batch.
    Names(BatchClaim),
    /// It is there, and says something else.
    Other,
    /// Its text was erased, so that it says nothing any more.
    Erased,
    /// It went with a segment that retention removed.
    Removed,
    /// It is not there.
    Missing,
}

impl StoredClaim {
    /// Reads one row; `None` when a column is not what it must be.
    fn of(row: &SqliteRow) -> Result<Option<Self>, sqlx::Error> {
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned);
        let root: Option<&[u8]> = row.try_get(3)?;
        let Some(root) = root.and_then(|root| Hash::try_from(root).ok()) else { return Ok(None) };
        let claim = BatchClaim { first: count(1)?, last: count(2)?, root };
        let (removed, mark): (Option<i64>, Option<Vec<u8>>) = (row.try_get(5)?, row.try_get(6)?);
        let (verb, note): (Option<&str>, Option<&str>) = (row.try_get(7)?, row.try_get(8)?);
        let (is_erased, first_row): (bool, u64) = (row.try_get(9)?, count(10)?);
        let row = match (verb, note) {
            (Some(CALLED), Some("")) if is_erased => RowClaim::Erased,
            (Some(CALLED), Some(note)) => BatchClaim::parse(note).map_or(RowClaim::Other, RowClaim::Names),
            (Some(_), _) => RowClaim::Other,
            (None, _) if count(4)? < first_row => RowClaim::Removed,
            (None, _) => RowClaim::Missing,
        };
        let number = count(0)?;
        Ok(Some(Self { number, claim, removed: removed.map(|at| (at, mark.unwrap_or_default())), row }))
    }

    /// What is wrong with the batch itself, behind the receipt `before`.
    fn fault(&self, sealer: &Sealer, before: Option<u64>) -> Option<&'static str> {
        let Self { number, claim, removed, row } = self;
        if before.is_some_and(|before| before.checked_add(1) != Some(claim.first)) {
            return Some("its batch does not follow the one before: a batch was removed, or put in");
        }
        match row {
            RowClaim::Names(named) if named == claim => {}
            RowClaim::Names(_) | RowClaim::Other => {
                return Some("its batch is not the one that its row of the audit log names");
            }
            RowClaim::Missing => return Some("the row of the audit log that vouches for its batch is missing"),
            RowClaim::Erased | RowClaim::Removed => {}
        }
        let (at, mark) = removed.as_ref()?;
        let is_ours = removal_mark(sealer, *number, claim, *at).as_slice() == mark;
        (!is_ours).then_some("the record that retention removed it was not made by this registry")
    }
}

/// The first receipt of a batch that does not hold.
async fn broken_receipt(
    connection: &mut SqliteConnection,
    claim: &BatchClaim,
) -> Result<Option<BrokenReceipt>, sqlx::Error> {
    let rows = receipts_between(connection, claim.first, claim.last, 1).await?;
    let broken = |number, why: &str| Ok(Some(BrokenReceipt { number, why: why.into() }));
    let mut leaves = Vec::with_capacity(rows.len());
    let mut changed = None;
    for (number, (receipt, leaf)) in (claim.first..).zip(&rows) {
        if receipt.number != number {
            return broken(number, "the receipt is missing");
        }
        if !receipt.fits && changed.is_none() {
            changed = Some(number);
        }
        leaves.push(*leaf);
    }
    let read = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    if read < claim.count() {
        return broken(claim.first.saturating_add(read), "the receipt is missing");
    }
    if batch_root(leaves) == claim.root {
        // The beginning of a leaf proves nothing; without it the root still holds, but nobody could say what was changed.
        return match changed {
            Some(number) => broken(number, "the hash that is stored with it is not its own"),
            None => Ok(None),
        };
    }
    match changed {
        Some(number) => broken(number, "its content is not what its hash says"),
        None => {
            let why =
                format!("one of receipts {} to {} is not what the root of their batch says", claim.first, claim.last);
            broken(claim.first, &why)
        }
    }
}

impl SqliteRegistry {
    /// Checks batches after this one, or after the place where the round stopped, and gives the mark of where it goes on.
    pub(crate) async fn recheck_batches(
        &self,
        after: Option<u64>,
        batches: u32,
    ) -> Result<(ReceiptCheck, Option<VerifiedMark>), RegistryError> {
        let place = match after {
            Some(after) => after,
            None => self.batch_place().await?,
        };
        let check = self.check_batches(place, batches).await?;
        // Without any batch there is no place.
        if check.broken.is_some() || (place == 0 && check.batches == 0) {
            return Ok((check, None));
        }
        let next = check.next.unwrap_or(0);
        let failed = || self.base.failed("read how far receipts are verified");
        let mut reader = self.reader().await?;
        let root = sqlx::query("SELECT root FROM receipt_batches WHERE number = ?")
            .bind(whole(next))
            .fetch_optional(&mut *reader)
            .await
            .map_err(failed())?;
        let root = root.as_ref().and_then(|row| hash_at(row, 0)).unwrap_or_default();
        Ok((check, Some(VerifiedMark::of_batch(&self.base.sealer, next, &root))))
    }

    /// The batch behind which the round goes on; 0 at its beginning, and where somebody else wrote the place.
    async fn batch_place(&self) -> Result<u64, RegistryError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT s.reverified_batch, s.reverified_batch_mark, b.root FROM store s \
             JOIN receipt_batches b ON b.number = s.reverified_batch WHERE s.one = 1",
        )
        .fetch_optional(&mut *reader)
        .await
        .map_err(self.base.failed("read how far receipts are verified"))?;
        let fits = |row: &SqliteRow| {
            let number = unsigned(row.try_get(0).ok()?);
            let mark = hash_at(row, 1)?;
            (mark == batch_mark(&self.base.sealer, number, &hash_at(row, 2)?)).then_some(number)
        };
        Ok(row.as_ref().and_then(fits).unwrap_or(0))
    }

    /// Checks batches after this one.
    pub(crate) async fn check_batches(&self, after: u64, batches: u32) -> Result<ReceiptCheck, RegistryError> {
        let failed = || self.base.failed("verify receipts");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let mut check = ReceiptCheck::default();
        let before = sqlx::query("SELECT last FROM receipt_batches WHERE number = ?")
            .bind(whole(after))
            .fetch_optional(&mut *snapshot)
            .await
            .map_err(failed())?;
        let mut before = match before {
            Some(row) => Some(unsigned(row.try_get(0).map_err(failed())?)),
            None => None,
        };
        let found = sqlx::query(BATCHES_AFTER)
            .bind(whole(after))
            .bind(batches)
            .fetch_all(&mut *snapshot)
            .await
            .map_err(failed())?;
        for row in &found {
            let Some(stored) = StoredClaim::of(row).map_err(failed())? else {
                let number = before.map_or(1, |before| before.saturating_add(1));
                check.broken = Some(BrokenReceipt { number, why: "the record of its batch does not read".into() });
                break;
            };
            let claim = stored.claim;
            check.broken = match stored.fault(&self.base.sealer, before) {
                Some(why) => Some(BrokenReceipt { number: claim.first, why: why.into() }),
                None if stored.removed.is_some() => {
                    check.removed = check.removed.saturating_add(claim.count());
                    None
                }
                None => {
                    let broken = broken_receipt(&mut snapshot, &claim).await.map_err(failed())?;
                    check.receipts = check.receipts.saturating_add(claim.count());
                    broken
                }
            };
            if check.broken.is_some() {
                break;
            }
            check.batches += 1;
            before = Some(claim.last);
            check.next = Some(stored.number);
        }
        let is_last = u32::try_from(found.len()).is_ok_and(|read| read < batches);
        if is_last && check.broken.is_none() {
            check.next = None;
            check.broken = unvouched(&mut snapshot, before).await.map_err(failed())?;
        }
        snapshot.rollback().await.map_err(failed())?;
        Ok(check)
    }
}

fn hash_at(row: &SqliteRow, column: usize) -> Option<Hash> {
    row.try_get::<Option<&[u8]>, _>(column).ok().flatten()?.try_into().ok()
}

/// A receipt behind the last batch, or a row of the log about receipts that has no batch: what belongs to it was removed.
async fn unvouched(connection: &mut SqliteConnection, last: Option<u64>) -> Result<Option<BrokenReceipt>, sqlx::Error> {
    let next = last.unwrap_or_default().saturating_add(1);
    let row = sqlx::query(
        "SELECT (SELECT min(number) FROM receipts WHERE number >= ?1), \
         (SELECT max(a.number) FROM audit a WHERE a.verb = ?2 AND \
          a.number > (SELECT coalesce(max(audit_number), 0) FROM receipt_batches)), \
         (SELECT max(a.number) FROM audit a WHERE a.verb = ?2 AND \
          a.number < (SELECT min(audit_number) FROM receipt_batches))",
    )
    .bind(whole(next))
    .bind(CALLED)
    .fetch_one(connection)
    .await?;
    let number = |column: usize| row.try_get::<Option<i64>, _>(column).map(|found| found.map(unsigned));
    let missing = |number, row: u64| BrokenReceipt {
        number,
        why: format!("the receipts that row {row} of the audit log vouches for are missing"),
    };
    let put_in = |number| BrokenReceipt { number, why: "no batch has it: it was put in".into() };
    let (added, after, before) = (number(0)?, number(1)?, number(2)?);
    let behind = added.map(put_in).or_else(|| after.map(|row| missing(next, row)));
    Ok(behind.or_else(|| before.map(|row| missing(1, row))))
}
