//! Revokes an agent: first its access, then every task it started (promise R2, ruling 28).
//!
//! The agent's row is stored before anything else, and with it the end of its pause, so that no call of it can begin. Then
//! its open tasks are taken from it with a cancel each, many in one commit. The cancels are sent by `deliver.rs`, and a
//! server that does not obey is shown on the task.

use std::sync::Arc;

use domain::agent::Agent;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, PersonId};
use domain::ports::{AgentUnit, AuditFilter, AuditOrder, AuditQuery, RegistryError};
use domain::task::status::Intent;
use domain::task::{Refusal, TaskHandle, Transition};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};

use crate::core::EngineCore;
use crate::decisions::pause::{self, release};
use crate::engine::Engine;
use crate::error::{EngineError, LedgerError};

/// Tasks revoked at a time, so that their commits share fsyncs.
const TAKEN_AT_ONCE: usize = 64;

impl Engine {
    /// Takes an agent's access away, and every open task from it with a cancel; returns how many cancels were recorded.
    /// Whether servers obey shows on the tasks.
    ///
    /// # Errors
    /// When there is no such agent, or its row cannot be stored: then it still has access.
    pub async fn revoke_agent(&self, id: AgentId, by: PersonId, reason: Option<String>) -> Result<u64, EngineError> {
        revoke_agent(&self.core, id, &by, reason.as_deref()).await
    }
}

/// As [`Engine::revoke_agent`], for a part of the engine.
pub(crate) async fn revoke_agent(
    core: &Arc<EngineCore>,
    id: AgentId,
    by: &PersonId,
    reason: Option<&str>,
) -> Result<u64, EngineError> {
    let known = core.registry.agents().await?.into_iter().find(|agent| agent.id == id);
    let agent = known.ok_or(EngineError::UnknownAgent)?;
    if agent.revoked.is_none() {
        let now = core.time.now();
        let fact = AuditEvent {
            at: now,
            actor: Actor::Person(by.clone()),
            verb: Verb::AgentRevoked,
            subject: Subject::Agent(id),
            note: reason.unwrap_or_default().to_owned(),
        };
        // Its pause ends with it: nobody pauses it meanwhile.
        let _turn = core.pauses.turn.lock().await;
        let ended_pause = pause::ended_with_access(core, id, by, now);
        let over = ended_pause.as_ref().map(|unit| unit.pause.clone());
        let unit = AgentUnit { agent: Agent { revoked: Some(now), ..agent }, audit: vec![fact], ended_pause };
        core.effects.commits.committed(core.registry.put_agent(unit).await?);
        if let Some(over) = over {
            pause::obey(core, over);
        }
        if let Some(reason) = reason {
            // Before anybody can read that the access is gone.
            core.access.revocations.lock().insert(id, reason.into());
        }
        core.refresh_access().await?;
    }
    core.calls.dedup.forget(id);
    let open: Vec<HandleId> = core.ledger.of_agent(id).iter().map(|handle| handle.id).collect();
    let mut asked = take_all(core, open, by, reason).await?;
    let (recorded, cancelled) = record_calls(core, id, by).await;
    asked += take_all(core, recorded, by, reason).await? + cancelled;
    // What waited for its pause and was not taken from it in time.
    release::begin(core);
    for connection in core.connections.all().into_iter().filter(|connection| connection.key.seat == Some(id)) {
        connection.leases.set_unwanted();
        connection.wake.notify_one();
    }
    Ok(asked)
}

/// Goes on with revocations that an earlier run recorded and did not end: open tasks that nobody took from an agent without
/// access.
pub(crate) fn go_on(core: &Arc<EngineCore>) {
    let held = Arc::clone(core);
    core.supervisor.spawn("revoke", async move {
        if let Err(error) = take_what_is_left(&held).await {
            tracing::error!(%error, "tasks of agents that were revoked before the restart are not taken from them");
        }
    });
}

async fn take_what_is_left(core: &Arc<EngineCore>) -> Result<(), EngineError> {
    for agent in core.registry.agents().await? {
        let Some(at) = agent.revoked else { continue };
        let open = core.ledger.of_agent(agent.id);
        let is_left = |handle: &&Arc<TaskHandle>| !handle.is_over() && !matches!(handle.intent, Intent::Revoked(_));
        let left: Vec<HandleId> = open.iter().filter(is_left).map(|handle| handle.id).collect();
        if left.is_empty() {
            continue;
        }
        match revoked_by(core, agent.id, at).await? {
            Some((by, reason)) => {
                let asked = take_all(core, left, &by, reason.as_deref()).await?;
                tracing::warn!(agent.id = %agent.id, tasks = asked, "a revocation of an earlier run went on");
            }
            None => {
                tracing::error!(agent.id = %agent.id, "nobody is on record who revoked this agent; its tasks go on");
            }
        }
    }
    Ok(())
}

/// Who revoked an agent at this moment, with the reason.
async fn revoked_by(
    core: &EngineCore,
    id: AgentId,
    at: Timestamp,
) -> Result<Option<(PersonId, Option<String>)>, RegistryError> {
    let id = id.to_string();
    let filter = AuditFilter {
        since: Some(at),
        until: Some(at.shifted(1)),
        verbs: vec![Verb::AgentRevoked.word().to_owned()],
        ..AuditFilter::default()
    };
    let limit = core.policy.page_rows_max;
    let mut query = AuditQuery { filter, order: AuditOrder::NewestFirst, behind: None, limit };
    loop {
        let page = core.registry.audit_rows(query.clone()).await?;
        let row = page.rows.into_iter().find(|row| row.subject.ends_with(&id));
        if let Some(row) = row {
            let by = row.actor.strip_prefix("person:").map(PersonId::new);
            return Ok(by.map(|by| (by, row.note.filter(|note| !note.is_empty()))));
        }
        if page.next.is_none() {
            return Ok(None);
        }
        query.behind = page.next;
    }
}

/// Calls in flight get their rows, so that they can be cancelled like the others. One that cannot be recorded is
/// cancelled from memory at once: a revocation must not wait for room on the disk. Returns the rows, and how many calls
/// were cancelled without one.
async fn record_calls(core: &EngineCore, id: AgentId, by: &PersonId) -> (Vec<HandleId>, u64) {
    let connections = core.connections.all();
    let in_flight = connections.iter().flat_map(|connection| connection.in_flight_of(id));
    let recorded = in_flight.map(|(call, in_flight)| async move {
        let mut recording = core.calls.recording.watch();
        let has_no_room = async {
            let _ = recording.wait_for(|state| state.unrecorded.iter().any(|listed| listed.id == call)).await;
        };
        tokio::select! {
            biased;
            row = tokio::time::timeout(core.policy.cancel_grace, in_flight.row()) => {
                Ended::Recorded(row.is_ok_and(|there| there).then_some(call))
            }
            () = has_no_room => Ended::Cancelled(core.calls.unrecorded.cancel(call, by)),
        }
    });
    let (mut rows, mut cancelled) = (Vec::new(), 0_u64);
    for ended in futures::future::join_all(recorded).await {
        match ended {
            Ended::Recorded(row) => rows.extend(row),
            Ended::Cancelled(is_cancelled) => cancelled += u64::from(is_cancelled),
        }
    }
    (rows, cancelled)
}

/// What became of a call in flight whose agent loses its access.
enum Ended {
    /// It has a row, or ended without one.
    Recorded(Option<HandleId>),
    /// It could not be recorded, and was cancelled from memory.
    Cancelled(bool),
}

async fn take_all(
    core: &Arc<EngineCore>,
    ids: Vec<HandleId>,
    by: &PersonId,
    reason: Option<&str>,
) -> Result<u64, EngineError> {
    let taken = stream::iter(ids).map(|id| take(core, id, by, reason));
    let asked = taken.buffer_unordered(TAKEN_AT_ONCE).collect::<Vec<_>>().await;
    asked.into_iter().try_fold(0, |sum, one| one.map(|asked| sum + u64::from(asked)))
}

/// Takes one task; returns whether that recorded a cancel.
async fn take(core: &Arc<EngineCore>, id: HandleId, by: &PersonId, reason: Option<&str>) -> Result<bool, EngineError> {
    let taken = core.ledger.decide(id, |handle, now| match handle.revoke(by, reason, now) {
        Ok(step) => {
            let asks = step.next.is_cancel_due();
            Ok::<_, std::convert::Infallible>((step, asks))
        }
        // It was taken before.
        Err(Refusal::AlreadyAsked { .. }) => Ok((Transition::none(handle), false)),
        Err(_) => Ok((Transition::none(handle), false)),
    });
    match taken.await {
        Ok((_, asks)) => Ok(asks),
        Err(LedgerError::Registry(RegistryError::Closed)) => Err(EngineError::Stopping),
        Err(LedgerError::Registry(error)) => Err(error.into()),
        Err(LedgerError::Unknown | LedgerError::Exists(_)) => Ok(false),
        Err(LedgerError::Declined(never)) => match never {},
    }
}
