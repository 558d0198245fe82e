//! A list query, resolved: which kinds of tasks it takes, and the statements that find and count them.
//!
//! Rows come from stretches of an index that are ordered already and merged by SQLite or, for conditions on change, from the
//! index by change. Only the kinds are read here; read `task_list.rs` for what is asked.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use domain::ports::{AlikeTasks, GroupBy, HiddenTasks, RegistryError, TaskFlag, TaskListQuery, TaskOrder};
use domain::task::status::PhaseGroup;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::sqlite::StoreContext;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::read::counts::EXCEPTIONS;
use crate::sqlite::read::task_kinds::{self, alike, hidden_condition, split};

/// Kinds read at most. People name servers, agents and tools; the limit only keeps a damaged file from filling the memory.
const KINDS_MAX: u32 = 100_000;
/// Stretches that one statement merges; with more, the tasks of all kinds are sorted. SQLite allows 500.
const STRETCHES_MAX: usize = 200;
/// Up to this many tasks are sorted by change; for more, the index by change is walked.
const SORTED_MAX: u64 = 2_000;
/// Before the phase of exceptions where tasks are counted by phase; no phase begins so.
pub(crate) const EXCEPTION_MARK: char = '!';
/// Sorts after every character of an id.
const BEYOND: char = '~';
/// Whether a task is of one of the kinds given as a JSON array of arrays.
const OF_KINDS: &str = "(server, coalesce(agent, ''), coalesce(tool, ''), phase) IN (SELECT json_extract(value, '$[0]'), \
     json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]') FROM json_each(?))";
/// The same where some tasks are exceptions.
static OF_SPLIT_KINDS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "(server, coalesce(agent, ''), coalesce(tool, ''), phase, {}) IN (SELECT json_extract(value, '$[0]'), \
         json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), \
         json_extract(value, '$[4]') FROM json_each(?))",
        *EXCEPTIONS
    )
});
/// Tasks whose ids begin with a text, given as the range of all that do.
const BY_ID: &str = "INDEXED BY sqlite_autoindex_handles_1 WHERE id >= ? AND id < ?";

/// Tasks by their ids, given as a JSON array.
const BY_IDS: &str = "INDEXED BY sqlite_autoindex_handles_1 WHERE id IN (SELECT value FROM json_each(?))";

/// A list query with the kinds of tasks that it takes.
pub(crate) struct ResolvedListQuery {
    /// The query itself.
    pub(crate) query: TaskListQuery,
    /// The kinds it takes.
    pub(crate) kinds: Vec<AlikeTasks>,
    /// How many tasks there are, of all kinds.
    pub(crate) all_tasks: u64,
    /// Whether it takes every kind there is.
    takes_all: bool,
    /// Whether some tasks are exceptions, so that a kind is more than server, agent, tool and phase.
    is_split: bool,
    /// Whether too many tasks changed since `changed_after` to sort them.
    pub(crate) is_dense: bool,
    /// Tasks that are taken besides for their id, or for what they say.
    beside: Option<BesideKinds>,
    /// What each kind is sorted by, where the order is by a column.
    keys: Vec<(AlikeTasks, Option<String>)>,
}

/// Tasks that a text finds one by one, among the kinds that all other conditions take.
#[derive(Clone)]
struct BesideKinds {
    kinds: Vec<AlikeTasks>,
    /// What their ids begin with.
    beginning: Option<String>,
    /// Their ids as a JSON array; empty for none.
    ids: String,
}

/// Which columns tell the kinds of a query apart, and so which index its stretches are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexLevel {
    Phase,
    Server,
    Agent,
    /// Server, agent, tool and phase.
    Kind,
}

/// A value to bind.
enum SqlValue {
    Text(String),
    Number(i64),
}

impl SqlValue {
    fn bind(self, batch: &mut StatementBatch) {
        match self {
            Self::Text(text) => batch.with(text),
            Self::Number(number) => batch.with(number),
        };
    }
}

fn names(kinds: &[AlikeTasks]) -> String {
    let name = |kind: &AlikeTasks| {
        let agent = kind.agent.map(|agent| agent.to_string()).unwrap_or_default();
        let tool = kind.tool.as_deref().unwrap_or_default();
        json!([kind.server.to_string(), agent, tool, kind.phase.word(), i64::from(kind.is_exception)])
    };
    Value::Array(kinds.iter().map(name).collect()).to_string()
}

fn level(query: &TaskListQuery) -> IndexLevel {
    let within = |by: GroupBy| query.within.is_some() && query.group_by == by;
    let nobody = within(GroupBy::Agent) && query.within.as_deref() == Some("");
    if matches!(query.order, TaskOrder::By { .. }) {
        return IndexLevel::Kind;
    }
    let by_server = !query.servers.is_empty() || within(GroupBy::Server);
    let by_agent = !query.agents.is_empty() || within(GroupBy::Agent);
    if !query.tools.is_empty() || query.needle().is_some() || nobody || (by_server && by_agent) {
        return IndexLevel::Kind;
    }
    match (by_server, by_agent) {
        (true, _) => IndexLevel::Server,
        (false, true) => IndexLevel::Agent,
        (false, false) => IndexLevel::Phase,
    }
}

/// Which tasks of the same server, agent, tool and phase are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ExceptionPart {
    /// All of them.
    Both,
    /// The exceptions among them.
    Only,
    /// All but the exceptions.
    Without,
}

/// The index of the tasks with a flag, and its condition; `None` where the kinds say it.
fn column(flag: TaskFlag) -> Option<(&'static str, &'static str)> {
    match flag {
        TaskFlag::Orphaned => Some(("INDEXED BY handles_orphaned", " AND orphaned = 1")),
        TaskFlag::OverLimit => Some(("INDEXED BY handles_over_limit", " AND over_limit = 1")),
        TaskFlag::Held | TaskFlag::NeedsYou => None,
    }
}

impl ResolvedListQuery {
    pub(crate) fn tasks(&self) -> u64 {
        self.kinds.iter().fold(0, |sum, kind| sum.saturating_add(kind.tasks))
    }

    pub(crate) fn is_timed(&self) -> bool {
        let is_flagged = self.query.flags.iter().any(|flag| column(*flag).is_some());
        let is_of_few = is_flagged || self.query.hidden == HiddenTasks::Only;
        self.query.changed_after.is_some() || self.query.created_before.is_some() || is_of_few
    }

    /// Where the hidden tasks, or those with the first flag that is asked for, are read from; there are few of them.
    fn flagged(&self) -> Option<&'static str> {
        if self.query.hidden == HiddenTasks::Only {
            // By their numbers.
            return Some("NOT INDEXED");
        }
        self.query.flags.iter().find_map(|flag| column(*flag)).map(|(index, _)| index)
    }

    /// The condition that a task is of one of the kinds given as a value.
    fn of_kinds(&self) -> &'static str {
        if self.is_split { OF_SPLIT_KINDS.as_str() } else { OF_KINDS }
    }

    /// Which tasks of the same server, agent, tool and phase are taken, where not all are; the keys say which phase.
    fn part(&self, is_same: impl Fn(&AlikeTasks) -> bool) -> ExceptionPart {
        let has = |exception| self.kinds.iter().any(|kind| kind.is_exception == exception && is_same(kind));
        match (self.is_split, has(false), has(true)) {
            (false, ..) | (true, true, true) => ExceptionPart::Both,
            (true, false, true) => ExceptionPart::Only,
            (true, _, false) => ExceptionPart::Without,
        }
    }

    /// The condition that a task is of one of the kinds, as simple as it can be, and its value.
    fn filter(&self) -> (&'static str, Option<String>) {
        if self.takes_all {
            return ("true", None);
        }
        match level(&self.query) {
            IndexLevel::Phase if !self.is_split => {
                let phases: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.phase.word()).collect();
                ("phase IN (SELECT value FROM json_each(?))", Some(json!(phases).to_string()))
            }
            IndexLevel::Phase | IndexLevel::Server | IndexLevel::Agent | IndexLevel::Kind => {
                (self.of_kinds(), Some(names(&self.kinds)))
            }
        }
    }

    /// ` AND …` for flags, hidden tasks and conditions on time; the values of these are [`ResolvedListQuery::moments`].
    fn times(&self) -> String {
        let mut text = String::new();
        for flag in &self.query.flags {
            if let Some((_, condition)) = column(*flag) {
                text.push_str(condition);
            }
        }
        if self.query.changed_after.is_some() {
            text.push_str(" AND changed >= ?");
        }
        if self.query.created_before.is_some() {
            text.push_str(" AND created <= ?");
        }
        text.push_str(hidden_condition(self.query.hidden));
        text
    }

    fn moments(&self) -> impl Iterator<Item = SqlValue> {
        let moments = [self.query.changed_after, self.query.created_before];
        moments.into_iter().flatten().map(|at| SqlValue::Number(at.as_millis()))
    }

    /// Conditions and values of the tasks that are taken one by one and are of no kind that is taken whole.
    fn beside_terms(&self) -> Vec<(String, Vec<SqlValue>)> {
        let Some(BesideKinds { kinds, beginning, ids }) = &self.beside else { return Vec::new() };
        let (of_kinds, times) = (self.of_kinds(), self.times());
        let range = beginning.as_ref().map(|beginning| [beginning.clone(), format!("{beginning}{BEYOND}")]);
        let mut terms = Vec::new();
        let rest = |first: Vec<String>| -> Vec<SqlValue> {
            let values = first.into_iter().chain([names(kinds), names(&self.kinds)]);
            values.map(SqlValue::Text).chain(self.moments()).collect()
        };
        if let Some(range) = &range {
            terms.push((format!("{BY_ID} AND {of_kinds} AND NOT {of_kinds}{times}"), rest(range.to_vec())));
        }
        if !ids.is_empty() {
            let apart = if range.is_some() { " AND NOT (id >= ? AND id < ?)" } else { "" };
            let first = std::iter::once(ids.clone()).chain(range.into_iter().flatten()).collect();
            terms.push((format!("{BY_IDS}{apart} AND {of_kinds} AND NOT {of_kinds}{times}"), rest(first)));
        }
        terms
    }

    /// The parts of a list that is sorted by a column: one for each value, in order, each with how many tasks it has
    /// where that is known without counting.
    pub(crate) fn parts(&self) -> Option<Vec<(Self, Option<u64>)>> {
        let TaskOrder::By { is_descending, .. } = self.query.order else { return None };
        let mut values: Vec<Option<&String>> = self.keys.iter().map(|(_, key)| key.as_ref()).collect();
        values.sort_unstable_by(|one, other| match (one, other) {
            (Some(one), Some(other)) if is_descending => other.cmp(one),
            (Some(one), Some(other)) => one.cmp(other),
            (one, other) => one.is_none().cmp(&other.is_none()),
        });
        values.dedup();
        let part = |value: Option<&String>| {
            let is_here = |kind: &&AlikeTasks| {
                self.keys.iter().any(|(keyed, key)| key.as_ref() == value && is_same_kind(keyed, kind))
            };
            let kinds: Vec<AlikeTasks> = self.kinds.iter().filter(is_here).cloned().collect();
            let beside = self.beside.as_ref().and_then(|beside| {
                let kinds: Vec<AlikeTasks> = beside.kinds.iter().filter(is_here).cloned().collect();
                (!kinds.is_empty()).then(|| BesideKinds { kinds, ..beside.clone() })
            });
            let part = Self { query: self.query.clone(), kinds, beside, keys: Vec::new(), takes_all: false, ..*self };
            let known = (!part.is_timed() && part.beside.is_none()).then(|| part.tasks());
            (part, known)
        };
        Some(values.into_iter().map(part).collect())
    }

    /// Index and conditions of each stretch, with its values.
    fn stretches(&self) -> Vec<(String, Vec<String>)> {
        if self.takes_all {
            return vec![("INDEXED BY handles_by_age WHERE true".into(), Vec::new())];
        }
        let agent = |kind: &AlikeTasks| kind.agent.map(|agent| agent.to_string()).unwrap_or_default();
        let tool = |kind: &AlikeTasks| kind.tool.as_deref().unwrap_or_default().to_owned();
        let level = level(&self.query);
        let key = |kind: &AlikeTasks| {
            let phase = kind.phase.word().to_owned();
            match level {
                IndexLevel::Phase => vec![phase],
                IndexLevel::Server => vec![kind.server.to_string(), phase],
                IndexLevel::Agent => vec![agent(kind), phase],
                IndexLevel::Kind => vec![kind.server.to_string(), agent(kind), tool(kind), phase],
            }
        };
        let (index, conditions) = match level {
            IndexLevel::Phase => ("handles_by_phase", "phase = ?"),
            IndexLevel::Server => ("handles_by_server", "server = ? AND phase = ?"),
            IndexLevel::Agent => ("handles_by_agent", "agent = ? AND phase = ?"),
            IndexLevel::Kind => {
                ("handles_by_kind", "server = ? AND coalesce(agent, '') = ? AND coalesce(tool, '') = ? AND phase = ?")
            }
        };
        let keys: BTreeSet<(Vec<String>, PhaseGroup)> =
            self.kinds.iter().map(|kind| (key(kind), kind.phase.group())).collect();
        let stretch = |(values, group): (Vec<String>, PhaseGroup)| {
            let text = match (self.part(|kind| key(kind) == values), group) {
                (ExceptionPart::Both, _) => format!("INDEXED BY {index} WHERE {conditions}"),
                // Held results are few, and what is over is most of what there is.
                (ExceptionPart::Only, PhaseGroup::Finished) => {
                    format!("INDEXED BY handles_held WHERE held = 1 AND {conditions}")
                }
                (ExceptionPart::Only, _) => format!("INDEXED BY {index} WHERE {conditions} AND {}", *EXCEPTIONS),
                (ExceptionPart::Without, _) => format!("INDEXED BY {index} WHERE {conditions} AND NOT {}", *EXCEPTIONS),
            };
            (text, values)
        };
        keys.into_iter().map(stretch).collect()
    }

    /// The statement that finds number, order and id of the tasks from a place on; `None` when there are none.
    pub(crate) fn find(&self, offset: i64, limit: i64) -> Option<StatementBatch> {
        let (order, way) = match self.query.order {
            TaskOrder::Newest | TaskOrder::By { .. } => ("created", "DESC"),
            TaskOrder::Oldest => ("created", "ASC"),
            TaskOrder::Changed => ("changed", "DESC"),
        };
        let select = format!("SELECT number, {order}, id FROM handles ");
        let times = self.times();
        let by_change = order == "changed" || (self.query.changed_after.is_some() && !self.is_dense);
        let mut terms: Vec<(String, Vec<SqlValue>)> = Vec::new();
        let stretches = if by_change || self.kinds.is_empty() { Vec::new() } else { self.stretches() };
        if self.kinds.is_empty() {
            // Nothing but what the text may mean as an id.
        } else if let Some(index) = self.flagged() {
            let (kinds, names) = self.filter();
            let bound = names.map(SqlValue::Text).into_iter().chain(self.moments());
            terms.push((format!("{select}{index} WHERE {kinds}{times}"), bound.collect()));
        } else if by_change && (self.takes_all || self.tasks() > SORTED_MAX) {
            let (kinds, names) = self.filter();
            let bound = names.map(SqlValue::Text).into_iter().chain(self.moments());
            terms.push((format!("{select}INDEXED BY handles_by_change WHERE {kinds}{times}"), bound.collect()));
        } else if by_change || stretches.len() > STRETCHES_MAX {
            let bound = std::iter::once(SqlValue::Text(names(&self.kinds))).chain(self.moments());
            let of_kinds = self.of_kinds();
            terms.push((format!("{select}INDEXED BY handles_by_kind WHERE {of_kinds}{times}"), bound.collect()));
        } else {
            terms.extend(stretches.into_iter().map(|(text, keys)| {
                let bound = keys.into_iter().map(SqlValue::Text).chain(self.moments());
                (format!("{select}{text}{times}"), bound.collect())
            }));
        }
        terms.extend(self.beside_terms().into_iter().map(|(text, bound)| (format!("{select}{text}"), bound)));
        if terms.is_empty() {
            return None;
        }
        let text: Vec<&str> = terms.iter().map(|(text, _)| text.as_str()).collect();
        let mut find = StatementBatch::default();
        find.add(&format!("{} ORDER BY {order} {way}, id {way} LIMIT ? OFFSET ?", text.join(" UNION ALL ")));
        terms.into_iter().flat_map(|(_, bound)| bound).for_each(|bound| bound.bind(&mut find));
        find.with(limit).with(offset);
        Some(find)
    }

    /// The statements that count what is not counted already, by the phase, server or agent that the groups follow.
    pub(crate) fn counts(&self) -> Vec<StatementBatch> {
        let key = match self.query.group_by {
            GroupBy::Need if self.is_split => {
                format!("CASE WHEN {} THEN '{EXCEPTION_MARK}' || phase ELSE phase END", *EXCEPTIONS)
            }
            GroupBy::Need => "phase".into(),
            GroupBy::Server => "server".into(),
            GroupBy::Agent => "coalesce(agent, '')".into(),
            GroupBy::None => "''".into(),
        };
        let mut batches = Vec::new();
        let times = self.times();
        if self.is_timed() && !self.kinds.is_empty() {
            // Where the index has the groups one after the other, nothing is sorted to count them.
            let by_phase =
                !self.is_split && self.query.group_by == GroupBy::Need && level(&self.query) == IndexLevel::Phase;
            let index = self.flagged().unwrap_or(match (self.query.changed_after, by_phase) {
                (Some(_), _) => "INDEXED BY handles_by_change",
                (None, true) => "INDEXED BY handles_by_phase",
                (None, false) => "INDEXED BY handles_by_kind",
            });
            let (kinds, names) = self.filter();
            let mut count = StatementBatch::default();
            count.add(&format!("SELECT {key}, count(*) FROM handles {index} WHERE {kinds}{times} GROUP BY 1"));
            names.map(SqlValue::Text).into_iter().chain(self.moments()).for_each(|bound| bound.bind(&mut count));
            batches.push(count);
        }
        for (text, bound) in self.beside_terms() {
            let mut count = StatementBatch::default();
            count.add(&format!("SELECT {key}, count(*) FROM handles {text} GROUP BY 1"));
            bound.into_iter().for_each(|bound| bound.bind(&mut count));
            batches.push(count);
        }
        batches
    }
}

/// Whether both count the same kind, however many they count.
fn is_same_kind(one: &AlikeTasks, other: &AlikeTasks) -> bool {
    (one.server, one.agent, &one.tool, one.phase, one.is_exception)
        == (other.server, other.agent, &other.tool, other.phase, other.is_exception)
}

/// Resolves a query on the current counts.
pub(crate) async fn resolve(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    mut query: TaskListQuery,
) -> Result<ResolvedListQuery, RegistryError> {
    let failed = || base.failed("count tasks");
    let found = sqlx::query(
        "SELECT k.server, k.agent, k.tool, k.phase, k.handles, s.name, a.name FROM kinds k LEFT JOIN servers s \
         ON s.id = k.server LEFT JOIN agents a ON a.id = k.agent WHERE k.handles > 0 LIMIT ?",
    )
    .bind(KINDS_MAX)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed())?;
    let mut whole = Vec::with_capacity(found.len());
    for row in found {
        whole.push((alike(base, &row)?, row));
    }
    let mut all_tasks = whole.iter().fold(0, |sum: u64, (kind, _)| sum.saturating_add(kind.tasks));
    let mut apart = split(base, connection, &mut whole).await?;
    let is_split = !apart.is_empty();
    if query.hidden == HiddenTasks::LeftOut {
        let hidden = task_kinds::hidden(base, connection).await?;
        let counted = whole.iter_mut().map(|(kind, _)| kind).chain(apart.iter_mut().map(|(kind, _)| kind));
        for kind in counted {
            let less = hidden.iter().find(|hidden| is_same_kind(hidden, kind)).map_or(0, |hidden| hidden.tasks);
            kind.tasks = kind.tasks.saturating_sub(less);
            all_tasks = all_tasks.saturating_sub(less);
        }
        if hidden.is_empty() {
            query.hidden = HiddenTasks::Included;
        }
    }
    let rows = whole.iter().map(|(kind, row)| (kind, row));
    let apart = apart.iter().filter_map(|(kind, at)| whole.get(*at).map(|(_, row)| (kind, row)));
    let (mut kinds, mut but_text, mut keys, mut all) = (Vec::new(), Vec::new(), Vec::new(), true);
    for (kind, row) in rows.chain(apart).filter(|(kind, _)| kind.tasks > 0) {
        let server: Option<&str> = row.try_get(5).map_err(failed())?;
        let agent: Option<&str> = row.try_get(6).map_err(failed())?;
        let is_taken = query.takes_but_text(kind);
        if is_taken && query.text_names(kind, server, agent) {
            kinds.push(kind.clone());
        } else {
            all = false;
        }
        if is_taken {
            but_text.push(kind.clone());
            if let TaskOrder::By { column, .. } = query.order {
                keys.push((kind.clone(), column.key(kind, server, agent)));
            }
        }
    }
    let all = all && !kinds.is_empty();
    let ids: Vec<String> = query.found_by_text().iter().map(ToString::to_string).collect();
    let ids = if ids.is_empty() { String::new() } else { json!(ids).to_string() };
    let beginning = query.id_beginning();
    let beside = (beginning.is_some() || !ids.is_empty()).then_some(BesideKinds { kinds: but_text, beginning, ids });
    Ok(ResolvedListQuery { takes_all: all, all_tasks, is_split, kinds, is_dense: false, beside, keys, query })
}
