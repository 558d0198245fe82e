//! Ends server processes that an earlier core left behind, and records it (ruling 15).
//!
//! Those without a keeper end before the core starts. Those with one wait for a core (ruling 16); when no server and no
//! agent of today can claim such a child, because a person removed it, no core will come for it, and it is ended now. The
//! child of a revoked agent with open tasks is told by the engine to cancel them, and ended then.
//! Which child belongs to a server of today is decided in `mcp`.

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, ServerId};
use domain::ports::{Clock, Registry, RegistryError, TaskQuery};
use domain::server::{Server, ServerAddress};
use domain::task::status::Phase;
use engine::runtime::supervisor::Supervisor;
use keeper::RuntimeDir;
use mcp::upstream::kept_child_name;

use crate::config::Config;

/// Ends what nobody keeps, and in the background what nobody claims.
///
/// # Errors
/// When the registry cannot be read or written.
pub(crate) async fn end_all(
    config: &Config,
    registry: &Arc<dyn Registry>,
    clock: &Arc<dyn Clock>,
    supervisor: &Supervisor,
) -> Result<(), RegistryError> {
    let mut ended = keeper::end_recorded_children(&config.paths.children(), &config.policy).await;
    ended.extend(keeper::end_abandoned_children(&config.paths.keepers(), &config.policy).await);
    let servers = registry.servers().await?;
    let mut facts = Vec::new();
    for process in ended {
        tracing::info!(process = process.pid, "a leftover server process of an earlier run was ended");
        let started_by = servers.iter().find(|server| match &server.address {
            ServerAddress::Stdio { command, .. } => *command == process.command,
            ServerAddress::Http { .. } => false,
        });
        if let Some(server) = started_by {
            let note = format!("process {} of an earlier run", process.pid);
            facts.push(fact(Subject::Server(server.id), note, clock.as_ref()));
        }
    }
    if !facts.is_empty() {
        registry.record(facts).await?;
    }
    end_unclaimed(config, registry, clock, supervisor, &servers).await
}

/// The folders are listed before anything is started: a child that is started from now on is none of them.
async fn end_unclaimed(
    config: &Config,
    registry: &Arc<dyn Registry>,
    clock: &Arc<dyn Clock>,
    supervisor: &Supervisor,
    servers: &[Server],
) -> Result<(), RegistryError> {
    let mut claiming = Vec::new();
    for agent in registry.agents().await? {
        // A child that still works on tasks of a revoked agent is told to cancel them before it ends.
        if agent.revoked.is_none() || has_work(registry, agent.id).await? {
            claiming.push(agent.id);
        }
    }
    let has_child = |server: &&Server| match server.address {
        ServerAddress::Stdio { .. } => true,
        ServerAddress::Http { .. } => false,
    };
    let servers: Vec<ServerId> = servers.iter().filter(has_child).map(|server| server.id).collect();
    let names = claimed_names(&servers, &claiming);
    let left = keeper::unclaimed_children(&config.paths.keepers(), names.iter().map(String::as_str));
    if left.is_empty() {
        return Ok(());
    }
    let (registry, clock, policy) = (Arc::clone(registry), Arc::clone(clock), config.policy.clone());
    supervisor.spawn("children of removed servers", async move {
        let ending = left.iter().map(|place: &RuntimeDir| place.end_unclaimed(&policy));
        let mut facts = Vec::new();
        for process in futures::future::join_all(ending).await.into_iter().flatten() {
            tracing::info!(process = process.pid, "a process of a server that was removed, or of an agent, was ended");
            let note = format!("process {} of a server or agent that was removed", process.pid);
            facts.push(fact(Subject::Store, note, clock.as_ref()));
        }
        if !facts.is_empty()
            && let Err(error) = registry.record(facts).await
        {
            tracing::warn!(%error, "the end of processes of removed servers could not be recorded");
        }
    });
    Ok(())
}

/// Whether a task of this agent is open.
async fn has_work(registry: &Arc<dyn Registry>, agent: AgentId) -> Result<bool, RegistryError> {
    let phases = Phase::ALL.into_iter().filter(|phase| !phase.is_over()).collect();
    let open = TaskQuery { phases, agent: Some(agent), limit: 1, ..TaskQuery::default() };
    Ok(!registry.list(open).await?.rows.is_empty())
}

/// The names of all children that a core of today may ask for.
fn claimed_names(servers: &[ServerId], agents: &[AgentId]) -> Vec<String> {
    let seats = || std::iter::once(None).chain(agents.iter().copied().map(Some));
    servers.iter().flat_map(|server| seats().map(|seat| kept_child_name(*server, seat))).collect()
}

fn fact(subject: Subject, note: String, clock: &dyn Clock) -> AuditEvent {
    AuditEvent { at: clock.now(), actor: Actor::System("compose"), verb: Verb::ProcessEnded, subject, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_child_of_a_server_and_that_of_each_agent_are_claimed() {
        let (server, agent) = (ServerId::from_random(1), AgentId::from_random(3));
        let expected = vec![server.to_string(), format!("{server} {agent}")];
        assert_eq!(claimed_names(&[server], &[agent]), expected);
    }
}
