//! Handles: writing them, reading them whole, finding them.
//!
//! A handle is read in one snapshot with its requests and its newest contact. Whether a change may be made is decided
//! in `commit.rs`; which handles make a page in `lists.rs`; how a handle is encoded in `rows/handle.rs`.

use domain::task::TaskHandle;
use domain::ids::{HandleId, ServerId, SessionKey, UpstreamTaskId};
use domain::ports::RegistryError;
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use super::known::Known;
use super::script::Script;
use super::unit::{HandleUnit, handle_place, task_mark};
use super::{Base, Sqlite, commit, unsigned};
use crate::rows;

/// Writes a new handle.
pub(crate) fn insert(script: &mut Script, unit: &HandleUnit, known: &Known) {
    script
        .add(
            "INSERT INTO handles (number, id, server, agent, tool, phase, is_open, version, created, changed, tick_at, \
             deliver_at, log_number, task_mark, body_sealed, stop, stop_ms, job_mark, parent, given, undelivered, \
             orphaned, held, over_limit) \
             VALUES (?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .with(known.number)
        .with(unit.key.clone())
        .with(unit.server.clone())
        .with(unit.agent.clone())
        .with(unit.tool.clone())
        .with(unit.phase)
        .with(unit.is_open)
        .with(commit::version(known))
        .with(unit.created)
        .with(unit.changed)
        .with(unit.tick_at)
        .with(unit.deliver_at)
        .with(unit.task_mark.map(|mark| mark.to_vec()))
        .with(unit.body_sealed.clone())
        .with(unit.stop.map(|(word, _)| word))
        .with(unit.stop.and_then(|(_, took)| took))
        .with(unit.kin.job_mark.map(|mark| mark.to_vec()))
        .with(unit.kin.parent.clone())
        .with(flag(unit.kin.given))
        .with(flag(unit.kin.undelivered))
        .with(flag(unit.kin.orphaned))
        .with(flag(unit.kin.held))
        .with(flag(unit.kin.over_limit));
}

/// A flag as its column keeps it: null when it is down, so that its index holds only what is up.
fn flag(up: bool) -> Option<i64> {
    up.then_some(1)
}

/// Writes a changed handle. Server, agent, creation, job and parent never change.
pub(crate) fn update(script: &mut Script, unit: &HandleUnit, known: &Known) {
    script
        .add(
            "UPDATE handles SET tool = ?, phase = ?, is_open = ?, version = ?, changed = ?, tick_at = ?, \
             deliver_at = ?, task_mark = ?, body_sealed = ?, stop = ?, stop_ms = ?, given = ?, undelivered = ?, \
             orphaned = ?, held = ?, over_limit = ? WHERE number = ?",
        )
        .with(unit.tool.clone())
        .with(unit.phase)
        .with(unit.is_open)
        .with(commit::version(known))
        .with(unit.changed)
        .with(unit.tick_at)
        .with(unit.deliver_at)
        .with(unit.task_mark.map(|mark| mark.to_vec()))
        .with(unit.body_sealed.clone())
        .with(unit.stop.map(|(word, _)| word))
        .with(unit.stop.and_then(|(_, took)| took))
        .with(flag(unit.kin.given))
        .with(flag(unit.kin.undelivered))
        .with(flag(unit.kin.orphaned))
        .with(flag(unit.kin.held))
        .with(flag(unit.kin.over_limit))
        .with(known.number);
}

/// Counts a handle in or out of a phase.
pub(crate) fn tally(script: &mut Script, known: &Known, phase: &'static str, by: i64) {
    script
        .add(
            "INSERT INTO tallies (server, agent, phase, handles) VALUES (?, ?, ?, ?) \
             ON CONFLICT (server, agent, phase) DO UPDATE SET handles = handles + excluded.handles",
        )
        .with(known.server.clone())
        .with(known.agent.clone())
        .with(phase)
        .with(by);
}

fn one(
    base: &Base,
    row: &SqliteRow,
    requests: &mut super::requests::ByHandle,
) -> Result<(TaskHandle, Option<Timestamp>), RegistryError> {
    let trouble = || base.fault("read a task");
    let number: i64 = row.try_get(0).map_err(trouble())?;
    let id: &str = row.try_get(1).map_err(trouble())?;
    let sealed: &[u8] = row.try_get(8).map_err(trouble())?;
    let seen: Option<i64> = row.try_get(9).map_err(trouble())?;
    let next_poll: Option<i64> = row.try_get(10).map_err(trouble())?;
    let columns = rows::handle::Columns {
        id,
        server: row.try_get(2).map_err(trouble())?,
        agent: row.try_get(3).map_err(trouble())?,
        tool: row.try_get(4).map_err(trouble())?,
        version: unsigned(row.try_get(5).map_err(trouble())?),
        created: Timestamp::from_millis(row.try_get(6).map_err(trouble())?),
        changed: Timestamp::from_millis(row.try_get(7).map_err(trouble())?),
        seen: seen.map(Timestamp::from_millis),
    };
    let plain = base.unseal_version(handle_place(id), columns.version, sealed)?;
    let body = serde_json::from_slice(&plain).map_err(|error| Base::not_json("read `handles`", id, &error))?;
    let handle = rows::handle::read(&columns, &body, requests.remove(&number).unwrap_or_default())
        .map_err(|flaw| Base::bad_row("read `handles`", id, &flaw))?;
    Ok((handle, next_poll.map(Timestamp::from_millis)))
}

/// Reads whole handles by number (JSON array), in the order of the array, with the time of their next look.
pub(crate) async fn read(
    base: &Base,
    connection: &mut SqliteConnection,
    numbers: &Value,
) -> Result<Vec<(i64, (TaskHandle, Option<Timestamp>))>, RegistryError> {
    let trouble = || base.fault("read tasks");
    let found = sqlx::query(
        "SELECT h.number, h.id, h.server, h.agent, h.tool, h.version, h.created, h.changed, h.body_sealed, c.seen, \
         CASE WHEN h.is_open THEN c.next_look END \
         FROM json_each(?) j CROSS JOIN handles h ON h.number = j.value LEFT JOIN contacts c ON c.handle = h.number \
         ORDER BY j.key",
    )
    .bind(numbers.to_string())
    .fetch_all(&mut *connection)
    .await
    .map_err(trouble())?;
    let mut requests = super::requests::read(base, connection, numbers).await?;
    found.iter().map(|row| Ok((row.try_get(0).map_err(trouble())?, one(base, row, &mut requests)?))).collect()
}

impl Sqlite {
    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Sqlite>, RegistryError> {
        self.readers.acquire().await.map_err(self.base.fault("open a reader"))
    }

    /// Whole handles whose numbers a statement finds, in its order.
    pub(crate) async fn read_handles(
        &self,
        find: Script,
    ) -> Result<Vec<(TaskHandle, Option<Timestamp>)>, RegistryError> {
        let trouble = || self.base.fault("find tasks");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(trouble())?;
        let found = find.rows(&mut transaction).await.map_err(trouble())?;
        let numbers = found
            .iter()
            .map(|row| row.try_get::<i64, _>(0).map(Value::from))
            .collect::<Result<Vec<_>, _>>()
            .map_err(trouble())?;
        let tasks = if numbers.is_empty() {
            Vec::new()
        } else {
            read(&self.base, &mut transaction, &Value::Array(numbers)).await?
        };
        transaction.rollback().await.map_err(trouble())?;
        Ok(tasks.into_iter().map(|(_, task)| task).collect())
    }

    /// Ids that a statement finds, in its order.
    pub(crate) async fn read_ids(&self, find: Script) -> Result<Vec<HandleId>, RegistryError> {
        let trouble = || self.base.fault("find tasks");
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(trouble())?;
        let id = |row: &SqliteRow| {
            let text: &str = row.try_get(0).map_err(trouble())?;
            text.parse().map_err(|_| RegistryError::Other {
                operation: "read `handles`",
                why: "column `id` does not read as an id".into(),
            })
        };
        found.iter().map(id).collect()
    }

    /// One handle.
    pub(crate) async fn read_handle(&self, id: HandleId) -> Result<Option<TaskHandle>, RegistryError> {
        let mut find = Script::default();
        find.add("SELECT number FROM handles WHERE id = ?").with(id.to_string());
        Ok(self.read_handles(find).await?.into_iter().next().map(|(handle, _)| handle))
    }

    /// The handle of an upstream task.
    pub(crate) async fn read_task(
        &self,
        server: ServerId,
        (generation, session): (u32, Option<SessionKey>),
        task: UpstreamTaskId,
    ) -> Result<Option<HandleId>, RegistryError> {
        let mark = task_mark(&self.base.sealer, server, (generation, session.as_ref()), &task);
        let mut find = Script::default();
        find.add("SELECT id FROM handles WHERE task_mark = ?").with(mark.to_vec());
        Ok(self.read_ids(find).await?.into_iter().next())
    }

    /// Ids that begin with a text, newest first.
    pub(crate) async fn read_starting(&self, text: &str, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        // The range of all texts that begin with this one: `~` is behind every character of an id.
        let mut find = Script::default();
        find.add("SELECT id FROM handles WHERE id >= ? AND id < ? ORDER BY created DESC, id DESC LIMIT ?")
            .with(text.to_owned())
            .with(format!("{text}~"))
            .with(limit.min(self.base.limits.page_rows_max));
        self.read_ids(find).await
    }

    /// When a handle will be looked at next, as last flushed.
    pub(crate) async fn read_next_look(&self, id: HandleId) -> Result<Option<Timestamp>, RegistryError> {
        let trouble = || self.base.fault("read a task");
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT c.next_look FROM handles h JOIN contacts c ON c.handle = h.number WHERE h.id = ? AND h.is_open",
        )
        .bind(id.to_string())
        .fetch_optional(&mut *reader)
        .await
        .map_err(trouble())?;
        let at: Option<i64> = row.map(|row| row.try_get(0)).transpose().map_err(trouble())?.flatten();
        Ok(at.map(Timestamp::from_millis))
    }
}
