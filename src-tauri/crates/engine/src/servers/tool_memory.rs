//! Compares the tools that a server lists with those that a person last saw.
//!
//! Whenever tools are listed, what is remembered is brought up to date; a server that says that its tools changed is
//! asked for them, at most once in `Policy::tool_memory.check_every`. No call waits for this or is refused by it.

pub(crate) mod confirmed;

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{PersonId, ServerId};
use domain::ports::{RegistryError, ToolFacts};
use domain::server::tool_memory::{ToolMemory, ToolMemoryUnit};
use tokio::time::Instant;

use crate::connections::observed::ObservedServer;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::actor::ServerActor;
use crate::servers::state::finished_job::FinishedJob;

/// Brings what is remembered up to date with what was listed, and gives it. What cannot be stored is compared all the
/// same, and stored with the next listing.
pub(crate) async fn remember(
    core: &EngineCore,
    observed: &ObservedServer,
    server: ServerId,
    tools: &[ToolFacts],
) -> Result<ToolMemory, RegistryError> {
    let mut rows = observed.tools.turn.lock().await;
    let before = core.registry.tool_memory(server).await?;
    let listed = tools.iter().map(|tool| (tool.name.as_str(), &*tool.definition));
    let limits = &core.policy.tool_memory;
    let mut next = ToolMemory::listed(before.as_ref(), listed, core.time.now(), limits);
    confirmed::listed(core, server, &next);
    // A change that comes too soon for a row keeps `told`: a later listing, also of a later run, gives it its row.
    let gets_row = next.told.is_some() && rows.is_due(limits.check_every);
    if gets_row {
        next.told = None;
    }
    let fact = gets_row.then(|| fact(core, server, Actor::Server(server), Verb::ToolsChanged, &next));
    if store(core, observed, server, before.as_ref(), &next, fact).await && gets_row {
        rows.recorded();
    }
    Ok(next)
}

fn fact(core: &EngineCore, server: ServerId, actor: Actor, verb: Verb, tools: &ToolMemory) -> AuditEvent {
    let note = tools.changes_note(&core.policy.tool_memory);
    AuditEvent { at: core.time.now(), actor, verb, subject: Subject::Server(server), note }
}

/// Stores what changed with its row of the audit log; whether that succeeded.
async fn store(
    core: &EngineCore,
    observed: &ObservedServer,
    server: ServerId,
    before: Option<&ToolMemory>,
    next: &ToolMemory,
    fact: Option<AuditEvent>,
) -> bool {
    // Where the log has a row of another list, or will have one of this list, what is remembered differs in that.
    let stored = match next.unit_since(before, server) {
        Some(unit) => core.registry.put_tool_memory(ToolMemoryUnit { audit: fact.into_iter().collect(), ..unit }).await,
        None => Ok(()),
    };
    if let Err(error) = &stored {
        tracing::warn!(%error, "what a server lists as its tools could not be stored");
    }
    let changed = u64::try_from(next.changes().count()).unwrap_or(u64::MAX);
    if observed.tools.set_count(changed) {
        core.effects.commits.health_changed(server);
    }
    stored.is_ok()
}

impl Engine {
    /// A person has seen what is listed now, as this digest names it; whether that is still what is listed.
    ///
    /// # Errors
    /// When it cannot be read or stored.
    pub async fn see_tools(&self, id: ServerId, digest: &str, by: PersonId) -> Result<bool, EngineError> {
        let core = &self.core;
        let observed = core.connections.observed(id, &core.policy);
        let mut rows = observed.tools.turn.lock().await;
        let Some(before) = core.registry.tool_memory(id).await? else { return Ok(false) };
        if before.digest() != digest {
            return Ok(false);
        }
        let next = before.seen_by(by.clone(), core.time.now());
        if let Some(unit) = next.unit_since(Some(&before), id) {
            let audit = vec![fact(core, id, Actor::Person(by), Verb::ToolsSeen, &before)];
            core.registry.put_tool_memory(ToolMemoryUnit { audit, ..unit }).await?;
            rows.seen();
        }
        if observed.tools.set_count(0) {
            core.effects.commits.health_changed(id);
        }
        Ok(true)
    }

    /// How many tools of a server differ from what a person last saw, as compared last in this run of the core.
    #[must_use]
    pub fn changed_tools(&self, id: ServerId) -> u64 {
        let core = &self.core;
        core.connections.observed(id, &core.policy).tools.count()
    }
}

impl ServerActor {
    /// The server says that its tools changed: they are listed soon, and never more often than the policy says.
    pub(crate) fn tools_changed(&mut self) {
        self.core.effects.commits.health_changed(self.server.id);
        if self.connection.key.seat.is_some() || self.tools_at.is_some() {
            return;
        }
        let now = Instant::now();
        let earliest = self.tools_listed.map_or(now, |listed| listed + self.core.policy.tool_memory.check_every);
        self.tools_at = Some(earliest.max(now));
    }

    /// Lists the tools when it is time.
    pub(crate) fn list_tools_when_due(&mut self, now: Instant) {
        if self.tools_at.is_none_or(|at| at > now) {
            return;
        }
        self.tools_at = None;
        let Some(live) = self.connection.live() else { return };
        self.tools_listed = Some(now);
        let (core, connection, id) = (Arc::clone(&self.core), Arc::clone(&self.connection), self.server.id);
        self.jobs.push(Box::pin(async move {
            let asked = core.time.now();
            match live.upstream.tools().await {
                Ok(tools) => {
                    connection.tools_listed(&tools, asked);
                    if let Err(error) = remember(&core, &connection.observed, id, &tools).await {
                        tracing::warn!(%error, "what is remembered of the tools of a server could not be read");
                    }
                }
                Err(error) => tracing::debug!(%error, "the changed tools of a server could not be listed"),
            }
            FinishedJob::Done
        }));
    }
}
