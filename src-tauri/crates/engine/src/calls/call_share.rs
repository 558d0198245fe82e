//! How many calls may be open on one server, and how many of them one agent may have.
//!
//! An agent gets a share, and a part is kept for people. Agent calls are counted from memory: rows that hold something
//! on the server, and pending calls without a row. A person's call is checked in `admission.rs`.

use std::sync::Weak;

use domain::ids::{AgentId, ServerId};

use crate::connections::task_needs::holds_server;
use crate::core::EngineCore;
use crate::error::EngineError;
use crate::runtime::gauges::Gauge;

/// Open calls on one server.
#[derive(Default)]
struct OpenCalls {
    all: u64,
    of_agents: u64,
    of_this_agent: u64,
}

/// Refuses a call of this agent that is beyond its share of the server, or beyond that of all agents.
pub(crate) fn check_agent_share(core: &EngineCore, server: ServerId, agent: AgentId) -> Result<(), EngineError> {
    let most = core.policy.open_calls_per_server;
    let (one, all) = (core.policy.shares.of_one_agent(most), core.policy.shares.of_all_agents(most));
    let pending = core.connections.in_flight_count(server);
    // An upper bound that costs nothing: rows that hold nothing any more are among these, and calls count twice.
    if core.ledger.count(server).saturating_add(u64::try_from(pending).unwrap_or(u64::MAX)) < one {
        return Ok(());
    }
    let open = count(core, server, Some(agent));
    if open.of_this_agent >= one {
        return Err(EngineError::OverShare { most: one });
    }
    if open.of_agents >= all || open.all >= most {
        return Err(EngineError::TooManyOpenCalls { most: all });
    }
    Ok(())
}

fn count(core: &EngineCore, server: ServerId, agent: Option<AgentId>) -> OpenCalls {
    let mut open = OpenCalls::default();
    let mut add = |of: Option<AgentId>| {
        open.all += 1;
        open.of_agents += u64::from(of.is_some());
        open.of_this_agent += u64::from(of.is_some() && of == agent);
    };
    core.ledger.of_server(server).iter().filter(|handle| holds_server(handle)).for_each(|handle| add(handle.agent));
    for connection in core.connections.of_server(server) {
        connection.agents_without_row().into_iter().for_each(&mut add);
    }
    open
}

/// Registers what is in use with [`crate::runtime::gauges::Gauges`].
pub(crate) fn gauge(core: &Weak<EngineCore>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    let most = core.policy.open_calls_per_server;
    let servers = core.connections.all().into_iter().filter(|connection| connection.key.seat.is_none());
    for connection in servers {
        let used = count(&core, connection.server, None).all;
        rows.push(Gauge::count("open calls", format!("server {}", connection.name()), used, most));
    }
    let keys = u64::try_from(core.connections.agent_connections()).unwrap_or(u64::MAX);
    let connections_most = u64::try_from(core.policy.gateway.lines_max).unwrap_or(u64::MAX);
    rows.push(Gauge::count("agents' own connections to servers", "everyone", keys, connections_most));
}
