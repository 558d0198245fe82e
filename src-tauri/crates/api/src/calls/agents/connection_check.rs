//! Checks the ways by which an agent reaches its servers: both doors are tried now, the rest is what the core saw.
//!
//! It tells what was found and leaves the words to whoever shows it. A token cannot be tried, because the core has only
//! its digest; that a request came with it is the proof.

use std::time::Duration;

use domain::client::profile::{self, CallTimeout};
use domain::ports::PortFuture;
use engine::AgentDoor;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::agent::AgentDoorDto;
use crate::dto::server::HealthKind;
use crate::dto::{OneAgent, iso};
use crate::error::ApiError;

/// The doors of agents, as the host knows them.
pub trait AgentDoors: Send + Sync + 'static {
    /// Connects to the address of agents over HTTP as an agent's program would, without a token. `None` when no address
    /// is open.
    fn try_http(&self) -> PortFuture<'_, Option<TriedDoor>>;
    /// Connects to the core's own socket, as `taskwarden connect` does.
    fn try_socket(&self) -> PortFuture<'_, TriedDoor>;
    /// Writes the token where `taskwarden connect` finds the token of this agent, when there is one already. Returns the
    /// file.
    fn save_again(&self, agent: &str, token: &str) -> Option<String>;
}

/// What came of trying a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedDoor {
    /// Time until it answered, or until it was given up.
    pub took: Duration,
    /// Why it did not answer as it should, as a sentence.
    pub why: Option<String>,
}

/// What a check of an agent's connection found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionCheck {
    pub checked_at: String,
    /// The address of agents over HTTP; null when none is open.
    pub url: Option<String>,
    /// Why none is open, as a sentence; null when it is turned off or there is one.
    pub url_why: Option<String>,
    /// The listener at that address, tried now; null when none is open.
    pub http: Option<TriedDoorDto>,
    /// The core's own socket for `taskwarden connect`, tried now.
    pub command: TriedDoorDto,
    /// When its last request came; null when none ever did.
    pub seen_at: Option<String>,
    /// The door of that request; null when it was before this core was started.
    #[ts(type = "\"command\" | \"http\" | null")]
    pub seen_through: Option<AgentDoorDto>,
    /// Whether a request came with its token since that was made.
    pub token_used: bool,
    /// Servers that can be called now.
    pub servers_up: u64,
    pub servers: u64,
    /// The others, with the reason where one is known; at most a page.
    pub servers_down: Vec<ServerDownDto>,
    /// After this its program gives up a call; null where that is not known.
    pub waits_ms: Option<u64>,
    /// Whether that was seen here; otherwise it is what is known of its program.
    pub waits_learned: bool,
}

/// A door that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TriedDoorDto {
    /// Time until it answered, or until it was given up.
    pub took_ms: u64,
    /// Why it did not answer as it should, as a sentence; null when it did.
    pub why: Option<String>,
}

/// A server that cannot be called now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerDownDto {
    pub name: String,
    pub why: Option<String>,
}

impl From<TriedDoor> for TriedDoorDto {
    fn from(tried: TriedDoor) -> Self {
        Self { took_ms: u64::try_from(tried.took.as_millis()).unwrap_or(u64::MAX), why: tried.why }
    }
}

impl Api {
    /// Checks how an agent reaches its servers.
    ///
    /// # Errors
    /// When there is no such agent with access, or the registry cannot be read.
    pub async fn agent_check(&self, caller: &Caller, input: OneAgent) -> Result<ConnectionCheck, ApiError> {
        let live = self.live()?;
        let agent = self.agent_with_access(&input.agent).await?;
        let (http, command) = futures::join!(live.doors.try_http(), live.doors.try_socket());
        let servers = self.server_list(caller, Nothing {}).await?.servers;
        let all = servers.len();
        let down: Vec<_> =
            servers.into_iter().filter(|server| !server.agreed || server.health.kind != HealthKind::Up).collect();
        let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let presence = live.engine.presence(agent.id);
        let seen = presence.as_ref().and_then(|presence| presence.seen).max(agent.seen);
        let door = presence.as_ref().and_then(|presence| presence.door);
        let learned = live.engine.learned_timeout(agent.id);
        let program = presence.and_then(|presence| presence.client).or(agent.client);
        let set = agent.meter.program.as_deref().and_then(profile::of_word);
        let profile = set.unwrap_or_else(|| profile::of_client(program.as_deref()));
        let CallTimeout { after, .. } = if door == Some(AgentDoor::Command) { profile.stdio } else { profile.http };
        // Of a program that is not in the table, only the careful guess is known, and that is nothing to tell.
        let stated = (profile.word != profile::UNKNOWN.word).then_some(after);
        let at = (live.agents_at)();
        let named = down.iter().take(self.policy.asking.agent_sessions_shown);
        Ok(ConnectionCheck {
            checked_at: iso(self.now()),
            url: at.url,
            url_why: at.why,
            http: http.map(TriedDoorDto::from),
            command: command.into(),
            seen_at: seen.map(iso),
            seen_through: door.map(AgentDoorDto::from),
            token_used: seen.is_some_and(|seen| seen > agent.token_made),
            servers_up: count(all.saturating_sub(down.len())),
            servers: count(all),
            servers_down: named
                .map(|server| ServerDownDto { name: server.name.clone(), why: server.health.why.clone() })
                .collect(),
            waits_ms: learned.or(stated).and_then(|after| u64::try_from(after.as_millis()).ok()),
            waits_learned: learned.is_some(),
        })
    }
}
