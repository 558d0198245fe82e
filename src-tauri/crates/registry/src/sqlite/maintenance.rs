//! Facts for `doctor`, and what is removed with time.
//!
//! Only change rows are removed here: audit rows never, status lines already when they are written. Removal goes in
//! short transactions, so that commits pass between them.

use domain::ports::{RegistryError, StoreFacts};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::migrate::schema;
use super::script::Script;
use super::{Base, Sqlite, migrate, unsigned};

/// Change rows looked at in one transaction: some milliseconds of work. Judgement.
const STRETCH: i64 = 5_000;

/// Removes the oldest stretch of change rows up to the last one older than `before`; returns how many went. A clock
/// that was set back or forth makes rows stay longer or go sooner, and a reader behind them is told to read anew.
pub(crate) async fn prune_stretch(
    base: &Base,
    connection: &mut SqliteConnection,
    before: Timestamp,
) -> Result<u64, RegistryError> {
    let trouble = || base.fault("prune the change log");
    let upto: Option<i64> =
        sqlx::query_scalar("SELECT max(seq) FROM (SELECT seq, at FROM changes ORDER BY seq LIMIT ?) WHERE at < ?")
            .bind(STRETCH)
            .bind(before.as_millis())
            .fetch_one(&mut *connection)
            .await
            .map_err(trouble())?;
    let Some(upto) = upto else { return Ok(0) };
    let mut script = Script::default();
    script.add("BEGIN IMMEDIATE");
    script.add("UPDATE store SET pruned_upto = max(pruned_upto, ?) WHERE one = 1").with(upto);
    script.run(connection).await.map_err(trouble())?;
    let gone = sqlx::query("DELETE FROM changes WHERE seq <= ?")
        .bind(upto)
        .execute(&mut *connection)
        .await
        .map_err(trouble())?
        .rows_affected();
    let mut script = Script::default();
    script.add("COMMIT");
    script.run(connection).await.map_err(trouble())?;
    Ok(gone)
}

impl Sqlite {
    /// Facts for `doctor`, with a quick integrity check.
    pub(crate) async fn read_facts(&self) -> Result<StoreFacts, RegistryError> {
        let trouble = || self.base.fault("check the registry");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT sqlite_version(), (SELECT coalesce(sum(handles), 0) FROM tallies), \
             (SELECT count(*) FROM requests WHERE state = 'open'), \
             (SELECT coalesce(max(number) - min(number) + 1, 0) FROM audit), \
             (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())",
        )
        .fetch_one(&mut *reader)
        .await
        .map_err(trouble())?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(trouble());
        let version: &str = row.try_get(0).map_err(trouble())?;
        let checked = sqlx::query("PRAGMA quick_check(10)").fetch_all(&mut *reader).await.map_err(trouble())?;
        let finding = |row: &SqliteRow| row.try_get::<String, _>(0).map_err(trouble());
        let findings = checked.iter().map(finding).collect::<Result<Vec<_>, _>>()?;
        Ok(StoreFacts {
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
