//! Facts for `doctor`, old change rows, and giving free space back to the disk.
//!
//! Tasks, payloads and audit rows are removed in `retention.rs`, status lines already when they are written. Each
//! function is one short step; the writer does other work between two of them.

use domain::ports::{RegistryError, RegistryFacts};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::batch::StatementBatch;
use super::migrate::schema;
use super::{SqliteRegistry, StoreContext, migrate, unsigned};

/// Change rows looked at in one transaction: some milliseconds of work. Judgement.
const STRETCH: i64 = 5_000;

/// How many sums of stored bytes, by task and by owner, are not what the rows add up to: zero, because triggers keep
/// them in the transaction of the rows.
const RECOUNT: &str = "WITH counted AS (SELECT handle, sum(payloads) AS payloads, sum(messages) AS messages, \
      sum(questions) AS questions, sum(lines) AS lines FROM ( \
       SELECT handle, length(sealed) AS payloads, 0 AS messages, 0 AS questions, 0 AS lines FROM payloads \
       UNION ALL SELECT handle, 0, length(body_sealed), 0, 0 FROM raw_messages \
       UNION ALL SELECT handle, 0, 0, length(body_sealed), 0 FROM requests \
       UNION ALL SELECT handle, 0, 0, 0, length(line_sealed) FROM status_log) GROUP BY handle), \
     kept AS (SELECT handle, payloads, messages, questions, lines FROM task_bytes \
      WHERE payloads <> 0 OR messages <> 0 OR questions <> 0 OR lines <> 0), \
     counted_use AS (SELECT h.server, coalesce(h.agent, ''), sum(payloads), sum(messages), sum(questions), sum(lines) \
      FROM counted c JOIN handles h ON h.number = c.handle GROUP BY 1, 2), \
     kept_use AS (SELECT server, agent, payloads, messages, questions, lines FROM stored_use \
      WHERE payloads <> 0 OR messages <> 0 OR questions <> 0 OR lines <> 0) \
     SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept)) \
      + (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted)) \
      + (SELECT count(*) FROM (SELECT * FROM counted_use EXCEPT SELECT * FROM kept_use)) \
      + (SELECT count(*) FROM (SELECT * FROM kept_use EXCEPT SELECT * FROM counted_use))";

/// Removes the oldest stretch of change rows up to the last one older than `before`; returns how many went. A clock
/// that was set back or forth makes rows stay longer or go sooner, and a reader behind them is told to read anew.
pub(crate) async fn prune_stretch(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    before: Timestamp,
) -> Result<u64, RegistryError> {
    let failed = || base.failed("prune the change log");
    let upto: Option<i64> =
        sqlx::query_scalar("SELECT max(seq) FROM (SELECT seq, at FROM changes ORDER BY seq LIMIT ?) WHERE at < ?")
            .bind(STRETCH)
            .bind(before.as_millis())
            .fetch_one(&mut *connection)
            .await
            .map_err(failed())?;
    let Some(upto) = upto else { return Ok(0) };
    let mut batch = StatementBatch::default();
    batch.add("BEGIN IMMEDIATE");
    batch.add("UPDATE store SET pruned_upto = max(pruned_upto, ?) WHERE one = 1").with(upto);
    batch.run(connection).await.map_err(failed())?;
    let gone = sqlx::query("DELETE FROM changes WHERE seq <= ?")
        .bind(upto)
        .execute(&mut *connection)
        .await
        .map_err(failed())?
        .rows_affected();
    let mut batch = StatementBatch::default();
    batch.add("COMMIT");
    batch.run(connection).await.map_err(failed())?;
    Ok(gone)
}

/// Gives one step of free pages back to the disk; returns whether there are more.
pub(crate) async fn shrink_step(base: &StoreContext, connection: &mut SqliteConnection) -> Result<bool, RegistryError> {
    let failed = || base.failed("give free space back");
    if !shrinks(connection).await.map_err(failed())? {
        return Ok(false);
    }
    let mut step = StatementBatch::default();
    step.add(&format!("PRAGMA incremental_vacuum({})", base.limits.pages_at_once));
    step.rows(connection).await.map_err(failed())?;
    Ok(number(connection, "PRAGMA freelist_count").await.map_err(failed())? > 0)
}

/// Writes the whole file anew without its free space. Commits wait meanwhile, and as much room as it has is needed.
pub(crate) async fn compact(base: &StoreContext, connection: &mut SqliteConnection) -> Result<(), RegistryError> {
    let mut batch = StatementBatch::default();
    batch.add("PRAGMA auto_vacuum = INCREMENTAL");
    batch.add("VACUUM");
    batch.add("PRAGMA wal_checkpoint(TRUNCATE)");
    batch.rows(connection).await.map(|_| ()).map_err(base.failed("write the registry anew"))
}

/// Lets a small registry of an earlier version give space back: it is written anew once. A larger one is on demand.
pub(crate) async fn enable_incremental_vacuum(base: &StoreContext, connection: &mut SqliteConnection) {
    match shrinks(connection).await {
        Ok(true) => {}
        Ok(false) => {
            if let Err(error) = compact(base, connection).await {
                tracing::warn!(%error, "the registry could not be written anew; it does not give free space back yet");
            }
        }
        Err(error) => tracing::warn!(%error, "whether the registry gives free space back cannot be read"),
    }
}

/// Whether free pages can be given back in steps.
pub(crate) async fn shrinks(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    /// `PRAGMA auto_vacuum`: 2 is incremental.
    const INCREMENTAL: i64 = 2;
    Ok(number(connection, "PRAGMA auto_vacuum").await? == INCREMENTAL)
}

/// The number that a statement gives.
pub(crate) async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

impl SqliteRegistry {
    /// Facts for `doctor`, with a quick integrity check.
    pub(crate) async fn read_facts(&self) -> Result<RegistryFacts, RegistryError> {
        let failed = || self.base.failed("check the registry");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT sqlite_version(), (SELECT coalesce(sum(handles), 0) FROM kinds), \
             (SELECT count(*) FROM requests WHERE state = 'open'), \
             (SELECT coalesce(max(number) - min(number) + 1, 0) FROM audit), \
             (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())",
        )
        .fetch_one(&mut *reader)
        .await
        .map_err(failed())?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(failed());
        let version: &str = row.try_get(0).map_err(failed())?;
        let checked = sqlx::query("PRAGMA quick_check(10)").fetch_all(&mut *reader).await.map_err(failed())?;
        let finding = |row: &SqliteRow| row.try_get::<String, _>(0).map_err(failed());
        let mut findings = checked.iter().map(finding).collect::<Result<Vec<_>, _>>()?;
        let wrong = number(&mut reader, RECOUNT).await.map_err(failed())?;
        if wrong > 0 {
            findings.push(format!("{wrong} sums of stored bytes are not those of the rows"));
        }
        Ok(RegistryFacts {
            place: format!("SQLite {version}, `{}`", self.base.path.display()),
            schema: schema(&mut reader, &self.base.path, migrate::KNOWN).await?,
            tasks: count(1)?,
            open_requests: count(2)?,
            audit_rows: count(3)?,
            bytes: count(4)?,
            findings: findings.into_iter().filter(|finding| finding != "ok").collect(),
        })
    }
}
