//! Receipts of calls by a filter, newest first, and whole batches of them.
//!
//! Read by number, which is the key of the table, in windows of limited size, so that no filter holds up a reader however
//! many receipts there are. A page that found little says where it stopped.

use domain::ports::{ReceiptFilter, ReceiptQuery, ReceiptRow, ReceiptRows, RegistryError, StoredBatch};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};
use verify::chain::Hash;

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit::receipts::{PACK_RECEIPTS, RECEIPT_COLUMNS, read_packed_receipts, read_receipt};
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// Numbers that one statement looks at. Judgement: as for audit rows.
const WINDOW: u64 = 100_000;
/// Statements of one page. Judgement: as for audit rows.
const WINDOWS: u32 = 5;
/// Receipts that are read of one batch at most: no batch has more (`AuditPolicy::receipts_at_once`), and a damaged file
/// must not fill the memory.
const BATCH_MAX: u32 = 1_024;

/// Numbers of receipts, both ends included.
struct ReceiptRange {
    low: u64,
    high: u64,
}

enum BoundValue {
    Text(String),
    Whole(i64),
}

/// Conditions with their values, in order.
#[derive(Default)]
struct ReceiptConditions {
    sql: String,
    values: Vec<BoundValue>,
}

impl ReceiptConditions {
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = BoundValue>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    fn add_words(&mut self, column: &str, words: &[String]) {
        if !words.is_empty() {
            let marks = vec!["?"; words.len()].join(", ");
            self.add(&format!("{column} IN ({marks})"), words.iter().cloned().map(BoundValue::Text));
        }
    }

    fn of(filter: &ReceiptFilter) -> Self {
        let ReceiptFilter { first: _, last: _, since, until, agent, server, tool, verdicts, outcomes, task } = filter;
        let mut all = Self::default();
        let texts = [
            ("agent", agent.map(|id| id.to_string())),
            ("server", server.map(|id| id.to_string())),
            ("handle", task.map(|id| id.to_string())),
            ("tool", tool.clone()),
        ];
        for (column, text) in texts {
            if let Some(text) = text {
                all.add(&format!("{column} = ?"), [BoundValue::Text(text)]);
            }
        }
        if let Some(since) = since {
            all.add("at >= ?", [BoundValue::Whole(since.as_millis())]);
        }
        if let Some(until) = until {
            all.add("at < ?", [BoundValue::Whole(until.as_millis())]);
        }
        all.add_words("verdict", verdicts);
        all.add_words("outcome", outcomes);
        all
    }
}

/// The first receipt that is still there, and the last that was stored; 0 without any.
async fn ends(connection: &mut SqliteConnection) -> Result<(u64, u64), sqlx::Error> {
    let row = sqlx::query(
        "SELECT (SELECT coalesce(min(number), 0) FROM receipts), (SELECT coalesce(max(number), 0) FROM receipts)",
    )
    .fetch_one(connection)
    .await?;
    Ok((unsigned(row.try_get(0)?), unsigned(row.try_get(1)?)))
}

async fn window(
    connection: &mut SqliteConnection,
    conditions: &ReceiptConditions,
    range: ReceiptRange,
    limit: usize,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let mut find = StatementBatch::default();
    find.add(&format!(
        "SELECT {RECEIPT_COLUMNS} FROM receipts WHERE number BETWEEN ? AND ?{} ORDER BY number DESC LIMIT ?",
        conditions.sql
    ));
    find.with(whole(range.low)).with(whole(range.high));
    for value in &conditions.values {
        match value {
            BoundValue::Text(text) => find.add_value(text.clone()),
            BoundValue::Whole(number) => find.add_value(*number),
        }
    }
    find.add_value(i64::try_from(limit).unwrap_or(i64::MAX));
    find.rows(connection).await
}

/// The receipts of these numbers, both included, the first one first, with their leaves; at most so many batches of them.
/// Read as one row, and one by one where a column is not what it must be.
pub(crate) async fn receipts_between(
    connection: &mut SqliteConnection,
    first: u64,
    last: u64,
    batches: usize,
) -> Result<Vec<(ReceiptRow, Hash)>, sqlx::Error> {
    let most = BATCH_MAX.saturating_mul(u32::try_from(batches).unwrap_or(u32::MAX));
    let find = |sql: &str| {
        let mut find = StatementBatch::default();
        find.add(sql).with(whole(first)).with(whole(last)).with(most);
        find
    };
    let packed = match find(PACK_RECEIPTS).rows(&mut *connection).await {
        Ok(found) => found.first().and_then(|row| read_packed_receipts(row.try_get(0).ok()?)),
        Err(error) => {
            // Read one by one they say what is wrong.
            tracing::debug!(%error, "receipts are read one by one");
            None
        }
    };
    match packed {
        Some(receipts) => Ok(receipts),
        None => {
            let one_by_one =
                format!("SELECT {RECEIPT_COLUMNS} FROM receipts WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?");
            find(&one_by_one).rows(connection).await?.iter().map(read_receipt).collect()
        }
    }
}

impl SqliteRegistry {
    /// A page of receipts by a filter.
    pub(crate) async fn read_receipts(&self, query: ReceiptQuery) -> Result<ReceiptRows, RegistryError> {
        let failed = || self.base.failed("read receipts");
        let limit = usize::try_from(query.limit.clamp(1, self.base.limits.page_rows_max)).unwrap_or(usize::MAX);
        let conditions = ReceiptConditions::of(&query.filter);
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let (first, last) = ends(&mut snapshot).await.map_err(failed())?;
        let low = query.filter.first.unwrap_or(1).max(first).max(1);
        let mut high = query.filter.last.unwrap_or(u64::MAX).min(last);
        if let Some(before) = query.before {
            high = high.min(before.saturating_sub(1));
        }
        let mut rows: Vec<ReceiptRow> = Vec::new();
        for _ in 0..WINDOWS {
            if low > high || rows.len() >= limit {
                break;
            }
            let from = high.saturating_sub(WINDOW - 1).max(low);
            let found = window(&mut snapshot, &conditions, ReceiptRange { low: from, high }, limit - rows.len())
                .await
                .map_err(failed())?;
            for row in &found {
                rows.push(read_receipt(row).map_err(failed())?.0);
            }
            high = match rows.last() {
                // There may be more of them in this window.
                Some(last) if rows.len() >= limit => last.number.saturating_sub(1),
                Some(_) | None => from.saturating_sub(1),
            };
        }
        snapshot.rollback().await.map_err(failed())?;
        let next = (low <= high).then_some(high.saturating_add(1));
        Ok(ReceiptRows { rows, next, first, last })
    }

    /// The batches of these rows of the audit log, with their receipts. Batches that follow each other are read as one range.
    pub(crate) async fn read_batches(&self, audit_numbers: Vec<u64>) -> Result<Vec<StoredBatch>, RegistryError> {
        let failed = || self.base.failed("read batches of receipts");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let mut find = StatementBatch::default();
        find.add(
            "SELECT audit_number, first, last, root FROM receipt_batches \
             WHERE audit_number IN (SELECT value FROM json_each(?)) ORDER BY number",
        )
        .with(Value::from(audit_numbers).to_string());
        let found = find.rows(&mut snapshot).await.map_err(failed())?;
        let mut batches = found.iter().map(stored_batch).collect::<Result<Vec<_>, _>>().map_err(failed())?;
        for run in batches.chunk_by_mut(|before, next| before.last.checked_add(1) == Some(next.first)) {
            let (Some(first), Some(last)) = (run.first().map(|one| one.first), run.last().map(|one| one.last)) else {
                continue;
            };
            let receipts = receipts_between(&mut snapshot, first, last, run.len()).await.map_err(failed())?;
            let mut receipts = receipts.into_iter().map(|(receipt, _)| receipt).peekable();
            for batch in run {
                while let Some(receipt) = receipts.next_if(|receipt| receipt.number <= batch.last) {
                    batch.receipts.push(receipt);
                }
            }
        }
        snapshot.rollback().await.map_err(failed())?;
        Ok(batches)
    }
}

/// A batch without its receipts.
fn stored_batch(row: &SqliteRow) -> Result<StoredBatch, sqlx::Error> {
    let number = |column: usize| row.try_get::<i64, _>(column).map(unsigned);
    let root: &[u8] = row.try_get(3)?;
    Ok(StoredBatch {
        audit_number: number(0)?,
        first: number(1)?,
        last: number(2)?,
        // A root of another length contradicts its row like any other.
        root: root.try_into().unwrap_or_default(),
        receipts: Vec::new(),
    })
}
