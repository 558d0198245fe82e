//! Writing one handle with everything that is committed with it.
//!
//! Conflicts and doubles are found before the first statement, from what `Group` has read. Requests are written only
//! when their mark says that they changed, so that a task with many questions stays cheap to change.

use domain::ports::change::Entity;
use domain::ids::HandleId;
use domain::ports::Recorded;
use sqlx::sqlite::SqliteConnection;

use super::group::Group;
use super::known::Known;
use super::unit::{HandleUnit, RequestRow, Written};
use super::{handles, log, payloads, raw, requests, usual, whole};

impl Group<'_> {
    /// A new handle.
    pub(crate) async fn admit(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &HandleUnit,
    ) -> Result<Written, sqlx::Error> {
        if self.known.handles.contains_key(&unit.key) {
            return Ok(Written::Exists(unit.id));
        }
        if let Some(other) = self.holder(unit) {
            return Ok(Written::Exists(other));
        }
        self.now.handle_number += 1;
        self.known.weight += 1;
        let known = Known {
            number: self.now.handle_number,
            version: unit.version.saturating_add(1),
            phase: unit.phase,
            server: unit.server.clone(),
            agent: unit.agent.clone(),
            log_number: 0,
            task_mark: None,
            requests: std::collections::HashMap::new(),
        };
        handles::insert(&mut self.script, unit, &known);
        handles::tally(&mut self.script, &known, unit.phase, 1);
        self.rest(connection, unit, known).await
    }

    /// A change of a handle.
    pub(crate) async fn commit(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &HandleUnit,
    ) -> Result<Written, sqlx::Error> {
        let read = self.known.handles.get(&unit.key).map(|known| known.version);
        if read != Some(unit.version) {
            return Ok(Written::Conflict);
        }
        if let Some(other) = self.holder(unit) {
            return Ok(Written::Exists(other));
        }
        let Some(mut known) = self.known.handles.remove(&unit.key) else { return Ok(Written::Conflict) };
        known.version = known.version.saturating_add(1);
        handles::update(&mut self.script, unit, &known);
        if known.phase != unit.phase {
            handles::tally(&mut self.script, &known, known.phase, -1);
            handles::tally(&mut self.script, &known, unit.phase, 1);
            known.phase = unit.phase;
        }
        self.rest(connection, unit, known).await
    }

    /// The other handle that holds this upstream task, if there is one.
    fn holder(&self, unit: &HandleUnit) -> Option<HandleId> {
        let holder = self.known.marks.get(&unit.task_mark?)?;
        if *holder == unit.key { None } else { holder.parse().ok() }
    }

    /// What admission and change have in common.
    async fn rest(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &HandleUnit,
        mut known: Known,
    ) -> Result<Written, sqlx::Error> {
        if known.task_mark != unit.task_mark {
            if let Some(old) = known.task_mark {
                self.known.marks.remove(&old);
            }
            if let Some(new) = unit.task_mark {
                self.known.marks.insert(new, unit.key.clone());
            }
            known.task_mark = unit.task_mark;
        }
        self.questions(connection, unit, &mut known).await?;
        for (kind, sealed) in &unit.payloads {
            self.room(connection).await?;
            payloads::write(&mut self.script, (known.number, version(&known)), (kind, sealed.as_deref()));
        }
        for (at, line) in &unit.log {
            self.room(connection).await?;
            known.log_number += 1;
            log::insert(&mut self.script, (known.number, known.log_number), (*at, line));
        }
        for message in &unit.raw {
            self.room(connection).await?;
            raw::insert(&mut self.script, known.number, message);
        }
        if !unit.raw.is_empty() {
            raw::cut(&mut self.script, known.number, self.limits.raw_messages_per_task);
        }
        if !unit.log.is_empty() {
            let beyond = known.log_number - i64::from(self.limits.log_lines_per_task);
            log::cut(&mut self.script, known.number, (known.log_number, beyond));
        }
        if let (Some(took), Some(tool)) = (unit.learned_ms, &unit.tool) {
            usual::learn(&mut self.script, (&unit.server, tool), took, self.limits.usual_samples_kept);
        }
        self.facts(connection, &unit.audit).await?;
        let seq = self.change(Entity::Handle(unit.id), Some(unit.changed));
        let recorded = Recorded { seq, version: known.version };
        self.known.handles.insert(unit.key.clone(), known);
        self.room(connection).await?;
        Ok(Written::Recorded(recorded))
    }

    async fn questions(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &HandleUnit,
        known: &mut Known,
    ) -> Result<(), sqlx::Error> {
        let mut before = std::mem::take(&mut known.requests);
        self.known.weight += unit.requests.len().saturating_sub(before.len());
        for request in &unit.requests {
            if before.remove(&request.key) != Some(request.mark) {
                self.room(connection).await?;
                self.question(unit, known, request)?;
            }
            known.requests.insert(request.key.clone(), request.mark);
        }
        for gone in before.keys() {
            self.room(connection).await?;
            requests::delete(&mut self.script, known.number, gone);
        }
        Ok(())
    }

    fn question(&mut self, unit: &HandleUnit, known: &Known, request: &RequestRow) -> Result<(), sqlx::Error> {
        let row = super::unit::row_of(&unit.key, &request.key);
        let sealed = self
            .sealer
            .seal_version(requests::place(&row), known.version, &request.body)
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        requests::write(&mut self.script, (known.number, version(known)), (request, sealed));
        Ok(())
    }
}

/// The version as SQLite keeps it.
pub(crate) fn version(known: &Known) -> i64 {
    whole(known.version)
}
