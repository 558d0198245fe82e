//! What retention removes: contents of tasks first, then tasks, then receipts of calls, then audit rows in sealed segments.
//!
//! What may go is found by readers, off the writer; `write/removal.rs` removes it in one small transaction with its audit
//! row. The limits come from the engine; `retention/figures.rs` foretells what goes. How a removed segment is checked is
//! in `read/audit_check.rs`.

mod figures;
mod receipts;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::HandleId;
use domain::policy::RetentionPolicy;
use domain::ports::{RegistryError, Removal};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::batch::StatementBatch;
use super::maintenance::number;
use super::tables::tasks::REMOVABLE;
use super::write::mutation::Mutation;
use super::write::removal::RemovalPlan;
use super::{SqliteRegistry, StoreContext, unsigned, whole};
use crate::codec::DecodeError;

/// Bytes of the contents of a task, of `task_bytes b`.
const CONTENT_BYTES: &str = "(b.payloads + b.messages + b.questions + b.lines)";

/// Whose rows are over a limit.
enum Owner {
    Anybody,
    Agent(String),
    Server(String),
}

impl Owner {
    /// Of `handles h`, those that are its; it has the parameter of [`Self::name`].
    fn condition(&self) -> &'static str {
        match self {
            Self::Anybody => "true",
            Self::Agent(_) => "h.agent = ?",
            Self::Server(_) => "h.server = ?",
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Anybody => None,
            Self::Agent(name) | Self::Server(name) => Some(name),
        }
    }
}

/// So many bytes or rows that are over a limit, and whose.
struct Excess {
    beyond: u64,
    owner: Owner,
}

/// What a limit of size is counted in.
#[derive(Clone, Copy)]
enum Counted {
    Bytes,
    Tasks,
}

impl Counted {
    fn limits(self, limits: &RetentionPolicy) -> [(&'static str, u64); 2] {
        match self {
            Self::Bytes => [("agent", limits.agent_payload_bytes), ("server", limits.server_payload_bytes)],
            Self::Tasks => [("agent", limits.agent_tasks), ("server", limits.server_tasks)],
        }
    }

    fn limit_of_all(self, limits: &RetentionPolicy) -> u64 {
        match self {
            Self::Bytes => limits.payload_bytes,
            Self::Tasks => limits.tasks,
        }
    }

    /// The table of sums, and what is summed.
    const fn sum(self) -> (&'static str, &'static str) {
        match self {
            Self::Bytes => ("stored_use", "sum(payloads + messages + questions + lines)"),
            Self::Tasks => ("kinds", "sum(handles)"),
        }
    }
}

fn before(now: Timestamp, age: std::time::Duration) -> Timestamp {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(age))
}

fn fact(at: Timestamp, verb: Verb, note: String) -> AuditEvent {
    AuditEvent { at, actor: Actor::System("retention"), verb, subject: Subject::Store, note }
}

impl SqliteRegistry {
    /// Removes one stretch.
    pub(crate) async fn clean_stretch(
        &self,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Removal, RegistryError> {
        // Refused here already when there is no writer.
        let writer = self.writer()?;
        let mut reader = self.reader().await?;
        let undelivered_before = before(now, limits.undelivered_for).as_millis();
        let removed_tasks_kept = i64::from(limits.removed_tasks_kept);
        let mut rows = RemovalPlan { undelivered_before, removed_tasks_kept, ..RemovalPlan::default() };
        let mut removal = Removal::default();
        let most = limits.removed_at_once;
        rows.payloads = self
            .old_payloads(&mut reader, before(now, limits.payload_age), most, &mut removal, undelivered_before)
            .await?;
        if removal.is_nothing() {
            for excess in self.excesses(&mut reader, Counted::Bytes, limits).await? {
                rows.contents = self.contents_of(&mut reader, &excess, most, &mut removal, undelivered_before).await?;
                if !removal.is_nothing() {
                    break;
                }
            }
        }
        if removal.is_nothing() {
            let older = before(now, limits.task_age);
            rows.tasks = self.tasks_before(&mut reader, older, undelivered_before, most).await?;
            if rows.tasks.is_empty() {
                for excess in self.excesses(&mut reader, Counted::Tasks, limits).await? {
                    rows.tasks = self.tasks_beyond(&mut reader, &excess, most, undelivered_before).await?;
                    if !rows.tasks.is_empty() {
                        break;
                    }
                }
            }
            removal.tasks = whole_count(rows.tasks.len());
        }
        if removal.is_nothing()
            && let Some((receipts, count)) = self.old_receipts(&mut reader, limits, now).await?
        {
            removal.receipts = count;
            rows.receipts = Some(receipts);
        }
        if removal.is_nothing()
            && let Some(segment) =
                self.segment_before(&mut reader, before(now, limits.audit_age), limits.segment_rows, now).await?
        {
            // Their hashes are needed for the tree, and only there once they are gone.
            self.grow_tree_to(segment.last, limits.verified_at_once).await?;
            removal.audit_rows = segment.rows();
            rows.segment = Some(segment);
        }
        drop(reader);
        if removal.is_nothing() {
            return Ok(removal);
        }
        rows.audit = vec![match &rows.segment {
            Some(segment) => fact(now, Verb::SegmentRemoved, segment.note()),
            None if removal.receipts > 0 => {
                let upto = rows.receipts.as_ref().map_or(0, |receipts| receipts.last);
                fact(now, Verb::StorageCleaned, format!("{} receipts, up to receipt {upto}", removal.receipts))
            }
            None if removal.tasks > 0 => fact(now, Verb::StorageCleaned, format!("{} tasks", removal.tasks)),
            None => {
                let what = if rows.contents.is_empty() { "payloads" } else { "contents" };
                let note = format!("{what} of {} tasks, {} bytes", removal.payload_tasks, removal.payload_bytes);
                fact(now, Verb::StorageCleaned, note)
            }
        }];
        writer.write(Mutation::Remove(Box::new(rows))).await?.into_done()?;
        Ok(removal)
    }

    /// Whose bytes or tasks are over a limit, and by how much: agents first, then servers, then all together.
    async fn excesses(
        &self,
        reader: &mut SqliteConnection,
        counted: Counted,
        limits: &RetentionPolicy,
    ) -> Result<Vec<Excess>, RegistryError> {
        let failed = || self.base.failed("sum up what is stored");
        let (table, sum) = counted.sum();
        let mut found = Vec::new();
        for (column, limit) in counted.limits(limits) {
            let mut find = StatementBatch::default();
            find.add(&format!(
                "SELECT {column}, {sum} FROM {table} WHERE {column} <> '' GROUP BY {column} HAVING {sum} > ?"
            ))
            .with(whole(limit));
            for row in find.rows(reader).await.map_err(failed())? {
                let name: String = row.try_get(0).map_err(failed())?;
                let owner = if column == "agent" { Owner::Agent(name) } else { Owner::Server(name) };
                let stored = unsigned(row.try_get(1).map_err(failed())?);
                found.push(Excess { beyond: stored.saturating_sub(limit), owner });
            }
        }
        let all = match counted {
            Counted::Bytes => "SELECT coalesce(sum(payloads + messages + questions + lines), 0) FROM stored_use",
            Counted::Tasks => "SELECT coalesce(sum(handles), 0) FROM kinds",
        };
        let all = unsigned(number(reader, all).await.map_err(failed())?);
        let beyond = all.saturating_sub(counted.limit_of_all(limits));
        if beyond > 0 {
            found.push(Excess { beyond, owner: Owner::Anybody });
        }
        Ok(found)
    }

    /// Tasks that ended before `than` and have payloads, at most `most`, the first created first.
    async fn old_payloads(
        &self,
        reader: &mut SqliteConnection,
        than: Timestamp,
        most: u32,
        removal: &mut Removal,
        undelivered_before: i64,
    ) -> Result<Vec<i64>, RegistryError> {
        let failed = || self.base.failed("find old payloads");
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT p.handle, sum(length(p.sealed)) FROM payloads p CROSS JOIN handles h ON h.number = p.handle \
             WHERE h.changed < ? AND p.handle <= (SELECT coalesce(max(number), 0) FROM handles WHERE created < ?) \
             AND {REMOVABLE} GROUP BY p.handle ORDER BY p.handle LIMIT ?"
        ))
        .with(than.as_millis())
        .with(than.as_millis())
        .with(undelivered_before)
        .with(most);
        let mut numbers = Vec::new();
        for row in find.rows(reader).await.map_err(failed())? {
            numbers.push(row.try_get(0).map_err(failed())?);
            removal.payload_tasks += 1;
            removal.payload_bytes = removal.payload_bytes.saturating_add(unsigned(row.try_get(1).map_err(failed())?));
        }
        Ok(numbers)
    }

    /// Tasks, the first created first, whose contents make up what is beyond a limit of bytes, at most `most`.
    async fn contents_of(
        &self,
        reader: &mut SqliteConnection,
        excess: &Excess,
        most: u32,
        removal: &mut Removal,
        undelivered_before: i64,
    ) -> Result<Vec<(i64, HandleId)>, RegistryError> {
        let failed = || self.base.failed("find contents of tasks");
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT h.number, h.id, {CONTENT_BYTES} FROM task_bytes b CROSS JOIN handles h ON h.number = b.handle \
             WHERE {CONTENT_BYTES} > 0 AND {} AND {REMOVABLE} ORDER BY b.handle LIMIT ?",
            excess.owner.condition()
        ));
        if let Some(name) = excess.owner.name() {
            find.with(name.to_owned());
        }
        find.with(undelivered_before).with(most);
        let mut tasks = Vec::new();
        for row in find.rows(reader).await.map_err(failed())? {
            if removal.payload_bytes >= excess.beyond {
                break;
            }
            tasks.push(self.task_of(&row)?);
            removal.payload_tasks += 1;
            removal.payload_bytes = removal.payload_bytes.saturating_add(unsigned(row.try_get(2).map_err(failed())?));
        }
        Ok(tasks)
    }

    /// Tasks beyond a limit of their number, those that ended first first, at most `most`. Of those that ended in the same
    /// millisecond the first created goes first: ids are random.
    async fn tasks_beyond(
        &self,
        reader: &mut SqliteConnection,
        excess: &Excess,
        most: u32,
        undelivered_before: i64,
    ) -> Result<Vec<(i64, HandleId)>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT h.number, h.id FROM handles h INDEXED BY handles_by_change \
             WHERE {} AND {REMOVABLE} ORDER BY h.changed, h.number LIMIT ?",
            excess.owner.condition()
        ));
        if let Some(name) = excess.owner.name() {
            find.with(name.to_owned());
        }
        find.with(undelivered_before).with(whole(excess.beyond.min(most.into())));
        let found = find.rows(reader).await.map_err(self.base.failed("find tasks beyond a limit"))?;
        found.iter().map(|row| self.task_of(row)).collect()
    }

    async fn tasks_before(
        &self,
        reader: &mut SqliteConnection,
        than: Timestamp,
        undelivered_before: i64,
        most: u32,
    ) -> Result<Vec<(i64, HandleId)>, RegistryError> {
        let failed = || self.base.failed("find old tasks");
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT h.number, h.id FROM handles h INDEXED BY handles_by_age \
             WHERE h.created < ? AND h.changed < ? AND {REMOVABLE} ORDER BY h.created, h.number LIMIT ?"
        ))
        .with(than.as_millis())
        .with(than.as_millis())
        .with(undelivered_before)
        .with(most);
        let found = find.rows(reader).await.map_err(failed())?;
        found.iter().map(|row| self.task_of(row)).collect()
    }

    /// The number and the id of a task, of a row that begins with both.
    fn task_of(&self, row: &SqliteRow) -> Result<(i64, HandleId), RegistryError> {
        let failed = || self.base.failed("find tasks to remove");
        let id: &str = row.try_get(1).map_err(failed())?;
        let parsed = id
            .parse()
            .map_err(|_| StoreContext::bad_row("read `handles`", id, &DecodeError::new("id", "does not read")))?;
        Ok((row.try_get(0).map_err(failed())?, parsed))
    }
}

fn whole_count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
