//! One transaction of the writer: what is read first, what is counted while writing, what is written last.
//!
//! What decides about conflicts is in the cache of earlier transactions (`cache.rs`) or is read right after
//! `BEGIN IMMEDIATE`; from then on nobody else can write. A refused mutation writes nothing, so no savepoints are needed.
//! Counters advance here and reach the `store` row in the same transaction. That row is written only if it still says what
//! the cache does, so a cache that another process made stale fails the transaction instead of damaging the data.

use domain::audit::AuditEvent;
use domain::digest::hex;
use domain::ids::Seq;
use domain::ports::change::Entity;
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use crate::codec::audit::{ChainPlace, EncodedAuditRow, TaskParties};
use crate::seal::Sealer;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::audit;
use crate::sqlite::tables::changes::entity;
use crate::sqlite::tables::task_row::EncodedTask;
use crate::sqlite::tables::{agents, changes, prices, rules, servers, status_log, token_series, user_data};
use crate::sqlite::write::cache::{StoreCounters, WriterCache};
use crate::sqlite::write::mutation::{Mutation, MutationOutcome};
use crate::sqlite::{StoreContext, StoreLimits, whole};

/// A batch of this many statements takes no further mutation: enough of them share the trip to the connection's thread.
const SHARED_MAX: usize = 16;
/// Statements of one batch at most; only mutations with many questions, status lines or audit rows reach it.
const SCRIPT_MAX: usize = 48;

/// What decides the text of a mutation's statements: two of the same shape share one prepared batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BatchShape {
    kind: u8,
    parts: [usize; 6],
}

impl BatchShape {
    fn of(mutation: &Mutation) -> Self {
        let alike = |kind, audit_rows: usize| Self { kind, parts: [audit_rows, 0, 0, 0, 0, 0] };
        let handle = |kind, mutation: &EncodedTask| Self {
            kind,
            parts: [
                mutation.audit.len(),
                mutation.log.len(),
                mutation.payloads.len(),
                mutation.requests.len(),
                usize::from(mutation.learned_ms.is_some()),
                mutation.raw.len(),
            ],
        };
        match mutation {
            Mutation::Admit(mutation) => handle(0, mutation),
            Mutation::Commit(mutation) => handle(1, mutation),
            Mutation::NoteContacts(_) => alike(2, 0),
            Mutation::PutServer(row) => alike(3, row.audit.len()),
            Mutation::RemoveServer(_, audit) => alike(4, audit.len()),
            Mutation::RecordAudit(audit) => alike(5, audit.len()),
            Mutation::PutUserData(_, audit) => alike(6, audit.len()),
            Mutation::PutAgent(row) => {
                Self { kind: 7, parts: [row.audit.len(), usize::from(row.ended_pause.is_some()), 0, 0, 0, 0] }
            }
            Mutation::NoteAgents(_) => alike(8, 0),
            Mutation::PutRule(mutation) => alike(9, mutation.audit.len()),
            Mutation::NoteUsage(rows) => alike(10, rows.windows.len()),
            Mutation::Remove(removal) => alike(11, removal.shape()),
            Mutation::MarkVerified(mark) => alike(12, mark.shape()),
            Mutation::PutPrice(row) => alike(13, row.audit.len()),
            Mutation::PutTools(rows) => Self { kind: 14, parts: [rows.audit.len(), rows.put.len(), 0, 0, 0, 0] },
            Mutation::Hide(rows) => alike(15, usize::from(rows.is_hidden)),
            Mutation::PutHalt(row) => alike(16, row.audit.len()),
            Mutation::PutPlan(row) => alike(if row.is_run() { 18 } else { 17 }, row.audit.len()),
            Mutation::PutControl(row) => alike(row.shape(), row.audit().len()),
            Mutation::PutRoute(row) => alike(22, row.audit.len()),
            Mutation::PutAlarm(row) => alike(25, row.audit.len()),
            Mutation::PutPause(row) => alike(26, row.audit.len()),
            Mutation::Sign(row) => alike(row.shape(), row.audit().len()),
            Mutation::Receipts(write) => alike(write.shape(), 0),
            Mutation::PutSink(write) => {
                Self { kind: write.shape(), parts: [write.audit().len(), write.signals(), 0, 0, 0, 0] }
            }
        }
    }
}

/// An open transaction.
pub(crate) struct WriteTransaction<'a> {
    pub(crate) sealer: &'a Sealer,
    pub(crate) limits: StoreLimits,
    pub(crate) batch: StatementBatch,
    pub(crate) cache: WriterCache,
    before: StoreCounters,
    pub(crate) counters: StoreCounters,
    shape: Option<BatchShape>,
}

impl<'a> WriteTransaction<'a> {
    /// Begins the transaction and reads what decides about conflicts. With an empty cache it reads everything, even what is
    /// only very likely: that new ids are new, and that no other task is recorded for the same upstream task.
    pub(crate) async fn begin(
        connection: &mut SqliteConnection,
        base: &'a StoreContext,
        mutations: &[&Mutation],
        mut cache: WriterCache,
    ) -> Result<Self, sqlx::Error> {
        let careful = cache.counters.is_none();
        let mut keys = Vec::new();
        let mut marks = Vec::new();
        for mutation in mutations {
            match mutation {
                Mutation::Admit(handle) | Mutation::Commit(handle) => {
                    let is_new = matches!(mutation, Mutation::Admit(_));
                    if careful || (!is_new && !cache.handles.contains_key(&handle.id)) {
                        keys.push(Value::from(handle.key.as_str()));
                    }
                    marks.extend(handle.task_mark.filter(|_| careful).map(|mark| Value::from(hex(&mark))));
                }
                Mutation::NoteContacts(_)
                | Mutation::PutServer(_)
                | Mutation::RemoveServer(..)
                | Mutation::PutAgent(_)
                | Mutation::NoteAgents(_)
                | Mutation::PutRule(_)
                | Mutation::PutPrice(_)
                | Mutation::PutTools(_)
                | Mutation::Hide(_)
                | Mutation::PutHalt(_)
                | Mutation::PutPlan(_)
                | Mutation::PutControl(_)
                | Mutation::PutRoute(_)
                | Mutation::PutAlarm(_)
                | Mutation::PutPause(_)
                | Mutation::RecordAudit(_)
                | Mutation::PutUserData(..)
                | Mutation::NoteUsage(_)
                | Mutation::Remove(_)
                | Mutation::Sign(_)
                | Mutation::Receipts(_)
                | Mutation::PutSink(_)
                | Mutation::MarkVerified(_) => {}
            }
        }
        let mut batch = StatementBatch::default();
        batch.add("BEGIN IMMEDIATE");
        if careful {
            batch.add("SELECT 0, seq, changed_at, handle_number, audit_number, audit_hash, last_commit FROM store WHERE one = 1");
        }
        if !keys.is_empty() {
            let keys = Value::Array(keys).to_string();
            batch
                .add(
                    "SELECT 1, h.id, h.number, h.version, h.log_number, h.task_mark FROM json_each(?) j \
                     CROSS JOIN handles h ON h.id = j.value",
                )
                .with(keys.clone());
            batch
                .add(
                    "SELECT 2, h.id, r.key, r.mark FROM json_each(?) j CROSS JOIN handles h ON h.id = j.value \
                     CROSS JOIN requests r ON r.handle = h.number",
                )
                .with(keys);
        }
        if !marks.is_empty() {
            batch
                .add("SELECT 3, h.id, h.task_mark FROM json_each(?) j CROSS JOIN handles h ON h.task_mark = unhex(j.value)")
                .with(Value::Array(marks).to_string());
        }
        if batch.statements() > 1 {
            let rows = std::mem::take(&mut batch).rows(connection).await?;
            rows.iter().try_for_each(|row| cache.learn(row))?;
        }
        let before = cache.counters.ok_or(sqlx::Error::RowNotFound)?;
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let counters = StoreCounters { last_commit: i64::from_le_bytes(bits), ..before };
        Ok(Self { sealer: &base.sealer, limits: base.limits, batch, cache, before, counters, shape: None })
    }

    /// Names this transaction: `store.last_commit` holds it once it is durable.
    pub(crate) fn token(&self) -> i64 {
        self.counters.last_commit
    }

    /// Adds the statements of one mutation, or finds that it must be refused.
    pub(crate) async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        mutation: &Mutation,
    ) -> Result<MutationOutcome, sqlx::Error> {
        let shape = Some(BatchShape::of(mutation));
        let other = self.shape.is_some() && self.shape != shape;
        if other || self.batch.statements() >= SHARED_MAX {
            self.flush(connection).await?;
        }
        self.shape = shape;
        match mutation {
            Mutation::Admit(handle) => self.admit(connection, handle).await,
            Mutation::Commit(handle) => self.commit(connection, handle).await,
            Mutation::NoteContacts(rows) => {
                self.batch.add(status_log::NOTE_CONTACTS).with(rows.clone());
                Ok(MutationOutcome::Done)
            }
            Mutation::PutServer(row) => {
                servers::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                Ok(MutationOutcome::Changed(
                    self.add_change(Entity::Server(row.id), row.audit.last().map(|event| event.at.as_millis())),
                ))
            }
            Mutation::RemoveServer(id, audit) => {
                servers::remove(&mut self.batch, *id);
                self.add_audit(connection, audit).await?;
                let at = audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change_row(Entity::Server(*id), at, true)))
            }
            Mutation::PutAgent(row) => {
                agents::put(&mut self.batch, row);
                if let Some(pause) = &row.ended_pause {
                    rules::pauses::put(&mut self.batch, pause);
                }
                self.add_audit(connection, &row.audit).await?;
                let at = row.audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change(Entity::Agent(row.agent.id), at)))
            }
            Mutation::NoteAgents(notes) => {
                self.batch.add(agents::NOTE).with(notes.clone());
                Ok(MutationOutcome::Done)
            }
            Mutation::PutRule(row) => {
                rules::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                let at = row.audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change(row.entity, at)))
            }
            Mutation::PutPrice(row) => {
                prices::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::PutTools(rows) => {
                rows.put_list(&mut self.batch);
                for row in &rows.put {
                    self.make_room(connection).await?;
                    rows.put_tool(&mut self.batch, row);
                }
                self.add_audit(connection, &rows.audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::Hide(rows) => {
                rows.write(&mut self.batch);
                Ok(MutationOutcome::Done)
            }
            Mutation::PutHalt(row) => {
                rules::halts::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                let at = row.audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change(Entity::Halt(row.id), at)))
            }
            Mutation::PutPlan(row) => {
                rules::plans::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::PutControl(row) => {
                agents::control::put(&mut self.batch, row);
                self.add_audit(connection, row.audit()).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::PutRoute(row) => {
                servers::routes::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::PutAlarm(row) => {
                agents::alarms::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                let at = row.audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change(Entity::Alarm(row.id), at)))
            }
            Mutation::PutPause(row) => {
                rules::pauses::put(&mut self.batch, row);
                self.add_audit(connection, &row.audit).await?;
                let at = row.audit.last().map(|event| event.at.as_millis());
                Ok(MutationOutcome::Changed(self.add_change(row.entity(), at)))
            }
            Mutation::RecordAudit(audit) => {
                self.add_audit(connection, audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::PutUserData(row, audit) => {
                user_data::put(&mut self.batch, row, self.limits);
                self.add_audit(connection, audit).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::NoteUsage(rows) => {
                for window in &rows.windows {
                    self.make_room(connection).await?;
                    token_series::put(&mut self.batch, window, self.limits);
                }
                self.make_room(connection).await?;
                token_series::add(&mut self.batch, rows, self.limits);
                Ok(MutationOutcome::Done)
            }
            Mutation::Remove(removal) => {
                self.remove(connection, removal).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::Sign(row) => {
                audit::checkpoints::put(&mut self.batch, row);
                self.add_audit(connection, row.audit()).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::Receipts(write) => self.write_receipts(connection, write).await,
            Mutation::PutSink(write) => {
                write.write(&mut self.batch);
                self.add_audit(connection, write.audit()).await?;
                Ok(MutationOutcome::Done)
            }
            Mutation::MarkVerified(mark) => {
                mark.write(&mut self.batch);
                Ok(MutationOutcome::Done)
            }
        }
    }

    /// Adds a change row. A change without a time of its own takes the time of the change before it.
    pub(crate) fn add_change(&mut self, changed: Entity, at: Option<i64>) -> Seq {
        self.add_change_row(changed, at, false)
    }

    pub(crate) fn add_change_row(&mut self, changed: Entity, at: Option<i64>, removed: bool) -> Seq {
        self.counters.seq += 1;
        self.counters.changed_at = at.unwrap_or(self.counters.changed_at);
        let (kind, id) = entity(changed);
        self.batch
            .add(changes::INSERT)
            .with(whole(self.counters.seq))
            .with(self.counters.changed_at)
            .with(kind)
            .with(id)
            .with(removed);
        Seq(self.counters.seq)
    }

    /// Adds audit rows, each linked to the one before it.
    pub(crate) async fn add_audit(
        &mut self,
        connection: &mut SqliteConnection,
        events: &[AuditEvent],
    ) -> Result<(), sqlx::Error> {
        self.add_audit_of(connection, TaskParties::default(), events).await
    }

    /// Adds audit rows of one task.
    pub(crate) async fn add_audit_of(
        &mut self,
        connection: &mut SqliteConnection,
        parties: TaskParties<'_>,
        events: &[AuditEvent],
    ) -> Result<(), sqlx::Error> {
        for event in events {
            self.make_room(connection).await?;
            self.counters.audit_number += 1;
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| sqlx::Error::Encode(error.into()))?;
            let previous = self.counters.audit_hash;
            let place = ChainPlace { previous, number: self.counters.audit_number };
            let row = EncodedAuditRow::linked(place, event, parties, salt);
            self.counters.audit_hash = row.hash;
            audit::insert(&mut self.batch, previous, event, row);
        }
        Ok(())
    }

    /// Runs the batch when it is full.
    pub(crate) async fn make_room(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.batch.statements() >= SCRIPT_MAX { self.flush(connection).await } else { Ok(()) }
    }

    /// Runs the batch.
    pub(crate) async fn flush(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        std::mem::take(&mut self.batch).run(connection).await
    }

    /// Writes the counters and commits; durable when it returns. Gives the cache for the next transaction.
    pub(crate) async fn end(mut self, connection: &mut SqliteConnection) -> Result<WriterCache, sqlx::Error> {
        // `seq` may not be null: a row that differs from the cache refuses the whole transaction.
        self.batch
            .add(
                "UPDATE store SET seq = CASE WHEN seq = ? AND audit_number = ? AND handle_number = ? THEN ? END, \
                 changed_at = ?, handle_number = ?, audit_number = ?, audit_hash = ?, last_commit = ? WHERE one = 1",
            )
            .with(whole(self.before.seq))
            .with(whole(self.before.audit_number))
            .with(self.before.handle_number)
            .with(whole(self.counters.seq))
            .with(self.counters.changed_at)
            .with(self.counters.handle_number)
            .with(whole(self.counters.audit_number))
            .with(self.counters.audit_hash.to_vec())
            .with(self.counters.last_commit);
        self.batch.add("COMMIT");
        self.batch.run(connection).await?;
        Ok(self.cache.after(self.counters))
    }
}
