//! Audit rows by a filter, as they are stored.
//!
//! Rows are read by number, which is the key of the table, in windows of limited size, so that no filter holds up a
//! reader however long the log is. A page that found little says where it stopped.

use domain::ids::HandleId;
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, AuditRow, AuditRows, RegistryError};
use domain::time::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit::StoredAuditRow;
use crate::sqlite::tables::audit::packed::{PACK_ROWS, PackedBytes, PackedRow, PackedRows, PackedText};
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// Numbers that one statement looks at. Judgement: some 50 ms without an index.
const WINDOW: u64 = 100_000;
/// The columns that [`stored`] reads.
const ROW_COLUMNS: &str = "number, at, actor, verb, subject, note, previous, hash, origin, layout, server, agent, detail, \
     salt, commitment, handle";
/// Statements of one page. Judgement: a page of a filter that matches nothing takes a fraction of a second.
const WINDOWS: u32 = 5;

/// The numbers that may be on the page, both included.
#[derive(Debug, Clone, Copy)]
struct NumberRange {
    low: u64,
    high: u64,
}

impl NumberRange {
    fn of(query: &AuditQuery, first: u64, last: u64) -> Self {
        let low = query.filter.first.unwrap_or(1).max(first).max(1);
        let high = query.filter.last.unwrap_or(u64::MAX).min(last);
        match (query.order, query.behind) {
            (AuditOrder::NewestFirst, Some(behind)) => Self { low, high: high.min(behind.saturating_sub(1)) },
            (AuditOrder::OldestFirst, Some(behind)) => Self { low: low.max(behind.saturating_add(1)), high },
            (AuditOrder::NewestFirst | AuditOrder::OldestFirst, None) => Self { low, high },
        }
    }

    fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// Takes the next window off.
    fn next_window(&mut self, order: AuditOrder) -> Self {
        let whole = *self;
        match order {
            AuditOrder::NewestFirst => {
                let low = whole.high.saturating_sub(WINDOW - 1).max(whole.low);
                self.high = low.saturating_sub(1);
                Self { low, ..whole }
            }
            AuditOrder::OldestFirst => {
                let high = whole.low.saturating_add(WINDOW - 1).min(whole.high);
                self.low = high.saturating_add(1);
                Self { high, ..whole }
            }
        }
    }
}

/// The text as `LIKE` finds it anywhere.
fn anywhere(text: &str) -> String {
    let escaped: String =
        text.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect();
    format!("%{escaped}%")
}

/// Adds a condition on an actor or subject: the whole word, or the kind before the colon.
fn add_kind(find: &mut Conditions, column: &str, word: &str) {
    if word.contains(':') {
        find.add(&format!("{column} = ?")).values.push(Bound::Text(word.into()));
    } else {
        let condition = find.add(&format!("({column} = ? OR ({column} >= ? AND {column} < ?))"));
        // `;` is the character after `:`.
        condition.values.extend([word.into(), format!("{word}:"), format!("{word};")].map(Bound::Text));
    }
}

enum Bound {
    Text(String),
    Whole(i64),
}

/// Conditions with their values, in order.
#[derive(Default)]
struct Conditions {
    sql: String,
    values: Vec<Bound>,
}

impl Conditions {
    fn add(&mut self, condition: &str) -> &mut Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self
    }

    /// Gives the values for a window and its conditions.
    fn bind(&self, find: &mut StatementBatch, range: NumberRange) {
        find.with(whole(range.low)).with(whole(range.high));
        for value in &self.values {
            match value {
                Bound::Text(text) => find.add_value(text.clone()),
                Bound::Whole(number) => find.add_value(*number),
            }
        }
    }

    fn of(filter: &AuditFilter) -> Self {
        let AuditFilter { first: _, last: _, since, until, actor, verbs, subject, server, agent, task, text } = filter;
        let mut all = Self::default();
        if let Some(since) = since {
            all.add("at >= ?").values.push(Bound::Whole(since.as_millis()));
        }
        if let Some(until) = until {
            all.add("at < ?").values.push(Bound::Whole(until.as_millis()));
        }
        if let Some(actor) = actor {
            add_kind(&mut all, "actor", actor);
        }
        if !verbs.is_empty() {
            let marks = vec!["?"; verbs.len()].join(", ");
            all.add(&format!("verb IN ({marks})")).values.extend(verbs.iter().cloned().map(Bound::Text));
        }
        if let Some(subject) = subject {
            add_kind(&mut all, "subject", subject);
        }
        let ids = [
            ("server", server.map(|id| id.to_string())),
            ("agent", agent.map(|id| id.to_string())),
            ("handle", task.as_ref().map(HandleId::to_string)),
        ];
        for (column, id) in ids {
            if let Some(id) = id {
                all.add(&format!("{column} = ?")).values.push(Bound::Text(id));
            }
        }
        if let Some(text) = text {
            all.add("note LIKE ? ESCAPE '\\'").values.push(Bound::Text(anywhere(text)));
        }
        all
    }
}

/// The first row that is still there, and the last that was written; 0 without rows.
pub(super) async fn ends(connection: &mut SqliteConnection) -> Result<(u64, u64), sqlx::Error> {
    let row = sqlx::query("SELECT (SELECT coalesce(min(number), 0) FROM audit), audit_number FROM store WHERE one = 1")
        .fetch_one(connection)
        .await?;
    Ok((unsigned(row.try_get(0)?), unsigned(row.try_get(1)?)))
}

/// Rows of one window, at most `limit`.
async fn window(
    connection: &mut SqliteConnection,
    conditions: &Conditions,
    order: AuditOrder,
    range: NumberRange,
    limit: usize,
) -> Result<Vec<AuditRow>, sqlx::Error> {
    let direction = match order {
        AuditOrder::NewestFirst => "DESC",
        AuditOrder::OldestFirst => "ASC",
    };
    let from = format!("FROM audit WHERE number BETWEEN ? AND ?{} ORDER BY number {direction} LIMIT ?", conditions.sql);
    let find = |sql: &str| {
        let mut find = StatementBatch::default();
        find.add(sql);
        conditions.bind(&mut find, range);
        find.add_value(i64::try_from(limit).unwrap_or(i64::MAX));
        find
    };
    let packed =
        PackedRows::read(&mut *connection, find(&format!("{PACK_ROWS}number IN (SELECT number {from})"))).await;
    if let Some(mut rows) = packed.as_ref().and_then(PackedRows::rows) {
        rows.sort_by_key(|row| row.number);
        if order == AuditOrder::NewestFirst {
            rows.reverse();
        }
        return Ok(rows.into_iter().map(whole_row).collect());
    }
    find(&format!("SELECT {ROW_COLUMNS} {from}")).rows(connection).await?.iter().map(stored).collect()
}

/// A row whose columns all read.
fn whole_row(row: PackedRow<'_>) -> AuditRow {
    let is_erased = row.layout == 2 && row.salt.is_none();
    let fits = has_its_hash(&row);
    let owned = |PackedText(text): PackedText<'_>| text.into_owned();
    let hash_of = |PackedBytes(bytes): PackedBytes| -> Option<[u8; 32]> { bytes.try_into().ok() };
    AuditRow {
        number: row.number,
        layout: u8::try_from(row.layout).unwrap_or_default(),
        at: Timestamp::from_millis(row.at),
        actor: owned(row.actor),
        verb: owned(row.verb),
        subject: owned(row.subject),
        server: row.server.map(owned).unwrap_or_default(),
        agent: row.agent.map(owned).unwrap_or_default(),
        note: (!is_erased).then(|| owned(row.note)),
        origin: row.origin.map(owned),
        detail: row.detail.map(owned),
        salt: row.salt.map(|PackedBytes(salt)| salt),
        commitment: row.commitment.and_then(hash_of),
        previous: hash_of(row.previous).unwrap_or_default(),
        hash: hash_of(row.hash).unwrap_or_default(),
        fits,
    }
}

/// Whether the fields of a row give its hash.
pub(super) fn has_its_hash(row: &PackedRow<'_>) -> bool {
    let stored = StoredAuditRow::of_packed(row);
    let computed = || stored.chain_row()?.hash(&stored.previous.try_into().ok()?).ok();
    computed().is_some_and(|hash| stored.hash == hash)
}

/// A row whose columns do not read is shown as far as they do, and does not fit.
fn stored(row: &SqliteRow) -> Result<AuditRow, sqlx::Error> {
    let hash_in = |column: usize| -> Option<[u8; 32]> { row.try_get::<&[u8], _>(column).ok()?.try_into().ok() };
    let text = |column: usize| row.try_get::<Option<String>, _>(column).ok().flatten();
    let layout = row.try_get::<i64, _>(9).ok().and_then(|layout| u8::try_from(layout).ok()).unwrap_or_default();
    let salt = row.try_get::<Option<Vec<u8>>, _>(13).ok().flatten();
    let is_erased = layout == 2 && salt.is_none();
    let previous = hash_in(6);
    let hash = hash_in(7);
    let computed = StoredAuditRow::of(row).ok().and_then(|stored| stored.chain_row()?.hash(&previous?).ok());
    Ok(AuditRow {
        number: unsigned(row.try_get(0)?),
        layout,
        at: Timestamp::from_millis(row.try_get(1).unwrap_or_default()),
        actor: text(2).unwrap_or_default(),
        verb: text(3).unwrap_or_default(),
        subject: text(4).unwrap_or_default(),
        server: text(10).unwrap_or_default(),
        agent: text(11).unwrap_or_default(),
        note: text(5).filter(|_| !is_erased),
        origin: text(8),
        detail: text(12),
        salt,
        commitment: hash_in(14),
        previous: previous.unwrap_or_default(),
        hash: hash.unwrap_or_default(),
        fits: hash.is_some() && computed == hash,
    })
}

impl SqliteRegistry {
    /// How many rows up to this one pass a filter.
    pub(crate) async fn count_audit_rows(&self, filter: AuditFilter, upto: u64) -> Result<u64, RegistryError> {
        let failed = || self.base.failed("count audit rows");
        let conditions = Conditions::of(&filter);
        let mut reader = self.reader().await?;
        let (first, last) = ends(&mut reader).await.map_err(failed())?;
        let query = AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: 1 };
        let mut left = NumberRange::of(&query, first, last.min(upto));
        let mut all = 0_u64;
        while !left.is_empty() {
            let range = left.next_window(query.order);
            let mut find = StatementBatch::default();
            find.add(&format!("SELECT count(*) FROM audit WHERE number BETWEEN ? AND ?{}", conditions.sql));
            conditions.bind(&mut find, range);
            let found = find.rows(&mut reader).await.map_err(failed())?;
            let counted: i64 = found.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed())?;
            all = all.saturating_add(unsigned(counted));
        }
        Ok(all)
    }

    /// A page of audit rows by a filter.
    pub(crate) async fn read_audit_rows(&self, query: AuditQuery) -> Result<AuditRows, RegistryError> {
        let failed = || self.base.failed("read the audit log");
        let limit = usize::try_from(query.limit.clamp(1, self.base.limits.page_rows_max)).unwrap_or(usize::MAX);
        let conditions = Conditions::of(&query.filter);
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let (first, last) = ends(&mut snapshot).await.map_err(failed())?;
        let mut left = NumberRange::of(&query, first, last);
        let mut found: Vec<AuditRow> = Vec::new();
        let mut looked_at = None;
        let (mut second, mut windows) = (None, 0);
        while windows < WINDOWS && !left.is_empty() && found.len() < limit {
            let range = left.next_window(query.order);
            let missing = limit - found.len();
            windows += 1;
            // Words of notes have no index: where the first window had too few, two readers look at those that follow, if a
            // second one is at hand. Rows never change, so it does not matter that it sees a later moment.
            if windows == 2 && query.filter.text.is_some() {
                second = self.readers.try_acquire();
            }
            let beside = match &mut second {
                Some(reader) if windows < WINDOWS && !left.is_empty() => Some((reader, left.next_window(query.order))),
                Some(_) | None => None,
            };
            let here = window(&mut snapshot, &conditions, query.order, range, missing);
            let end = if let Some((reader, beyond)) = beside {
                windows += 1;
                let there = window(reader, &conditions, query.order, beyond, missing);
                let (here, there) = futures::join!(here, there);
                found.extend(here.map_err(failed())?);
                found.extend(there.map_err(failed())?);
                found.truncate(limit);
                beyond
            } else {
                found.extend(here.await.map_err(failed())?);
                range
            };
            looked_at = Some(match query.order {
                AuditOrder::NewestFirst => end.low,
                AuditOrder::OldestFirst => end.high,
            });
        }
        snapshot.rollback().await.map_err(failed())?;
        let next = if found.len() >= limit {
            found.last().map(|row| row.number).filter(|behind| {
                !NumberRange::of(&AuditQuery { behind: Some(*behind), ..query }, first, last).is_empty()
            })
        } else {
            looked_at.filter(|_| !left.is_empty())
        };
        Ok(AuditRows { rows: found, next, first, last })
    }
}
