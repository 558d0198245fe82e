//! One transaction of the writer: what is read first, what is counted while writing, what is written last.
//!
//! The versions and marks that decide about conflicts are read once for all units of the group, right after
//! `BEGIN IMMEDIATE`; from then on nobody else can write. A refused unit writes nothing, so no savepoints are needed.
//! Counters advance here and reach the `store` row in the same transaction.

use std::collections::HashMap;

use domain::audit::AuditEvent;
use domain::change::Entity;
use domain::ids::Seq;
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::script::Script;
use super::unit::{Unit, Written, entity};
use super::{Limits, changes, log, servers, unsigned, whole};
use crate::rows::audit::{hash, hex};
use crate::seal::Sealer;

/// Statements of one script at most: beyond it the rest goes into another, so that few shapes are kept prepared.
const SCRIPT_MAX: usize = 24;

/// What is known of one handle at this point of the transaction.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) number: i64,
    pub(crate) version: u64,
    pub(crate) phase: String,
    pub(crate) server: String,
    pub(crate) agent: String,
    pub(crate) log_number: i64,
    pub(crate) task_mark: Option<[u8; 32]>,
    pub(crate) requests: HashMap<String, [u8; 32]>,
}

/// An open transaction.
pub(crate) struct Group<'a> {
    pub(crate) sealer: &'a Sealer,
    pub(crate) limits: Limits,
    pub(crate) script: Script,
    pub(crate) handles: HashMap<String, Known>,
    pub(crate) marks: HashMap<[u8; 32], String>,
    seq: u64,
    changed_at: i64,
    pub(crate) handle_number: i64,
    audit_number: u64,
    audit_hash: [u8; 32],
}

fn bytes(row: &SqliteRow, column: usize) -> Result<[u8; 32], sqlx::Error> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| sqlx::Error::Decode("a hash is not 32 bytes long".into()))
}

impl<'a> Group<'a> {
    /// Begins the transaction and reads what the units will be judged by.
    pub(crate) async fn begin(
        connection: &mut SqliteConnection,
        units: &[&Unit],
        (sealer, limits): (&'a Sealer, Limits),
    ) -> Result<Self, sqlx::Error> {
        let mut keys = Vec::new();
        let mut marks = Vec::new();
        for unit in units {
            match unit {
                Unit::Admit(handle) | Unit::Commit(handle) => {
                    keys.push(Value::from(handle.key.as_str()));
                    marks.extend(handle.task_mark.map(|mark| Value::from(hex(&mark))));
                }
                Unit::Contacts(_) | Unit::PutServer(_) | Unit::RemoveServer(..) | Unit::Record(_) => {}
            }
        }
        let mut script = Script::default();
        script
            .add("BEGIN IMMEDIATE")
            .add("SELECT 0, seq, changed_at, handle_number, audit_number, audit_hash FROM store WHERE one = 1");
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
        let mut group = Self {
            sealer,
            limits,
            script: Script::default(),
            handles: HashMap::new(),
            marks: HashMap::new(),
            seq: 0,
            changed_at: 0,
            handle_number: 0,
            audit_number: 0,
            audit_hash: [0; 32],
        };
        let rows = script.rows(connection).await?;
        rows.iter().try_for_each(|row| group.know(row))?;
        Ok(group)
    }

    fn know(&mut self, row: &SqliteRow) -> Result<(), sqlx::Error> {
        match row.try_get::<i64, _>(0)? {
            0 => {
                self.seq = unsigned(row.try_get(1)?);
                self.changed_at = row.try_get(2)?;
                self.handle_number = row.try_get(3)?;
                self.audit_number = unsigned(row.try_get(4)?);
                self.audit_hash = bytes(row, 5)?;
            }
            1 => {
                let has_mark: Option<&[u8]> = row.try_get(8)?;
                let task_mark = has_mark.map(|_| bytes(row, 8)).transpose()?;
                let known = Known {
                    number: row.try_get(2)?,
                    version: unsigned(row.try_get(3)?),
                    phase: row.try_get(4)?,
                    server: row.try_get(5)?,
                    agent: row.try_get(6)?,
                    log_number: row.try_get(7)?,
                    task_mark,
                    requests: HashMap::new(),
                };
                self.handles.insert(row.try_get(1)?, known);
            }
            2 => {
                let mark = bytes(row, 3)?;
                if let Some(known) = self.handles.get_mut(row.try_get::<&str, _>(1)?) {
                    known.requests.insert(row.try_get(2)?, mark);
                }
            }
            _ => {
                self.marks.insert(bytes(row, 2)?, row.try_get(1)?);
            }
        }
        Ok(())
    }

    /// Writes one unit, or finds that it must be refused.
    pub(crate) async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        unit: &Unit,
    ) -> Result<Written, sqlx::Error> {
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
            Unit::Record(audit) => {
                self.facts(connection, audit).await?;
                Ok(Written::Done)
            }
        }
    }

    /// Adds a change row; something without a moment of its own changed at the moment of the change before.
    pub(crate) fn change(&mut self, changed: Entity, at: Option<i64>) -> Seq {
        self.change_row(changed, at, false)
    }

    fn change_row(&mut self, changed: Entity, at: Option<i64>, removed: bool) -> Seq {
        self.seq += 1;
        self.changed_at = at.unwrap_or(self.changed_at);
        let (kind, id) = entity(changed);
        self.script.add(changes::INSERT).with(whole(self.seq)).with(self.changed_at).with(kind).with(id).with(removed);
        Seq(self.seq)
    }

    /// Adds audit rows, each linked to the one before.
    pub(crate) async fn facts(
        &mut self,
        connection: &mut SqliteConnection,
        events: &[AuditEvent],
    ) -> Result<(), sqlx::Error> {
        for event in events {
            self.room(connection).await?;
            self.audit_number += 1;
            let linked = hash(&self.audit_hash, self.audit_number, event);
            super::audit::insert(&mut self.script, (self.audit_number, event), (&self.audit_hash, &linked));
            self.audit_hash = linked;
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

    /// Writes the counters and commits: durable when it returns.
    pub(crate) async fn end(mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        self.script
            .add("UPDATE store SET seq = ?, changed_at = ?, handle_number = ?, audit_number = ?, audit_hash = ? WHERE one = 1")
            .with(whole(self.seq))
            .with(self.changed_at)
            .with(self.handle_number)
            .with(whole(self.audit_number))
            .with(self.audit_hash.to_vec());
        self.script.add("COMMIT");
        self.script.run(connection).await
    }
}
