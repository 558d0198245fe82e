//! What agents and servers have stored, and whose share is full.
//!
//! A share is full when more is stored than its limit and clean-up found nothing that may go; calls of its owner are
//! then refused before they leave. Until clean-up has looked, nobody is refused: an agent whose old tasks may go keeps
//! being served. What goes is decided by the registry.

use std::collections::{HashMap, HashSet};

use domain::ids::{AgentId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::StoredUse;
use domain::tokens::grouped;

/// Whose share is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaOwner {
    /// The share of one agent.
    Agent,
    /// The share of one server.
    Server,
    /// What there may be in all, of which this agent has the larger part.
    Everyone,
}

/// What a share counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuotaUnit {
    /// Bytes of the contents of tasks.
    Bytes,
    /// Stored tasks, open or over.
    Tasks,
}

/// A share of what is stored that is used up, and of which nothing may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Whose share it is.
    pub owner: QuotaOwner,
    /// What it counts in.
    pub unit: QuotaUnit,
    /// The most there may be.
    pub most: u64,
}

impl Quota {
    /// The sentence for people and agents.
    #[must_use]
    pub fn words(self) -> String {
        let whose = match self.owner {
            QuotaOwner::Agent => "this agent",
            QuotaOwner::Server => "this server",
            QuotaOwner::Everyone => "all agents together",
        };
        let most = self.most;
        let limit = match self.unit {
            QuotaUnit::Bytes if most >> 20 > 0 => {
                format!("what is stored of {whose} takes more than {} MiB", grouped(most >> 20))
            }
            QuotaUnit::Bytes => format!("what is stored of {whose} takes more than {} KiB", most >> 10),
            QuotaUnit::Tasks => format!("more than {} tasks of {whose} are stored", grouped(most)),
        };
        format!("{limit}, and nothing of it can be removed, because it is open, held, unanswered or undelivered")
    }

    /// The option of `taskwarden storage set` that raises it.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match (self.unit, self.owner) {
            (QuotaUnit::Bytes, QuotaOwner::Agent) => "--agent-size",
            (QuotaUnit::Bytes, QuotaOwner::Server) => "--server-size",
            (QuotaUnit::Bytes, QuotaOwner::Everyone) => "--payload-size",
            (QuotaUnit::Tasks, QuotaOwner::Agent) => "--agent-tasks",
            (QuotaUnit::Tasks, QuotaOwner::Server) => "--server-tasks",
            (QuotaUnit::Tasks, QuotaOwner::Everyone) => "--tasks",
        }
    }
}

/// Bytes and tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) bytes: u64,
    pub(crate) tasks: u64,
}

impl Stored {
    fn add(&mut self, used: &StoredUse) {
        self.bytes = self.bytes.saturating_add(used.bytes);
        self.tasks = self.tasks.saturating_add(used.tasks);
    }

    pub(crate) const fn of(self, unit: QuotaUnit) -> u64 {
        match unit {
            QuotaUnit::Bytes => self.bytes,
            QuotaUnit::Tasks => self.tasks,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Everyone,
    Agent(AgentId),
    Server(ServerId),
}

impl Owner {
    const fn limit(self, unit: QuotaUnit, limits: &RetentionPolicy) -> u64 {
        match (unit, self) {
            (QuotaUnit::Bytes, Self::Everyone) => limits.payload_bytes,
            (QuotaUnit::Bytes, Self::Agent(_)) => limits.agent_payload_bytes,
            (QuotaUnit::Bytes, Self::Server(_)) => limits.server_payload_bytes,
            (QuotaUnit::Tasks, Self::Everyone) => limits.tasks,
            (QuotaUnit::Tasks, Self::Agent(_)) => limits.agent_tasks,
            (QuotaUnit::Tasks, Self::Server(_)) => limits.server_tasks,
        }
    }
}

/// What is stored, as last summed up, and what of it is full.
#[derive(Debug, Default)]
pub(crate) struct StoredShares {
    pub(crate) agents: HashMap<AgentId, Stored>,
    pub(crate) servers: HashMap<ServerId, Stored>,
    pub(crate) all: Stored,
    of_agents: Stored,
    full: HashSet<(Owner, QuotaUnit)>,
}

impl StoredShares {
    /// Takes in new sums. What is within its limit again is full no longer.
    pub(crate) fn take(&mut self, used: &[StoredUse], limits: &RetentionPolicy) {
        (self.agents, self.servers) = (HashMap::new(), HashMap::new());
        (self.all, self.of_agents) = (Stored::default(), Stored::default());
        for used in used {
            if let Some(agent) = used.agent {
                self.agents.entry(agent).or_default().add(used);
                self.of_agents.add(used);
            }
            self.servers.entry(used.server).or_default().add(used);
            self.all.add(used);
        }
        let over = self.over(limits);
        self.full.retain(|share| over.contains(share));
    }

    fn over(&self, limits: &RetentionPolicy) -> HashSet<(Owner, QuotaUnit)> {
        let agents = self.agents.iter().map(|(agent, stored)| (Owner::Agent(*agent), *stored));
        let servers = self.servers.iter().map(|(server, stored)| (Owner::Server(*server), *stored));
        let owners = agents.chain(servers).chain([(Owner::Everyone, self.all)]);
        let mut over = HashSet::new();
        for (owner, stored) in owners {
            for unit in [QuotaUnit::Bytes, QuotaUnit::Tasks] {
                if stored.of(unit) > owner.limit(unit, limits) {
                    over.insert((owner, unit));
                }
            }
        }
        over
    }

    /// Whether anything is over its limit.
    pub(crate) fn is_over(&self, limits: &RetentionPolicy) -> bool {
        !self.over(limits).is_empty()
    }

    /// Whether anything is over its limit that clean-up has not looked at since.
    pub(crate) fn is_newly_over(&self, limits: &RetentionPolicy) -> bool {
        !self.over(limits).is_subset(&self.full)
    }

    /// Clean-up removed what may go, or may remove nothing now: what is still over its limit is full.
    pub(crate) fn close_full(&mut self, limits: &RetentionPolicy) {
        self.full = self.over(limits);
    }

    /// Whether any share is full.
    pub(crate) fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// The share for which a call of this agent on this server is refused.
    pub(crate) fn refusal(&self, agent: AgentId, server: ServerId, limits: &RetentionPolicy) -> Option<Quota> {
        let full = |owner: Owner, of: QuotaOwner| {
            [QuotaUnit::Bytes, QuotaUnit::Tasks]
                .into_iter()
                .find(|unit| self.full.contains(&(owner, *unit)) && self.is_concerned(owner, *unit, agent))
                .map(|unit| Quota { owner: of, unit, most: owner.limit(unit, limits) })
        };
        full(Owner::Agent(agent), QuotaOwner::Agent)
            .or_else(|| full(Owner::Server(server), QuotaOwner::Server))
            .or_else(|| full(Owner::Everyone, QuotaOwner::Everyone))
    }

    /// When everything is full, agents with less than an equal part of it go on: no agent uses up what others need.
    fn is_concerned(&self, owner: Owner, unit: QuotaUnit, agent: AgentId) -> bool {
        let its = self.agents.get(&agent).map_or(0, |stored| stored.of(unit));
        let agents = u64::try_from(self.agents.len()).unwrap_or(u64::MAX);
        owner != Owner::Everyone || (its > 0 && its.saturating_mul(agents) >= self.of_agents.of(unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RetentionPolicy {
        let bytes = RetentionPolicy { payload_bytes: 1_000, agent_payload_bytes: 500, ..RetentionPolicy::default() };
        RetentionPolicy { server_payload_bytes: 900, tasks: 100, agent_tasks: 50, server_tasks: 90, ..bytes }
    }

    fn used(agent: u128, server: u128, bytes: u64, tasks: u64) -> StoredUse {
        let agent = Some(AgentId::from_random(agent));
        StoredUse { server: ServerId::from_random(server), agent, bytes, tasks }
    }

    fn refused(shares: &StoredShares, agent: u128, server: u128) -> Option<QuotaOwner> {
        let refusal = shares.refusal(AgentId::from_random(agent), ServerId::from_random(server), &limits());
        refusal.map(|quota| quota.owner)
    }

    #[test]
    fn a_share_is_full_only_after_clean_up_found_nothing_to_remove() {
        let mut shares = StoredShares::default();
        shares.take(&[used(1, 1, 10, 51)], &limits());
        assert!(shares.is_newly_over(&limits()) && refused(&shares, 1, 1).is_none(), "clean-up looks first");
        shares.close_full(&limits());
        assert!(shares.is_over(&limits()) && !shares.is_newly_over(&limits()), "it is not tried at every check");
        let quota = Quota { owner: QuotaOwner::Agent, unit: QuotaUnit::Tasks, most: 50 };
        let refusal = shares.refusal(AgentId::from_random(1), ServerId::from_random(1), &limits());
        assert_eq!(refusal, Some(quota), "the limit is named");
        assert_eq!(refused(&shares, 2, 1), None, "another agent goes on");
        shares.take(&[used(1, 1, 10, 50)], &limits());
        assert_eq!(refused(&shares, 1, 1), None, "with room again so does this one");
    }

    #[test]
    fn a_full_server_is_refused_to_everybody_and_others_are_not() {
        let mut shares = StoredShares::default();
        shares.take(&[used(1, 1, 460, 1), used(2, 1, 460, 1), used(3, 2, 1, 1)], &limits());
        shares.close_full(&limits());
        assert_eq!(refused(&shares, 3, 1), Some(QuotaOwner::Server));
        assert_eq!(refused(&shares, 1, 2), None);
    }

    #[test]
    fn when_everything_is_full_agents_with_little_go_on() {
        let mut shares = StoredShares::default();
        shares.take(&[used(1, 1, 480, 1), used(2, 2, 480, 1), used(3, 3, 60, 1)], &limits());
        shares.close_full(&limits());
        let all = [1, 2, 3, 4].map(|agent| refused(&shares, agent, 4));
        assert_eq!(all, [Some(QuotaOwner::Everyone), Some(QuotaOwner::Everyone), None, None]);
    }
}
