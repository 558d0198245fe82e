//! The agents and rules of one feed: as told, and what may have moved since.
//!
//! Counts of tasks are read again only for agents whose tasks changed; when an agent was last heard of and how often it
//! called is in memory and looked at on a tick. What is said of an agent is `calls/agents.rs`'s.

use std::collections::{BTreeMap, BTreeSet};

use domain::task::figures::TaskTally;
use domain::ids::AgentId;

use crate::api::Api;
use crate::dto::{AgentFacts, RuleDto};
use crate::error::ApiError;
use crate::frame::Delta;

/// Agents and rules of one feed.
#[derive(Default)]
pub(super) struct Agents {
    told: BTreeMap<AgentId, AgentFacts>,
    rules: Vec<RuleDto>,
    /// Agents whose counts may have moved.
    stale: BTreeSet<AgentId>,
}

impl Agents {
    /// Reads everything.
    pub(super) async fn read(&mut self, api: &Api, tallies: &[TaskTally]) -> Result<(), ApiError> {
        self.told.clear();
        for agent in api.registry.agents().await? {
            self.told.insert(agent.id, api.agent_facts(&agent, tallies));
        }
        self.rules = api.all_rules().await?;
        Ok(())
    }

    /// All agents, those with access first, by name.
    pub(super) fn all(&self) -> Vec<AgentFacts> {
        let mut all: Vec<_> = self.told.values().cloned().collect();
        all.sort_by(|a, b| (a.revoked_at.is_some(), &a.name).cmp(&(b.revoked_at.is_some(), &b.name)));
        all
    }

    /// All rules.
    pub(super) fn rules(&self) -> Vec<RuleDto> {
        self.rules.clone()
    }

    /// A task of this agent changed.
    pub(super) fn task_changed(&mut self, agent: Option<AgentId>) {
        self.stale.extend(agent);
    }

    /// Whether counts wait to be read.
    pub(super) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Agents or rules changed.
    pub(super) async fn changed(
        &mut self,
        api: &Api,
        ids: Vec<AgentId>,
        tallies: &[TaskTally],
        delta: &mut Delta,
    ) -> Result<(), ApiError> {
        self.stale.extend(ids);
        // The tallies may be older than the change: what is told now is counted again with the next ones.
        let again = self.stale.clone();
        self.count(api, tallies, delta).await?;
        self.stale = again;
        self.reread_rules(api, delta).await
    }

    /// The rules may be others, or those they speak of have other names.
    pub(super) async fn reread_rules(&mut self, api: &Api, delta: &mut Delta) -> Result<(), ApiError> {
        let rules = api.all_rules().await?;
        if rules != self.rules {
            self.rules = rules.clone();
            delta.rules = Some(rules);
        }
        Ok(())
    }

    /// Tells the figures of agents that may have moved.
    pub(super) async fn count(&mut self, api: &Api, tallies: &[TaskTally], delta: &mut Delta) -> Result<(), ApiError> {
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
    pub(super) fn listen(&mut self, api: &Api, delta: &mut Delta) {
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

    fn tell(&mut self, id: AgentId, facts: AgentFacts, delta: &mut Delta) {
        if self.told.get(&id) != Some(&facts) {
            delta.agents.retain(|told| told.id != facts.id);
            delta.agents.push(facts.clone());
            self.told.insert(id, facts);
        }
    }
}
