//! How many calls may be open on one server, and who may use how many of them.
//!
//! One agent gets a share, and a part is kept for people, so that no agent can use up what others need. Calls of agents
//! are counted from memory: rows that hold something on the server, and pending calls that have no row yet. Calls of
//! people are admitted in `admission.rs`.

use std::sync::Weak;

use domain::ids::{AgentId, ServerId};

use crate::admission::holds_server;
use crate::core::Core;
use crate::engine::EngineError;
use crate::gauge::Gauge;

/// Open calls on one server.
#[derive(Default)]
struct OpenCalls {
    all: u64,
    of_agents: u64,
    of_this_agent: u64,
}

/// Refuses a call of this agent that is beyond its share of the server, or beyond that of all agents.
pub(crate) fn check_agent_share(core: &Core, server: ServerId, agent: AgentId) -> Result<(), EngineError> {
    let most = core.policy.open_calls_per_server;
    let (one, all) = (core.policy.shares.of_one_agent(most), core.policy.shares.of_all_agents(most));
    let pending: usize = core.posts.of_server(server).iter().map(|post| post.flying()).sum();
    // An upper bound that costs nothing: rows that hold nothing any more are among these, and calls count twice.
    if core.ledger.count(server).saturating_add(u64::try_from(pending).unwrap_or(u64::MAX)) < one {
        return Ok(());
    }
    let open = count(core, server, Some(agent));
    if open.of_this_agent >= one {
        return Err(EngineError::OverShare { most: one });
    }
    if open.of_agents >= all || open.all >= most {
        return Err(EngineError::OverBudget { most: all });
    }
    Ok(())
}

fn count(core: &Core, server: ServerId, agent: Option<AgentId>) -> OpenCalls {
    let mut open = OpenCalls::default();
    let mut add = |of: Option<AgentId>| {
        open.all += 1;
        open.of_agents += u64::from(of.is_some());
        open.of_this_agent += u64::from(of.is_some() && of == agent);
    };
    core.ledger.of_server(server).iter().filter(|handle| holds_server(handle)).for_each(|handle| add(handle.agent));
    for post in core.posts.of_server(server) {
        post.agents_without_row().into_iter().for_each(&mut add);
    }
    open
}

/// Registers what is in use with [`crate::gauge::Gauges`].
pub(crate) fn gauge(core: &Weak<Core>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    let most = core.policy.open_calls_per_server;
    let servers = core.posts.all().into_iter().filter(|post| post.line.seat.is_none());
    for post in servers {
        let used = count(&core, post.server, None).all;
        rows.push(Gauge::count("open calls", format!("server {}", post.name()), used, most));
    }
    let lines = u64::try_from(core.posts.seats()).unwrap_or(u64::MAX);
    let lines_most = u64::try_from(core.policy.gateway.lines_max).unwrap_or(u64::MAX);
    rows.push(Gauge::count("agents' own connections to servers", "everyone", lines, lines_most));
}
