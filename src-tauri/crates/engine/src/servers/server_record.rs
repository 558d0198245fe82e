//! Stores what a connection teaches about its server: era, dialect, session, and when its ids start over.
//!
//! Only what was learnt is written: names, addresses and consent stay as people configured them.

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::ServerId;
use domain::ports::{RegistryError, ServerUnit};
use domain::server::{EraVerdict, Server};

use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;
use crate::servers::actor::ServerActor;
use crate::servers::state::finished_job::FinishedJob;

/// A process that this core has now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessBegin {
    pub(crate) pid: u32,
    /// An earlier run of the core started it.
    pub(crate) is_resumed: bool,
}

impl ServerActor {
    /// Stores what was negotiated, for the next start and for display.
    pub(crate) fn remember(&self, live: &LiveConnection, process: Option<ProcessBegin>) {
        let (core, id, negotiated) = (Arc::clone(&self.core), self.server.id, live.negotiated.clone());
        let connection = live.id;
        let fingerprint = self.server.address.fingerprint();
        let verdict = EraVerdict { fingerprint: fingerprint.clone(), era: negotiated.era };
        // An agent's own session is nobody else's to resume.
        let shared = self.connection.key.seat.is_none();
        self.jobs.push(Box::pin(async move {
            let learnt = update_server(&core, id, process, |server| {
                if shared && server.address.fingerprint() == fingerprint {
                    server.verdict = Some(verdict.clone());
                    server.negotiated = Some(negotiated.clone());
                }
            });
            if let Err(error) = learnt.await {
                tracing::error!(%error, "what was negotiated with a server could not be stored");
            }
            FinishedJob::Remembered(connection)
        }));
    }

    /// The server gives its ids to other tasks again: what comes now lives in a new generation.
    pub(crate) fn raise_generation(&mut self) {
        self.server.generation = self.server.generation.saturating_add(1);
        let (core, id, generation) = (Arc::clone(&self.core), self.server.id, self.server.generation);
        tracing::warn!(server.name = %self.server.name, "the server gives its task ids to other tasks again");
        if let Some(live) = self.connection.live() {
            self.connection.set_live(Some(Arc::new(live.in_generation(generation))));
        }
        self.jobs.push(Box::pin(async move {
            if let Err(error) =
                update_server(&core, id, None, |server| server.generation = server.generation.max(generation)).await
            {
                tracing::error!(%error, "the new generation of a server could not be stored");
            }
            FinishedJob::Done
        }));
    }
}

/// Reads the row, changes it, and stores it when that made a difference. Names and addresses stay as they are.
async fn update_server(
    core: &EngineCore,
    id: ServerId,
    process: Option<ProcessBegin>,
    change: impl Fn(&mut Server),
) -> Result<(), RegistryError> {
    // Only a configured server: one that was removed since must not come back.
    let configured = core.registry.servers().await?;
    let Some(before) = configured.into_iter().find(|server| server.id == id) else { return Ok(()) };
    let mut server = before.clone();
    change(&mut server);
    let audit: Vec<AuditEvent> = process.map(|process| begun(core, id, process)).into_iter().collect();
    if server == before {
        return if audit.is_empty() { Ok(()) } else { core.registry.record(audit).await };
    }
    let seq = core.registry.put_server(ServerUnit { server, audit }).await?;
    core.effects.commits.committed(seq);
    Ok(())
}

/// That this core has a process now, by its number: what a halt or a person ends later has the same.
fn begun(core: &EngineCore, server: ServerId, ProcessBegin { pid, is_resumed }: ProcessBegin) -> AuditEvent {
    let taken_over = if is_resumed { " of an earlier run was taken over" } else { "" };
    AuditEvent {
        at: core.time.now(),
        actor: Actor::System("follow"),
        verb: Verb::ProcessStarted,
        subject: Subject::Server(server),
        note: format!("process {pid}{taken_over}"),
    }
}
