//! The lines of a bridge count against the request budget, like bodies over HTTP: until the work on them ends.
//!
//! The lines are read and refused by `mcp/server/stdio.rs`. Read `request_budget.rs` for the limits.

use std::sync::Arc;

use domain::ids::AgentId;
use mcp::server::{LineBudget, LineBytes};

use crate::agent_access::request_budget::{HeldBytes, Holder, RequestBudget};

/// Counts what one agent sends over its bridges.
pub(crate) struct PipeBudget {
    requests: RequestBudget,
    agent: AgentId,
}

impl PipeBudget {
    /// Counts for this agent.
    pub(crate) fn new(requests: &RequestBudget, agent: AgentId) -> Arc<Self> {
        Arc::new(Self { requests: requests.clone(), agent })
    }
}

impl LineBudget for PipeBudget {
    fn begin_line(&self) -> Arc<dyn LineBytes> {
        self.requests.hold(Holder::Agent(self.agent))
    }
}

impl LineBytes for HeldBytes {
    fn grow(&self, bytes: usize) -> bool {
        Self::grow(self, bytes)
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::{Policy, SharePolicy};

    use super::*;

    #[test]
    fn a_line_counts_for_its_agent_together_with_its_bodies_until_it_is_dropped() {
        let shares = SharePolicy { body_bytes_max: 40, ..SharePolicy::default() };
        let requests = RequestBudget::new(&Policy { shares, ..Policy::default() });
        let agent = AgentId::from_random(1);
        let body = requests.hold(Holder::Agent(agent));
        assert!(body.grow(4), "a body over HTTP");
        let line = PipeBudget::new(&requests, agent).begin_line();
        assert!(line.grow(5) && !line.grow(2), "ten bytes are its share");
        let other = PipeBudget::new(&requests, AgentId::from_random(2)).begin_line();
        assert!(other.grow(10), "another agent has its own");
        drop(line);
        assert!(PipeBudget::new(&requests, agent).begin_line().grow(6), "what was counted is given back");
    }
}
