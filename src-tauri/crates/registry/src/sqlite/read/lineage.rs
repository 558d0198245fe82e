//! Related tasks: the attempts of one job, children, repeated calls, and what an agent holds.
//!
//! Each list has an index that holds only such tasks. What makes a task a child or a repeat is decided elsewhere.

use domain::ids::{AgentId, HandleId, JobKey};
use domain::ports::RegistryError;
use domain::task::TaskHandle;
use domain::time::Timestamp;

use crate::sqlite::SqliteRegistry;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::task_row::job_mark;

impl SqliteRegistry {
    /// The attempts of a job, newest first.
    pub(crate) async fn read_attempts(&self, job: JobKey, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(
            "SELECT id FROM handles INDEXED BY handles_by_job WHERE job_mark = ? \
             ORDER BY created DESC, id DESC LIMIT ?",
        )
        .with(job_mark(&self.base.sealer, &job).to_vec())
        .with(limit.min(self.base.limits.page_rows_max));
        self.read_ids(find).await
    }

    /// What was called while a task was open, newest first.
    pub(crate) async fn read_children(&self, id: HandleId, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(
            "SELECT id FROM handles INDEXED BY handles_by_parent WHERE parent = ? \
             ORDER BY created DESC, id DESC LIMIT ?",
        )
        .with(id.to_string())
        .with(limit.min(self.base.limits.page_rows_max));
        self.read_ids(find).await
    }

    /// Attempts of a job whose reply this agent never got, newest first.
    pub(crate) async fn read_repeats(&self, agent: AgentId, job: JobKey) -> Result<Vec<HandleId>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(
            "SELECT id FROM handles INDEXED BY handles_undelivered WHERE agent = ? AND job_mark = ? \
             AND undelivered = 1 ORDER BY created DESC, id DESC LIMIT ?",
        )
        .with(agent.to_string())
        .with(job_mark(&self.base.sealer, &job).to_vec())
        .with(self.base.limits.repeats_max);
        self.read_ids(find).await
    }

    /// Tasks of all agents whose reply was never delivered and that changed since then, newest first.
    pub(crate) async fn read_undelivered(&self, since: Timestamp, limit: u32) -> Result<Vec<HandleId>, RegistryError> {
        let mut find = StatementBatch::default();
        find.add(
            "SELECT id FROM handles INDEXED BY handles_undelivered WHERE undelivered = 1 AND changed >= ? \
             ORDER BY created DESC, id DESC LIMIT ?",
        )
        .with(since.as_millis())
        .with(limit);
        self.read_ids(find).await
    }

    /// Tasks whose handle an agent holds, newest first, those older than `after`.
    pub(crate) async fn read_agent_tasks(
        &self,
        agent: AgentId,
        after: Option<HandleId>,
        limit: u32,
    ) -> Result<Vec<TaskHandle>, RegistryError> {
        let mut find = StatementBatch::default();
        let select = "SELECT number FROM handles INDEXED BY handles_given WHERE agent = ? AND given = 1";
        let order = "ORDER BY created DESC, id DESC LIMIT ?";
        match after {
            Some(after) => find
                .add(&format!("{select} AND (created, id) < (SELECT created, id FROM handles WHERE id = ?) {order}"))
                .with(agent.to_string())
                .with(after.to_string()),
            None => find.add(&format!("{select} {order}")).with(agent.to_string()),
        }
        .with(limit.min(self.base.limits.page_rows_max));
        Ok(self.read_handles(find).await?.into_iter().map(|(handle, _)| handle).collect())
    }
}
