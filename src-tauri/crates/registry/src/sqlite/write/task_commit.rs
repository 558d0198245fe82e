//! Writes one task with everything that is committed with it.
//!
//! Conflicts and duplicates are found before the first statement, in what the transaction has read. Questions are written
//! only when their mark says that they changed, so that a task with many of them stays cheap to change.

use domain::ids::HandleId;
use domain::ports::Recorded;
use domain::ports::change::Entity;
use sqlx::sqlite::SqliteConnection;

use crate::codec::audit::TaskParties;
use crate::sqlite::tables::durations::{self, LearnedDuration};
use crate::sqlite::tables::row_name;
use crate::sqlite::tables::task_row::{EncodedTask, RequestRow};
use crate::sqlite::tables::{payloads, raw_messages, requests, status_log, tasks};
use crate::sqlite::write::cache::CachedTask;
use crate::sqlite::write::mutation::MutationOutcome;
use crate::sqlite::write::transaction::WriteTransaction;

impl WriteTransaction<'_> {
    /// Commits a new task.
    pub(crate) async fn admit(
        &mut self,
        connection: &mut SqliteConnection,
        task: &EncodedTask,
    ) -> Result<MutationOutcome, sqlx::Error> {
        if self.cache.handles.contains_key(&task.id) {
            return Ok(MutationOutcome::Exists(task.id));
        }
        if let Some(other) = self.holder(task) {
            return Ok(MutationOutcome::Exists(other));
        }
        self.counters.handle_number += 1;
        self.cache.weight += 1;
        let cached = CachedTask {
            number: self.counters.handle_number,
            version: task.version.saturating_add(1),
            log_number: 0,
            task_mark: None,
            requests: None,
        };
        tasks::insert(&mut self.batch, task, cached.row());
        self.write_parts(connection, task, cached).await
    }

    /// Commits a change of a task.
    pub(crate) async fn commit(
        &mut self,
        connection: &mut SqliteConnection,
        task: &EncodedTask,
    ) -> Result<MutationOutcome, sqlx::Error> {
        let read = self.cache.handles.get(&task.id).map(|cached| cached.version);
        if read != Some(task.version) {
            return Ok(MutationOutcome::Conflict);
        }
        if let Some(other) = self.holder(task) {
            return Ok(MutationOutcome::Exists(other));
        }
        let Some(mut cached) = self.cache.handles.remove(&task.id) else { return Ok(MutationOutcome::Conflict) };
        cached.version = cached.version.saturating_add(1);
        tasks::update(&mut self.batch, task, cached.row());
        self.write_parts(connection, task, cached).await
    }

    /// The other task that is recorded for this upstream task, if there is one.
    fn holder(&self, task: &EncodedTask) -> Option<HandleId> {
        let holder = self.cache.marks.get(&task.task_mark?)?;
        Some(*holder).filter(|holder| *holder != task.id)
    }

    /// Writes what belongs to a task, whether it is new or changed.
    async fn write_parts(
        &mut self,
        connection: &mut SqliteConnection,
        task: &EncodedTask,
        mut cached: CachedTask,
    ) -> Result<MutationOutcome, sqlx::Error> {
        if cached.task_mark != task.task_mark {
            if let Some(old) = cached.task_mark {
                self.cache.marks.remove(&old);
            }
            if let Some(new) = task.task_mark {
                self.cache.marks.insert(new, task.id);
            }
            cached.task_mark = task.task_mark;
        }
        self.write_requests(connection, task, &mut cached).await?;
        for (kind, sealed) in &task.payloads {
            self.make_room(connection).await?;
            payloads::write(&mut self.batch, cached.row(), kind, sealed.as_deref());
        }
        for line in &task.log {
            self.make_room(connection).await?;
            cached.log_number += 1;
            status_log::insert(&mut self.batch, cached.number, cached.log_number, line);
        }
        for message in &task.raw {
            self.make_room(connection).await?;
            raw_messages::insert(&mut self.batch, cached.number, message);
        }
        if !task.raw.is_empty() {
            raw_messages::cut(&mut self.batch, cached.number, self.limits.raw_messages_per_task);
        }
        if !task.log.is_empty() {
            let beyond = cached.log_number - i64::from(self.limits.log_lines_per_task);
            status_log::cut(&mut self.batch, cached.number, cached.log_number, beyond);
        }
        if let (Some(took), Some(tool)) = (task.learned_ms, &task.tool) {
            let learned = LearnedDuration { server: &task.server, tool, took_ms: took, at: task.changed };
            durations::learn(&mut self.batch, &learned, self.limits.usual_samples_kept);
        }
        let parties = TaskParties { server: &task.server, agent: &task.agent };
        self.add_audit_of(connection, parties, &task.audit).await?;
        let seq = self.add_change(Entity::Handle(task.id), Some(task.changed));
        let recorded = Recorded { seq, version: cached.version };
        self.cache.handles.insert(task.id, cached);
        self.make_room(connection).await?;
        Ok(MutationOutcome::Recorded(recorded))
    }

    async fn write_requests(
        &mut self,
        connection: &mut SqliteConnection,
        task: &EncodedTask,
        cached: &mut CachedTask,
    ) -> Result<(), sqlx::Error> {
        let mut before = cached.requests.take().map(|marks| *marks).unwrap_or_default();
        self.cache.weight += task.requests.len().saturating_sub(before.len());
        for request in &task.requests {
            if before.remove(&request.key) != Some(request.mark) {
                self.make_room(connection).await?;
                self.write_request(task, cached, request)?;
            }
            cached.requests.get_or_insert_default().insert(request.key.clone(), request.mark);
        }
        for gone in before.keys() {
            self.make_room(connection).await?;
            requests::delete(&mut self.batch, cached.number, gone);
        }
        Ok(())
    }

    fn write_request(
        &mut self,
        task: &EncodedTask,
        cached: &CachedTask,
        request: &RequestRow,
    ) -> Result<(), sqlx::Error> {
        let row = row_name(&task.key, &request.key);
        let sealed = self
            .sealer
            .seal_version(requests::place(&row), cached.version, &request.body)
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        requests::write(&mut self.batch, cached.row(), request, sealed);
        Ok(())
    }
}
