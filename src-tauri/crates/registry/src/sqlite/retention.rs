//! What is stored, and what retention removes: payloads first, then tasks, then audit rows in sealed segments.
//!
//! What may go is found by readers, off the writer; `write/removal.rs` removes it in one small transaction with its audit
//! row. The limits come from the engine. How a removed segment is checked is in `read/audit_check.rs`.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{PayloadUse, RegistryError, Removal, StorageFacts, StoredKind};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::batch::StatementBatch;
use super::maintenance::{number, shrinks};
use super::tables::tasks::REMOVABLE;
use super::write::mutation::Mutation;
use super::write::removal::RemovalPlan;
use super::write::reserve::DiskReserve;
use super::{SqliteRegistry, StoreContext, unsigned, whole};
use crate::codec::DecodeError;

/// What is over its limit, in the order in which it goes.
enum PayloadExcess {
    /// Payloads of tasks that ended before this.
    Older(Timestamp),
    /// So many bytes of payloads, of whom this says.
    Bytes(u64, PayloadOwner),
}

#[derive(Clone)]
enum PayloadOwner {
    Anybody,
    Agent(String),
    Server(String),
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
        let mut rows = RemovalPlan { undelivered_before, ..RemovalPlan::default() };
        let mut removal = Removal::default();
        for excess in self.excesses(&mut reader, limits, now).await? {
            let (numbers, bytes) =
                self.payloads_of(&mut reader, &excess, undelivered_before, limits.removed_at_once).await?;
            if !numbers.is_empty() {
                removal.payload_tasks = whole_count(numbers.len());
                removal.payload_bytes = bytes;
                rows.payloads = numbers;
                break;
            }
        }
        if removal.is_nothing() {
            let older = before(now, limits.task_age);
            rows.tasks = self.tasks_before(&mut reader, older, undelivered_before, limits.removed_at_once).await?;
            removal.tasks = whole_count(rows.tasks.len());
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
            None if removal.tasks > 0 => fact(now, Verb::StorageCleaned, format!("{} tasks", removal.tasks)),
            None => fact(
                now,
                Verb::StorageCleaned,
                format!("payloads of {} tasks, {} bytes", removal.payload_tasks, removal.payload_bytes),
            ),
        }];
        writer.write(Mutation::Remove(Box::new(rows))).await?.into_done()?;
        Ok(removal)
    }

    /// What is over a limit, the age first.
    async fn excesses(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Vec<PayloadExcess>, RegistryError> {
        let mut found = vec![PayloadExcess::Older(before(now, limits.payload_age))];
        let over = |bytes: i64, limit: u64| unsigned(bytes).checked_sub(limit).filter(|excess| *excess > 0);
        let failed = || self.base.failed("sum up payloads");
        for (column, limit) in [("agent", limits.agent_payload_bytes), ("server", limits.server_payload_bytes)] {
            let sql = format!(
                "SELECT {column}, sum(bytes) FROM payload_use WHERE {column} <> '' GROUP BY 1 HAVING sum(bytes) > ?"
            );
            let mut find = StatementBatch::default();
            find.add(&sql).with(whole(limit));
            for row in find.rows(reader).await.map_err(failed())? {
                let name: String = row.try_get(0).map_err(failed())?;
                let owner = if column == "agent" { PayloadOwner::Agent(name) } else { PayloadOwner::Server(name) };
                let bytes = over(row.try_get(1).map_err(failed())?, limit);
                found.extend(bytes.map(|bytes| PayloadExcess::Bytes(bytes, owner)));
            }
        }
        let all = number(reader, "SELECT coalesce(sum(bytes), 0) FROM payload_use").await.map_err(failed())?;
        found.extend(over(all, limits.payload_bytes).map(|bytes| PayloadExcess::Bytes(bytes, PayloadOwner::Anybody)));
        Ok(found)
    }

    /// Tasks, the first created first, whose payloads go for this reason, at most `most`, and how many bytes they are.
    async fn payloads_of(
        &self,
        reader: &mut SqliteConnection,
        excess: &PayloadExcess,
        undelivered_before: i64,
        most: u32,
    ) -> Result<(Vec<i64>, u64), RegistryError> {
        let failed = || self.base.failed("find old payloads");
        let mut find = StatementBatch::default();
        let of_whom = match excess {
            PayloadExcess::Older(_) => {
                "h.changed < ? AND p.handle <= (SELECT coalesce(max(number), 0) FROM handles WHERE created < ?)"
            }
            PayloadExcess::Bytes(_, PayloadOwner::Anybody) => "true",
            PayloadExcess::Bytes(_, PayloadOwner::Agent(_)) => "h.agent = ?",
            PayloadExcess::Bytes(_, PayloadOwner::Server(_)) => "h.server = ?",
        };
        find.add(&format!(
            "SELECT p.handle, sum(length(p.sealed)) FROM payloads p CROSS JOIN handles h ON h.number = p.handle \
             WHERE {of_whom} AND {REMOVABLE} GROUP BY p.handle ORDER BY p.handle LIMIT ?"
        ));
        match excess {
            PayloadExcess::Older(than) => {
                find.with(than.as_millis()).with(than.as_millis());
            }
            PayloadExcess::Bytes(_, PayloadOwner::Anybody) => {}
            PayloadExcess::Bytes(_, PayloadOwner::Agent(name) | PayloadOwner::Server(name)) => {
                find.with(name.clone());
            }
        }
        find.with(undelivered_before).with(most);
        let wanted = match excess {
            PayloadExcess::Older(_) => u64::MAX,
            PayloadExcess::Bytes(bytes, _) => *bytes,
        };
        let (mut numbers, mut bytes) = (Vec::new(), 0_u64);
        for row in find.rows(reader).await.map_err(failed())? {
            if bytes >= wanted {
                break;
            }
            numbers.push(row.try_get(0).map_err(failed())?);
            bytes = bytes.saturating_add(unsigned(row.try_get(1).map_err(failed())?));
        }
        Ok((numbers, bytes))
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
             WHERE h.created < ? AND h.changed < ? AND {REMOVABLE} ORDER BY h.created, h.id LIMIT ?"
        ))
        .with(than.as_millis())
        .with(than.as_millis())
        .with(undelivered_before)
        .with(most);
        let found = find.rows(reader).await.map_err(failed())?;
        let task = |row: &SqliteRow| {
            let id: &str = row.try_get(1).map_err(failed())?;
            let id = id
                .parse()
                .map_err(|_| StoreContext::bad_row("read `handles`", id, &DecodeError::new("id", "does not read")))?;
            Ok((row.try_get(0).map_err(failed())?, id))
        };
        found.iter().map(task).collect()
    }

    /// Figures, and what clean-up would remove now.
    pub(crate) async fn read_storage(
        &self,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<StorageFacts, RegistryError> {
        let failed = || self.base.failed("sum up what is stored");
        let mut reader = self.reader().await?;
        let sums = format!(
            "SELECT (SELECT count(*) FROM handles), (SELECT count(*) FROM payloads), \
             (SELECT coalesce(sum(bytes), 0) FROM payload_use), (SELECT count(*) FROM raw_messages), \
             (SELECT coalesce(sum(length(body_sealed)), 0) FROM raw_messages), (SELECT count(*) FROM status_log), \
             (SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM changes), \
             (SELECT coalesce(max(number) - min(number) + 1, 0) FROM audit), (SELECT count(*) FROM audit_segments), \
             (SELECT min(created) FROM handles), (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()), \
             (SELECT freelist_count * page_size FROM pragma_freelist_count(), pragma_page_size()), \
             (SELECT count(*) FROM payloads p CROSS JOIN handles h ON h.number = p.handle WHERE NOT ({REMOVABLE})), \
             (SELECT coalesce(sum(length(p.sealed)), 0) FROM payloads p CROSS JOIN handles h ON h.number = p.handle \
              WHERE NOT ({REMOVABLE}))"
        );
        let mut find = StatementBatch::default();
        let undelivered_before = before(now, limits.undelivered_for).as_millis();
        find.add(&sums).with(undelivered_before).with(undelivered_before);
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(failed());
        let oldest: Option<i64> = row.try_get(9).map_err(failed())?;
        let shrinks = shrinks(&mut reader).await.map_err(failed())?;
        let rows_only = |rows| StoredKind { rows, bytes: 0 };
        Ok(StorageFacts {
            tasks: rows_only(count(0)?),
            payloads: StoredKind { rows: count(1)?, bytes: count(2)? },
            kept_payloads: StoredKind { rows: count(12)?, bytes: count(13)? },
            raw_messages: StoredKind { rows: count(3)?, bytes: count(4)? },
            status_lines: rows_only(count(5)?),
            changes: rows_only(count(6)?),
            audit: rows_only(count(7)?),
            removed_segments: count(8)?,
            oldest_task: oldest.map(Timestamp::from_millis),
            file_bytes: count(10)?,
            free_bytes: count(11)?,
            shrinks,
            reserve_bytes: DiskReserve::size_beside(&self.base.path),
            due: self.due(&mut reader, limits, now).await?,
        })
    }

    /// What clean-up would remove now, in all. A task that goes whole is counted as that alone.
    async fn due(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Removal, RegistryError> {
        let failed = || self.base.failed("sum up what is old");
        let undelivered_before = before(now, limits.undelivered_for).as_millis();
        let (payloads_before, tasks_before) = (before(now, limits.payload_age), before(now, limits.task_age));
        // Every limit of bytes takes the oldest first; a payload goes when the newer ones of any owner fill its limit.
        let mut find = StatementBatch::default();
        find.add(&format!(
            "WITH stored AS (SELECT h.number AS number, h.changed AS changed, h.server AS server, \
             coalesce(h.agent, '') AS agent, sum(length(p.sealed)) AS bytes, ({REMOVABLE}) AS may_go \
             FROM payloads p CROSS JOIN handles h ON h.number = p.handle GROUP BY h.number), \
             young AS (SELECT *, CASE WHEN may_go AND changed < ? THEN 1 ELSE 0 END AS old FROM stored), \
             summed AS (SELECT *, \
              sum(CASE WHEN old THEN 0 ELSE bytes END) OVER (PARTITION BY agent) AS of_agent, \
              sum(CASE WHEN old THEN 0 ELSE bytes END) OVER (PARTITION BY server) AS of_server, \
              sum(CASE WHEN old THEN 0 ELSE bytes END) OVER () AS of_all, \
              coalesce(sum(CASE WHEN may_go AND NOT old THEN bytes END) OVER (PARTITION BY agent ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_agent, \
              coalesce(sum(CASE WHEN may_go AND NOT old THEN bytes END) OVER (PARTITION BY server ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_server, \
              coalesce(sum(CASE WHEN may_go AND NOT old THEN bytes END) OVER (ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_all FROM young) \
             SELECT count(*), coalesce(sum(bytes), 0) FROM summed WHERE may_go AND (old \
              OR (agent <> '' AND of_agent - before_agent > ?) OR of_server - before_server > ? \
              OR of_all - before_all > ?)"
        ))
        .with(undelivered_before)
        .with(payloads_before.as_millis())
        .with(whole(limits.agent_payload_bytes))
        .with(whole(limits.server_payload_bytes))
        .with(whole(limits.payload_bytes));
        let found = find.rows(reader).await.map_err(failed())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let mut find = StatementBatch::default();
        find.add(&format!("SELECT count(*) FROM handles h WHERE h.created < ? AND h.changed < ? AND {REMOVABLE}"))
            .with(tasks_before.as_millis())
            .with(tasks_before.as_millis())
            .with(undelivered_before);
        let tasks = find.rows(reader).await.map_err(failed())?;
        let tasks: i64 = tasks.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed())?;
        Ok(Removal {
            payload_tasks: unsigned(row.try_get(0).map_err(failed())?),
            payload_bytes: unsigned(row.try_get(1).map_err(failed())?),
            tasks: unsigned(tasks),
            audit_rows: self.old_audit_rows(reader, before(now, limits.audit_age), limits.segment_rows).await?,
        })
    }

    /// Stored payload bytes by server and agent.
    pub(crate) async fn read_payload_use(&self) -> Result<Vec<PayloadUse>, RegistryError> {
        let asked = self.writes_so_far();
        if let Some(used) = self.base.kept.payload_use.get(asked) {
            return Ok(used);
        }
        let failed = || self.base.failed("sum up payloads");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT server, agent, bytes FROM payload_use WHERE bytes > 0")
            .fetch_all(&mut *reader)
            .await
            .map_err(failed())?;
        let used = |row: &SqliteRow| {
            let (server, agent): (&str, &str) = (row.try_get(0).map_err(failed())?, row.try_get(1).map_err(failed())?);
            let flaw = |column: &str| {
                StoreContext::bad_row("read `payload_use`", server, &DecodeError::new(column, "does not read"))
            };
            let agent: Option<AgentId> =
                if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) };
            let server: ServerId = server.parse().map_err(|_| flaw("server"))?;
            Ok(PayloadUse { server, agent, bytes: unsigned(row.try_get(2).map_err(failed())?) })
        };
        let found = found.iter().map(used).collect::<Result<Vec<_>, RegistryError>>()?;
        self.base.kept.payload_use.keep(asked, found.clone());
        Ok(found)
    }
}

fn whole_count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
