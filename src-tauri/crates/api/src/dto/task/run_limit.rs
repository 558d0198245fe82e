//! Limits of time: as a rule sets one, and as a task has them.
//!
//! What happens at a limit is the domain's.

use domain::rule::{LimitKind, RuleLevel, RunAction, RunLimit};
use domain::task::{TaskHandle, TaskRunLimit};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::words::words;
use crate::dto::{iso, millis};

words! {
    /// What a limit of time counts.
    RunLimitKind {
        /// Time that a task ran; waiting for people is not counted.
        Time = "time",
        /// Time since a task last showed progress.
        Progress = "progress",
    }
    /// What happens when a limit of time is reached, or an alarm is raised.
    AtRunLimit {
        /// People are told, and it continues.
        Warn = "warn",
        /// A person decides. A task continues until then; further calls that an alarm is about wait.
        Ask = "ask",
        /// Its server is asked to cancel it, or the open tasks that an alarm is about.
        Cancel = "cancel",
    }
    /// How wide the rule of a limit applies.
    RuleLevelDto {
        /// To an agent.
        Agent = "agent",
        /// To a server.
        Server = "server",
        /// To a tool.
        Tool = "tool",
    }
}

/// A limit of time of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunLimitDto {
    pub allowed_ms: u64,
    /// What happens after that.
    #[ts(inline)]
    pub at: AtRunLimit,
}

/// A limit of time of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskRunLimitDto {
    /// What it counts.
    #[ts(inline)]
    pub kind: RunLimitKind,
    /// So long in all, with what people allowed besides.
    pub allowed_ms: u64,
    /// What it counted until now.
    pub spent_ms: u64,
    #[ts(inline)]
    pub at: AtRunLimit,
    /// When it is reached; null while the task waits for a person, and once it was reached, removed or has no use.
    pub due_at: Option<String>,
    /// When it was reached; null while it was not.
    pub reached_at: Option<String>,
    /// A person is asked whether the task may continue.
    pub asks: bool,
    /// Who removed it from this task.
    pub removed_by: Option<String>,
    /// How wide the rule applies that set it.
    #[ts(inline)]
    pub rule_level: RuleLevelDto,
    pub rule_version: u32,
}

impl TaskRunLimitDto {
    /// The limits of a task.
    pub(crate) fn of(task: &TaskHandle, now: Timestamp) -> Vec<Self> {
        let limits = [(RunLimitKind::Time, &task.run_limits.time), (RunLimitKind::Progress, &task.run_limits.progress)];
        let asking = task.asks_for_time().map(|(kind, _)| kind);
        let now = task.ended_at().unwrap_or(now);
        let of = |kind: RunLimitKind, limit: &TaskRunLimit| {
            let is_running =
                task.ended_at().is_none() && task.cancel_request().is_none() && task.paused_since.is_none();
            let counts = is_running && limit.reached.is_none() && limit.removed.is_none();
            Self {
                kind,
                allowed_ms: millis(limit.allowed),
                spent_ms: millis(limit.spent(task.paused_since, now)),
                at: limit.action.into(),
                due_at: counts.then(|| iso(limit.due)),
                reached_at: limit.reached.map(iso),
                asks: asking == Some(kind.into()),
                removed_by: limit.removed.as_ref().map(|(by, _)| by.to_string()),
                rule_level: limit.rule.level.into(),
                rule_version: limit.rule.version,
            }
        };
        limits.into_iter().filter_map(|(kind, limit)| Some(of(kind, limit.as_ref()?))).collect()
    }
}

impl From<RunLimitKind> for LimitKind {
    fn from(kind: RunLimitKind) -> Self {
        match kind {
            RunLimitKind::Time => Self::Time,
            RunLimitKind::Progress => Self::Progress,
        }
    }
}

impl From<RunAction> for AtRunLimit {
    fn from(action: RunAction) -> Self {
        match action {
            RunAction::Warn => Self::Warn,
            RunAction::Ask => Self::Ask,
            RunAction::Cancel => Self::Cancel,
        }
    }
}

impl From<AtRunLimit> for RunAction {
    fn from(at: AtRunLimit) -> Self {
        match at {
            AtRunLimit::Warn => Self::Warn,
            AtRunLimit::Ask => Self::Ask,
            AtRunLimit::Cancel => Self::Cancel,
        }
    }
}

impl From<RuleLevel> for RuleLevelDto {
    fn from(level: RuleLevel) -> Self {
        match level {
            RuleLevel::Agent => Self::Agent,
            RuleLevel::Server => Self::Server,
            RuleLevel::Tool => Self::Tool,
        }
    }
}

impl From<RunLimit> for RunLimitDto {
    fn from(limit: RunLimit) -> Self {
        Self { allowed_ms: millis(limit.allowed), at: limit.action.into() }
    }
}
