//! A server that runs: its log, how its requests go, and a person who ends or restarts it.
//!
//! What ends is told before a person decides (`servers.running`), and refused when more is open than was told. That it was
//! asked for is recorded before it happens, and what came of it after that; the engine does both.

use std::collections::BTreeMap;

use domain::audit::Verb;
use domain::ids::AgentId;
use domain::policy::plain_text;
use domain::server::{Server, ServerAct, ServerAddress};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::fact;
use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneServer;
use crate::dto::server::observed::{
    AgentOnServer, ServerLogDto, ServerLogLine, ServerProcessDto, ServerRunning, ServerTimesDto,
};
use crate::dto::{TaskFigures, iso};
use crate::error::{ApiError, Code};
use crate::format::time::count;

/// Which lines of a log to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadServerLog {
    pub name: String,
    /// Only lines after this number; the newest ones when absent.
    #[serde(default)]
    #[ts(optional)]
    pub after: Option<u64>,
    /// At most so many; a page when absent.
    #[serde(default)]
    #[ts(optional)]
    pub limit: Option<usize>,
}

/// A server to end or restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActOnServer {
    pub name: String,
    /// Open tasks that the person was told of; with more, nothing is done.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub told_open_tasks: u64,
}

/// What was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerActed {
    pub name: String,
    /// The processes that ran, and were told to end.
    pub processes: Vec<u32>,
    /// Tasks that were open on it.
    pub open_tasks: u64,
    /// Processes that were seen to run afterwards, the first of them; left out when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<u32>>")]
    pub left: Vec<u32>,
}

impl Api {
    /// A part of the log of a server.
    ///
    /// # Errors
    /// When there is none of this name, or no core runs: the log is in its memory.
    pub async fn server_log(&self, _caller: &Caller, input: ReadServerLog) -> Result<ServerLogDto, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let limits = &self.policy.observed;
        let page = live.engine.server_log(server.id, input.after, input.limit.unwrap_or(limits.log_page_lines));
        let has_seats = page.entries.iter().any(|entry| entry.seat.is_some());
        let agents = if has_seats { self.agent_names().await? } else { BTreeMap::new() };
        Ok(ServerLogDto {
            first: page.first,
            next: page.next,
            kept_bytes: u64::try_from(limits.log_bytes).unwrap_or(u64::MAX),
            lines: page
                .entries
                .into_iter()
                .map(|entry| {
                    let agent = entry.seat.map(|seat| named(&agents, seat));
                    ServerLogLine::of(entry, agent)
                })
                .collect(),
        })
    }

    /// How the requests to a server went.
    ///
    /// # Errors
    /// When there is none of this name, or no core runs.
    pub async fn server_times(&self, caller: &Caller, input: OneServer) -> Result<ServerTimesDto, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let mut times =
            ServerTimesDto::of(live.engine.request_history(server.id), self.core(&caller.person)?.started_at);
        if let Some(last) = &mut times.last_failure {
            last.why = plain_text(&last.why, self.policy.asking.row_text_chars);
        }
        Ok(times)
    }

    /// What of a server runs, and what ends with it.
    ///
    /// # Errors
    /// When there is none of this name, or no core runs.
    pub async fn server_running(&self, _caller: &Caller, input: OneServer) -> Result<ServerRunning, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let names = self.agent_names().await?;
        let mut agents = BTreeMap::<Option<AgentId>, (u64, u64)>::new();
        for tally in self.registry.tallies().await?.iter().filter(|tally| tally.server == server.id) {
            let open = TaskFigures::of([tally]).open;
            if open > 0 {
                agents.entry(tally.agent).or_default().0 += open;
            }
        }
        for agent in live.engine.quick_calls(server.id) {
            agents.entry(Some(agent)).or_default().1 += 1;
        }
        let processes = live.engine.server_processes(server.id).into_iter();
        Ok(ServerRunning {
            processes: processes
                .map(|process| ServerProcessDto {
                    pid: process.pid,
                    agent: process.seat.map(|seat| named(&names, seat)),
                    since: iso(process.since),
                    group: (live.process_group)(process.pid),
                })
                .collect(),
            open_tasks: agents.values().map(|(open, _)| open).sum(),
            agents: agents
                .into_iter()
                .map(|(agent, (open_tasks, calls))| AgentOnServer {
                    agent: agent.map(|agent| named(&names, agent)),
                    open_tasks,
                    calls,
                })
                .collect(),
        })
    }

    /// Ends the process of a local server, with everything it started; the next call starts it.
    ///
    /// # Errors
    /// When there is none of this name, it does not run here, more is open than was told, or it cannot be recorded.
    pub async fn server_end(&self, caller: &Caller, input: ActOnServer) -> Result<ServerActed, ApiError> {
        self.live()?;
        let server = self.find_server(&input.name).await?;
        match server.address {
            ServerAddress::Stdio { .. } => {}
            ServerAddress::Http { .. } => {
                return Err(ApiError::new(
                    Code::Refused,
                    format!("`{}` does not run on this machine", server.name),
                    "Only its operator can end it. `taskwarden servers restart` opens its connection anew.",
                ));
            }
        }
        self.act_on(caller, &server, input.told_open_tasks, ServerAct::End).await
    }

    /// Ends the process of a local server and starts it again, or opens the connection to a remote one anew.
    ///
    /// # Errors
    /// When there is none of this name, more is open than was told, or it cannot be recorded.
    pub async fn server_restart(&self, caller: &Caller, input: ActOnServer) -> Result<ServerActed, ApiError> {
        let server = self.find_server(&input.name).await?;
        self.act_on(caller, &server, input.told_open_tasks, ServerAct::Restart).await
    }

    async fn act_on(
        &self,
        caller: &Caller,
        server: &Server,
        told: u64,
        act: ServerAct,
    ) -> Result<ServerActed, ApiError> {
        let live = self.live()?;
        let open_tasks = self.registry.open_count(Some(server.id)).await?;
        if open_tasks > told && matches!(server.address, ServerAddress::Stdio { .. }) {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{}` has {}, which would end", server.name, count(open_tasks, "open task")),
                "Look at them first; `--yes` on the command line ends them with it.",
            ));
        }
        let processes: Vec<u32> =
            live.engine.server_processes(server.id).into_iter().map(|process| process.pid).collect();
        let mut event = fact(server, caller, verb_of(act), self.now());
        if !processes.is_empty() {
            let pids = processes.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            event.note = format!("{} {pids}, {}", server.name, count(open_tasks, "open task"));
        }
        let left = live.engine.act_on_server(server.id, act, &caller.person, event).await?;
        Ok(ServerActed { name: server.name.clone(), processes, open_tasks, left })
    }

    async fn agent_names(&self) -> Result<BTreeMap<AgentId, String>, ApiError> {
        Ok(self.registry.agents().await?.into_iter().map(|agent| (agent.id, agent.name)).collect())
    }
}

/// The word of the audit log for what a person does.
const fn verb_of(act: ServerAct) -> Verb {
    match act {
        ServerAct::End => Verb::ProcessEnded,
        ServerAct::Restart => Verb::ServerRestarted,
        ServerAct::Change => Verb::ServerChanged,
    }
}

fn named(names: &BTreeMap<AgentId, String>, agent: AgentId) -> String {
    names.get(&agent).cloned().unwrap_or_else(|| agent.to_string())
}
