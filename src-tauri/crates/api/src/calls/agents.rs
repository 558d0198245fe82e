//! Agents: add, list, revoke; a token is shown once and never again.
//!
//! An agent is a name and a digest of its token; what it may do is decided where it connects (`mcp::gateway`), not here.
//! A new token is `agents/new_token.rs`, checking the doors `agents/connection_check.rs`, rules for what an agent starts
//! `rules.rs`.

pub mod connection_check;
pub mod new_token;

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::agent::{Agent, TokenDigest, check_agent_name};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::budget::window::CountingSettings;
use domain::client::learned_timeout::LearnedTimeout;
use domain::ids::{AgentId, HandleId};
use domain::ports::{AgentUnit, TaskListQuery};
use domain::server::pause::PauseSubject;
use domain::task::figures::TaskTally;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::Nothing;
use super::budgets::known_program;
use super::left_entries::{GoneName, LeftEntries};
use super::tasks::cancel::CancelOutcomeDto;
use crate::api::{Api, LiveCore};
use crate::caller::Caller;
use crate::dto::{AgentFacts, AgentSessionDto, ReadySettings, TaskFigures, iso};
use crate::error::{ApiError, Code};
use crate::format::program_settings::{self, SettingsInput};
use crate::lookup::short;
use crate::suggestion::did_you_mean;

/// An agent to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddAgent {
    /// The person's name for it.
    pub name: String,
    /// Whether a client that knows no tasks is offered the four task tools; it is when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub task_tools: Option<bool>,
    /// The program that the agent is, by its word such as `codex`; not known when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub program: Option<String>,
    /// Whether the token is also put into a file that only the user can read, where `taskwarden connect` finds it: then
    /// no command holds it. It is not when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub save: Option<bool>,
}

/// An agent that was added. Has no `Debug`: it carries the token.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentAdded {
    pub agent: AgentFacts,
    /// Its token, `twa_…`; nobody can show it again.
    pub token: String,
    /// Where it reaches all servers over HTTP; null when no address is open.
    pub url: Option<String>,
    /// The file that the token was put into; null when it was not.
    pub saved: Option<String>,
    /// Settings for the agent's program, with the token where the program needs it.
    pub settings: ReadySettings,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentList {
    /// Those that have access first, by name.
    pub agents: Vec<AgentFacts>,
}

/// An agent whose access to take away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeAgent {
    /// Its name or id.
    pub agent: String,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
}

/// An agent that has no access any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentRevoked {
    pub agent: AgentFacts,
    /// Tasks of it that are asked to cancel because of this. Those that were asked before are not asked again.
    pub stopped: u64,
    /// What became so far of each task that was open, also of those that were asked before; at most a page.
    pub stops: Vec<CancelOutcomeDto>,
    /// Entries of agent programs that still connect as it.
    pub left: Vec<LeftEntries>,
}

impl Api {
    /// Adds an agent, and gives its token this once.
    ///
    /// # Errors
    /// When the name cannot be one or is taken, no such program is known, there are too many, or it cannot be recorded.
    pub async fn agent_add(&self, caller: &Caller, input: AddAgent) -> Result<AgentAdded, ApiError> {
        let live = self.live()?;
        let AddAgent { name, task_tools, program, save } = input;
        check_agent_name(&name).map_err(|bad| {
            ApiError::new(Code::Usage, bad.to_string(), "Choose a name such as `claude-code` or `ci.nightly`.")
        })?;
        let program = program.as_deref().map(known_program).transpose()?;
        let with_access = self.registry.agents().await?.into_iter().filter(|agent| agent.revoked.is_none());
        let names: Vec<String> = with_access.map(|agent| agent.name).collect();
        if names.contains(&name) {
            return Err(ApiError::new(
                Code::Refused,
                format!("there is an agent `{name}` already"),
                format!("Choose another name, or revoke this one with `taskwarden agents revoke {name}`."),
            ));
        }
        if names.len() >= self.policy.gateway.agents_max {
            return Err(ApiError::new(
                Code::Refused,
                format!("there are {} agents already", names.len()),
                "Revoke one with `taskwarden agents revoke`.",
            ));
        }
        let token = random_token(live, self.policy.gateway.token_bytes);
        let now = self.now();
        let agent = Agent {
            id: AgentId::from_random((live.draw)()),
            name,
            created: now,
            revoked: None,
            token: TokenDigest::of(&token),
            token_made: now,
            seen: None,
            client: None,
            learned_timeout: None,
            task_tools: task_tools.unwrap_or(true),
            calls: 0,
            meter: CountingSettings { program, ..CountingSettings::default() },
        };
        let fact = AuditEvent {
            at: now,
            actor: Actor::Person(caller.person.clone()),
            verb: Verb::AgentAdded,
            subject: Subject::Agent(agent.id),
            note: agent.name.clone(),
        };
        self.registry.put_agent(AgentUnit { agent: agent.clone(), audit: vec![fact], ended_pause: None }).await?;
        live.engine.agents_changed().await?;
        // What cannot be saved stands in the settings instead, as without the wish.
        let saved = if save == Some(true) { (live.save_token)(&agent.name, &token) } else { None };
        let (url, settings) = settings_of(live, &agent.name, &token, saved.as_deref());
        Ok(AgentAdded { agent: self.agent_facts(&agent, &[]), token, url, saved, settings })
    }

    /// All agents.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn agent_list(&self, _caller: &Caller, _input: Nothing) -> Result<AgentList, ApiError> {
        Ok(AgentList { agents: self.all_agents().await? })
    }

    /// Takes an agent's access away at once, and asks all its tasks to stop.
    ///
    /// # Errors
    /// When there is no such agent, it lost its access before, the reason is too long, or that cannot be recorded. Refusals
    /// of single tasks are states, not errors.
    pub async fn agent_revoke(&self, caller: &Caller, input: RevokeAgent) -> Result<AgentRevoked, ApiError> {
        let live = self.live()?;
        let agent = self.find_agent(&input.agent).await?;
        if let Some(at) = agent.revoked {
            return Err(ApiError::new(
                Code::Refused,
                format!("agent `{}` was already revoked at {at}", agent.name),
                "`taskwarden agents list` shows the agents with access.",
            ));
        }
        let reason = self.bounded_reason(input.reason.as_deref())?;
        let since = self.registry.newest_seq().await?;
        let open = TaskListQuery { agents: vec![agent.id], open: Some(true), ..TaskListQuery::default() };
        let mut ids = self.registry.matching_ids(open.clone(), self.policy.asking.stops_max).await?;
        let stopped = live.engine.revoke_agent(agent.id, caller.person.clone(), reason).await?;
        // Calls that had no row before have one now.
        let known: HashSet<HandleId> = ids.iter().copied().collect();
        let after = self.registry.matching_ids(open, self.policy.asking.stops_max).await?;
        ids.extend(after.into_iter().filter(|id| !known.contains(id)));
        let shown = usize::try_from(self.policy.page_rows_max).unwrap_or(usize::MAX);
        let asked = ids.into_iter().take(shown).map(|id| (id, Ok(()))).collect();
        let stops = self.stops(asked, since, self.policy.reply_limit).await?.stops;
        let agent = self.find_agent(&agent.id.to_string()).await?;
        let tallies = self.registry.tallies().await?;
        let left = self.left_entries(GoneName::Agent(&agent.name)).await;
        Ok(AgentRevoked { agent: self.agent_facts(&agent, &tallies), stopped, stops, left })
    }

    /// All agents as they are shown, those with access first.
    pub(crate) async fn all_agents(&self) -> Result<Vec<AgentFacts>, ApiError> {
        let tallies = self.registry.tallies().await?;
        Ok(self.registry.agents().await?.iter().map(|agent| self.agent_facts(agent, &tallies)).collect())
    }

    /// The agent of this name or id. Of several of one name the one with access, else the one that had it last.
    pub(crate) async fn find_agent(&self, text: &str) -> Result<Agent, ApiError> {
        let agents = self.registry.agents().await?;
        if let Some(agent) = best(&agents, text) {
            return Ok(agent.clone());
        }
        let names = agents.iter().filter(|agent| agent.revoked.is_none()).map(|agent| agent.name.as_str());
        let hint = if agents.is_empty() {
            "No agent was added yet: `taskwarden agents add NAME` adds one.".into()
        } else {
            did_you_mean(text, names).unwrap_or_else(|| "`taskwarden agents list` lists the agents.".into())
        };
        Err(ApiError::new(Code::NotFound, format!("there is no agent `{}`", short(text)), hint))
    }

    /// An agent as it is shown, with its figures out of those of all tasks.
    pub(crate) fn agent_facts(&self, agent: &Agent, tallies: &[TaskTally]) -> AgentFacts {
        let figures = TaskFigures::of(tallies.iter().filter(|tally| tally.agent == Some(agent.id)));
        let facts = AgentFacts {
            id: agent.id.to_string(),
            name: agent.name.clone(),
            created_at: iso(agent.created),
            revoked_at: agent.revoked.map(iso),
            seen_at: agent.seen.map(iso),
            client: agent.client.clone(),
            calls: agent.calls,
            open_tasks: figures.open,
            waiting: figures.needs_you,
            figures,
            task_tools: agent.task_tools,
            learned_timeout_ms: self.current_timeout(agent.learned_timeout),
            connected: false,
            connected_since: None,
            sessions: Vec::new(),
            token_made_at: iso(agent.token_made),
            paused: self.pause_of(PauseSubject::Agent(agent.id), &agent.name),
        };
        self.with_presence(agent.id, facts)
    }

    fn sessions_of(&self, id: AgentId) -> Vec<AgentSessionDto> {
        let open = self.engine().map(|engine| engine.agent_sessions(id)).unwrap_or_default();
        open.into_iter().take(self.policy.asking.agent_sessions_shown).map(AgentSessionDto::from).collect()
    }

    /// A learned timeout that still counts, in milliseconds.
    fn current_timeout(&self, learned: Option<LearnedTimeout>) -> Option<u64> {
        let current = learned.filter(|timeout| timeout.is_current(self.now(), &self.policy.gateway));
        current.and_then(|timeout| u64::try_from(timeout.after.as_millis()).ok())
    }

    /// The facts with what is only in memory.
    pub(crate) fn with_presence(&self, id: AgentId, facts: AgentFacts) -> AgentFacts {
        let Some(now) = self.engine().and_then(|engine| engine.presence(id)) else {
            return AgentFacts { connected: false, connected_since: None, sessions: Vec::new(), ..facts };
        };
        let connected = now.connected && facts.revoked_at.is_none();
        AgentFacts {
            // Both are written alike, so that the later one is the greater text.
            seen_at: now.seen.map(iso).max(facts.seen_at),
            client: now.client.or(facts.client),
            calls: now.calls.max(facts.calls),
            learned_timeout_ms: self.current_timeout(now.learned_timeout),
            connected,
            connected_since: now.connected_since.filter(|_| connected).map(iso),
            // Exactly one definition: an agent has sessions while it is connected.
            sessions: if connected { self.sessions_of(id) } else { Vec::new() },
            ..facts
        }
    }
}

/// The agent that is meant by a name or an id.
pub(crate) fn best<'a>(agents: &'a [Agent], text: &str) -> Option<&'a Agent> {
    let id = text.parse::<AgentId>().ok();
    let named = agents.iter().filter(|agent| Some(agent.id) == id || agent.name == text);
    named.max_by_key(|agent| (agent.revoked.is_none(), agent.created))
}

/// Where an agent reaches all servers over HTTP, and the settings for its program with this token.
fn settings_of(live: &LiveCore, agent: &str, token: &str, saved: Option<&str>) -> (Option<String>, ReadySettings) {
    let url = (live.agents_at)().url;
    let settings = program_settings::settings(SettingsInput {
        agent,
        token,
        connect: &live.connect,
        home: live.connect_home.as_deref(),
        url: url.as_deref(),
        saved,
    });
    (url, settings)
}

/// A new token: `twa_` and random bytes in base64url.
fn random_token(live: &LiveCore, bytes: usize) -> String {
    let mut random = Vec::with_capacity(bytes.saturating_add(16));
    while random.len() < bytes {
        random.extend((live.draw)().to_le_bytes());
    }
    random.truncate(bytes);
    format!("twa_{}", URL_SAFE_NO_PAD.encode(random))
}
