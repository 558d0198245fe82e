//! Lists on screens: their rows, groups and counts, and what else screens show of many tasks.
//!
//! A query is resolved on the counts of tasks that are alike (`kinds`, kept by triggers): conditions and texts are decided on
//! a few hundred counts and no task is read for them. A place far down a list costs steps in an index, not tasks. The
//! statements are in `list_query.rs`, pages by cursor in `task_pages.rs`.

use std::collections::BTreeMap;

use domain::ids::{HandleId, ServerId};
use domain::ports::{CancelFacts, GroupBy, HiddenTasks, RegistryError, TaskGroups, TaskListQuery, TaskRows};
use domain::task::TaskHandle;
use domain::task::figures::CountedState;
use domain::task::status::{Phase, PhaseGroup};
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::read::list_query::{EXCEPTION_MARK, ResolvedListQuery, resolve};
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Up to this many tasks that changed since a moment are sorted by creation. Judgement: 10 ms.
const CHANGED_MAX: i64 = 10_000;

/// The group of tasks with this phase, server or agent.
fn group(by: GroupBy, key: &str) -> Result<String, RegistryError> {
    match by {
        GroupBy::Need => {
            let word = key.trim_start_matches(EXCEPTION_MARK);
            let phase = Phase::from_word(word).ok_or_else(|| RegistryError::Other {
                operation: "read `handles`",
                why: "column `phase` has an unknown word".into(),
            })?;
            let state = CountedState { phase, is_exception: word != key, is_orphaned: false };
            Ok(state.group().word().to_owned())
        }
        GroupBy::Server | GroupBy::Agent | GroupBy::None => Ok(key.to_owned()),
    }
}

/// Each group once, in the order of a view.
fn merged(counts: Vec<(String, u64)>) -> Vec<(String, u64)> {
    let mut sums: BTreeMap<(usize, String), u64> = BTreeMap::new();
    for (group, count) in counts {
        let rank = PhaseGroup::from_word(&group).map_or(0, PhaseGroup::rank);
        let sum = sums.entry((rank, group)).or_default();
        *sum = sum.saturating_add(count);
    }
    sums.into_iter().map(|((_, group), count)| (group, count)).collect()
}

/// Whether more tasks changed since then than should be sorted. Walking them in the order of creation then skips few.
async fn is_long_ago(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    at: Timestamp,
) -> Result<bool, RegistryError> {
    let beyond: Option<i64> = sqlx::query_scalar(
        "SELECT changed FROM handles INDEXED BY handles_by_change WHERE changed >= ? ORDER BY changed LIMIT 1 OFFSET ?",
    )
    .bind(at.as_millis())
    .bind(CHANGED_MAX)
    .fetch_optional(connection)
    .await
    .map_err(base.failed("find tasks"))?;
    Ok(beyond.is_some())
}

impl SqliteRegistry {
    /// Rows of number, order and id, from an offset on.
    async fn places(
        &self,
        connection: &mut SqliteConnection,
        query: TaskListQuery,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<SqliteRow>, RegistryError> {
        let mut list = resolve(&self.base, connection, query).await?;
        if let Some(at) = list.query.changed_after {
            list.is_dense = is_long_ago(&self.base, connection, at).await?;
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(parts) = list.parts() else {
            let Some(find) = list.find(whole(offset), i64::from(limit)) else { return Ok(Vec::new()) };
            return find.rows(connection).await.map_err(self.base.failed("find tasks"));
        };
        // Sorted by a column: value after value, and what lies before the place is passed over by its count.
        let (mut before, mut rows) = (offset, Vec::new());
        for (part, known) in parts {
            let count = match known {
                Some(count) => Some(count),
                None if before > 0 => Some(self.counted(connection, &part).await?),
                None => None,
            };
            if let Some(count) = count.filter(|count| *count <= before) {
                before -= count;
                continue;
            }
            let wanted = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(rows.len());
            if let Some(find) = part.find(whole(before), i64::try_from(wanted).unwrap_or(i64::MAX)) {
                rows.extend(find.rows(connection).await.map_err(self.base.failed("find tasks"))?);
            }
            before = 0;
            if rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(rows)
    }

    /// How many tasks a part of a list has.
    async fn counted(&self, connection: &mut SqliteConnection, part: &ResolvedListQuery) -> Result<u64, RegistryError> {
        let failed = || self.base.failed("count tasks");
        let mut total = if part.is_timed() { 0 } else { part.tasks() };
        for batch in part.counts() {
            for row in &batch.rows(&mut *connection).await.map_err(failed())? {
                total = total.saturating_add(unsigned(row.try_get(1).map_err(failed())?));
            }
        }
        Ok(total)
    }

    /// The rows of a list on a screen, from an offset on.
    pub(crate) async fn read_screen(
        &self,
        query: TaskListQuery,
        offset: u64,
        limit: u32,
    ) -> Result<TaskRows, RegistryError> {
        let failed = || self.base.failed("find tasks");
        let limit = limit.min(self.base.limits.page_rows_max);
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let found = self.places(&mut transaction, query, offset, limit).await?;
        let number = |row: &SqliteRow| row.try_get::<i64, _>(0).map(Value::from);
        let numbers = found.iter().map(number).collect::<Result<Vec<_>, _>>().map_err(failed())?;
        let rows = crate::sqlite::tables::tasks::read(&self.base, &mut transaction, &Value::Array(numbers)).await?;
        transaction.rollback().await.map_err(failed())?;
        Ok(TaskRows { rows: rows.into_iter().map(|(_, task)| task).collect() })
    }

    /// The tasks of a list on a screen by id.
    pub(crate) async fn read_matching(&self, query: TaskListQuery, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        let failed = || self.base.failed("find tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let found = self.places(&mut transaction, query, 0, limit).await?;
        transaction.rollback().await.map_err(failed())?;
        let id = |row: &SqliteRow| {
            let text: &str = row.try_get(2).map_err(failed())?;
            text.parse().map_err(|_| RegistryError::Other {
                operation: "read `handles`",
                why: "column `id` does not read as an id".into(),
            })
        };
        found.iter().map(id).collect()
    }

    /// The groups of a list on a screen, with their counts.
    pub(crate) async fn read_view(&self, query: TaskListQuery) -> Result<TaskGroups, RegistryError> {
        let failed = || self.base.failed("count tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let list = resolve(&self.base, &mut transaction, query).await?;
        let hidden = match list.query.hidden {
            HiddenTasks::LeftOut => {
                let only = TaskListQuery { hidden: HiddenTasks::Only, ..list.query.clone() };
                let only = resolve(&self.base, &mut transaction, only).await?;
                self.counted(&mut transaction, &only).await?
            }
            HiddenTasks::Included | HiddenTasks::Only => 0,
        };
        let known = if list.is_timed() { TaskGroups::default() } else { list.query.view(list.all_tasks, &list.kinds) };
        let mut groups: Vec<(String, u64)> = known.groups;
        let mut total = known.total;
        for batch in list.counts() {
            let found = batch.rows(&mut transaction).await.map_err(failed())?;
            for row in &found {
                let key: &str = row.try_get(0).map_err(failed())?;
                let count = unsigned(row.try_get(1).map_err(failed())?);
                total = total.saturating_add(count);
                groups.push((group(list.query.group_by, key)?, count));
            }
        }
        transaction.rollback().await.map_err(failed())?;
        let undivided = list.query.group_by == GroupBy::None;
        Ok(TaskGroups {
            total,
            all: list.all_tasks,
            hidden,
            groups: if undivided { Vec::new() } else { merged(groups) },
        })
    }

    /// Tasks that need attention, are held or ask to go on past a limit, the last changed first.
    pub(crate) async fn read_attention(&self, limit: u32) -> Result<Vec<TaskHandle>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(
            "SELECT number FROM ( \
             SELECT * FROM (SELECT number, changed, id FROM handles INDEXED BY handles_attention \
             WHERE phase IN ('overdue', 'lost', 'unconfirmed', 'blocked') AND settled IS NULL \
             ORDER BY changed DESC, id DESC LIMIT ?) \
             UNION SELECT * FROM (SELECT number, changed, id FROM handles INDEXED BY handles_held \
             WHERE held = 1 ORDER BY changed DESC, id DESC LIMIT ?) \
             UNION SELECT * FROM (SELECT number, changed, id FROM handles INDEXED BY handles_over_limit \
             WHERE over_limit = 1 ORDER BY changed DESC, id DESC LIMIT ?)) ORDER BY changed DESC, id DESC LIMIT ?",
        );
        let limit = limit.min(self.base.limits.inbox_rows_max);
        find.with(limit).with(limit).with(limit).with(limit);
        let found: Vec<(TaskHandle, Option<Timestamp>)> = self.read_handles(find).await?;
        Ok(found.into_iter().map(|(handle, _)| handle).collect())
    }

    /// How the cancels that were sent to a server ended. Rows of earlier versions have one for a call that never left.
    pub(crate) async fn read_cancels(&self, server: ServerId) -> Result<CancelFacts, RegistryError> {
        let failed = || self.base.failed("count cancels");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT stop, count(*) FROM handles INDEXED BY handles_by_stop WHERE server = ? AND stop IS NOT NULL \
             AND stop <> 'endedHere' GROUP BY stop",
        )
        .bind(server.to_string())
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let mut facts = CancelFacts::default();
        for row in &found {
            let (word, count): (&str, i64) = (row.try_get(0).map_err(failed())?, row.try_get(1).map_err(failed())?);
            let count = unsigned(count);
            if word == "noReply" {
                facts.no_reply = count;
                continue;
            }
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
            .map_err(failed())?
            .flatten();
            facts.median_ms = median.map(unsigned);
        }
        Ok(facts)
    }
}
