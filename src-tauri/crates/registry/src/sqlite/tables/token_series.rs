//! Counted tokens: windows as they are, and series by the hour that only grow.
//!
//! A flush is one mutation, so it is written whole or not at all and shares the group's sync. Old rows go with later flushes
//! (ended windows beyond those shown, series one hour at a time), so that no flush takes long. What the figures mean is in
//! `domain::budget::window` and `domain::ports::BudgetNote`.

use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, Window};
use domain::ports::{BudgetNote, HourSum, RegistryError, SeriesQuery, SpendRow, WasteRow};
use domain::time::Timestamp;
use domain::tokens::Exactness;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::{self, DecodeError, WindowDef};
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, StoreLimits, unsigned, whole};

/// Windows read at most; they are few for each agent, and the limit only keeps a damaged file from filling the memory.
const WINDOWS_MAX: u32 = 1_000_000;
/// Rows of a series that are given at once: a month of a hundred busy agents. Whoever asks for more is told to ask for
/// less. Judgement.
const SERIES_MAX: u32 = 1_000_000;
/// The largest number that SQLite adds up to; beyond it sums would become fractions.
const SUM_MAX: i64 = i64::MAX;

/// A flush, ready to write.
#[derive(Debug)]
pub(crate) struct UsageRows {
    /// Windows, encoded and sealed.
    pub(crate) windows: Vec<WindowRow>,
    /// Spend as a JSON array, and its newest hour; `None` when there is none.
    spend: Option<(String, i64)>,
    waste: Option<(String, i64)>,
    /// Hours in which counting ran.
    hours: Vec<i64>,
}

/// A window, ready to write.
#[derive(Debug)]
pub(crate) struct WindowRow {
    id: String,
    agent: String,
    began: i64,
    last: i64,
    ended: Option<i64>,
    body_sealed: Vec<u8>,
}

fn place(id: &str) -> FieldLocation<'_> {
    FieldLocation { table: "windows", column: "body_sealed", row: id }
}

/// The later, the less exact: the order of the column.
fn rank(exactness: Exactness) -> i64 {
    match exactness {
        Exactness::Exact => 0,
        Exactness::About => 1,
        Exactness::AtMost => 2,
    }
}

fn exactness(rank: i64) -> Option<Exactness> {
    [Exactness::Exact, Exactness::About, Exactness::AtMost].into_iter().find(|exactness| self::rank(*exactness) == rank)
}

fn text<T: ToString>(id: Option<T>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

fn array(rows: impl Iterator<Item = (Value, i64)>) -> Option<(String, i64)> {
    let (rows, hours): (Vec<Value>, Vec<i64>) = rows.unzip();
    let newest = hours.into_iter().max()?;
    Some((Value::Array(rows).to_string(), newest))
}

impl UsageRows {
    /// Encodes and seals a flush.
    pub(crate) fn of(note: &BudgetNote, sealer: &Sealer) -> Result<Self, RegistryError> {
        let BudgetNote { windows, spend, waste, hours } = note;
        let window = |window: &Window| {
            let id = window.id.to_string();
            let body = codec::encode::<WindowDef>(window)?;
            Ok(WindowRow {
                agent: window.agent.to_string(),
                began: window.began.as_millis(),
                last: window.last.as_millis(),
                ended: window.ended.map(Timestamp::as_millis),
                body_sealed: sealer
                    .seal(place(&id), body.as_bytes())
                    .map_err(StoreContext::sealing("seal a window"))?,
                id,
            })
        };
        let spent = |row: &SpendRow| {
            let SpendRow { hour, agent, server, flow, family, exactness, tokens, passed_exactness, passed, messages } =
                row;
            let (hour, server) = (hour.as_millis(), text(*server));
            let (tokens, messages) = (whole(*tokens), whole(*messages));
            let (agent, flow, family) = (agent.to_string(), flow.word(), family.word());
            let (rank, passed_rank, passed) = (rank(*exactness), rank(*passed_exactness), whole(*passed));
            (json!([hour, agent, server, flow, family, rank, tokens, messages, passed_rank, passed]), hour)
        };
        let wasted = |row: &WasteRow| {
            let WasteRow { hour, agent, server, waste, count, tokens, exactness } = row;
            let (hour, agent, server) = (hour.as_millis(), text(*agent), server.to_string());
            (json!([hour, agent, server, waste.word(), rank(*exactness), whole(*count), whole(*tokens)]), hour)
        };
        Ok(Self {
            windows: windows.iter().map(window).collect::<Result<_, RegistryError>>()?,
            spend: array(spend.iter().map(spent)),
            waste: array(waste.iter().map(wasted)),
            hours: hours.iter().map(|hour| hour.as_millis()).collect(),
        })
    }
}

/// Writes a window; when it ends, the oldest ended ones of its agent go.
pub(crate) fn put(batch: &mut StatementBatch, window: &WindowRow, limits: StoreLimits) {
    let WindowRow { id, agent, began, last, ended, body_sealed } = window;
    batch
        .add(
            "INSERT INTO windows (id, agent, began, last, ended, body_sealed) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET began = excluded.began, last = excluded.last, ended = excluded.ended, \
             body_sealed = excluded.body_sealed",
        )
        .with(id.clone())
        .with(agent.clone())
        .with(*began)
        .with(*last)
        .with(*ended)
        .with(body_sealed.clone());
    if ended.is_some() {
        batch
            .add(
                "DELETE FROM windows WHERE id IN (SELECT id FROM windows INDEXED BY windows_ended \
                 WHERE agent = ? AND ended IS NOT NULL ORDER BY ended DESC, began DESC, id DESC LIMIT -1 OFFSET ?)",
            )
            .with(agent.clone())
            .with(limits.windows_shown);
    }
}

/// Adds to the series, and takes away the oldest hour that is too old.
pub(crate) fn add(batch: &mut StatementBatch, rows: &UsageRows, limits: StoreLimits) {
    let kept = i64::try_from(limits.series_kept.as_millis()).unwrap_or(i64::MAX);
    if let Some((rows, newest)) = &rows.spend {
        batch
            .add(
                "INSERT INTO spend (hour, agent, server, flow, family, exactness, tokens, messages, passed_exactness, \
                 passed) SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, \
                 value ->> 6, value ->> 7, value ->> 8, value ->> 9 FROM json_each(?) WHERE true \
                 ON CONFLICT (hour, agent, server, flow, family) DO UPDATE \
                 SET tokens = min(?, tokens + excluded.tokens), messages = min(?, messages + excluded.messages), \
                 exactness = max(exactness, excluded.exactness), passed = min(?, passed + excluded.passed), \
                 passed_exactness = max(passed_exactness, excluded.passed_exactness)",
            )
            .with(rows.clone())
            .with(SUM_MAX)
            .with(SUM_MAX)
            .with(SUM_MAX);
        batch
            .add("DELETE FROM spend WHERE hour = (SELECT min(hour) FROM spend) AND hour < ?")
            .with(newest.saturating_sub(kept));
    }
    if let Some((rows, newest)) = &rows.waste {
        batch
            .add(
                "INSERT INTO waste (hour, agent, server, waste, exactness, count, tokens) \
                 SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 \
                 FROM json_each(?) WHERE true ON CONFLICT (hour, agent, server, waste) DO UPDATE \
                 SET count = min(?, count + excluded.count), tokens = min(?, tokens + excluded.tokens), \
                 exactness = max(exactness, excluded.exactness)",
            )
            .with(rows.clone())
            .with(SUM_MAX)
            .with(SUM_MAX);
        batch
            .add("DELETE FROM waste WHERE hour = (SELECT min(hour) FROM waste) AND hour < ?")
            .with(newest.saturating_sub(kept));
    }
    for hour in &rows.hours {
        batch.add("INSERT INTO counted_hours (hour) VALUES (?) ON CONFLICT DO NOTHING").with(*hour);
        batch
            .add("DELETE FROM counted_hours WHERE hour = (SELECT min(hour) FROM counted_hours) AND hour < ?")
            .with(hour.saturating_sub(kept));
    }
}

fn window(base: &StoreContext, row: &SqliteRow) -> Result<Window, RegistryError> {
    let failed = || base.failed("read windows");
    let id: &str = row.try_get(0).map_err(failed())?;
    let ended: Option<i64> = row.try_get(4).map_err(failed())?;
    let columns = codec::window::WindowColumns {
        id,
        agent: row.try_get(1).map_err(failed())?,
        began: Timestamp::from_millis(row.try_get(2).map_err(failed())?),
        last: Timestamp::from_millis(row.try_get(3).map_err(failed())?),
        ended: ended.map(Timestamp::from_millis),
    };
    let plain = base.unseal(place(id), row.try_get(5).map_err(failed())?)?;
    let body = serde_json::from_slice(&plain).map_err(|error| StoreContext::not_json("read `windows`", id, &error))?;
    codec::window::read(&columns, body).map_err(|error| StoreContext::bad_row("read `windows`", id, &error))
}

/// Reads the columns of one row of a series.
struct SeriesRow<'a> {
    base: &'a StoreContext,
    table: &'static str,
    row: &'a SqliteRow,
}

impl<'a> SeriesRow<'a> {
    fn number(&self, column: usize) -> Result<i64, RegistryError> {
        self.row.try_get(column).map_err(self.base.failed("read a series"))
    }

    fn word(&self, column: usize) -> Result<&'a str, RegistryError> {
        self.row.try_get(column).map_err(self.base.failed("read a series"))
    }

    fn read<T>(&self, name: &str, value: Option<T>) -> Result<T, RegistryError> {
        value.ok_or_else(|| StoreContext::bad_row(self.table, "of an hour", &DecodeError::new(name, "does not read")))
    }

    fn id<T: std::str::FromStr>(&self, name: &str, column: usize) -> Result<T, RegistryError> {
        let text = self.word(column)?;
        self.read(name, text.parse().ok())
    }

    fn maybe_id<T: std::str::FromStr>(&self, name: &str, column: usize) -> Result<Option<T>, RegistryError> {
        if self.word(column)?.is_empty() { Ok(None) } else { self.id(name, column).map(Some) }
    }
}

impl SqliteRegistry {
    /// The windows that are not emptied, then the last of each agent that are; each the newest first.
    pub(crate) async fn read_windows(&self, ended: u32) -> Result<Vec<Window>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT id, agent, began, last, ended, body_sealed FROM windows WHERE ended IS NULL OR id IN ( \
             SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY agent ORDER BY ended DESC, began DESC, id DESC) AS place \
             FROM windows WHERE ended IS NOT NULL) WHERE place <= ?) ORDER BY ended IS NOT NULL, ended DESC, began DESC, id DESC LIMIT ?",
        )
        .bind(ended)
        .bind(WINDOWS_MAX)
        .fetch_all(&mut *reader)
        .await
        .map_err(self.base.failed("read windows"))?;
        found.iter().map(|row| window(&self.base, row)).collect()
    }

    /// Rows of a series, by hour.
    async fn series(
        &self,
        table: &'static str,
        columns: &str,
        query: SeriesQuery,
    ) -> Result<Vec<SqliteRow>, RegistryError> {
        let mut find = StatementBatch::default();
        let (index, whose) = match query.agent {
            Some(_) => (format!("INDEXED BY {table}_by_agent"), "agent = ? AND"),
            None => (String::new(), ""),
        };
        find.add(&format!("SELECT {columns} FROM {table} {index} WHERE {whose} hour >= ? AND hour < ? LIMIT ?"));
        if let Some(agent) = query.agent {
            find.with(agent.to_string());
        }
        find.with(query.from.as_millis()).with(query.to.as_millis()).with(i64::from(SERIES_MAX) + 1);
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(self.base.failed("read a series"))?;
        if u32::try_from(found.len()).is_ok_and(|rows| rows <= SERIES_MAX) {
            Ok(found)
        } else {
            let why = format!("there are more than {SERIES_MAX} rows: ask for fewer hours or for one agent");
            Err(RegistryError::Other { operation: "read a series", why })
        }
    }

    pub(crate) async fn read_spend(&self, query: SeriesQuery) -> Result<Vec<SpendRow>, RegistryError> {
        let columns = "hour, agent, server, flow, family, exactness, tokens, messages, passed_exactness, passed";
        let found = self.series("spend", columns, query).await?;
        let one = |row: &SqliteRow| {
            let cells = SeriesRow { base: &self.base, table: "read `spend`", row };
            Ok(SpendRow {
                hour: Timestamp::from_millis(cells.number(0)?),
                agent: cells.id("agent", 1)?,
                server: cells.maybe_id("server", 2)?,
                flow: cells.read("flow", TokenFlow::from_word(cells.word(3)?))?,
                family: cells.read("family", domain::tokens::Family::from_word(cells.word(4)?))?,
                exactness: cells.read("exactness", exactness(cells.number(5)?))?,
                tokens: unsigned(cells.number(6)?),
                messages: unsigned(cells.number(7)?),
                passed_exactness: cells.read("passed_exactness", exactness(cells.number(8)?))?,
                passed: unsigned(cells.number(9)?),
            })
        };
        let mut rows = found.iter().map(one).collect::<Result<Vec<_>, RegistryError>>()?;
        rows.sort_unstable();
        Ok(rows)
    }

    /// Sums are taken as floating point, which is exact up to 2^53 tokens and cannot overflow; a sum of integers that
    /// does would fail the query.
    pub(crate) async fn read_spend_by_hour(&self, query: SeriesQuery) -> Result<Vec<HourSum>, RegistryError> {
        let mut find = StatementBatch::default();
        let (index, whose) = match query.agent {
            Some(_) => ("INDEXED BY spend_by_agent", "agent = ? AND"),
            None => ("", ""),
        };
        find.add(&format!(
            "SELECT hour, flow, max(exactness), CAST(total(tokens) AS INTEGER), CAST(total(messages) AS INTEGER), \
             max(passed_exactness), CAST(total(passed) AS INTEGER) FROM spend {index} \
             WHERE {whose} hour >= ? AND hour < ? GROUP BY hour, flow LIMIT ?"
        ));
        if let Some(agent) = query.agent {
            find.with(agent.to_string());
        }
        find.with(query.from.as_millis()).with(query.to.as_millis()).with(i64::from(SERIES_MAX));
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(self.base.failed("read a series"))?;
        let one = |row: &SqliteRow| {
            let cells = SeriesRow { base: &self.base, table: "read `spend`", row };
            Ok(HourSum {
                hour: Timestamp::from_millis(cells.number(0)?),
                flow: cells.read("flow", TokenFlow::from_word(cells.word(1)?))?,
                exactness: cells.read("exactness", exactness(cells.number(2)?))?,
                tokens: unsigned(cells.number(3)?),
                messages: unsigned(cells.number(4)?),
                passed_exactness: cells.read("passed_exactness", exactness(cells.number(5)?))?,
                passed: unsigned(cells.number(6)?),
            })
        };
        let mut rows = found.iter().map(one).collect::<Result<Vec<_>, RegistryError>>()?;
        rows.sort_unstable();
        Ok(rows)
    }

    pub(crate) async fn read_counted_hours(&self, query: SeriesQuery) -> Result<Vec<Timestamp>, RegistryError> {
        let failed = || self.base.failed("read the hours that were counted");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT hour FROM counted_hours WHERE hour >= ? AND hour < ? ORDER BY hour LIMIT ?")
            .bind(query.from.as_millis())
            .bind(query.to.as_millis())
            .bind(SERIES_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(failed())?;
        found.iter().map(|row| Ok(Timestamp::from_millis(row.try_get(0).map_err(failed())?))).collect()
    }

    pub(crate) async fn read_waste(&self, query: SeriesQuery) -> Result<Vec<WasteRow>, RegistryError> {
        let columns = "hour, agent, server, waste, exactness, count, tokens";
        let found = self.series("waste", columns, query).await?;
        let one = |row: &SqliteRow| {
            let cells = SeriesRow { base: &self.base, table: "read `waste`", row };
            Ok(WasteRow {
                hour: Timestamp::from_millis(cells.number(0)?),
                agent: cells.maybe_id("agent", 1)?,
                server: cells.id("server", 2)?,
                waste: cells.read("waste", Waste::from_word(cells.word(3)?))?,
                exactness: cells.read("exactness", exactness(cells.number(4)?))?,
                count: unsigned(cells.number(5)?),
                tokens: unsigned(cells.number(6)?),
            })
        };
        let mut rows = found.iter().map(one).collect::<Result<Vec<_>, RegistryError>>()?;
        rows.sort_unstable();
        Ok(rows)
    }
}
