//! Which batches of receipts are over a limit: the oldest ones, for their age or because there are too many.
//!
//! Batches go from the first on and leave their roots. What is removed is in `tables/audit/receipts.rs`.

use domain::policy::RetentionPolicy;
use domain::ports::RegistryError;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use verify::receipt::BatchClaim;

use super::before;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit::receipts::RemovedBatches;
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// The batches that still have their receipts and are over a limit. The newest one always stays.
const OVER: &str = "FROM receipt_batches WHERE \
     number > (SELECT coalesce(max(number), 0) FROM receipt_batches WHERE removed IS NOT NULL) \
     AND number < (SELECT coalesce(max(number), 0) FROM receipt_batches) \
     AND (complete_to < ? OR last <= (SELECT coalesce(max(number), 0) FROM receipts) - ?)";

/// The first batch that still has its receipts.
const OLDEST: &str = "(SELECT min(number) FROM receipt_batches WHERE \
     number > (SELECT coalesce(max(number), 0) FROM receipt_batches WHERE removed IS NOT NULL))";

fn find(columns: &str, limits: &RetentionPolicy, now: Timestamp) -> StatementBatch {
    let mut find = StatementBatch::default();
    find.add(&format!("SELECT {columns} {OVER} ORDER BY number LIMIT ?"))
        .with(before(now, limits.receipts_kept_for()).as_millis())
        .with(whole(limits.receipts));
    find
}

impl SqliteRegistry {
    /// Batches whose receipts go next, and how many receipts that are; `None` when none may.
    pub(super) async fn old_receipts(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Option<(RemovedBatches, u64)>, RegistryError> {
        let failed = || self.base.failed("find old receipts");
        let mut find = find(&format!("number, first, last, root, {OLDEST}"), limits, now);
        find.add_value(limits.removed_at_once);
        let (mut removed, mut count, mut before) = (RemovedBatches::at(now), 0_u64, None);
        for row in find.rows(reader).await.map_err(failed())? {
            let number: i64 = row.try_get(0).map_err(failed())?;
            let oldest: i64 = row.try_get(4).map_err(failed())?;
            let (first, last): (i64, i64) = (row.try_get(1).map_err(failed())?, row.try_get(2).map_err(failed())?);
            let root: &[u8] = row.try_get(3).map_err(failed())?;
            // One that does not read is evidence and stays.
            let Ok(root) = root.try_into() else { break };
            // A clock that was set makes no gap: batches go in their order, from the oldest on.
            if number != before.map_or(oldest, |before: i64| before.saturating_add(1)) {
                break;
            }
            let claim = BatchClaim { first: unsigned(first), last: unsigned(last), root };
            removed.add(&self.base.sealer, unsigned(number), &claim);
            count = count.saturating_add(claim.count());
            before = Some(number);
        }
        Ok((!removed.is_empty()).then_some((removed, count)))
    }

    /// How many receipts go, in all.
    pub(super) async fn due_receipts(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<u64, RegistryError> {
        let failed = || self.base.failed("count old receipts");
        let mut find = find("coalesce(sum(last - first + 1), 0)", limits, now);
        find.add_value(1);
        let found = find.rows(reader).await.map_err(failed())?;
        let count: i64 = found.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed())?;
        Ok(unsigned(count))
    }
}
