//! An agent, where it connects, and the rules for what it starts, as JSON shows them.
//!
//! Only [`AgentAdded`](crate::calls::agents::AgentAdded) ever carries a token, once; nothing here can be used to act as an
//! agent.

pub mod program;
pub mod program_settings;

use engine::{AgentDoor, AgentSession};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::pause::PauseDto;
use super::task::run_limit::{AtRunLimit, RunLimitDto};
use super::words::words;
use super::{LimitDto, TaskFigures, iso};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentFacts {
    /// Our id of it, `agt_…`.
    pub id: String,
    /// The person's name for it.
    pub name: String,
    /// When it was added.
    pub created_at: String,
    /// When its access was taken away; null while it has it.
    pub revoked_at: Option<String>,
    /// When it was last heard of; null when it never was.
    pub seen_at: Option<String>,
    /// What its program says it is, such as `claude-code 2.1`.
    pub client: Option<String>,
    /// Tool calls so far.
    pub calls: u64,
    /// Tasks of it that are not over: `figures.open`.
    pub open_tasks: u64,
    /// Tasks of it on which a person has to act: `figures.needsYou`.
    pub waiting: u64,
    /// How many tasks of which sort it has.
    #[serde(default)]
    pub figures: TaskFigures,
    /// Whether a client that knows no tasks is offered the four task tools.
    pub task_tools: bool,
    /// After this its program gives up a call, as Taskwarden saw it do; null where it saw nothing of the kind. Its calls
    /// are answered before that.
    pub learned_timeout_ms: Option<u64>,
    /// Whether a stream of it is open, or it was heard of within the last minute.
    pub connected: bool,
    /// Since when it is connected without a break; null when it is not.
    #[serde(default)]
    pub connected_since: Option<String>,
    /// Its open sessions, the oldest first; at most a page.
    #[serde(default)]
    pub sessions: Vec<AgentSessionDto>,
    /// When its token was made.
    #[serde(default)]
    pub token_made_at: String,
    /// That its new calls wait; left out while they do not, and without a core.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub paused: Option<PauseDto>,
}

words! {
    /// How an agent's program reaches the core.
    AgentDoorDto {
        /// It starts `taskwarden connect`.
        Command = "command",
        Http = "http",
    }
}

impl From<AgentDoor> for AgentDoorDto {
    fn from(door: AgentDoor) -> Self {
        match door {
            AgentDoor::Command => Self::Command,
            AgentDoor::Http => Self::Http,
        }
    }
}

/// One open session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentSessionDto {
    #[ts(inline)]
    pub door: AgentDoorDto,
    /// What its program says it is; null where it said nothing.
    pub program: Option<String>,
    pub since: String,
    /// When its last request came; null when that is not known.
    pub last_at: Option<String>,
}

impl From<AgentSession> for AgentSessionDto {
    fn from(session: AgentSession) -> Self {
        Self {
            door: session.door.into(),
            program: session.program,
            since: iso(session.opened),
            last_at: session.last_request.map(iso),
        }
    }
}

/// Where agents reach this core over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentsAt {
    /// The address of all servers together, `http://127.0.0.1:7717/mcp`; one server is at `/NAME` after it. Null when
    /// there is none.
    pub url: Option<String>,
    /// Why there is none, as a sentence; null when it is turned off or there is one.
    pub why: Option<String>,
}

/// For what a rule holds. The narrower wins, field by field: tool, then server, then agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ScopeDto {
    /// Everything an agent starts.
    Agent {
        /// Its name or id.
        agent: String,
    },
    /// Everything on a server.
    Server { server: String },
    /// One tool of a server.
    Tool {
        /// The server's name.
        server: String,
        tool: String,
    },
}

/// Who is asked when a task asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum WhoIsAsked {
    People,
    Agent,
    /// The agent, and people after a time.
    AgentThenPeople,
    /// Both; the first answer counts.
    Both,
}

/// What a repeated call means while the first one is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum RepeatDto {
    /// It joins the open task when the first reply could not be delivered.
    Join,
    /// It is a new task.
    New,
}

/// A rule. Null means that it says nothing about this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleDto {
    pub scope: ScopeDto,
    /// Which version of the rule this is. Whoever changes a rule gives the version that it read, or 0 where there was none:
    /// the change is refused when somebody else changed the rule meanwhile. Left out, it replaces what is there.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub version: Option<u32>,
    /// Who is asked.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub asked: Option<WhoIsAsked>,
    /// When people are asked too, with `agentThenPeople`.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub people_after_ms: Option<u64>,
    /// What a repeated call means.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub repeat: Option<RepeatDto>,
    /// Whether results wait for a person before the agent gets them.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub hold_results: Option<bool>,
    /// How long a plain call lasts before it becomes a task, for agents that know tasks.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub promote_after_ms: Option<u64>,
    /// Whether a result that the agent's program would cut is held and given in slices; when nothing says so, it is.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub hold_cut: Option<bool>,
    /// How large one result may be: warn, ask or hold.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub result_limit: Option<LimitDto>,
    /// How much one task may say and bring: warn, ask or stop.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub task_limit: Option<LimitDto>,
    /// How full the window of an agent may be: warn, ask or hold. In rules of agents alone.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub window_limit: Option<LimitDto>,
    /// How long a task may run; waiting for people is not counted.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub time_limit: Option<RunLimitDto>,
    /// How long a task may run without progress.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub progress_limit: Option<RunLimitDto>,
    /// How many equal calls of an agent raise an alarm.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub same_call_limit: Option<SameCallLimitDto>,
    /// How many calls of an agent in a minute raise an alarm; 0 for none. In rules of agents alone.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub calls_per_minute: Option<u32>,
    /// How many calls of an agent in flight at once raise an alarm; 0 for none. In rules of agents alone.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub open_calls: Option<u32>,
    /// What happens when an alarm is raised; when nothing says so, people are told.
    #[serde(default)]
    #[ts(inline, optional = nullable)]
    pub alarm_action: Option<AtRunLimit>,
}

/// How many equal calls raise an alarm, and within which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SameCallLimitDto {
    /// 0 for no alarm. A call whose result is that of the call before counts twice.
    pub count: u32,
    pub window_ms: u64,
}
