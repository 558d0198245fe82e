//! What is stored, and what retention removes of it: payloads first, tasks later, audit rows in sealed segments.
//!
//! What may go is found by readers, off the writer, and checked again by the statement that removes it. Each removal is
//! one small transaction with its audit row. It never decides about limits: they come from the engine. How a removed
//! segment is verified is in `verify.rs`.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ports::change::Entity;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{PayloadUse, RegistryError, Removal, StorageFacts, StoredKind};
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::group::Group;
use super::maintenance::{number, shrinks};
use super::reserve::Reserve;
use super::script::Script;
use super::unit::Unit;
use super::verify::Segment;
use super::{Base, Sqlite, unsigned, whole};
use crate::rows::Flaw;

/// What may be removed of `handles h`: it is over, nobody waits for it, and nothing of it is on its way.
const REMOVABLE: &str = "h.is_open = 0 AND h.held IS NULL AND h.undelivered IS NULL AND h.over_limit IS NULL \
     AND h.deliver_at IS NULL \
     AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.handle = h.number AND r.state IN ('open', 'asked'))";
/// Tables with a column `handle`, from which a task is removed before its own row.
const PARTS: [&str; 5] = ["payloads", "requests", "status_log", "raw_messages", "contacts"];

/// One stretch of removal, ready to write.
#[derive(Debug, Default)]
pub(crate) struct RemovalRows {
    /// Numbers of tasks that lose their payloads.
    payloads: Vec<i64>,
    /// Numbers and ids of tasks that go.
    tasks: Vec<(i64, HandleId)>,
    /// Audit rows that go.
    segment: Option<Segment>,
    audit: Vec<AuditEvent>,
}

impl RemovalRows {
    /// What makes two removals one prepared text.
    pub(crate) fn shape(&self) -> usize {
        usize::from(!self.payloads.is_empty())
            + 2 * usize::from(!self.tasks.is_empty())
            + 4 * usize::from(self.segment.is_some())
    }
}

fn numbers(of: impl Iterator<Item = i64>) -> String {
    Value::Array(of.map(Value::from).collect()).to_string()
}

impl Group<'_> {
    /// Removes one stretch, with its facts and changes.
    pub(crate) async fn remove(
        &mut self,
        connection: &mut SqliteConnection,
        rows: &RemovalRows,
    ) -> Result<(), sqlx::Error> {
        let of_list =
            format!("SELECT h.number FROM json_each(?) j JOIN handles h ON h.number = j.value WHERE {REMOVABLE}");
        if !rows.payloads.is_empty() {
            self.script
                .add(&format!("DELETE FROM payloads WHERE handle IN ({of_list})"))
                .with(numbers(rows.payloads.iter().copied()));
        }
        if !rows.tasks.is_empty() {
            let list = numbers(rows.tasks.iter().map(|(number, _)| *number));
            self.script
                .add(&format!(
                    "INSERT INTO tallies (server, agent, phase, handles) \
                     SELECT server, coalesce(agent, ''), phase, -count(*) FROM handles WHERE number IN ({of_list}) \
                     GROUP BY 1, 2, 3 ON CONFLICT (server, agent, phase) DO UPDATE SET handles = handles + excluded.handles"
                ))
                .with(list.clone());
            for table in PARTS {
                self.script.add(&format!("DELETE FROM {table} WHERE handle IN ({of_list})")).with(list.clone());
            }
            // Their parts are gone, so only the row itself is asked: the rest of the condition still holds.
            self.script.add(&format!("DELETE FROM handles WHERE number IN ({of_list})")).with(list);
            for (_, id) in &rows.tasks {
                self.room(connection).await?;
                self.known.handles.remove(&id.to_string());
                self.change_row(Entity::Handle(*id), rows.audit.last().map(|event| event.at.as_millis()), true);
            }
        }
        if let Some(segment) = &rows.segment {
            segment.remove(&mut self.script);
        }
        self.facts(connection, &rows.audit).await
    }
}

/// What is over its limit, in the order in which it goes.
enum Excess {
    /// Payloads of tasks that ended before this.
    Older(Timestamp),
    /// So many bytes of payloads, of whom this says.
    Bytes(u64, Owner),
}

/// Whose payloads.
#[derive(Clone)]
enum Owner {
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

impl Sqlite {
    /// Removes one stretch.
    pub(crate) async fn clean_stretch(&self, limits: &RetentionPolicy, now: Timestamp) -> Result<Removal, RegistryError> {
        // Refused here already when there is no writer.
        let writer = self.writer()?;
        let mut reader = self.reader().await?;
        let mut rows = RemovalRows::default();
        let mut removal = Removal::default();
        for excess in self.excesses(&mut reader, limits, now).await? {
            let (numbers, bytes) = self.payloads_of(&mut reader, &excess, limits.removed_at_once).await?;
            if !numbers.is_empty() {
                removal.payload_tasks = whole_count(numbers.len());
                removal.payload_bytes = bytes;
                rows.payloads = numbers;
                break;
            }
        }
        if removal.is_nothing() {
            rows.tasks = self.tasks_before(&mut reader, before(now, limits.task_age), limits.removed_at_once).await?;
            removal.tasks = whole_count(rows.tasks.len());
        }
        if removal.is_nothing()
            && let Some(segment) =
                self.segment_before(&mut reader, before(now, limits.audit_age), limits.segment_rows, now).await?
        {
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
        writer.write(Unit::Remove(Box::new(rows))).await?.done()?;
        Ok(removal)
    }

    /// What is over a limit, the age first.
    async fn excesses(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Vec<Excess>, RegistryError> {
        let mut found = vec![Excess::Older(before(now, limits.payload_age))];
        let over = |bytes: i64, limit: u64| unsigned(bytes).checked_sub(limit).filter(|excess| *excess > 0);
        let trouble = || self.base.fault("sum up payloads");
        for (column, limit) in [("agent", limits.agent_payload_bytes), ("server", limits.server_payload_bytes)] {
            let sql = format!(
                "SELECT {column}, sum(bytes) FROM payload_use WHERE {column} <> '' GROUP BY 1 HAVING sum(bytes) > ?"
            );
            let mut find = Script::default();
            find.add(&sql).with(whole(limit));
            for row in find.rows(reader).await.map_err(trouble())? {
                let name: String = row.try_get(0).map_err(trouble())?;
                let owner = if column == "agent" { Owner::Agent(name) } else { Owner::Server(name) };
                let bytes = over(row.try_get(1).map_err(trouble())?, limit);
                found.extend(bytes.map(|bytes| Excess::Bytes(bytes, owner)));
            }
        }
        let all = number(reader, "SELECT coalesce(sum(bytes), 0) FROM payload_use").await.map_err(trouble())?;
        found.extend(over(all, limits.payload_bytes).map(|bytes| Excess::Bytes(bytes, Owner::Anybody)));
        Ok(found)
    }

    /// Tasks, the first created first, whose payloads go for this reason, at most `most`, and how many bytes they are.
    async fn payloads_of(
        &self,
        reader: &mut SqliteConnection,
        excess: &Excess,
        most: u32,
    ) -> Result<(Vec<i64>, u64), RegistryError> {
        let trouble = || self.base.fault("find old payloads");
        let mut find = Script::default();
        let of_whom = match excess {
            Excess::Older(_) => {
                "h.changed < ? AND p.handle <= (SELECT coalesce(max(number), 0) FROM handles WHERE created < ?)"
            }
            Excess::Bytes(_, Owner::Anybody) => "true",
            Excess::Bytes(_, Owner::Agent(_)) => "h.agent = ?",
            Excess::Bytes(_, Owner::Server(_)) => "h.server = ?",
        };
        find.add(&format!(
            "SELECT p.handle, sum(length(p.sealed)) FROM payloads p CROSS JOIN handles h ON h.number = p.handle \
             WHERE {of_whom} AND {REMOVABLE} GROUP BY p.handle ORDER BY p.handle LIMIT ?"
        ));
        match excess {
            Excess::Older(than) => {
                find.with(than.as_millis()).with(than.as_millis());
            }
            Excess::Bytes(_, Owner::Anybody) => {}
            Excess::Bytes(_, Owner::Agent(name) | Owner::Server(name)) => {
                find.with(name.clone());
            }
        }
        find.with(most);
        let wanted = match excess {
            Excess::Older(_) => u64::MAX,
            Excess::Bytes(bytes, _) => *bytes,
        };
        let (mut numbers, mut bytes) = (Vec::new(), 0_u64);
        for row in find.rows(reader).await.map_err(trouble())? {
            if bytes >= wanted {
                break;
            }
            numbers.push(row.try_get(0).map_err(trouble())?);
            bytes = bytes.saturating_add(unsigned(row.try_get(1).map_err(trouble())?));
        }
        Ok((numbers, bytes))
    }

    async fn tasks_before(
        &self,
        reader: &mut SqliteConnection,
        than: Timestamp,
        most: u32,
    ) -> Result<Vec<(i64, HandleId)>, RegistryError> {
        let trouble = || self.base.fault("find old tasks");
        let mut find = Script::default();
        find.add(&format!(
            "SELECT h.number, h.id FROM handles h INDEXED BY handles_by_age \
             WHERE h.created < ? AND h.changed < ? AND {REMOVABLE} ORDER BY h.created, h.id LIMIT ?"
        ))
        .with(than.as_millis())
        .with(than.as_millis())
        .with(most);
        let found = find.rows(reader).await.map_err(trouble())?;
        let task = |row: &SqliteRow| {
            let id: &str = row.try_get(1).map_err(trouble())?;
            let id = id.parse().map_err(|_| Base::bad_row("read `handles`", id, &Flaw::new("id", "does not read")))?;
            Ok((row.try_get(0).map_err(trouble())?, id))
        };
        found.iter().map(task).collect()
    }

    /// Figures, and what clean-up would remove now.
    pub(crate) async fn read_storage(&self, limits: &RetentionPolicy, now: Timestamp) -> Result<StorageFacts, RegistryError> {
        let trouble = || self.base.fault("sum up what is stored");
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
        let mut find = Script::default();
        find.add(&sums);
        let found = find.rows(&mut reader).await.map_err(trouble())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(trouble());
        let oldest: Option<i64> = row.try_get(9).map_err(trouble())?;
        let shrinks = shrinks(&mut reader).await.map_err(trouble())?;
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
            reserve_bytes: Reserve::size_beside(&self.base.path),
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
        let trouble = || self.base.fault("sum up what is old");
        let (payloads_before, tasks_before) = (before(now, limits.payload_age), before(now, limits.task_age));
        // Every limit of bytes takes the oldest first; a payload goes when the newer ones of any owner fill its limit.
        let mut find = Script::default();
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
        .with(payloads_before.as_millis())
        .with(whole(limits.agent_payload_bytes))
        .with(whole(limits.server_payload_bytes))
        .with(whole(limits.payload_bytes));
        let found = find.rows(reader).await.map_err(trouble())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let mut find = Script::default();
        find.add(&format!("SELECT count(*) FROM handles h WHERE h.created < ? AND h.changed < ? AND {REMOVABLE}"))
            .with(tasks_before.as_millis())
            .with(tasks_before.as_millis());
        let tasks = find.rows(reader).await.map_err(trouble())?;
        let tasks: i64 = tasks.first().map_or(Ok(0), |row| row.try_get(0)).map_err(trouble())?;
        Ok(Removal {
            payload_tasks: unsigned(row.try_get(0).map_err(trouble())?),
            payload_bytes: unsigned(row.try_get(1).map_err(trouble())?),
            tasks: unsigned(tasks),
            audit_rows: self.old_audit_rows(reader, before(now, limits.audit_age), limits.segment_rows).await?,
        })
    }

    /// Stored payload bytes by server and agent.
    pub(crate) async fn read_payload_use(&self) -> Result<Vec<PayloadUse>, RegistryError> {
        let trouble = || self.base.fault("sum up payloads");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT server, agent, bytes FROM payload_use WHERE bytes > 0")
            .fetch_all(&mut *reader)
            .await
            .map_err(trouble())?;
        let used = |row: &SqliteRow| {
            let (server, agent): (&str, &str) =
                (row.try_get(0).map_err(trouble())?, row.try_get(1).map_err(trouble())?);
            let flaw = |column: &str| Base::bad_row("read `payload_use`", server, &Flaw::new(column, "does not read"));
            let agent: Option<AgentId> =
                if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) };
            let server: ServerId = server.parse().map_err(|_| flaw("server"))?;
            Ok(PayloadUse { server, agent, bytes: unsigned(row.try_get(2).map_err(trouble())?) })
        };
        found.iter().map(used).collect()
    }
}

fn whole_count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
