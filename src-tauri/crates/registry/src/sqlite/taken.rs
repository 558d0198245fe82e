//! What a query of a screen takes, and the statements that find and count it.
//!
//! Conditions and texts are decided on the kinds of tasks there are; rows come from stretches of an index that are ordered
//! already and merged by SQLite, or, for conditions on change, from the index by change. Nothing is read here but the
//! kinds. Read `pages.rs` for what is asked.

use std::collections::BTreeSet;

use domain::ports::{Alike, Flag, GroupBy, PageQuery, RegistryError, TaskOrder};
use domain::status::Phase;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::script::Script;
use super::{Base, unsigned};

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
pub(super) struct Taken {
    /// The query itself.
    pub(super) query: PageQuery,
    /// The kinds it takes.
    pub(super) kinds: Vec<Alike>,
    /// Whether these are all there are.
    all: bool,
    /// Whether so many tasks changed since `changed_after` that they are not sorted.
    pub(super) dense: bool,
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

/// A value of a statement.
enum Bound {
    Text(String),
    Number(i64),
}

impl Bound {
    fn bind(self, script: &mut Script) {
        match self {
            Self::Text(text) => script.with(text),
            Self::Number(number) => script.with(number),
        };
    }
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

    pub(super) fn is_timed(&self) -> bool {
        self.query.changed_after.is_some() || self.query.created_before.is_some() || !self.query.flags.is_empty()
    }

    /// The index of the tasks with the first flag that is asked for; there are few of them.
    fn flagged(&self) -> Option<&'static str> {
        self.query.flags.first().map(|flag| match flag {
            Flag::Orphaned => "handles_orphaned",
            Flag::Held => "handles_held",
            Flag::OverLimit => "handles_over_limit",
        })
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

    /// ` AND …` for flags and conditions on time; the values of these are [`Taken::moments`].
    fn times(&self) -> String {
        let mut text = String::new();
        for flag in &self.query.flags {
            text.push_str(match flag {
                Flag::Orphaned => " AND orphaned = 1",
                Flag::Held => " AND held = 1",
                Flag::OverLimit => " AND over_limit = 1",
            });
        }
        if self.query.changed_after.is_some() {
            text.push_str(" AND changed >= ?");
        }
        if self.query.created_before.is_some() {
            text.push_str(" AND created <= ?");
        }
        text
    }

    fn moments(&self) -> impl Iterator<Item = Bound> {
        let moments = [self.query.changed_after, self.query.created_before];
        moments.into_iter().flatten().map(|at| Bound::Number(at.as_millis()))
    }

    /// The values of [`BY_ID`] with the kinds to find and those that are found already.
    fn id_values(&self, kinds: &[Alike], beginning: &str) -> Vec<Bound> {
        let range = [beginning.to_owned(), format!("{beginning}{BEYOND}"), names(kinds), names(&self.kinds)];
        range.into_iter().map(Bound::Text).chain(self.moments()).collect()
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
    pub(super) fn find(&self, offset: i64, limit: i64) -> Option<Script> {
        let (order, way) = match self.query.order {
            TaskOrder::Newest => ("created", "DESC"),
            TaskOrder::Oldest => ("created", "ASC"),
            TaskOrder::Changed => ("changed", "DESC"),
        };
        let select = format!("SELECT number, {order}, id FROM handles ");
        let times = self.times();
        let by_change = order == "changed" || (self.query.changed_after.is_some() && !self.dense);
        let mut terms: Vec<(String, Vec<Bound>)> = Vec::new();
        let stretches = if by_change || self.kinds.is_empty() { Vec::new() } else { self.stretches() };
        if self.kinds.is_empty() {
            // Nothing but what the text may mean as an id.
        } else if let Some(index) = self.flagged() {
            let (kinds, names) = self.filter();
            let bound = names.map(Bound::Text).into_iter().chain(self.moments());
            terms.push((format!("{select}INDEXED BY {index} WHERE {kinds}{times}"), bound.collect()));
        } else if by_change && (self.all || self.tasks() > SORTED_MAX) {
            let (kinds, names) = self.filter();
            let bound = names.map(Bound::Text).into_iter().chain(self.moments());
            terms.push((format!("{select}INDEXED BY handles_by_change WHERE {kinds}{times}"), bound.collect()));
        } else if by_change || stretches.len() > STRETCHES_MAX {
            let bound = std::iter::once(Bound::Text(names(&self.kinds))).chain(self.moments());
            terms.push((format!("{select}INDEXED BY handles_by_kind WHERE {OF_KINDS}{times}"), bound.collect()));
        } else {
            terms.extend(stretches.into_iter().map(|(text, keys)| {
                let bound = keys.into_iter().map(Bound::Text).chain(self.moments());
                (format!("{select}{text}{times}"), bound.collect())
            }));
        }
        if let Some((kinds, beginning)) = &self.by_id {
            let bound = self.id_values(kinds, beginning);
            terms.push((format!("{select}{BY_ID} AND {OF_KINDS} AND NOT {OF_KINDS}{times}"), bound));
        }
        if terms.is_empty() {
            return None;
        }
        let text: Vec<&str> = terms.iter().map(|(text, _)| text.as_str()).collect();
        let mut find = Script::default();
        find.add(&format!("{} ORDER BY {order} {way}, id {way} LIMIT ? OFFSET ?", text.join(" UNION ALL ")));
        terms.into_iter().flat_map(|(_, bound)| bound).for_each(|bound| bound.bind(&mut find));
        find.with(limit).with(offset);
        Some(find)
    }

    /// The statements that count what is not counted already, by the phase, server or agent that the groups follow.
    pub(super) fn counts(&self) -> Vec<Script> {
        let key = match self.query.group_by {
            GroupBy::Need => "phase",
            GroupBy::Server => "server",
            GroupBy::Agent => "coalesce(agent, '')",
            GroupBy::None => "''",
        };
        let mut scripts = Vec::new();
        let times = self.times();
        if self.is_timed() && !self.kinds.is_empty() {
            // Where the index has the groups one after the other, nothing is sorted to count them.
            let by_phase = self.query.group_by == GroupBy::Need && level(&self.query) == Level::Phase;
            let index = self.flagged().unwrap_or(match (self.query.changed_after, by_phase) {
                (Some(_), _) => "handles_by_change",
                (None, true) => "handles_by_phase",
                (None, false) => "handles_by_kind",
            });
            let (kinds, names) = self.filter();
            let mut count = Script::default();
            count.add(&format!(
                "SELECT {key}, count(*) FROM handles INDEXED BY {index} WHERE {kinds}{times} GROUP BY 1"
            ));
            names.map(Bound::Text).into_iter().chain(self.moments()).for_each(|bound| bound.bind(&mut count));
            scripts.push(count);
        }
        if let Some((kinds, beginning)) = &self.by_id {
            let mut count = Script::default();
            count.add(&format!(
                "SELECT {key}, count(*) FROM handles {BY_ID} AND {OF_KINDS} AND NOT {OF_KINDS}{times} GROUP BY 1"
            ));
            self.id_values(kinds, beginning).into_iter().for_each(|bound| bound.bind(&mut count));
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

/// What a query takes, by the counts of the moment.
pub(super) async fn taken(
    base: &Base,
    connection: &mut SqliteConnection,
    query: PageQuery,
) -> Result<Taken, RegistryError> {
    let trouble = || base.fault("count tasks");
    let found = sqlx::query(
        "SELECT k.server, k.agent, k.tool, k.phase, k.handles, s.name, a.name FROM kinds k LEFT JOIN servers s \
         ON s.id = k.server LEFT JOIN agents a ON a.id = k.agent WHERE k.handles > 0 LIMIT ?",
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
        let agent: Option<&str> = row.try_get(6).map_err(trouble())?;
        if query.text_names(&kind, server, agent) {
            kinds.push(kind.clone());
        }
        but_text.push(kind);
    }
    let by_id = query.id_beginning().map(|beginning| (but_text, beginning));
    let all = kinds.len() == found.len() && !found.is_empty();
    Ok(Taken { all, kinds, dense: false, by_id, query })
}
