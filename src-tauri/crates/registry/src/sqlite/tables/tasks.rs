//! Tasks: writing their rows, reading them whole, finding them by id.
//!
//! A task is read in one snapshot with its questions and its newest contact. Whether a change may be made is decided in
//! `write/task_commit.rs`, which tasks make a list in `read/`; the encoding is in `codec/task.rs`.

use domain::ids::{HandleId, ServerId, UpstreamTaskId};
use domain::ports::{KnownTask, RegistryError};
use domain::task::{Home, TaskHandle};
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use super::task_row::{EncodedTask, TaskVersion, handle_place, task_mark};
use crate::codec;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// What may be removed of `handles h`: it is over, nobody waits for it, and nothing of it is on its way. The parameter is
/// the time before which an undelivered reply counts no longer ([`RetentionPolicy::undelivered_for`]).
///
/// [`RetentionPolicy::undelivered_for`]: domain::policy::RetentionPolicy::undelivered_for
pub(crate) const REMOVABLE: &str = "h.is_open = 0 AND h.held IS NULL AND h.over_limit IS NULL AND h.deliver_at IS NULL \
     AND (h.undelivered IS NULL OR h.changed < ?) \
     AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.handle = h.number AND r.state IN ('open', 'asked'))";

/// Writes a new task.
pub(crate) fn insert(batch: &mut StatementBatch, task: &EncodedTask, row: TaskVersion) {
    batch
        .add(
            "INSERT INTO handles (number, id, server, agent, created, job_mark, parent, log_number, tool, phase, is_open, \
             version, changed, tick_at, deliver_at, task_mark, body_sealed, stop, stop_ms, given, undelivered, orphaned, \
             held, over_limit, settled) \
             VALUES (?, ?, ?, nullif(?, ''), ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .with(row.number)
        .with(task.key.clone())
        .with(task.server.clone())
        .with(task.agent.clone())
        .with(task.created)
        .with(task.index.job_mark.map(|mark| mark.to_vec()))
        .with(task.index.parent.clone());
    bind_changing(batch, task, row);
}

/// Writes a changed task. Server, agent, creation, job and parent never change.
pub(crate) fn update(batch: &mut StatementBatch, task: &EncodedTask, row: TaskVersion) {
    batch.add(
        "UPDATE handles SET tool = ?, phase = ?, is_open = ?, version = ?, changed = ?, tick_at = ?, \
         deliver_at = ?, task_mark = ?, body_sealed = ?, stop = ?, stop_ms = ?, given = ?, undelivered = ?, \
         orphaned = ?, held = ?, over_limit = ?, settled = ? WHERE number = ?",
    );
    bind_changing(batch, task, row);
    batch.with(row.number);
}

/// Binds the columns that change with a task, in the order in which both statements name them.
fn bind_changing(batch: &mut StatementBatch, task: &EncodedTask, row: TaskVersion) {
    batch
        .with(task.tool.clone())
        .with(task.phase)
        .with(task.is_open)
        .with(whole(row.version))
        .with(task.changed)
        .with(task.tick_at)
        .with(task.deliver_at)
        .with(task.task_mark.map(|mark| mark.to_vec()))
        .with(task.body_sealed.clone())
        .with(task.stop.map(|(word, _)| word))
        .with(task.stop.and_then(|(_, took)| took))
        .with(flag(task.index.given))
        .with(flag(task.index.undelivered))
        .with(flag(task.index.orphaned))
        .with(flag(task.index.held))
        .with(flag(task.index.over_limit))
        .with(flag(task.index.settled));
}

/// A flag as its column keeps it: null when it is down, so that its index holds only what is up.
fn flag(up: bool) -> Option<i64> {
    up.then_some(1)
}

fn one(
    base: &StoreContext,
    row: &SqliteRow,
    requests: &mut super::requests::ByHandle,
) -> Result<(TaskHandle, Option<Timestamp>), RegistryError> {
    let failed = || base.failed("read a task");
    let number: i64 = row.try_get(0).map_err(failed())?;
    let id: &str = row.try_get(1).map_err(failed())?;
    let sealed: &[u8] = row.try_get(8).map_err(failed())?;
    let seen: Option<i64> = row.try_get(9).map_err(failed())?;
    let next_poll: Option<i64> = row.try_get(10).map_err(failed())?;
    let columns = codec::task::TaskColumns {
        id,
        server: row.try_get(2).map_err(failed())?,
        agent: row.try_get(3).map_err(failed())?,
        tool: row.try_get(4).map_err(failed())?,
        version: unsigned(row.try_get(5).map_err(failed())?),
        created: Timestamp::from_millis(row.try_get(6).map_err(failed())?),
        changed: Timestamp::from_millis(row.try_get(7).map_err(failed())?),
        seen: seen.map(Timestamp::from_millis),
    };
    let plain = base.unseal_version(handle_place(id), columns.version, sealed)?;
    let body = serde_json::from_slice(&plain).map_err(|error| StoreContext::not_json("read `handles`", id, &error))?;
    let handle = codec::task::read(&columns, body, requests.remove(&number).unwrap_or_default())
        .map_err(|error| StoreContext::bad_row("read `handles`", id, &error))?;
    Ok((handle, next_poll.map(Timestamp::from_millis)))
}

/// Reads whole handles by number (JSON array), in the order of the array, with the time of their next look.
pub(crate) async fn read(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    numbers: &Value,
) -> Result<Vec<(i64, (TaskHandle, Option<Timestamp>))>, RegistryError> {
    let failed = || base.failed("read tasks");
    let found = sqlx::query(
        "SELECT h.number, h.id, h.server, h.agent, h.tool, h.version, h.created, h.changed, h.body_sealed, c.seen, \
         CASE WHEN h.is_open THEN c.next_look END \
         FROM json_each(?) j CROSS JOIN handles h ON h.number = j.value LEFT JOIN contacts c ON c.handle = h.number \
         ORDER BY j.key",
    )
    .bind(numbers.to_string())
    .fetch_all(&mut *connection)
    .await
    .map_err(failed())?;
    let mut requests = super::requests::read(base, connection, numbers).await?;
    found.iter().map(|row| Ok((row.try_get(0).map_err(failed())?, one(base, row, &mut requests)?))).collect()
}

impl SqliteRegistry {
    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Sqlite>, RegistryError> {
        self.readers.acquire().await.map_err(self.base.failed("open a reader"))
    }

    /// Whole handles whose numbers a statement finds, in its order.
    pub(crate) async fn read_handles(
        &self,
        find: StatementBatch,
    ) -> Result<Vec<(TaskHandle, Option<Timestamp>)>, RegistryError> {
        let failed = || self.base.failed("find tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let found = find.rows(&mut transaction).await.map_err(failed())?;
        let numbers = found
            .iter()
            .map(|row| row.try_get::<i64, _>(0).map(Value::from))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed())?;
        let tasks = if numbers.is_empty() {
            Vec::new()
        } else {
            read(&self.base, &mut transaction, &Value::Array(numbers)).await?
        };
        transaction.rollback().await.map_err(failed())?;
        Ok(tasks.into_iter().map(|(_, task)| task).collect())
    }

    /// Ids that a statement finds, in its order.
    pub(crate) async fn read_ids(&self, find: StatementBatch) -> Result<Vec<HandleId>, RegistryError> {
        let failed = || self.base.failed("find tasks");
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let id = |row: &SqliteRow| {
            let text: &str = row.try_get(0).map_err(failed())?;
            text.parse().map_err(|_| RegistryError::Other {
                operation: "read `handles`",
                why: "column `id` does not read as an id".into(),
            })
        };
        found.iter().map(id).collect()
    }

    pub(crate) async fn read_handle(&self, id: HandleId) -> Result<Option<TaskHandle>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add("SELECT number FROM handles WHERE id = ?").with(id.to_string());
        Ok(self.read_handles(find).await?.into_iter().next().map(|(handle, _)| handle))
    }

    /// The handle of an upstream task.
    pub(crate) async fn read_task(
        &self,
        server: ServerId,
        home: Home,
        task: UpstreamTaskId,
    ) -> Result<Option<KnownTask>, RegistryError> {
        let mark = task_mark(&self.base.sealer, server, &home, &task);
        let mut find = StatementBatch::default();
        find.add("SELECT id FROM handles WHERE task_mark = ?").with(mark.to_vec());
        if let Some(id) = self.read_ids(find).await?.into_iter().next() {
            return Ok(Some(KnownTask::Kept(id)));
        }
        let failed = || self.base.failed("read whether a task was removed");
        let removed: Option<i64> = sqlx::query_scalar("SELECT number FROM removed_tasks WHERE mark = ?")
            .bind(mark.to_vec())
            .fetch_optional(&mut *self.reader().await?)
            .await
            .map_err(failed())?;
        Ok(removed.map(|_| KnownTask::Removed))
    }

    /// Ids that begin with a text, newest first.
    pub(crate) async fn read_starting(&self, text: &str, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        // The range of all texts that begin with this one: `~` is behind every character of an id.
        let mut find = StatementBatch::default();
        find.add("SELECT id FROM handles WHERE id >= ? AND id < ? ORDER BY created DESC, id DESC LIMIT ?")
            .with(text.to_owned())
            .with(format!("{text}~"))
            .with(limit.min(self.base.limits.page_rows_max));
        self.read_ids(find).await
    }

    /// When a handle will be looked at next, as last flushed.
    pub(crate) async fn read_next_look(&self, id: HandleId) -> Result<Option<Timestamp>, RegistryError> {
        let failed = || self.base.failed("read a task");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT c.next_look FROM handles h JOIN contacts c ON c.handle = h.number WHERE h.id = ? AND h.is_open",
        )
        .bind(id.to_string())
        .fetch_optional(&mut *reader)
        .await
        .map_err(failed())?;
        let at: Option<i64> = row.map(|row| row.try_get(0)).transpose().map_err(failed())?.flatten();
        Ok(at.map(Timestamp::from_millis))
    }
}
