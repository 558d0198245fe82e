//! Takes the next step against one task: what reaches beyond the task is done after the step is on record.
//!
//! A step that is recorded and not done is carried out again, by the same person's order or at the next start. Ending a
//! process, and watching what is left of it, is `connections/process_end.rs`; the steps themselves are the domain's.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, PersonId};
use domain::server::{ServerAct, ServerAddress, ServerHealth};
use domain::task::decider::Decider;
use domain::task::{EscalationStep, ProcessEnd, TakenStep, TaskHandle};

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::connections::process_end;
use crate::core::EngineCore;
use crate::decisions::revoke::revoke_agent;
use crate::engine::Engine;
use crate::error::{EngineError, NoProcess};

/// What ends with the process behind a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownReach {
    /// The process that would be ended first.
    pub pid: u32,
    /// Open tasks that live in it, the task itself included.
    pub tasks: BTreeSet<HandleId>,
    /// The agents of these tasks, and of calls in flight that have no row.
    pub agents: BTreeSet<AgentId>,
    /// Calls in flight that have no row.
    pub calls: u64,
}

impl Engine {
    /// Takes a step against a task. When this returns, it is on record and was carried out.
    ///
    /// # Errors
    /// When the task does not allow it, its process does not run here, or it cannot be recorded: then nothing was done.
    pub async fn escalate(
        &self,
        id: HandleId,
        step: EscalationStep,
        by: &PersonId,
        reason: Option<&str>,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        let handle = core.ledger.load(id).await?.ok_or(EngineError::UnknownHandle)?;
        if step == EscalationStep::ShutDown && handle.highest_step() != Some(step) {
            handle.check_step(step, core.time.now())?;
            process_of(core, &handle)?;
        }
        let by = Decider::Person(by.clone());
        self.decide(id, |handle, now| handle.escalate(step, &by, reason, now)).await?;
        carry_out(core, id).await
    }

    /// What shutting down the process behind a task would end.
    ///
    /// # Errors
    /// When it does not run here, or not now.
    pub fn shutdown_reach(&self, handle: &TaskHandle) -> Result<ShutdownReach, EngineError> {
        let core = &self.core;
        let (connection, live, pid) = process_of(core, handle)?;
        let tasks = process_end::tasks_of(core, &connection, &live);
        let without_row = connection.agents_without_row();
        let mut agents: BTreeSet<AgentId> = without_row.iter().copied().flatten().collect();
        agents.extend(tasks.iter().filter_map(|id| core.ledger.held(*id)?.agent));
        let calls = u64::try_from(without_row.len()).unwrap_or(u64::MAX);
        Ok(ShutdownReach { pid, tasks, agents, calls })
    }

    /// Open tasks of an agent.
    #[must_use]
    pub fn open_tasks_of(&self, agent: AgentId) -> BTreeSet<HandleId> {
        let open = self.core.ledger.of_agent(agent);
        open.iter().filter(|handle| handle.ended_at().is_none()).map(|handle| handle.id).collect()
    }
}

/// Goes on with steps that an earlier run recorded and did not carry out.
pub(crate) fn go_on(core: &Arc<EngineCore>) {
    for handle in core.ledger.all() {
        if handle.escalation.unfinished().is_none() {
            continue;
        }
        let (held, id) = (Arc::clone(core), handle.id);
        core.supervisor.spawn("escalation", async move {
            wait_for_process(&held, id).await;
            if let Err(error) = carry_out(&held, id).await {
                tracing::error!(handle.id = %id, %error, "a step that was recorded before the restart is not done");
            }
        });
    }
}

/// Waits until the connection of a task is open, or it is known that it will not be.
async fn wait_for_process(core: &EngineCore, id: HandleId) {
    let Some(connection) = core.ledger.held(id).and_then(|handle| core.connections.of(&handle)) else { return };
    connection.connect_unless_open();
    let mut healths = connection.healths();
    let settled = healths.wait_for(|health| !matches!(health, ServerHealth::Unknown | ServerHealth::Connecting));
    // Past the limit the step finds no process, and says so.
    drop(tokio::time::timeout(core.policy.connect_limit, settled).await);
}

/// Does what a recorded step still needs.
async fn carry_out(core: &Arc<EngineCore>, id: HandleId) -> Result<(), EngineError> {
    let Some(handle) = core.ledger.load(id).await? else { return Ok(()) };
    let Some(taken) = handle.escalation.unfinished().cloned() else { return Ok(()) };
    let other_tasks = match (taken.step, handle.agent, taken.by.person()) {
        (EscalationStep::RevokeAgent, Some(agent), Some(by)) => {
            let own = u64::from(handle.ended_at().is_none() && handle.cancel_request().is_none());
            revoke_agent(core, agent, by, taken.reason.as_deref()).await?.saturating_sub(own)
        }
        (EscalationStep::ShutDown, _, Some(by)) => shut_down(core, &handle, by).await?,
        // Only people may take these two steps. One that says another name stays undone and on record.
        (EscalationStep::RevokeAgent, Some(_), None) | (EscalationStep::ShutDown, _, None) => {
            tracing::error!(handle.id = %id, step = taken.step.number(), "this step is not a person's and is not taken");
            return Ok(());
        }
        (
            EscalationStep::RevokeAgent | EscalationStep::Cancel | EscalationStep::HoldResult | EscalationStep::Revoke,
            ..,
        ) => 0,
    };
    done(core, id, &taken, other_tasks).await;
    Ok(())
}

async fn done(core: &EngineCore, id: HandleId, taken: &TakenStep, other_tasks: u64) {
    if let Err(error) = core.must_apply(id, |handle, now| handle.step_done(taken.step, other_tasks, now)).await {
        tracing::warn!(handle.id = %id, %error, "that a step was carried out is not on record");
    }
}

/// Ends the process behind a task; returns how many other tasks ended with it.
async fn shut_down(core: &Arc<EngineCore>, handle: &TaskHandle, by: &PersonId) -> Result<u64, EngineError> {
    let (connection, live) = match process_of(core, handle) {
        Ok((connection, live, _)) => (connection, live),
        Err(EngineError::NoProcess(_)) => {
            let at = core.time.now();
            let why = "the process ended before it could be watched".to_owned();
            process_end::record(core, [handle.id], &ProcessEnd::NotObserved { at, why }).await;
            return Ok(0);
        }
        Err(other) => return Err(other),
    };
    connection.observed.log.asked(by, ServerAct::End, core.time.now());
    let mut tasks = process_end::end(core, &connection, &live, ServerAct::End, by, Some(handle.id)).await.tasks;
    tasks.remove(&handle.id);
    Ok(u64::try_from(tasks.len()).unwrap_or(u64::MAX))
}

/// The running process in which a task lives.
fn process_of(
    core: &EngineCore,
    handle: &TaskHandle,
) -> Result<(Arc<ServerConnection>, Arc<LiveConnection>, u32), EngineError> {
    let connection = core.connections.of(handle).ok_or(EngineError::UnknownServer)?;
    match connection.configured().address {
        ServerAddress::Http { url, .. } => return Err(NoProcess::RunsElsewhere { url }.into()),
        ServerAddress::Stdio { .. } => {}
    }
    let live = connection.live().filter(|live| process_end::lives_in(handle, &connection, live));
    let found = live.and_then(|live| live.process.map(|(pid, _)| (live, pid)));
    let (live, pid) = found.ok_or(NoProcess::NotRunning)?;
    Ok((connection, live, pid))
}
