//! What is stored, by kind and by owner, and what clean-up would remove now.
//!
//! Sums are read where triggers keep them; nothing that is stored is read for its size. The order in which things go is
//! that of `retention.rs`.

use domain::ids::{AgentId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{RegistryError, Removal, StorageFacts, StoredKind, StoredUse};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::{CONTENT_BYTES, Counted, before};
use crate::codec::DecodeError;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::maintenance::shrinks;
use crate::sqlite::tables::tasks::REMOVABLE;
use crate::sqlite::write::reserve::DiskReserve;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

impl SqliteRegistry {
    /// Figures, and what clean-up would remove now.
    pub(crate) async fn read_storage(
        &self,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<StorageFacts, RegistryError> {
        let failed = || self.base.failed("sum up what is stored");
        let mut reader = self.reader().await?;
        let mut find = StatementBatch::default();
        find.add(
            "SELECT (SELECT coalesce(sum(handles), 0) FROM kinds), (SELECT count(*) FROM payloads), \
             (SELECT coalesce(sum(payloads), 0) FROM stored_use), (SELECT count(*) FROM raw_messages), \
             (SELECT coalesce(sum(messages), 0) FROM stored_use), (SELECT count(*) FROM requests), \
             (SELECT coalesce(sum(questions), 0) FROM stored_use), (SELECT count(*) FROM status_log), \
             (SELECT coalesce(sum(lines), 0) FROM stored_use), \
             (SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM changes), \
             (SELECT coalesce(max(number) - min(number) + 1, 0) FROM audit), (SELECT count(*) FROM audit_segments), \
             (SELECT min(created) FROM handles), \
             (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()), \
             (SELECT freelist_count * page_size FROM pragma_freelist_count(), pragma_page_size()), \
             (SELECT coalesce(max(number) - min(number) + 1, 0) FROM receipts)",
        );
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(failed());
        let oldest: Option<i64> = row.try_get(12).map_err(failed())?;
        let shrinks = shrinks(&mut reader).await.map_err(failed())?;
        let rows_only = |rows| StoredKind { rows, bytes: 0 };
        let (kept_payloads, kept_tasks) = self.kept(&mut reader, before(now, limits.undelivered_for)).await?;
        Ok(StorageFacts {
            tasks: rows_only(count(0)?),
            payloads: StoredKind { rows: count(1)?, bytes: count(2)? },
            kept_payloads,
            kept_tasks,
            raw_messages: StoredKind { rows: count(3)?, bytes: count(4)? },
            questions: StoredKind { rows: count(5)?, bytes: count(6)? },
            status_lines: StoredKind { rows: count(7)?, bytes: count(8)? },
            changes: rows_only(count(9)?),
            receipts: rows_only(count(15)?),
            audit: rows_only(count(10)?),
            removed_segments: count(11)?,
            oldest_task: oldest.map(Timestamp::from_millis),
            file_bytes: count(13)?,
            free_bytes: count(14)?,
            shrinks,
            reserve_bytes: DiskReserve::size_beside(&self.base.path),
            due: self.due(&mut reader, limits, now).await?,
        })
    }

    /// Payloads, and tasks with all their contents, that no limit removes.
    async fn kept(
        &self,
        reader: &mut SqliteConnection,
        undelivered_before: Timestamp,
    ) -> Result<(StoredKind, StoredKind), RegistryError> {
        let failed = || self.base.failed("sum up what stays");
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT count(*), coalesce(sum({CONTENT_BYTES}), 0), coalesce(sum(b.payloads), 0), \
             coalesce(sum((SELECT count(*) FROM payloads p WHERE p.handle = h.number)), 0) \
             FROM handles h LEFT JOIN task_bytes b ON b.handle = h.number WHERE NOT ({REMOVABLE})"
        ))
        .with(undelivered_before.as_millis());
        let found = find.rows(reader).await.map_err(failed())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(failed());
        Ok((StoredKind { rows: count(3)?, bytes: count(2)? }, StoredKind { rows: count(0)?, bytes: count(1)? }))
    }

    /// What clean-up would remove now, in all. A task that goes whole is counted as that alone.
    async fn due(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Removal, RegistryError> {
        let (payload_tasks, payload_bytes) = self.due_contents(reader, limits, now).await?;
        Ok(Removal {
            payload_tasks,
            payload_bytes,
            tasks: self.due_tasks(reader, limits, now).await?,
            receipts: self.due_receipts(reader, limits, now).await?,
            audit_rows: self.old_audit_rows(reader, before(now, limits.audit_age), limits.segment_rows).await?,
        })
    }

    /// Tasks that lose contents, and the bytes. Every limit takes the oldest first; contents go when the newer ones of
    /// any owner fill its limit, after what goes for its age.
    async fn due_contents(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<(u64, u64), RegistryError> {
        let failed = || self.base.failed("sum up what is old");
        let mut find = StatementBatch::default();
        find.add(&format!(
            "WITH stored AS (SELECT h.number AS number, h.server AS server, coalesce(h.agent, '') AS agent, \
              b.payloads AS payloads, {CONTENT_BYTES} AS bytes, ({REMOVABLE}) AS may_go, h.changed < ? AS is_old \
              FROM task_bytes b CROSS JOIN handles h ON h.number = b.handle WHERE {CONTENT_BYTES} > 0), \
             aged AS (SELECT number, server, agent, may_go, CASE WHEN may_go AND is_old THEN payloads ELSE 0 END AS aged, \
              bytes FROM stored), \
             rest AS (SELECT number, server, agent, may_go, aged, bytes - aged AS bytes FROM aged), \
             summed AS (SELECT may_go, aged, bytes, agent, \
              sum(bytes) OVER (PARTITION BY agent) AS of_agent, sum(bytes) OVER (PARTITION BY server) AS of_server, \
              sum(bytes) OVER () AS of_all, \
              coalesce(sum(CASE WHEN may_go THEN bytes END) OVER (PARTITION BY agent ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_agent, \
              coalesce(sum(CASE WHEN may_go THEN bytes END) OVER (PARTITION BY server ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_server, \
              coalesce(sum(CASE WHEN may_go THEN bytes END) OVER (ORDER BY number \
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_all FROM rest), \
             gone AS (SELECT aged, CASE WHEN may_go AND ((agent <> '' AND of_agent - before_agent > ?) \
              OR of_server - before_server > ? OR of_all - before_all > ?) THEN bytes ELSE 0 END AS beyond FROM summed) \
             SELECT coalesce(sum((aged > 0) + (beyond > 0)), 0), coalesce(sum(aged + beyond), 0) FROM gone"
        ))
        .with(before(now, limits.undelivered_for).as_millis())
        .with(before(now, limits.payload_age).as_millis())
        .with(whole(limits.agent_payload_bytes))
        .with(whole(limits.server_payload_bytes))
        .with(whole(limits.payload_bytes));
        let found = find.rows(reader).await.map_err(failed())?;
        let row = found.first().ok_or(RegistryError::Closed)?;
        let count = |column: usize| row.try_get::<i64, _>(column).map(unsigned).map_err(failed());
        Ok((count(0)?, count(1)?))
    }

    /// Tasks that go whole: for their age, then those that ended first of whoever has too many.
    async fn due_tasks(
        &self,
        reader: &mut SqliteConnection,
        limits: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<u64, RegistryError> {
        let failed = || self.base.failed("count what is old");
        let undelivered_before = before(now, limits.undelivered_for).as_millis();
        let old = before(now, limits.task_age).as_millis();
        let mut find = StatementBatch::default();
        if self.excesses(reader, Counted::Tasks, limits).await?.is_empty() {
            find.add(&format!("SELECT count(*) FROM handles h WHERE h.created < ? AND h.changed < ? AND {REMOVABLE}"))
                .with(old)
                .with(old)
                .with(undelivered_before);
        } else {
            find.add(&format!(
                "WITH stored AS (SELECT h.number AS number, h.changed AS changed, h.server AS server, \
                  coalesce(h.agent, '') AS agent, h.created < ? AND h.changed < ? AS is_old, ({REMOVABLE}) AS may_go \
                  FROM handles h), \
                 aged AS (SELECT *, may_go AND is_old AS old FROM stored), \
                 summed AS (SELECT may_go, old, agent, \
                  sum(NOT old) OVER (PARTITION BY agent) AS of_agent, \
                  sum(NOT old) OVER (PARTITION BY server) AS of_server, sum(NOT old) OVER () AS of_all, \
                  coalesce(sum(may_go AND NOT old) OVER (PARTITION BY agent ORDER BY changed, number \
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_agent, \
                  coalesce(sum(may_go AND NOT old) OVER (PARTITION BY server ORDER BY changed, number \
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_server, \
                  coalesce(sum(may_go AND NOT old) OVER (ORDER BY changed, number \
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_all FROM aged) \
                 SELECT count(*) FROM summed WHERE may_go AND (old OR (agent <> '' AND of_agent - before_agent > ?) \
                  OR of_server - before_server > ? OR of_all - before_all > ?)"
            ))
            .with(old)
            .with(old)
            .with(undelivered_before)
            .with(whole(limits.agent_tasks))
            .with(whole(limits.server_tasks))
            .with(whole(limits.tasks));
        }
        let found = find.rows(reader).await.map_err(failed())?;
        let tasks: i64 = found.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed())?;
        Ok(unsigned(tasks))
    }

    /// What is stored, by server and agent.
    pub(crate) async fn read_stored_use(&self) -> Result<Vec<StoredUse>, RegistryError> {
        let asked = self.writes_so_far();
        if let Some(used) = self.base.kept.stored_use.get(asked) {
            return Ok(used);
        }
        let failed = || self.base.failed("sum up what is stored");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT server, agent, sum(bytes), sum(tasks) FROM ( \
             SELECT server, agent, payloads + messages + questions + lines AS bytes, 0 AS tasks FROM stored_use \
             UNION ALL SELECT server, agent, 0, handles FROM kinds) \
             GROUP BY server, agent HAVING sum(bytes) > 0 OR sum(tasks) > 0",
        )
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let used = |row: &SqliteRow| {
            let (server, agent): (&str, &str) = (row.try_get(0).map_err(failed())?, row.try_get(1).map_err(failed())?);
            let flaw = |column: &str| {
                StoreContext::bad_row("read `stored_use`", server, &DecodeError::new(column, "does not read"))
            };
            let agent: Option<AgentId> =
                if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) };
            let server: ServerId = server.parse().map_err(|_| flaw("server"))?;
            let (bytes, tasks) = (row.try_get(2).map_err(failed())?, row.try_get(3).map_err(failed())?);
            Ok(StoredUse { server, agent, bytes: unsigned(bytes), tasks: unsigned(tasks) })
        };
        let found = found.iter().map(used).collect::<Result<Vec<_>, RegistryError>>()?;
        self.base.kept.stored_use.keep(asked, found.clone());
        Ok(found)
    }
}
