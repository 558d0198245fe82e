//! Gives an agent a new token. The one before opens nothing from then on, and what was opened with it ends.
//!
//! The agent's row is stored first. Its tasks go on and stay its own; whoever serves agents ends their connections
//! (`mcp::gateway`). The token itself is never here, only its digest. Taking access away is `decisions/revoke.rs`.

use domain::agent::{Agent, TokenDigest};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, PersonId};
use domain::ports::AgentUnit;

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Replaces the token of an agent.
    ///
    /// # Errors
    /// When there is no such agent, it has no access, or its row cannot be stored: then the old token counts.
    pub async fn replace_agent_token(
        &self,
        id: AgentId,
        token: TokenDigest,
        by: PersonId,
    ) -> Result<Agent, EngineError> {
        let core = &self.core;
        let known = core.registry.agents().await?.into_iter().find(|agent| agent.id == id);
        let agent = known.filter(|agent| agent.revoked.is_none()).ok_or(EngineError::UnknownAgent)?;
        let now = core.time.now();
        // Later than the token before even if the clock stands or was set back: the later one is the one that counts.
        let token_made = now.max(agent.token_made.shifted(1));
        let fact = AuditEvent {
            at: now,
            actor: Actor::Person(by),
            verb: Verb::AgentTokenReplaced,
            subject: Subject::Agent(id),
            note: agent.name.clone(),
        };
        let agent = Agent { token, token_made, ..agent };
        core.effects.commits.committed(
            core.registry.put_agent(AgentUnit { agent: agent.clone(), audit: vec![fact], ended_pause: None }).await?,
        );
        core.refresh_access().await?;
        Ok(agent)
    }
}
