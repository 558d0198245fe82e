//! One transaction of the writer: what is read first, what is counted while writing, what is written last.
//!
//! What decides about conflicts is known from the transactions before (`known.rs`) or read right after
//! `BEGIN IMMEDIATE`; from then on nobody else can write. A refused unit writes nothing, so no savepoints are needed.
//! Counters advance here and reach the `store` row in the same transaction; that row is written only if it still says
//! what was known, so knowledge that another process made stale fails the transaction instead of the data.

use domain::audit::AuditEvent;
use domain::ports::change::Entity;
use domain::ids::Seq;
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use super::known::{Counters, Knowledge};
use super::script::Script;
use super::unit::{Unit, Written, entity};
use super::{Limits, agents, budget, changes, log, rules, servers, whole};
use crate::rows::audit::{hash, hex};
use crate::seal::Sealer;

/// A script that is this long takes no further unit: the trip to the connection's thread is shared by enough.
const SHARED_MAX: usize = 16;
/// Statements of one script at most; only units with many questions, lines or facts come this far.
const SCRIPT_MAX: usize = 48;

/// What makes scripts of two units look alike, so that one prepared text serves both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    kind: u8,
    phase: &'static str,
    parts: [usize; 6],
}

impl Shape {
    fn of(unit: &Unit) -> Self {
        let alike = |kind, facts: usize| Self { kind, phase: "", parts: [facts, 0, 0, 0, 0, 0] };
        let handle = |kind, unit: &super::unit::HandleUnit| Self {
            kind,
            phase: unit.phase,
            parts: [
                unit.audit.len(),
                unit.log.len(),
                unit.payloads.len(),
                unit.requests.len(),
                usize::from(unit.learned_ms.is_some()),
                unit.raw.len(),
            ],
        };
        match unit {
            Unit::Admit(unit) => handle(0, unit),
            Unit::Commit(unit) => handle(1, unit),
            Unit::Contacts(_) => alike(2, 0),
            Unit::PutServer(row) => alike(3, row.audit.len()),
            Unit::RemoveServer(_, audit) => alike(4, audit.len()),
            Unit::Record(audit) => alike(5, audit.len()),
            Unit::Desk(_, audit) => alike(6, audit.len()),
            Unit::PutAgent(unit) => alike(7, unit.audit.len()),
            Unit::Agents(_) => alike(8, 0),
            Unit::PutRule(unit) => alike(9, unit.audit.len()),
            Unit::Budget(rows) => alike(10, rows.windows.len()),
            Unit::Remove(removal) => alike(11, removal.shape()),
            Unit::Verified(_) => alike(12, 0),
        }
    }
}

/// An open transaction.
pub(crate) struct Group<'a> {
    pub(crate) sealer: &'a Sealer,
    pub(crate) limits: Limits,
    pub(crate) script: Script,
    pub(crate) known: Knowledge,
    before: Counters,
    pub(crate) now: Counters,
    shape: Option<Shape>,
}

impl<'a> Group<'a> {
    /// Begins the transaction and reads what the units will be judged by. With no knowledge everything is read, also
    /// what is only very likely: that new ids are new, and that no other handle holds an upstream task.
    pub(crate) async fn begin(
        connection: &mut SqliteConnection,
        units: &[&Unit],
        (sealer, limits): (&'a Sealer, Limits),
        mut known: Knowledge,
    ) -> Result<Self, sqlx::Error> {
        let careful = known.counters.is_none();
        let mut keys = Vec::new();
        let mut marks = Vec::new();
        for unit in units {
            match unit {
                Unit::Admit(handle) | Unit::Commit(handle) => {
                    let is_new = matches!(unit, Unit::Admit(_));
                    if careful || (!is_new && !known.handles.contains_key(&handle.key)) {
                        keys.push(Value::from(handle.key.as_str()));
                    }
                    marks.extend(handle.task_mark.filter(|_| careful).map(|mark| Value::from(hex(&mark))));
                }
                Unit::Contacts(_)
                | Unit::PutServer(_)
                | Unit::RemoveServer(..)
                | Unit::PutAgent(_)
                | Unit::Agents(_)
                | Unit::PutRule(_)
                | Unit::Record(_)
                | Unit::Desk(..)
                | Unit::Budget(_)
                | Unit::Remove(_)
                | Unit::Verified(_) => {}
            }
        }
        let mut script = Script::default();
        script.add("BEGIN IMMEDIATE");
        if careful {
            script.add("SELECT 0, seq, changed_at, handle_number, audit_number, audit_hash, last_commit FROM store WHERE one = 1");
        }
        if !keys.is_empty() {
            let keys = Value::Array(keys).to_string();
            script
                .add(
                    "SELECT 1, h.id, h.number, h.version, h.phase, h.server, coalesce(h.agent, ''), h.log_number, \
                     h.task_mark FROM json_each(?) j CROSS JOIN handles h ON h.id = j.value",
                )
                .with(keys.clone());
            script
                .add(
                    "SELECT 2, h.id, r.key, r.mark FROM json_each(?) j CROSS JOIN handles h ON h.id = j.value \
                     CROSS JOIN requests r ON r.handle = h.number",
                )
                .with(keys);
        }
        if !marks.is_empty() {
            script
                .add("SELECT 3, h.id, h.task_mark FROM json_each(?) j CROSS JOIN handles h ON h.task_mark = unhex(j.value)")
                .with(Value::Array(marks).to_string());
        }
        if script.statements() > 1 {
            let rows = std::mem::take(&mut script).rows(connection).await?;
            rows.iter().try_for_each(|row| known.learn(row))?;
        }
        let before = known.counters.ok_or(sqlx::Error::RowNotFound)?;
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let now = Counters { last_commit: i64::from_le_bytes(bits), ..before };
        Ok(Self { sealer, limits, script, known, before, now, shape: None })
    }

    /// Names this transaction: `store.last_commit` holds it once it is durable.
    pub(crate) fn token(&self) -> i64 {
        self.now.last_commit
    }

    /// Writes one unit, or finds that it must be refused.
    pub(crate) async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &Unit,
    ) -> Result<Written, sqlx::Error> {
        let shape = Some(Shape::of(unit));
        let other = self.shape.is_some() && self.shape != shape;
        if other || self.script.statements() >= SHARED_MAX {
            self.flush(connection).await?;
        }
        self.shape = shape;
        match unit {
            Unit::Admit(handle) => self.admit(connection, handle).await,
            Unit::Commit(handle) => self.commit(connection, handle).await,
            Unit::Contacts(rows) => {
                self.script.add(log::NOTE_CONTACTS).with(rows.clone());
                Ok(Written::Done)
            }
            Unit::PutServer(row) => {
                servers::put(&mut self.script, row);
                self.facts(connection, &row.audit).await?;
                Ok(Written::Changed(
                    self.change(Entity::Server(row.id), row.audit.last().map(|event| event.at.as_millis())),
                ))
            }
            Unit::RemoveServer(id, audit) => {
                servers::remove(&mut self.script, *id);
                self.facts(connection, audit).await?;
                let at = audit.last().map(|event| event.at.as_millis());
                Ok(Written::Changed(self.change_row(Entity::Server(*id), at, true)))
            }
            Unit::PutAgent(unit) => {
                agents::put(&mut self.script, &unit.agent);
                self.facts(connection, &unit.audit).await?;
                let at = unit.audit.last().map(|event| event.at.as_millis());
                Ok(Written::Changed(self.change(Entity::Agent(unit.agent.id), at)))
            }
            Unit::Agents(notes) => {
                self.script.add(agents::NOTE).with(notes.clone());
                Ok(Written::Done)
            }
            Unit::PutRule(unit) => {
                rules::put(&mut self.script, &unit.rule, unit.remove);
                self.facts(connection, &unit.audit).await?;
                let at = unit.audit.last().map(|event| event.at.as_millis());
                Ok(Written::Changed(self.change(rules::entity(&unit.rule.scope), at)))
            }
            Unit::Record(audit) => {
                self.facts(connection, audit).await?;
                Ok(Written::Done)
            }
            Unit::Desk(row, audit) => {
                super::desk::put(&mut self.script, row, self.limits);
                self.facts(connection, audit).await?;
                Ok(Written::Done)
            }
            Unit::Budget(rows) => {
                for window in &rows.windows {
                    self.room(connection).await?;
                    budget::put(&mut self.script, window, self.limits);
                }
                self.room(connection).await?;
                budget::add(&mut self.script, rows, self.limits);
                Ok(Written::Done)
            }
            Unit::Remove(removal) => {
                self.remove(connection, removal).await?;
                Ok(Written::Done)
            }
            Unit::Verified(mark) => {
                mark.write(&mut self.script);
                Ok(Written::Done)
            }
        }
    }

    /// Adds a change row; something without a moment of its own changed at the moment of the change before.
    pub(crate) fn change(&mut self, changed: Entity, at: Option<i64>) -> Seq {
        self.change_row(changed, at, false)
    }

    pub(crate) fn change_row(&mut self, changed: Entity, at: Option<i64>, removed: bool) -> Seq {
        self.now.seq += 1;
        self.now.changed_at = at.unwrap_or(self.now.changed_at);
        let (kind, id) = entity(changed);
        self.script
            .add(changes::INSERT)
            .with(whole(self.now.seq))
            .with(self.now.changed_at)
            .with(kind)
            .with(id)
            .with(removed);
        Seq(self.now.seq)
    }

    /// Adds audit rows, each linked to the one before.
    pub(crate) async fn facts(
        &mut self,
        connection: &mut SqliteConnection,
        events: &[AuditEvent],
    ) -> Result<(), sqlx::Error> {
        for event in events {
            self.room(connection).await?;
            self.now.audit_number += 1;
            let linked = hash(&self.now.audit_hash, self.now.audit_number, event);
            super::audit::insert(&mut self.script, (self.now.audit_number, event), (&self.now.audit_hash, &linked));
            self.now.audit_hash = linked;
        }
        Ok(())
    }

    /// Runs what is written so far when the script is long enough.
    pub(crate) async fn room(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.script.statements() >= SCRIPT_MAX { self.flush(connection).await } else { Ok(()) }
    }

    /// Runs what is written so far.
    pub(crate) async fn flush(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        std::mem::take(&mut self.script).run(connection).await
    }

    /// Writes the counters and commits: durable when it returns. Gives what is known from now on.
    pub(crate) async fn end(mut self, connection: &mut SqliteConnection) -> Result<Knowledge, sqlx::Error> {
        // `seq` may not be null: a row that says something else than what was known refuses the whole transaction.
        self.script
            .add(
                "UPDATE store SET seq = CASE WHEN seq = ? AND audit_number = ? AND handle_number = ? THEN ? END, \
                 changed_at = ?, handle_number = ?, audit_number = ?, audit_hash = ?, last_commit = ? WHERE one = 1",
            )
            .with(whole(self.before.seq))
            .with(whole(self.before.audit_number))
            .with(self.before.handle_number)
            .with(whole(self.now.seq))
            .with(self.now.changed_at)
            .with(self.now.handle_number)
            .with(whole(self.now.audit_number))
            .with(self.now.audit_hash.to_vec())
            .with(self.now.last_commit);
        self.script.add("COMMIT");
        self.script.run(connection).await?;
        Ok(self.known.after(self.now))
    }
}
