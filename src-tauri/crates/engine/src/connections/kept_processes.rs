//! Takes over a process that an earlier run left running and that no open task needs (ruling 16), or ends it.
//!
//! Whether it is the process that is wanted is told by its secrets, among others: while these cannot be read, because the
//! keychain is locked, it is left as it is. No process is started for that. Whose connections are opened for it at a start
//! is in `servers/open_connection.rs`.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ports::{Connected, ConnectionSpec, TaskQuery, UpstreamError};
use domain::server::Server;
use domain::task::TaskHandle;
use domain::task::status::Phase;

use crate::connections::connection_key::ConnectionKey;
use crate::core::EngineCore;

/// Connects to the process that an earlier run left, and to no other. Where that fails, what is left of it is ended,
/// unless the secrets of its server cannot be read yet.
pub(crate) async fn take_over(
    core: &EngineCore,
    server: &Server,
    spec: &ConnectionSpec,
) -> Result<Connected, UpstreamError> {
    let slot = core.take_over_slots.acquire().await;
    let outcome = core.connect(server, spec).await;
    drop(slot);
    match &outcome {
        Ok(_) => {}
        Err(UpstreamError::Unauthorized { .. }) => {
            tracing::warn!(server.name = %server.name, "a process of an earlier run waits for its secrets");
        }
        Err(_) => {
            tracing::warn!(server.name = %server.name, "a process of an earlier run could not be taken over: it ends");
            let key = ConnectionKey { server: server.id, seat: spec.seat };
            end(core, key, "of an earlier run could not be taken over").await;
        }
    }
    outcome
}

/// The newest tasks of this connection that are over. A core that was killed may not have dismissed what they were asked,
/// and the process that it left asks that again. As many as can have been asked something at once.
pub(crate) async fn ended_tasks(core: &EngineCore, key: ConnectionKey) -> Vec<TaskHandle> {
    let query = TaskQuery {
        phases: Phase::ALL.into_iter().filter(|phase| phase.is_over()).collect(),
        server: Some(key.server),
        agent: key.seat,
        before: None,
        limit: u32::try_from(core.policy.open_questions_per_server).unwrap_or(u32::MAX),
    };
    match core.registry.list(query).await {
        Ok(page) => page.rows.into_iter().map(|(task, _)| task).filter(|task| !task.requests.is_empty()).collect(),
        Err(error) => {
            tracing::warn!(%error, "tasks that ended before could not be read: their questions may be asked again");
            Vec::new()
        }
    }
}

/// Ends a process that is kept and that nobody is connected to, and records that and why, as words after its number.
pub(crate) async fn end(core: &EngineCore, key: ConnectionKey, why: &str) {
    let ended = core.connector.end_kept(key.server, key.seat).await;
    if ended.is_empty() {
        return;
    }
    let facts = ended.into_iter().map(|process| AuditEvent {
        at: core.time.now(),
        actor: Actor::System("kept_processes"),
        verb: Verb::ProcessEnded,
        subject: Subject::Server(key.server),
        note: format!("process {process} {why}"),
    });
    match core.registry.record(facts.collect()).await {
        Ok(()) => {}
        Err(error) => tracing::warn!(%error, "the end of a kept process could not be recorded"),
    }
}
