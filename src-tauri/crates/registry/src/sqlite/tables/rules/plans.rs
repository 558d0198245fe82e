//! Plans, one row each, with their tasks in a column of their own that is written once.
//!
//! It decides nothing: what a plan means is in `domain::task::cancel::plan`; the encoding is in `codec/task/plan.rs`.

use domain::audit::AuditEvent;
use domain::ids::{HandleId, OperationId, PlanId};
use domain::ports::{PlanUnit, RegistryError};
use domain::task::cancel::plan::BulkPlan;
use domain::time::Timestamp;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::{self, DecodeError, PlanDef};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// Running plans read at most; the limit only keeps a damaged file from filling the memory.
const RUNNING_MAX: u32 = 10_000;
/// Bytes of a plan that may take space of the reserve when the disk is full.
const SMALL_BYTES: usize = 64 * domain::policy::KIB;

/// A plan, ready to write.
#[derive(Debug)]
pub(crate) struct PlanRow {
    id: PlanId,
    operation: Option<OperationId>,
    created: i64,
    is_running: bool,
    kept_until: Option<i64>,
    now: i64,
    body: String,
    /// Only of a plan that was not run: a run finds its tasks stored.
    tasks: Option<String>,
    pub(crate) audit: Vec<AuditEvent>,
}

impl PlanRow {
    pub(crate) fn of(unit: &PlanUnit) -> Result<Self, RegistryError> {
        let PlanUnit { plan, kept_until, at, audit } = unit;
        Ok(Self {
            id: plan.id,
            operation: plan.operation.as_ref().map(|operation| operation.id),
            created: plan.created.as_millis(),
            is_running: plan.is_running(),
            kept_until: kept_until.map(Timestamp::as_millis),
            now: at.as_millis(),
            body: codec::encode::<PlanDef>(plan)?,
            tasks: plan.operation.is_none().then(|| ids_text(&plan.tasks)),
            audit: audit.clone(),
        })
    }

    /// Whether it is the run of a plan, whose tasks are stored.
    pub(crate) fn is_run(&self) -> bool {
        self.tasks.is_none()
    }

    /// Whether it may take space of the reserve: a run, and a plan of few tasks.
    pub(crate) fn is_small(&self) -> bool {
        self.tasks.as_ref().is_none_or(|tasks| tasks.len() <= SMALL_BYTES)
    }
}

/// Puts a plan, and removes those that are of no use any more. The tasks of one that is stored never change.
pub(crate) fn put(batch: &mut StatementBatch, row: &PlanRow) {
    batch.add("DELETE FROM plans WHERE kept_until IS NOT NULL AND kept_until < ?").with(row.now);
    match &row.tasks {
        Some(tasks) => batch
            .add("INSERT INTO plans (id, created, running, kept_until, body, tasks) VALUES (?, ?, 0, ?, ?, ?)")
            .with(row.id.to_string())
            .with(row.created)
            .with(row.kept_until)
            .with(row.body.clone())
            .with(tasks.clone()),
        None => batch
            .add("UPDATE plans SET operation = ?, running = ?, kept_until = ?, body = ? WHERE id = ?")
            .with(row.operation.map(|id| id.to_string()))
            .with(row.is_running)
            .with(row.kept_until)
            .with(row.body.clone())
            .with(row.id.to_string()),
    };
}

fn ids_text(tasks: &[HandleId]) -> String {
    let tasks: Vec<String> = tasks.iter().map(HandleId::to_string).collect();
    json!(tasks).to_string()
}

fn read(row: &SqliteRow) -> Result<BulkPlan, RegistryError> {
    let unread = |error: sqlx::Error| RegistryError::Other { operation: "read a plan", why: error.to_string() };
    let id: &str = row.try_get(0).map_err(unread)?;
    let body: &str = row.try_get(1).map_err(unread)?;
    let tasks: &str = row.try_get(2).map_err(unread)?;
    let bad = |error: &DecodeError| StoreContext::bad_row("read `plans`", id, error);
    let not_json = |error: serde_json::Error| StoreContext::not_json("read `plans`", id, &error);
    let body = serde_json::from_str(body).map_err(not_json)?;
    let mut plan = codec::decode::<PlanDef>(body).map_err(|error| bad(&error))?;
    plan.id = id.parse().map_err(|_| bad(&DecodeError::new("id", "does not read as an id")))?;
    let tasks: Vec<String> = serde_json::from_str(tasks).map_err(not_json)?;
    let task = |text: &String| text.parse().map_err(|_| bad(&DecodeError::new("tasks", "does not read as ids")));
    plan.tasks = tasks.iter().map(task).collect::<Result<_, _>>()?;
    Ok(plan)
}

impl SqliteRegistry {
    pub(crate) async fn read_plan(&self, id: PlanId) -> Result<Option<BulkPlan>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT id, body, tasks FROM plans WHERE id = ?")
            .bind(id.to_string())
            .fetch_optional(&mut *reader)
            .await
            .map_err(self.base.failed("read a plan"))?;
        found.as_ref().map(read).transpose()
    }

    pub(crate) async fn read_plan_of(&self, operation: OperationId) -> Result<Option<BulkPlan>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT id, body, tasks FROM plans WHERE operation = ?")
            .bind(operation.to_string())
            .fetch_optional(&mut *reader)
            .await
            .map_err(self.base.failed("read a plan"))?;
        found.as_ref().map(read).transpose()
    }

    /// Plans whose operation has work left. One that cannot be read is left out: what it asked is recorded on its tasks.
    pub(crate) async fn read_running_plans(&self) -> Result<Vec<BulkPlan>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT id, body, tasks FROM plans WHERE running = 1 ORDER BY created, id LIMIT ?")
            .bind(RUNNING_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(self.base.failed("read the plans that run"))?;
        let readable = |row: &SqliteRow| {
            read(row).inspect_err(|error| tracing::error!(%error, "a plan that runs cannot be read")).ok()
        };
        Ok(found.iter().filter_map(readable).collect())
    }
}
