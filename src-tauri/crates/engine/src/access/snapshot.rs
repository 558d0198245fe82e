//! Agents and rules in memory: who has access, and which rules hold for a call.
//!
//! The snapshot is replaced as a whole; readers keep the one they hold. It knows hashes of tokens, never a token. When
//! an agent was last active is in `presence.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::agent::{Agent, TokenDigest};
use domain::ids::{AgentId, ServerId};
use domain::ports::{Registry, RegistryError};
use domain::rule::{ResolvedRule, Rules};

/// All agents and rules at one moment.
#[derive(Debug, Default)]
pub struct AccessSnapshot {
    agents: HashMap<AgentId, Arc<Agent>>,
    /// Those with access, by what their token hashes to.
    tokens: HashMap<[u8; 32], Arc<Agent>>,
    /// Those that lost it, by the same.
    revoked: HashMap<[u8; 32], Arc<Agent>>,
    rules: Arc<Rules>,
}

impl AccessSnapshot {
    /// Reads the registry.
    pub(crate) async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        let rules = Arc::new(Rules::new(registry.rules().await?));
        let agents: Vec<Arc<Agent>> = registry.agents().await?.into_iter().map(Arc::new).collect();
        let with_access = agents.iter().filter(|agent| agent.revoked.is_none());
        let tokens = with_access.map(|agent| (agent.token.0, Arc::clone(agent))).collect();
        let without_access = agents.iter().filter(|agent| agent.revoked.is_some());
        let revoked = without_access.map(|agent| (agent.token.0, Arc::clone(agent))).collect();
        Ok(Self { tokens, revoked, rules, agents: agents.into_iter().map(|agent| (agent.id, agent)).collect() })
    }

    /// The agent that a token proves, if it has access. The search is over hashes, of which a stranger can choose none;
    /// what is found is compared in constant time.
    #[must_use]
    pub fn by_token(&self, token: &TokenDigest) -> Option<Arc<Agent>> {
        self.tokens.get(&token.0).filter(|agent| agent.token == *token).cloned()
    }

    /// The agent that a token proved before it lost its access. An agent with the same token that has access counts first.
    #[must_use]
    pub fn revoked_by_token(&self, token: &TokenDigest) -> Option<Arc<Agent>> {
        self.revoked.get(&token.0).filter(|agent| agent.token == *token).cloned()
    }

    /// An agent, also one that lost its access.
    #[must_use]
    pub fn get(&self, id: AgentId) -> Option<Arc<Agent>> {
        self.agents.get(&id).cloned()
    }

    /// Whether this agent has access.
    #[must_use]
    pub fn has_access(&self, id: AgentId) -> bool {
        self.agents.get(&id).is_some_and(|agent| agent.revoked.is_none())
    }

    /// All agents ever added, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Agent>> {
        let mut all: Vec<_> = self.agents.values().cloned().collect();
        all.sort_by(|one, other| (&one.name, one.created, one.id).cmp(&(&other.name, other.created, other.id)));
        all
    }

    /// All rules, of every scope.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// What holds for a call.
    pub(crate) fn resolve(&self, agent: AgentId, server: ServerId, tool: &str) -> ResolvedRule {
        if self.rules.all().is_empty() { ResolvedRule::default() } else { self.rules.resolve(agent, server, tool) }
    }
}
