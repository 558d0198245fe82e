//! The agents and rules of one feed: what was sent, and what may have changed since.
//!
//! Task counts are read again only for agents whose tasks changed; presence and call counts are in memory and checked on a
//! timer. What is shown of an agent is decided in `calls/agents.rs`.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::AgentId;
use domain::task::figures::TaskTally;

use crate::api::Api;
use crate::dto::{AgentFacts, RuleDto};
use crate::error::ApiError;
use crate::feed::frame::FeedDelta;

/// Agents and rules of one feed.
#[derive(Default)]
pub(crate) struct FeedAgents {
    told: BTreeMap<AgentId, AgentFacts>,
    rules: Vec<RuleDto>,
    /// Agents whose counts may have moved.
    stale: BTreeSet<AgentId>,
}

impl FeedAgents {
    pub(crate) async fn read(&mut self, api: &Api, tallies: &[TaskTally]) -> Result<(), ApiError> {
        self.told.clear();
        for agent in api.registry.agents().await? {
            self.told.insert(agent.id, api.agent_facts(&agent, tallies));
        }
        self.rules = api.all_rules().await?;
        Ok(())
    }

    /// All agents, those with access first, by name.
    pub(crate) fn all(&self) -> Vec<AgentFacts> {
        let mut all: Vec<_> = self.told.values().cloned().collect();
        all.sort_by(|a, b| (a.revoked_at.is_some(), &a.name).cmp(&(b.revoked_at.is_some(), &b.name)));
        all
    }

    pub(crate) fn rules(&self) -> Vec<RuleDto> {
        self.rules.clone()
    }

    /// A task of this agent changed.
    pub(crate) fn task_changed(&mut self, agent: Option<AgentId>) {
        self.stale.extend(agent);
    }

    /// The figures of every agent may have changed.
    pub(crate) fn all_changed(&mut self) {
        self.stale.extend(self.told.keys());
    }

    /// Whether counts wait to be read.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Agents or rules changed.
    pub(crate) async fn changed(
        &mut self,
        api: &Api,
        ids: Vec<AgentId>,
        tallies: &[TaskTally],
        delta: &mut FeedDelta,
    ) -> Result<(), ApiError> {
        self.stale.extend(ids);
        // The tallies may be older than the change: what is told now is counted again with the next ones.
        let again = self.stale.clone();
        self.count(api, tallies, delta).await?;
        self.stale = again;
        self.reread_rules(api, delta).await
    }

    /// The rules may be others, or those they speak of have other names.
    pub(crate) async fn reread_rules(&mut self, api: &Api, delta: &mut FeedDelta) -> Result<(), ApiError> {
        let rules = api.all_rules().await?;
        if rules != self.rules {
            self.rules = rules.clone();
            delta.rules = Some(rules);
        }
        Ok(())
    }

    /// Tells the figures of agents that may have moved.
    pub(crate) async fn count(
        &mut self,
        api: &Api,
        tallies: &[TaskTally],
        delta: &mut FeedDelta,
    ) -> Result<(), ApiError> {
        let stale = std::mem::take(&mut self.stale);
        if stale.is_empty() {
            return Ok(());
        }
        for agent in api.registry.agents().await? {
            if stale.contains(&agent.id) {
                let facts = api.agent_facts(&agent, tallies);
                self.tell(agent.id, facts, delta);
            }
        }
        Ok(())
    }

    /// Looks at what is only in memory: when agents were last heard of, and their calls.
    pub(crate) fn listen(&mut self, api: &Api, delta: &mut FeedDelta) {
        let heard: Vec<_> = self
            .told
            .iter()
            .filter(|(_, facts)| facts.revoked_at.is_none())
            .map(|(id, facts)| (*id, api.with_presence(*id, facts.clone())))
            .collect();
        for (id, facts) in heard {
            self.tell(id, facts, delta);
        }
    }

    fn tell(&mut self, id: AgentId, facts: AgentFacts, delta: &mut FeedDelta) {
        if self.told.get(&id) != Some(&facts) {
            delta.agents.retain(|told| told.id != facts.id);
            delta.agents.push(facts.clone());
            self.told.insert(id, facts);
        }
    }
}
