//! What the rows of a month amount to, for the report that people read.
//!
//! Rows that only count are counted by SQLite; those that say more come packed (`tables/audit/packed.rs`), in windows of
//! numbers, and one window is read while the one before is added up. Rows that were verified before are not hashed again.

use domain::audit::Verb;
use domain::audit::report::{MonthReport, ReportedRow, RowsFound};
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, MonthRead, RegistryError};
use domain::time::Timestamp;
use serde::Deserialize;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use super::audit_rows::{ends, has_its_hash};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit::packed::{PACK_ROWS, PackedRows, PackedText};
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// Numbers that one statement looks at. Judgement: some ten milliseconds, and two megabytes where all rows are of the month.
const WINDOW: u64 = 10_000;

/// A time with its end excluded, and the numbers at which rows of it are looked for, both included.
#[derive(Clone, Copy)]
struct MonthWindow {
    since: Timestamp,
    until: Timestamp,
    low: u64,
    high: u64,
}

/// What a report reads of a row, in the order of the statement.
#[derive(Deserialize)]
struct ReportedColumns<'r> {
    number: u64,
    at: i64,
    #[serde(borrow)]
    actor: PackedText<'r>,
    #[serde(borrow)]
    verb: PackedText<'r>,
    #[serde(borrow)]
    subject: PackedText<'r>,
    #[serde(borrow)]
    server: PackedText<'r>,
    #[serde(borrow)]
    agent: PackedText<'r>,
    #[serde(borrow)]
    note: PackedText<'r>,
}

/// Rows of a window as they were read.
struct MonthPart {
    found: SqliteRow,
    /// The same rows with all columns, where they were not verified before.
    unverified: Option<PackedRows>,
}

/// The verbs that a report reads, as SQL has them: our own words, without quotes in them.
fn read_verbs() -> String {
    let words = Verb::ALL.into_iter().filter(|verb| MonthReport::reads(*verb));
    words.map(|verb| format!("'{}'", verb.word())).collect::<Vec<_>>().join(", ")
}

/// A column as text, whatever its type: a changed row must not hide the figures of the others.
fn text_of(column: &str) -> String {
    format!("coalesce(CAST({column} AS TEXT), '')")
}

fn columns() -> String {
    let [actor, verb, subject, server, agent] = ["actor", "verb", "subject", "server", "agent"].map(text_of);
    // The note of a task that begins says nothing that is counted.
    let note = format!("iif(verb = '{}', '', {})", Verb::Admitted.word(), text_of("note"));
    format!("number, CAST(at AS INTEGER), {actor}, {verb}, {subject}, {server}, {agent}, {note}")
}

const OF_MONTH: &str = "number BETWEEN ? AND ? AND at >= ? AND at < ?";

async fn read_part(
    connection: &mut SqliteConnection,
    sql: &str,
    window: MonthWindow,
    is_verified: bool,
) -> Result<MonthPart, sqlx::Error> {
    let find = |sql: &str| {
        let MonthWindow { since, until, low, high } = window;
        let mut find = StatementBatch::default();
        find.add(sql).with(whole(low)).with(whole(high)).with(since.as_millis()).with(until.as_millis());
        find
    };
    let found = find(sql).rows(&mut *connection).await?.into_iter().next().ok_or(sqlx::Error::RowNotFound)?;
    let is_empty = found.try_get::<i64, _>(0)? == 0;
    let unverified = if is_verified || is_empty {
        None
    } else {
        PackedRows::read(connection, find(&format!("{PACK_ROWS}{OF_MONTH}"))).await
    };
    Ok(MonthPart { found, unverified })
}

impl MonthPart {
    /// Adds its rows to the report, and counts those that were changed; `None` where that is not known from this part.
    fn add_to(&self, read: &mut MonthRead) -> Result<Option<u64>, sqlx::Error> {
        let count = |column: usize| self.found.try_get::<i64, _>(column).map(unsigned);
        let found = RowsFound { rows: count(0)?, first: count(1)?, last: count(2)? };
        if found.rows == 0 {
            return Ok(Some(0));
        }
        read.report.count(found);
        // Bytes that are no text, in a row that was changed, are shown as such.
        let text = String::from_utf8_lossy(self.found.try_get(3)?);
        let mut rows: Vec<ReportedColumns<'_>> =
            serde_json::from_str(&text).map_err(|why| sqlx::Error::Decode(why.into()))?;
        rows.sort_by_key(|row| row.number);
        for row in &rows {
            read.report.take(&ReportedRow {
                number: row.number,
                at: Timestamp::from_millis(row.at),
                actor: &row.actor.0,
                verb: &row.verb.0,
                subject: &row.subject.0,
                server: &row.server.0,
                agent: &row.agent.0,
                note: &row.note.0,
            });
        }
        let Some(whole_rows) = self.unverified.as_ref().and_then(PackedRows::rows) else { return Ok(None) };
        let changed = whole_rows.iter().filter(|row| !has_its_hash(row)).count();
        Ok(Some(u64::try_from(changed).unwrap_or(u64::MAX)))
    }
}

impl SqliteRegistry {
    /// What the rows of this time amount to.
    pub(crate) async fn read_month(&self, since: Timestamp, until: Timestamp) -> Result<MonthRead, RegistryError> {
        let failed = || self.base.failed("read the audit log");
        let verified_to = self.read_verified().await?.unwrap_or(0);
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let (first, last) = ends(&mut snapshot).await.map_err(failed())?;
        let sql = format!(
            "SELECT count(*), coalesce(min(number), 0), coalesce(max(number), 0), \
             json_group_array(json_array({})) FILTER (WHERE verb IN ({})) FROM audit WHERE {OF_MONTH}",
            columns(),
            read_verbs()
        );
        let mut read = MonthRead { first, verified_to, ..MonthRead::default() };
        let mut doubtful: Vec<MonthWindow> = Vec::new();
        let mut before: Option<(MonthPart, MonthWindow)> = None;
        let mut low = first.max(1);
        loop {
            let high = low.saturating_add(WINDOW - 1).min(last);
            let window = MonthWindow { since, until, low, high };
            let reading = async {
                if low > last {
                    return Ok(None);
                }
                read_part(&mut snapshot, &sql, window, high <= verified_to).await.map(Some)
            };
            let adding = async {
                let Some((part, window)) = &before else { return Ok::<_, sqlx::Error>(()) };
                match part.add_to(&mut read)? {
                    Some(changed) => read.changed = read.changed.saturating_add(changed),
                    None if window.high > verified_to => doubtful.push(*window),
                    None => {}
                }
                Ok(())
            };
            let (part, added) = futures::join!(reading, adding);
            added.map_err(failed())?;
            let Some(part) = part.map_err(failed())? else { break };
            before = Some((part, window));
            low = high.saturating_add(1);
        }
        snapshot.rollback().await.map_err(failed())?;
        drop(reader);
        for window in doubtful {
            let changed = self.changed_rows(window).await?;
            read.changed = read.changed.saturating_add(changed);
        }
        Ok(read)
    }

    /// Rows whose fields do not give their hash, counted one by one.
    async fn changed_rows(&self, MonthWindow { since, until, low, high }: MonthWindow) -> Result<u64, RegistryError> {
        let (first, last) = (Some(low), Some(high));
        let filter = AuditFilter { first, last, since: Some(since), until: Some(until), ..AuditFilter::default() };
        let mut query =
            AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: self.base.limits.page_rows_max };
        let mut changed = 0_u64;
        loop {
            let page = self.read_audit_rows(query.clone()).await?;
            changed = page.rows.iter().filter(|row| !row.fits).fold(changed, |changed, _| changed.saturating_add(1));
            match page.next {
                Some(next) => query.behind = Some(next),
                None => return Ok(changed),
            }
        }
    }
}
