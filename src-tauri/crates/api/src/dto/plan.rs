//! A plan and its operation as JSON: the tasks that were chosen, and what became of each.
//!
//! What follows from them is the domain's (`domain::task::cancel::plan`). The calls are in `calls/plans.rs`.

use domain::task::cancel::plan::{BulkAct, BulkResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is done with each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "BulkAct")]
pub enum BulkActDto {
    /// Its server is asked to cancel it.
    Cancel,
    /// Besides, its handle is taken from its agent.
    Revoke,
}

impl From<BulkActDto> for BulkAct {
    fn from(act: BulkActDto) -> Self {
        match act {
            BulkActDto::Cancel => Self::Cancel,
            BulkActDto::Revoke => Self::Revoke,
        }
    }
}

impl From<BulkAct> for BulkActDto {
    fn from(act: BulkAct) -> Self {
        match act {
            BulkAct::Cancel => Self::Cancel,
            BulkAct::Revoke => Self::Revoke,
        }
    }
}

/// What became of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "BulkResult")]
pub enum BulkResultDto {
    /// Its turn has not come, or never will.
    NotAsked,
    /// A cancel is recorded, and the server has not said anything yet.
    Asked,
    /// The server acknowledged the cancel.
    Acknowledged,
    /// The server said that it is cancelled, or a person ended its process.
    Stopped,
    /// The server said that it ended in another way.
    FinishedAnyway,
    /// Nobody knows whether it ended.
    NotConfirmed,
    /// It was over before its turn came, so nothing was asked.
    EndedMeanwhile,
}

impl From<BulkResult> for BulkResultDto {
    fn from(result: BulkResult) -> Self {
        match result {
            BulkResult::NotAsked => Self::NotAsked,
            BulkResult::Asked => Self::Asked,
            BulkResult::Acknowledged => Self::Acknowledged,
            BulkResult::Stopped => Self::Stopped,
            BulkResult::FinishedAnyway => Self::FinishedAnyway,
            BulkResult::NotConfirmed => Self::NotConfirmed,
            BulkResult::EndedMeanwhile => Self::EndedMeanwhile,
        }
    }
}

/// Why a task that was named or matched is not in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum ExcludedWhy {
    AlreadyOver,
    /// Its cancel, or its revocation, was asked for before.
    AlreadyAsked,
}

/// Tasks that are not in a plan, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExcludedTasks {
    pub why: ExcludedWhy,
    pub count: u64,
}

/// A plan, as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanMade {
    pub plan_id: String,
    pub kind: BulkActDto,
    /// How many tasks it has, exactly those that matched when it was made.
    pub count: u64,
    /// The first hundred of them.
    pub handles: Vec<String>,
    pub excluded: Vec<ExcludedTasks>,
    /// It cannot be run from then on.
    pub expires_at: String,
}

/// A task that was not asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefusedTask {
    pub id: String,
    pub why: String,
}

/// An operation that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperationBegun {
    pub operation: String,
    /// How many tasks were asked until now.
    pub asked: u64,
    /// How many are left to ask; more than none when it takes long.
    pub left: u64,
    /// Those that were not asked, at most a page of them.
    pub refused: Vec<RefusedTask>,
    /// Why it ended before the last task.
    pub cut_short: Option<String>,
}

/// What became of all tasks of an operation, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct BulkCounts {
    pub not_asked: u64,
    pub asked: u64,
    pub acknowledged: u64,
    pub stopped: u64,
    pub finished_anyway: u64,
    pub not_confirmed: u64,
    pub ended_meanwhile: u64,
}

impl BulkCounts {
    pub(crate) fn add(&mut self, result: BulkResult) {
        let count = match result {
            BulkResult::NotAsked => &mut self.not_asked,
            BulkResult::Asked => &mut self.asked,
            BulkResult::Acknowledged => &mut self.acknowledged,
            BulkResult::Stopped => &mut self.stopped,
            BulkResult::FinishedAnyway => &mut self.finished_anyway,
            BulkResult::NotConfirmed => &mut self.not_confirmed,
            BulkResult::EndedMeanwhile => &mut self.ended_meanwhile,
        };
        *count += 1;
    }
}

/// One task of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct BulkTask {
    pub id: String,
    pub result: BulkResultDto,
    /// Its server; null when the task is not on record any more.
    pub server: Option<String>,
    pub agent: Option<String>,
    pub tool: Option<String>,
    /// Why it was not asked, or what the server refused.
    pub why: Option<String>,
}

/// An operation, as far as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperationDto {
    pub id: String,
    pub by: String,
    pub reason: Option<String>,
    pub begun_at: String,
    /// When the last task was asked; null while some are left.
    pub ended_at: Option<String>,
    /// Why it ended before the last task.
    pub cut_short: Option<String>,
    /// Whether each task has its final result.
    pub settled: bool,
    pub counts: BulkCounts,
}

/// A plan with its operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanShown {
    pub plan_id: String,
    pub kind: BulkActDto,
    pub by: String,
    /// How the tasks were chosen, in words.
    pub filter: String,
    pub count: u64,
    pub created_at: String,
    pub expires_at: String,
    /// Null until it is run.
    pub operation: Option<OperationDto>,
    /// The tasks from `offset` on, at most a page of them, in the order in which they are asked.
    pub tasks: Vec<BulkTask>,
    /// The `offset` of the next page; null at the end.
    pub next: Option<u64>,
}
