//! A pause as JSON: what stands still, by whom, and which calls wait.
//!
//! Words only: what follows from them is the domain's (`domain::server::pause`). The calls are in `calls/pauses.rs`.

use domain::ports::FreezeReading;
use domain::server::pause::{Pause, PauseSubject};
use domain::task::TaskHandle;
use domain::task::status::GateReason;
use domain::time::Timestamp;
use engine::FrozenProcesses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::iso;
use super::words::words;

words! {
    /// Why a task stands still.
    TaskPauseKind {
        /// New calls of its agent wait: it was not sent.
        AgentPaused = "agentPaused",
        /// Its server is frozen: it was not sent.
        ServerFrozen = "serverFrozen",
        /// An alarm asks a person about calls like it: it was not sent.
        Alarm = "alarm",
        /// Its server is frozen while it runs there.
        Frozen = "frozen",
    }
}

/// That a task stands still until a person ends a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskPauseDto {
    #[ts(inline)]
    pub kind: TaskPauseKind,
    pub since: String,
}

impl TaskPauseDto {
    /// `None` while nothing holds the task.
    pub(crate) fn of(task: &TaskHandle) -> Option<Self> {
        let (kind, since) = match (task.gated(), task.frozen_since) {
            (Some((since, GateReason::Paused)), _) => (TaskPauseKind::AgentPaused, since),
            (Some((since, GateReason::Frozen)), _) => (TaskPauseKind::ServerFrozen, since),
            (Some((since, GateReason::Alarm)), _) => (TaskPauseKind::Alarm, since),
            (None, Some(since)) => (TaskPauseKind::Frozen, since),
            (None, None) => return None,
        };
        Some(Self { kind, since: iso(since) })
    }
}

/// What was found of the processes of a frozen server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct FrozenProcessesDto {
    /// Those that stand still, with all their memory.
    pub stopped: u32,
    /// Those that were told to and still run.
    pub moving: u32,
    /// Processes of somebody else beside them, which were not told.
    pub foreign: u32,
    /// When another program let some of them continue; they were stopped again. Left out where nobody did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub ran_at: Option<String>,
    /// When those that stood still were first not found any more; what they had in memory is lost. Left out while some are
    /// found, and where none ever were.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub gone_at: Option<String>,
}

impl From<FrozenProcesses> for FrozenProcessesDto {
    fn from(processes: FrozenProcesses) -> Self {
        let FreezeReading { stopped, moving, foreign, ran: _ } = processes.found;
        let FrozenProcesses { ran_at, gone_at, .. } = processes;
        Self { stopped, moving, foreign, ran_at: ran_at.map(iso), gone_at: gone_at.map(iso) }
    }
}

/// A call that waits until a person ends a pause. It was not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WaitingCallDto {
    /// The handle of its task.
    pub id: String,
    /// The server's name.
    pub server: String,
    pub tool: Option<String>,
    /// The agent's name; null for a person's call.
    pub agent: Option<String>,
    /// Since when it waits.
    pub since: String,
}

/// One agent or one local server that stands still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PauseDto {
    /// Our id of it, `pau_…`.
    pub id: String,
    /// The name of the paused agent; null when it is a server.
    pub agent: Option<String>,
    /// The name of the frozen server; null when it is an agent.
    pub server: Option<String>,
    pub since: String,
    /// Who paused it: a person, or `control:ctl_…` for a supervisor program.
    pub by: String,
    /// The name of that program's control token; left out for a person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub by_name: Option<String>,
    pub reason: String,
    /// Results that arrive for the agent are held.
    pub holds_results: bool,
    /// Calls that wait.
    pub waiting: u64,
    /// Whether whoever ends it must say which of the waiting calls are sent.
    pub must_choose: bool,
    /// What was found of a server's processes; null for an agent, and without a core.
    pub processes: Option<FrozenProcessesDto>,
    /// The calls that wait, in their order: all of them in `pauses.list`, the first in the inbox, none elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<WaitingCallDto>>")]
    pub calls: Vec<WaitingCallDto>,
}

/// What a pause is beside its row.
pub(crate) struct PauseContext {
    /// The name of the agent or server.
    pub(crate) name: String,
    /// The name of the control token that paused it; `None` for a person.
    pub(crate) by_name: Option<String>,
    pub(crate) waiting: usize,
    pub(crate) must_choose: bool,
    pub(crate) processes: Option<FrozenProcesses>,
}

impl PauseDto {
    pub(crate) fn of(pause: &Pause, beside: PauseContext) -> Self {
        let PauseContext { name, by_name, waiting, must_choose, processes } = beside;
        let (agent, server) = match pause.subject {
            PauseSubject::Agent(_) => (Some(name), None),
            PauseSubject::Server(_) => (None, Some(name)),
        };
        Self {
            id: pause.id.to_string(),
            agent,
            server,
            since: iso(pause.at),
            by: pause.by.to_string(),
            by_name,
            reason: pause.reason.clone(),
            holds_results: pause.holds_results,
            waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
            must_choose,
            processes: processes.map(FrozenProcessesDto::from),
            calls: Vec::new(),
        }
    }
}

/// When a call began to wait.
pub(crate) fn waiting_since(task: &TaskHandle) -> Timestamp {
    task.gated().map_or(task.created, |(since, _)| since)
}
