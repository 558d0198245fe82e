//! How much is stored and how many questions are open, as gauges of their limits.
//!
//! Of agents, servers and tasks the fullest one is shown. What is stored is as last summed up by the clean-up.

use std::sync::Weak;

use domain::ids::ServerId;

use crate::core::EngineCore;
use crate::runtime::gauges::{Gauge, GaugeUnit};
use crate::tasks::stored_shares::{QuotaUnit, Stored};

/// Registers both with [`crate::runtime::gauges::Gauges`].
pub(crate) fn gauge(core: &Weak<EngineCore>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    stored(&core, rows);
    questions(&core, rows);
}

fn stored(core: &EngineCore, rows: &mut Vec<Gauge>) {
    let agents = core.access.snapshot();
    let fullest = core.retention.read(|shares, limits| {
        let most_of = |unit: QuotaUnit| {
            // Of two that are as full the same one is shown each time.
            let agent = shares.agents.iter().max_by_key(|(id, stored)| (stored.of(unit), **id));
            let server = shares.servers.iter().max_by_key(|(id, stored)| (stored.of(unit), **id));
            let agent = agent.map(|(id, stored)| (*id, *stored));
            let server = server.map(|(id, stored)| (*id, *stored));
            (unit, shares.all, agent, server)
        };
        ([QuotaUnit::Bytes, QuotaUnit::Tasks].map(most_of), limits.clone())
    });
    let (units, limits) = fullest;
    for (unit, all, agent, server) in units {
        let (name, kind, [of_all, of_agent, of_server]) = match unit {
            QuotaUnit::Bytes => (
                "stored contents of tasks",
                GaugeUnit::Bytes,
                [limits.payload_bytes, limits.agent_payload_bytes, limits.server_payload_bytes],
            ),
            QuotaUnit::Tasks => {
                ("stored tasks", GaugeUnit::Count, [limits.tasks, limits.agent_tasks, limits.server_tasks])
            }
        };
        let row = |scope: String, stored: Stored, most| Gauge { name, scope, used: stored.of(unit), most, unit: kind };
        rows.push(row("everyone".into(), all, of_all));
        if let Some((agent, stored)) = agent {
            let agent = agents.get(agent).map_or_else(|| agent.to_string(), |known| known.name.to_string());
            rows.push(row(format!("agent {agent}"), stored, of_agent));
        }
        if let Some((server, stored)) = server {
            rows.push(row(server_scope(core, server), stored, of_server));
        }
    }
}

fn questions(core: &EngineCore, rows: &mut Vec<Gauge>) {
    const NAME: &str = "open questions";
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    if let Some((server, open)) = core.ledger.most_questions_of_server() {
        let most = wide(core.policy.open_questions_per_server);
        rows.push(Gauge::count(NAME, server_scope(core, server), wide(open), most));
    }
    if let Some((task, open)) = core.ledger.most_questions_of_task() {
        rows.push(Gauge::count(NAME, format!("task {task}"), wide(open), wide(core.policy.open_questions_per_task)));
    }
}

/// `server NAME`; the id of one that is not connected any more.
fn server_scope(core: &EngineCore, server: ServerId) -> String {
    let connection = core.connections.all().into_iter().find(|connection| connection.server == server);
    connection.map_or_else(|| format!("server {server}"), |connection| format!("server {}", connection.name()))
}
