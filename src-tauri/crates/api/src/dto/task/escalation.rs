//! The steps to end one task as JSON shows them: those taken, with evidence, and those left, each with what it affects.
//!
//! Sentences are made in `calls/tasks/step_evidence.rs`, once for the window and the command line.

use domain::task::{EscalationStep, LeftProcess, ProcessEnd, StoppedBy, TaskHandle};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::server::observed::ProcessName;
use crate::dto::words::words;

words! {
    /// A step to end a task, the mildest first.
    EscalationStepDto {
        Cancel = "cancel",
        HoldResult = "holdResult",
        Revoke = "revoke",
        RevokeAgent = "revokeAgent",
        ShutDown = "shutDown",
    }
    /// By what it is known that nothing of a task runs any more.
    StoppedByDto {
        /// The server said how it ended.
        Server = "server",
        /// Its processes were seen to be gone.
        Processes = "processes",
        /// Nothing of it ran on its server.
        NothingRan = "nothingRan",
    }
    /// What was seen of the processes of a server that was ended.
    ProcessEndState {
        Gone = "gone",
        Left = "left",
        NotObserved = "notObserved",
    }
}

impl From<EscalationStep> for EscalationStepDto {
    fn from(step: EscalationStep) -> Self {
        match step {
            EscalationStep::Cancel => Self::Cancel,
            EscalationStep::HoldResult => Self::HoldResult,
            EscalationStep::Revoke => Self::Revoke,
            EscalationStep::RevokeAgent => Self::RevokeAgent,
            EscalationStep::ShutDown => Self::ShutDown,
        }
    }
}

/// How far people went to end a task, and what is left to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Escalation")]
pub struct EscalationDto {
    /// Steps so far, the lowest first.
    pub steps: Vec<TakenStepDto>,
    /// Steps that can be taken now; the first is the next one.
    pub offered: Vec<OfferedStepDto>,
    /// Higher steps that this task does not have, each with why.
    pub unavailable: Vec<UnavailableStepDto>,
    /// That nothing of it runs any more, and how that is known; null while nobody observed it.
    pub stopped: Option<StoppedDto>,
    /// How its server took cancels so far; null when it was never asked.
    pub record: Option<CancelRecordDto>,
}

/// A step that somebody took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "TakenStep")]
pub struct TakenStepDto {
    /// From 1 to 5.
    pub number: u8,
    #[ts(inline)]
    pub step: EscalationStepDto,
    pub at: String,
    /// Who took it: a person, or `control:ctl_…` for a supervisor program.
    pub by: String,
    /// The name of that program's control token; left out for everybody else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub by_name: Option<String>,
    /// In the person's words.
    pub reason: Option<String>,
    /// What was observed of it, in a sentence.
    pub evidence: String,
    /// Whether it is recorded and still being carried out.
    pub pending: bool,
    /// Other tasks that ended or were asked to cancel with it.
    pub other_tasks: u64,
    /// What was seen of the processes, of the last step.
    pub processes: Option<ProcessEndDto>,
}

/// What was seen of the processes of a server that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ProcessEnd")]
pub struct ProcessEndDto {
    #[ts(inline)]
    pub state: ProcessEndState,
    pub at: String,
    /// Processes that were seen to end.
    pub ended: u32,
    /// Processes that were left.
    pub left: u32,
    /// The first of those that were left.
    pub named: Vec<LeftProcessDto>,
}

/// A process that outlived its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "LeftProcess")]
pub struct LeftProcessDto {
    pub pid: u32,
    pub name: String,
    /// It belongs to somebody else, and was not signalled.
    pub foreign: bool,
}

/// A step that can be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "OfferedStep")]
pub struct OfferedStepDto {
    pub number: u8,
    #[ts(inline)]
    pub step: EscalationStepDto,
    /// What its button says, such as `Shut down files (ends 3 tasks of 2 agents)`.
    pub label: String,
    /// What it affects.
    pub affects: String,
    /// Open tasks that end or are asked to cancel with it, this one included.
    pub tasks: u64,
    /// The names of the agents of these tasks.
    pub agents: Vec<String>,
    /// The processes of the group that would be ended, the first one first.
    pub processes: Vec<ProcessName>,
    /// Whether it reaches beyond this task, so that a person confirms it.
    pub confirm: bool,
}

/// A step that a task does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "UnavailableStep")]
pub struct UnavailableStepDto {
    pub number: u8,
    #[ts(inline)]
    pub step: EscalationStepDto,
    /// As a sentence for people.
    pub why: String,
}

/// That nothing of a task runs any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Stopped")]
pub struct StoppedDto {
    #[ts(inline)]
    pub by: StoppedByDto,
    pub at: String,
}

/// How a server took the cancels that people asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "CancelRecord")]
pub struct CancelRecordDto {
    pub asked: u64,
    pub obeyed: u64,
    /// Half of those it obeyed ended within this.
    pub median_ms: Option<u64>,
    /// `ci obeyed 14 of 15 cancels, half within 2.1 s`.
    pub sentence: String,
}

impl StoppedDto {
    pub(crate) fn of(task: &TaskHandle) -> Option<Self> {
        let ended = task.ended_at().unwrap_or(task.changed);
        Some(match task.stopped()? {
            StoppedBy::ServerSaidSo => Self { by: StoppedByDto::Server, at: iso(ended) },
            StoppedBy::NothingRan => Self { by: StoppedByDto::NothingRan, at: iso(ended) },
            StoppedBy::ProcessesGone(at) => Self { by: StoppedByDto::Processes, at: iso(at) },
        })
    }
}

impl From<&LeftProcess> for LeftProcessDto {
    fn from(process: &LeftProcess) -> Self {
        Self { pid: process.pid, name: process.name.clone(), foreign: process.is_foreign }
    }
}

impl From<&ProcessEnd> for ProcessEndDto {
    fn from(end: &ProcessEnd) -> Self {
        let (state, at, ended, left, named) = match end {
            ProcessEnd::Gone { at, ended } => (ProcessEndState::Gone, at, *ended, 0, Vec::new()),
            ProcessEnd::Left { at, ended, left, named } => {
                (ProcessEndState::Left, at, *ended, *left, named.iter().map(LeftProcessDto::from).collect())
            }
            ProcessEnd::NotObserved { at, .. } => (ProcessEndState::NotObserved, at, 0, 0, Vec::new()),
        };
        Self { state, at: iso(*at), ended, left, named }
    }
}
