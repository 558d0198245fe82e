//! Lists on screens: places in them, their groups and counts.
//!
//! Which tasks a query takes follows from what tasks are alike in (`kinds`, kept by triggers), so conditions and texts
//! are decided on a few hundred counts and no task is read for them. Rows then come from stretches of an index that are
//! ordered already and are merged by SQLite, so a place far down costs steps in an index, not tasks. Conditions on
//! time are walked in the index by change. The older list by cursor is in `lists.rs`.

use std::collections::BTreeSet;

use domain::handle::TaskHandle;
use domain::ids::{HandleId, ServerId};
use domain::ports::{Alike, GroupBy, Page, PageQuery, RegistryError, TaskOrder, View};
use domain::status::Phase;
use domain::time::Timestamp;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use super::script::Script;
use super::{Base, Sqlite, unsigned, whole};

/// Kinds read at most. Servers, agents and tools are named by people; the limit only keeps a damaged file from filling
/// the memory.
const KINDS_MAX: u32 = 100_000;
/// Stretches that one statement merges; with more, the tasks of all kinds are sorted. SQLite allows 500.
const STRETCHES_MAX: usize = 200;
/// Up to so many tasks are sorted by change instead of walking the index by change for them.
const SORTED_MAX: u64 = 2_000;
/// Behind every character of an id.
const BEYOND: char = '~';
/// Whether a task is of one of the kinds given as a JSON array of arrays.
const OF_KINDS: &str = "(server, coalesce(agent, ''), coalesce(tool, ''), phase) IN (SELECT json_extract(value, '$[0]'), \
     json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]') FROM json_each(?))";
/// Tasks whose ids begin with a text, given as the range of all that do.
const BY_ID: &str = "INDEXED BY sqlite_autoindex_handles_1 WHERE id >= ? AND id < ?";

/// What a query takes.
struct Taken {
    query: PageQuery,
    /// The kinds it takes.
    kinds: Vec<Alike>,
    /// Whether these are all there are.
    all: bool,
    /// The kinds it takes when the text is the beginning of an id, and that beginning.
    by_id: Option<(Vec<Alike>, String)>,
}

/// What the stretches of a query have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Only the phase matters.
    Phase,
    /// Server and phase.
    Server,
    /// Agent and phase.
    Agent,
    /// All of it.
    Kind,
}

fn names(kinds: &[Alike]) -> String {
    let name = |kind: &Alike| {
        let agent = kind.agent.map(|agent| agent.to_string()).unwrap_or_default();
        json!([kind.server.to_string(), agent, kind.tool.as_deref().unwrap_or_default(), kind.phase.word()])
    };
    Value::Array(kinds.iter().map(name).collect()).to_string()
}

fn level(query: &PageQuery) -> Level {
    let within = |by: GroupBy| query.within.is_some() && query.group_by == by;
    let nobody = within(GroupBy::Agent) && query.within.as_deref() == Some("");
    let by_server = !query.servers.is_empty() || within(GroupBy::Server);
    let by_agent = !query.agents.is_empty() || within(GroupBy::Agent);
    if !query.tools.is_empty() || query.needle().is_some() || nobody || (by_server && by_agent) {
        return Level::Kind;
    }
    match (by_server, by_agent) {
        (true, _) => Level::Server,
        (false, true) => Level::Agent,
        (false, false) => Level::Phase,
    }
}

impl Taken {
    fn tasks(&self) -> u64 {
        self.kinds.iter().fold(0, |sum, kind| sum.saturating_add(kind.tasks))
    }

    fn is_timed(&self) -> bool {
        self.query.changed_after.is_some() || self.query.created_before.is_some()
    }

    /// The condition that a task is of one of the kinds, as simple as it can be, and its value.
    fn filter(&self) -> (&'static str, Option<String>) {
        if self.all {
            return ("true", None);
        }
        match level(&self.query) {
            Level::Phase => {
                let phases: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.phase.word()).collect();
                ("phase IN (SELECT value FROM json_each(?))", Some(json!(phases).to_string()))
            }
            Level::Server | Level::Agent | Level::Kind => (OF_KINDS, Some(names(&self.kinds))),
        }
    }

    /// ` AND …` for conditions on time; values follow by [`Taken::time_values`].
    fn times(&self) -> String {
        let mut text = String::new();
        if self.query.changed_after.is_some() {
            text.push_str(" AND changed >= ?");
        }
        if self.query.created_before.is_some() {
            text.push_str(" AND created <= ?");
        }
        text
    }

    fn time_values(&self, script: &mut Script) {
        for at in [self.query.changed_after, self.query.created_before].into_iter().flatten() {
            script.with(at.as_millis());
        }
    }

    /// Index and conditions of each stretch, with its values.
    fn stretches(&self) -> Vec<(&'static str, Vec<String>)> {
        if self.all {
            return vec![("INDEXED BY handles_by_age WHERE true", Vec::new())];
        }
        let distinct = |key: fn(&Alike) -> Vec<String>| self.kinds.iter().map(key).collect::<BTreeSet<_>>();
        let agent = |kind: &Alike| kind.agent.map(|agent| agent.to_string()).unwrap_or_default();
        let (text, keys) = match level(&self.query) {
            Level::Phase => {
                ("INDEXED BY handles_by_phase WHERE phase = ?", distinct(|kind| vec![kind.phase.word().into()]))
            }
            Level::Server => (
                "INDEXED BY handles_by_server WHERE server = ? AND phase = ?",
                distinct(|kind| vec![kind.server.to_string(), kind.phase.word().into()]),
            ),
            Level::Agent => (
                "INDEXED BY handles_by_agent WHERE agent = ? AND phase = ?",
                self.kinds.iter().map(|kind| vec![agent(kind), kind.phase.word().into()]).collect(),
            ),
            Level::Kind => (
                "INDEXED BY handles_by_kind WHERE server = ? AND coalesce(agent, '') = ? AND coalesce(tool, '') = ? \
                 AND phase = ?",
                self.kinds
                    .iter()
                    .map(|kind| {
                        let tool = kind.tool.as_deref().unwrap_or_default().to_owned();
                        vec![kind.server.to_string(), agent(kind), tool, kind.phase.word().into()]
                    })
                    .collect(),
            ),
        };
        keys.into_iter().map(|key| (text, key)).collect()
    }

    /// The statement that finds number, order and id of the tasks from a place on; `None` when there are none.
    fn find(&self, offset: i64, limit: i64) -> Option<Script> {
        let (order, way) = match self.query.order {
            TaskOrder::Newest => ("created", "DESC"),
            TaskOrder::Oldest => ("created", "ASC"),
            TaskOrder::Changed => ("changed", "DESC"),
        };
        let select = format!("SELECT number, {order}, id FROM handles ");
        let times = self.times();
        let mut terms: Vec<String> = Vec::new();
        let mut values: Vec<Box<dyn Fn(&mut Script) + '_>> = Vec::new();
        let by_change = order == "changed" || self.query.changed_after.is_some();
        let stretches = if by_change && !self.kinds.is_empty() { Vec::new() } else { self.stretches() };
        if self.kinds.is_empty() {
            // Nothing but what the text may mean as an id.
        } else if by_change && (self.all || self.tasks() > SORTED_MAX) {
            let (kinds, names) = self.filter();
            terms.push(format!("{select}INDEXED BY handles_by_change WHERE {kinds}{times}"));
            values.push(Box::new(move |script| {
                if let Some(names) = &names {
                    script.with(names.clone());
                }
                self.time_values(script);
            }));
        } else if by_change || stretches.len() > STRETCHES_MAX {
            terms.push(format!("{select}INDEXED BY handles_by_kind WHERE {OF_KINDS}{times}"));
            values.push(Box::new(|script| {
                script.with(names(&self.kinds));
                self.time_values(script);
            }));
        } else {
            for (text, keys) in stretches {
                terms.push(format!("{select}{text}{times}"));
                values.push(Box::new(move |script| {
                    for key in &keys {
                        script.with(key.clone());
                    }
                    self.time_values(script);
                }));
            }
        }
        if let Some((kinds, beginning)) = &self.by_id {
            terms.push(format!("{select}{BY_ID} AND {OF_KINDS} AND NOT {OF_KINDS}{times}"));
            values.push(Box::new(move |script| {
                script.with(beginning.clone()).with(format!("{beginning}{BEYOND}"));
                script.with(names(kinds)).with(names(&self.kinds));
                self.time_values(script);
            }));
        }
        if terms.is_empty() {
            return None;
        }
        let mut find = Script::default();
        find.add(&format!("{} ORDER BY {order} {way}, id {way} LIMIT ? OFFSET ?", terms.join(" UNION ALL ")));
        for value in values {
            value(&mut find);
        }
        find.with(limit).with(offset);
        Some(find)
    }

    /// The statements that count what is not counted already.
    fn counts(&self) -> Vec<Script> {
        const COUNT: &str =
            "SELECT server, coalesce(agent, ''), coalesce(tool, ''), phase, count(*), NULL FROM handles ";
        let mut scripts = Vec::new();
        let times = self.times();
        if self.is_timed() && !self.kinds.is_empty() {
            let index = if self.query.changed_after.is_some() { "handles_by_change" } else { "handles_by_kind" };
            let mut count = Script::default();
            let (kinds, names) = self.filter();
            count.add(&format!("{COUNT}INDEXED BY {index} WHERE {kinds}{times} GROUP BY 1, 2, 3, 4"));
            if let Some(names) = names {
                count.with(names);
            }
            self.time_values(&mut count);
            scripts.push(count);
        }
        if let Some((kinds, beginning)) = &self.by_id {
            let mut count = Script::default();
            count
                .add(&format!("{COUNT}{BY_ID} AND {OF_KINDS} AND NOT {OF_KINDS}{times} GROUP BY 1, 2, 3, 4"))
                .with(beginning.clone())
                .with(format!("{beginning}{BEYOND}"))
                .with(names(kinds))
                .with(names(&self.kinds));
            self.time_values(&mut count);
            scripts.push(count);
        }
        scripts
    }
}

fn alike(base: &Base, row: &SqliteRow) -> Result<Alike, RegistryError> {
    let trouble = || base.fault("count tasks");
    let flaw = |column: &str| RegistryError::Other {
        operation: "read `kinds`",
        why: format!("column `{column}` does not read"),
    };
    let (server, agent): (&str, &str) = (row.try_get(0).map_err(trouble())?, row.try_get(1).map_err(trouble())?);
    let (tool, phase): (&str, &str) = (row.try_get(2).map_err(trouble())?, row.try_get(3).map_err(trouble())?);
    let agent = if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) };
    Ok(Alike {
        server: server.parse().map_err(|_| flaw("server"))?,
        agent,
        tool: (!tool.is_empty()).then(|| tool.into()),
        phase: Phase::from_word(phase).ok_or_else(|| flaw("phase"))?,
        tasks: unsigned(row.try_get(4).map_err(trouble())?),
    })
}

async fn taken(base: &Base, connection: &mut SqliteConnection, query: PageQuery) -> Result<Taken, RegistryError> {
    let trouble = || base.fault("count tasks");
    let found = sqlx::query(
        "SELECT k.server, k.agent, k.tool, k.phase, k.handles, s.name FROM kinds k LEFT JOIN servers s \
         ON s.id = k.server WHERE k.handles > 0 LIMIT ?",
    )
    .bind(KINDS_MAX)
    .fetch_all(connection)
    .await
    .map_err(trouble())?;
    let (mut kinds, mut but_text) = (Vec::new(), Vec::new());
    for row in &found {
        let kind = alike(base, row)?;
        if !query.takes_but_text(&kind) {
            continue;
        }
        let server: Option<&str> = row.try_get(5).map_err(trouble())?;
        if query.text_names(&kind, server) {
            kinds.push(kind.clone());
        }
        but_text.push(kind);
    }
    let by_id = query.id_beginning().map(|beginning| (but_text, beginning));
    Ok(Taken { all: kinds.len() == found.len() && !found.is_empty(), kinds, by_id, query })
}

impl Sqlite {
    /// Rows of number, order and id from a place on.
    async fn places(
        &self,
        connection: &mut SqliteConnection,
        query: PageQuery,
        (offset, limit): (u64, u32),
    ) -> Result<Vec<SqliteRow>, RegistryError> {
        let taken = taken(&self.base, connection, query).await?;
        match taken.find(whole(offset), i64::from(limit)) {
            Some(find) if limit > 0 => find.rows(connection).await.map_err(self.base.fault("find tasks")),
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// A stretch of a list on a screen.
    pub(crate) async fn read_screen(&self, query: PageQuery, offset: u64, limit: u32) -> Result<Page, RegistryError> {
        let trouble = || self.base.fault("find tasks");
        let limit = limit.min(self.base.limits.page_rows_max);
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(trouble())?;
        let found = self.places(&mut transaction, query, (offset, limit)).await?;
        let number = |row: &SqliteRow| row.try_get::<i64, _>(0).map(Value::from);
        let numbers = found.iter().map(number).collect::<Result<Vec<_>, _>>().map_err(trouble())?;
        let rows = super::handles::read(&self.base, &mut transaction, &Value::Array(numbers)).await?;
        transaction.rollback().await.map_err(trouble())?;
        Ok(Page { rows: rows.into_iter().map(|(_, task)| task).collect() })
    }

    /// The tasks of a list on a screen by id.
    pub(crate) async fn read_matching(&self, query: PageQuery, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        let trouble = || self.base.fault("find tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(trouble())?;
        let found = self.places(&mut transaction, query, (0, limit)).await?;
        transaction.rollback().await.map_err(trouble())?;
        let id = |row: &SqliteRow| {
            let text: &str = row.try_get(2).map_err(trouble())?;
            text.parse().map_err(|_| RegistryError::Other {
                operation: "read `handles`",
                why: "column `id` does not read as an id".into(),
            })
        };
        found.iter().map(id).collect()
    }

    /// How a list on a screen is divided.
    pub(crate) async fn read_view(&self, query: PageQuery) -> Result<View, RegistryError> {
        let trouble = || self.base.fault("count tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(trouble())?;
        let taken = taken(&self.base, &mut transaction, query).await?;
        let mut counted = if taken.is_timed() { Vec::new() } else { taken.kinds.clone() };
        for script in taken.counts() {
            let found = script.rows(&mut transaction).await.map_err(trouble())?;
            for row in &found {
                counted.push(alike(&self.base, row)?);
            }
        }
        transaction.rollback().await.map_err(trouble())?;
        Ok(taken.query.view(&counted))
    }

    /// Tasks that need attention, the last changed first.
    pub(crate) async fn read_attention(&self, limit: u32) -> Result<Vec<TaskHandle>, RegistryError> {
        let mut find = Script::default();
        find.add(
            "SELECT number FROM handles INDEXED BY handles_attention \
             WHERE phase IN ('overdue', 'lost', 'unconfirmed', 'blocked') ORDER BY changed DESC, id DESC LIMIT ?",
        )
        .with(limit.min(self.base.limits.inbox_rows_max));
        let found: Vec<(TaskHandle, Option<Timestamp>)> = self.read_handles(find).await?;
        Ok(found.into_iter().map(|(handle, _)| handle).collect())
    }

    /// How the cancels of a server ended.
    pub(crate) async fn read_cancels(&self, server: ServerId) -> Result<domain::ports::CancelFacts, RegistryError> {
        let trouble = || self.base.fault("count cancels");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT stop, count(*) FROM handles INDEXED BY handles_by_stop WHERE server = ? AND stop IS NOT NULL \
             GROUP BY stop",
        )
        .bind(server.to_string())
        .fetch_all(&mut *reader)
        .await
        .map_err(trouble())?;
        let mut facts = domain::ports::CancelFacts::default();
        for row in &found {
            let (word, count): (&str, i64) = (row.try_get(0).map_err(trouble())?, row.try_get(1).map_err(trouble())?);
            let count = unsigned(count);
            facts.asked = facts.asked.saturating_add(count);
            match word {
                "stopped" => facts.stopped = count,
                "finishedAnyway" => facts.finished_anyway = count,
                "refused" => facts.refused = count,
                // Still open.
                _ => {}
            }
        }
        if let Some(before) = facts.stopped.checked_sub(1) {
            let median: Option<i64> = sqlx::query_scalar(
                "SELECT stop_ms FROM handles INDEXED BY handles_by_stop WHERE server = ? AND stop = 'stopped' \
                 ORDER BY stop_ms LIMIT 1 OFFSET ?",
            )
            .bind(server.to_string())
            .bind(whole(before / 2))
            .fetch_optional(&mut *reader)
            .await
            .map_err(trouble())?
            .flatten();
            facts.median_ms = median.map(unsigned);
        }
        Ok(facts)
    }
}
