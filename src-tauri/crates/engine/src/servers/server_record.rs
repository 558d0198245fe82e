//! Stores what a connection teaches about its server: era, dialect, session, and when its ids start over.
//!
//! Only what was learnt is written: names, addresses and consent stay as people configured them.

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ports::{RegistryError, ServerUnit};
use domain::server::{EraVerdict, Server};

use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;
use crate::servers::actor::ServerActor;
use crate::servers::state::finished_job::FinishedJob;

impl ServerActor {
    /// Stores what was negotiated, for the next start and for display.
    pub(crate) fn remember(&self, live: &LiveConnection, started: bool) {
        let (core, id, negotiated) = (Arc::clone(&self.core), self.server.id, live.negotiated.clone());
        let connection = live.id;
        let fingerprint = self.server.address.fingerprint();
        let verdict = EraVerdict { fingerprint: fingerprint.clone(), era: negotiated.era };
        // An agent's own session is nobody else's to resume.
        let shared = self.connection.key.seat.is_none();
        self.jobs.push(Box::pin(async move {
            let learnt = update_server(&core, id, started, |server| {
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
                update_server(&core, id, false, |server| server.generation = server.generation.max(generation)).await
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
    id: domain::ids::ServerId,
    started: bool,
    change: impl Fn(&mut Server),
) -> Result<(), RegistryError> {
    // Only a configured server: one that was removed since must not come back.
    let configured = core.registry.servers().await?;
    let Some(before) = configured.into_iter().find(|server| server.id == id) else { return Ok(()) };
    let mut server = before.clone();
    change(&mut server);
    let audit = if started {
        vec![AuditEvent {
            at: core.time.now(),
            actor: Actor::System("follow"),
            verb: Verb::ProcessStarted,
            subject: Subject::Server(id),
            note: String::new(),
        }]
    } else {
        Vec::new()
    };
    if server == before {
        return if audit.is_empty() { Ok(()) } else { core.registry.record(audit).await };
    }
    let seq = core.registry.put_server(ServerUnit { server, audit }).await?;
    core.effects.commits.committed(seq);
    Ok(())
}
