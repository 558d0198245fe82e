//! A new token for an agent, shown once. The one before opens nothing from then on.
//!
//! Sessions that were opened with it end; the agent's tasks go on and stay its own. Where `taskwarden connect` finds the
//! token in a file, the host writes the new one there.

use domain::agent::TokenDigest;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{random_token, settings_of};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{AgentFacts, OneAgent, ReadySettings};
use crate::error::ApiError;

/// The new token of an agent. Has no `Debug`: it carries the token.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewAgentToken {
    pub agent: AgentFacts,
    /// Its token, `twa_…`; nobody can show it again.
    pub token: String,
    /// Where it reaches all servers over HTTP; null when no address is open.
    pub url: Option<String>,
    /// Settings for the agent's program, with the token.
    pub settings: ReadySettings,
    /// The file with the token for `taskwarden connect`, where it now has the new one; null where there is none.
    pub saved_in: Option<String>,
    /// Sessions that were open with the token before.
    pub ended_sessions: u64,
}

impl Api {
    /// Replaces an agent's token, and gives the new one this once.
    ///
    /// # Errors
    /// When there is no such agent with access, or it cannot be recorded: then the old token still counts.
    pub async fn agent_new_token(&self, caller: &Caller, input: OneAgent) -> Result<NewAgentToken, ApiError> {
        let live = self.live()?;
        let agent = self.agent_with_access(&input.agent).await?;
        let ended = live.engine.agent_sessions(agent.id).len();
        let token = random_token(live, self.policy.gateway.token_bytes);
        let agent = live.engine.replace_agent_token(agent.id, TokenDigest::of(&token), caller.person.clone()).await?;
        let saved_in = live.doors.save_again(&agent.name, &token);
        let (url, settings) = settings_of(live, &agent.name, &token, saved_in.as_deref());
        let agent = self.agent_facts(&agent, &self.registry.tallies().await?);
        let ended_sessions = u64::try_from(ended).unwrap_or(u64::MAX);
        Ok(NewAgentToken { agent, token, url, settings, saved_in, ended_sessions })
    }
}
