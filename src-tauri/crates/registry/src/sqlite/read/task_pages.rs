//! Pages by cursor, counts by phase, and the lists that the reconcilers work through. Every list has an index and a limit.
//!
//! A page is found by its key (created, id), newest first. With a condition on server or agent it is merged from one short
//! stretch of an index for each phase, so the time it takes does not depend on how many tasks there are.

use domain::ids::{HandleId, ServerId};
use domain::ports::{RegistryError, TaskCursor, TaskPage, TaskQuery};
use domain::task::TaskHandle;
use domain::task::status::Phase;
use domain::time::Timestamp;
use sqlx::Row;

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::read::kept_answers::KeptAnswer;
use crate::sqlite::{SqliteRegistry, unsigned};

/// One stretch of an index, newest first.
fn stretch(batch: &mut String, query: &TaskQuery, phase: bool) {
    batch.push_str("SELECT number, created, id FROM (SELECT number, created, id FROM handles WHERE ");
    let mut conditions = Vec::new();
    conditions.extend(query.agent.map(|_| "agent = ?"));
    conditions.extend(query.server.map(|_| "server = ?"));
    conditions.extend(phase.then_some("phase = ?"));
    conditions.push(if query.before.is_some() { "(created, id) < (?, ?)" } else { "true" });
    batch.push_str(&conditions.join(" AND "));
    batch.push_str(" ORDER BY created DESC, id DESC LIMIT ?)");
}

/// The statement that finds the numbers of a page.
fn page(query: &TaskQuery, limit: i64) -> StatementBatch {
    let filtered = query.server.is_some() || query.agent.is_some();
    let phases: Vec<Option<Phase>> = match (query.phases.as_slice(), filtered) {
        ([], false) => vec![None],
        ([], true) => Phase::ALL.into_iter().map(Some).collect(),
        (some, _) => Phase::ALL.into_iter().filter(|phase| some.contains(phase)).map(Some).collect(),
    };
    let mut sql = String::from("SELECT number FROM (");
    for (index, phase) in phases.iter().enumerate() {
        if index > 0 {
            sql.push_str(" UNION ALL ");
        }
        stretch(&mut sql, query, phase.is_some());
    }
    sql.push_str(") ORDER BY created DESC, id DESC LIMIT ?");
    let mut find = StatementBatch::default();
    find.add(&sql);
    for phase in phases {
        if let Some(agent) = query.agent {
            find.with(agent.to_string());
        }
        if let Some(server) = query.server {
            find.with(server.to_string());
        }
        if let Some(phase) = phase {
            find.with(phase.word());
        }
        if let Some(before) = query.before {
            find.with(before.created.as_millis()).with(before.id.to_string());
        }
        find.with(limit);
    }
    find.with(limit);
    find
}

impl SqliteRegistry {
    /// A page of tasks, newest first.
    pub(crate) async fn read_page(&self, query: TaskQuery) -> Result<TaskPage, RegistryError> {
        let limit = query.limit.min(self.base.limits.page_rows_max);
        if limit == 0 {
            return Ok(TaskPage { rows: Vec::new(), next: None });
        }
        let mut rows = self.read_handles(page(&query, i64::from(limit) + 1)).await?;
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > kept;
        rows.truncate(kept);
        let cursor = |(handle, _): &(TaskHandle, _)| TaskCursor { created: handle.created, id: handle.id };
        Ok(TaskPage { next: rows.last().filter(|_| more).map(cursor), rows })
    }

    /// How many tasks there are in each phase.
    pub(crate) async fn read_counts(&self, query: TaskQuery) -> Result<Vec<(Phase, u64)>, RegistryError> {
        let failed = || self.base.failed("count tasks");
        let mut find = StatementBatch::default();
        // The key of `kinds` begins with the server; a condition that may be absent would not use it.
        let by_server = query.server.map_or("", |_| " AND server = ?");
        let by_agent = query.agent.map_or("", |_| " AND agent = ?");
        find.add(&format!(
            "SELECT phase, sum(handles) FROM kinds WHERE handles > 0{by_server}{by_agent} GROUP BY phase"
        ));
        for id in query.server.map(|id| id.to_string()).into_iter().chain(query.agent.map(|id| id.to_string())) {
            find.with(id);
        }
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(failed())?;
        let mut counts = Vec::new();
        for row in &found {
            let word: &str = row.try_get(0).map_err(failed())?;
            let phase = Phase::from_word(word).ok_or_else(|| RegistryError::Other {
                operation: "read `kinds`",
                why: "column `phase` has an unknown word".into(),
            })?;
            counts.push((phase, unsigned(row.try_get(1).map_err(failed())?)));
        }
        let count = |phase: Phase| {
            counts.iter().find(|(counted, count)| *counted == phase && *count > 0).map(|(_, count)| (phase, *count))
        };
        Ok(Phase::ALL.into_iter().filter_map(count).collect())
    }

    /// How many handles are open.
    pub(crate) async fn read_open_count(&self, server: Option<ServerId>) -> Result<u64, RegistryError> {
        let counts = self.read_counts(TaskQuery { server, ..TaskQuery::default() }).await?;
        Ok(counts.iter().filter(|(phase, _)| !phase.is_over()).map(|(_, count)| count).sum())
    }

    /// Open handles by id.
    pub(crate) async fn read_open(
        &self,
        server: Option<ServerId>,
        after: Option<HandleId>,
        limit: u32,
    ) -> Result<Vec<TaskHandle>, RegistryError> {
        let mut find = StatementBatch::default();
        match server {
            Some(server) => find
                .add("SELECT number FROM handles WHERE is_open = 1 AND server = ? AND id > ? ORDER BY id LIMIT ?")
                .with(server.to_string()),
            None => find.add("SELECT number FROM handles WHERE is_open = 1 AND id > ? ORDER BY id LIMIT ?"),
        }
        .with(after.map(|id| id.to_string()).unwrap_or_default())
        .with(limit.min(self.base.limits.page_rows_max));
        Ok(self.read_handles(find).await?.into_iter().map(|(handle, _)| handle).collect())
    }

    /// Handles whose phase may have changed by time alone, the longest overdue first.
    pub(crate) async fn read_ticking(&self, now: Timestamp, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        self.read_due("tick_at", &self.base.kept.next_tick, now, limit).await
    }

    /// Handles with something to deliver, the longest waiting first.
    pub(crate) async fn read_deliverable(&self, now: Timestamp, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        self.read_due("deliver_at", &self.base.kept.next_delivery, now, limit).await
    }

    /// Handles for which the moment in a column has come, the earliest first. While none is due, the next moment is kept.
    async fn read_due(
        &self,
        column: &'static str,
        next: &KeptAnswer<Option<Timestamp>>,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<HandleId>, RegistryError> {
        let asked = self.writes_so_far();
        if next.get(asked).is_some_and(|next| next.is_none_or(|at| now < at)) {
            return Ok(Vec::new());
        }
        let mut find = StatementBatch::default();
        find.add(&format!(
            "SELECT id FROM handles WHERE {column} IS NOT NULL AND {column} <= ? ORDER BY {column}, id LIMIT ?"
        ))
        .with(now.as_millis())
        .with(limit);
        let due = self.read_ids(find).await?;
        if due.is_empty() {
            let failed = || self.base.failed("find tasks");
            let mut earliest = StatementBatch::default();
            earliest.add(&format!("SELECT min({column}) FROM handles WHERE {column} IS NOT NULL"));
            let found = earliest.rows(&mut *self.reader().await?).await.map_err(failed())?;
            let at: Option<i64> = found.first().map(|row| row.try_get(0)).transpose().map_err(failed())?.flatten();
            next.keep(asked, at.map(Timestamp::from_millis));
        }
        Ok(due)
    }
}
