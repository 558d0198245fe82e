//! Asks many tasks to end at once: a plan fixes them, its operation asks each.
//!
//! The operation is on record before the first task is asked. How far it came is stored while the next group is asked, so
//! that a restart goes on a group or two before; asking twice is refused by the task itself. Cancels leave in their
//! own lane (`deliver.rs`).
//! Which tasks a caller may choose is the api's.

use std::collections::HashMap;
use std::sync::Arc;

use domain::audit::{AuditEvent, Subject, Verb};
use domain::ids::{HandleId, OperationId, PlanId};
use domain::ports::{PlanUnit, RegistryError};
use domain::task::cancel::plan::{Asked, BulkAct, BulkOperation, BulkPlan, PlanRefused};
use domain::task::decider::Decider;
use domain::task::status::CancelRequest;
use domain::task::{Refusal, TaskHandle, Transition};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};
use tokio::sync::{Mutex, watch};

use crate::access::control;
use crate::core::EngineCore;
use crate::decisions::decide::record;
use crate::engine::Engine;
use crate::error::EngineError;

/// Tasks that somebody chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlan {
    /// What is done with each task.
    pub act: BulkAct,
    /// Who chose them.
    pub by: Decider,
    /// How they were chosen, in words.
    pub filter: String,
    /// Their handles, each once.
    pub tasks: Vec<HandleId>,
}

/// A plan to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlan {
    /// The plan to run.
    pub plan: PlanId,
    /// Who runs it.
    pub by: Decider,
    /// In their words.
    pub reason: Option<String>,
}

/// Plans that run now.
#[derive(Default)]
pub(crate) struct BulkState {
    /// One plan begins at a time, so that none begins twice.
    turn: Mutex<()>,
    running: parking_lot::Mutex<HashMap<PlanId, watch::Receiver<Arc<BulkPlan>>>>,
}

impl Engine {
    /// Stores a plan of exactly these tasks.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn make_plan(&self, new: NewPlan) -> Result<Arc<BulkPlan>, EngineError> {
        let core = &self.core;
        let now = core.time.now();
        let NewPlan { act, by, filter, tasks } = new;
        let plan = BulkPlan {
            id: PlanId::from_random(core.time.random.bits()),
            act,
            by,
            filter,
            tasks: tasks.into(),
            created: now,
            expires: now.plus(core.policy.control.plan_valid),
            operation: None,
        };
        store(core, &plan, Vec::new()).await?;
        Ok(Arc::new(plan))
    }

    /// Begins the operation of a plan and follows how far it comes. When this returns, its beginning is durable.
    ///
    /// # Errors
    /// When there is no such plan, it was run before or has expired, nothing of it is open, or it cannot be recorded:
    /// then nothing was asked.
    pub async fn run_plan(&self, run: RunPlan) -> Result<watch::Receiver<Arc<BulkPlan>>, EngineError> {
        let core = &self.core;
        let _turn = core.bulk.turn.lock().await;
        let RunPlan { plan, by, reason } = run;
        let known = core.registry.plan(plan).await?.ok_or(EngineError::UnknownPlan)?;
        let now = core.time.now();
        let operation = BulkOperation {
            id: OperationId::from_random(core.time.random.bits()),
            by,
            reason,
            begun: now,
            next_index: 0,
            left_out: Vec::new(),
            ended: None,
            cut_short: None,
        };
        let begun = known.begun(operation, now)?;
        if !any_open(core, &begun.tasks).await? {
            return Err(PlanRefused::NothingLeft.into());
        }
        let tasks = begun.tasks.len();
        let fact = fact(&begun, Verb::BulkBegun, now, &format!("{} of {tasks} tasks", begun.act.word()));
        store(core, &begun, fact.into_iter().collect()).await?;
        Ok(work_on(core, begun))
    }

    /// Follows how far the operation of a plan comes; `None` when none runs.
    #[must_use]
    pub fn running_plan(&self, id: PlanId) -> Option<watch::Receiver<Arc<BulkPlan>>> {
        self.core.bulk.running.lock().get(&id).cloned()
    }

    /// A plan, as far as its operation came.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn plan(&self, id: PlanId) -> Result<Option<Arc<BulkPlan>>, EngineError> {
        let running = self.core.bulk.running.lock().get(&id).map(|plan| Arc::clone(&plan.borrow()));
        match running {
            Some(plan) => Ok(Some(plan)),
            None => Ok(self.core.registry.plan(id).await?.map(Arc::new)),
        }
    }
}

/// Goes on with what an earlier run began.
pub(crate) async fn go_on(core: &Arc<EngineCore>) {
    match core.registry.running_plans().await {
        Ok(plans) => {
            for plan in plans {
                work_on(core, plan);
            }
        }
        Err(error) => tracing::error!(%error, "plans that were running cannot be read; a restart goes on with them"),
    }
}

/// Whether anything of a plan can still be asked; reads no further than the first.
async fn any_open(core: &EngineCore, tasks: &[HandleId]) -> Result<bool, EngineError> {
    for id in tasks {
        if core.ledger.load(*id).await?.is_some_and(|handle| !handle.is_over()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn work_on(core: &Arc<EngineCore>, plan: BulkPlan) -> watch::Receiver<Arc<BulkPlan>> {
    let id = plan.id;
    let (shown, watched) = watch::channel(Arc::new(plan.clone()));
    core.bulk.running.lock().insert(id, watched.clone());
    let held = Arc::clone(core);
    core.supervisor.spawn("bulk", async move {
        run(&held, plan, &shown).await;
        held.bulk.running.lock().remove(&id);
    });
    watched
}

/// Asks one group after the other. What cannot be recorded is tried again; at the end of the core it is left to the next.
async fn run(core: &Arc<EngineCore>, mut plan: BulkPlan, shown: &watch::Sender<Arc<BulkPlan>>) {
    let mut failures = 0;
    let mut is_stored = true;
    loop {
        let (act, Some(operation)) = (plan.act, plan.operation.clone()) else { return };
        // A revoked token stops after the current task, so its tasks are asked one by one.
        let at_once = if operation.by.is_control() { 1 } else { core.policy.control.tasks_per_commit };
        let group = plan.next_tasks(at_once).to_vec();
        if group.is_empty() {
            return end(core, plan, shown).await;
        }
        if let (Some(why), Some(operation)) = (control::ended(core, &operation.by), plan.operation.as_mut()) {
            operation.cut_short = Some(why.to_owned());
            return end(core, plan, shown).await;
        }
        let asking = stream::iter(group)
            .map(|id| {
                let operation = &operation;
                async move { (id, ask(core, id, act, operation).await) }
            })
            .buffered(core.policy.control.tasks_per_commit)
            .collect::<Vec<(HandleId, Result<Asked, EngineError>)>>();
        let storing = async { if is_stored { Ok(()) } else { store(core, &plan, Vec::new()).await } };
        let (asked, stored) = tokio::join!(asking, storing);
        is_stored |= stored.is_ok();
        let done: Result<Vec<_>, EngineError> =
            asked.into_iter().map(|(id, outcome)| outcome.map(|asked| (id, asked))).collect();
        let done = done.map(|done| {
            if let Some(operation) = plan.operation.as_mut() {
                operation.note(done);
            }
            is_stored = false;
            shown.send_replace(Arc::new(plan.clone()));
        });
        match done.and(stored) {
            Ok(()) => failures = 0,
            Err(EngineError::Stopping | EngineError::Registry(RegistryError::Closed)) => return,
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::error!(plan.id = %plan.id, %error, "tasks of a plan cannot be asked to end, trying again");
                }
                core.pause(failures).await;
            }
        }
    }
}

async fn end(core: &Arc<EngineCore>, mut plan: BulkPlan, shown: &watch::Sender<Arc<BulkPlan>>) {
    let now = core.time.now();
    let Some(operation) = plan.operation.as_mut() else { return };
    operation.ended = Some(now);
    let fact = fact(&plan, Verb::BulkEnded, now, &plan.end_words());
    // Without this row a restart finds nothing left to do, and ends it then.
    if let Err(error) = store(core, &plan, fact.into_iter().collect()).await {
        tracing::warn!(plan.id = %plan.id, %error, "the end of a plan could not be recorded");
    }
    shown.send_replace(Arc::new(plan));
}

/// Asks one task. One that is over, and that this operation did not ask, is left out.
async fn ask(
    core: &Arc<EngineCore>,
    id: HandleId,
    act: BulkAct,
    operation: &BulkOperation,
) -> Result<Asked, EngineError> {
    let asked = record(core, id, |handle, now| match step(handle, act, operation, now) {
        Ok(step) => Ok((step, Asked::Asked)),
        Err(Refusal::AlreadyAsked { .. }) => Ok((Transition::none(handle), Asked::Asked)),
        Err(refusal) => Err(refusal),
    });
    match asked.await {
        Ok(asked) => Ok(asked),
        Err(EngineError::Refused(_)) => Ok(Asked::LeftOut("it ended meanwhile".into())),
        Err(EngineError::UnknownHandle) => Ok(Asked::LeftOut("it is not on record any more".into())),
        Err(error) => Err(error),
    }
}

fn step(handle: &TaskHandle, act: BulkAct, operation: &BulkOperation, now: Timestamp) -> Result<Transition, Refusal> {
    if handle.is_over() {
        // Before a kill this operation may have asked it, and it has ended since. Who asked and why says that, not
        // when: the clock may have been set back, and a plan has no task that was asked before it was made.
        let is_ours = |cancel: &CancelRequest| cancel.by == operation.by && cancel.reason == operation.reason;
        let is_ours = handle.cancel_request().is_some_and(is_ours);
        let over = Refusal::AlreadyOver(handle.phase(now).word());
        return if is_ours { Ok(Transition::none(handle)) } else { Err(over) };
    }
    let reason = operation.reason.as_deref();
    match act {
        BulkAct::Cancel => handle.cancel(&operation.by, reason, now),
        BulkAct::Revoke => handle.revoke(&operation.by, reason, now),
    }
}

fn fact(plan: &BulkPlan, verb: Verb, at: Timestamp, what: &str) -> Option<AuditEvent> {
    let operation = plan.operation.as_ref()?;
    let reason = operation.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let note = format!("{} {what}{reason}", operation.id);
    Some(AuditEvent { at, actor: operation.by.actor(), verb, subject: Subject::Store, note })
}

async fn store(core: &EngineCore, plan: &BulkPlan, audit: Vec<AuditEvent>) -> Result<(), EngineError> {
    let kept_until = plan.kept_until(core.policy.control.plan_kept);
    let unit = PlanUnit { plan: plan.clone(), kept_until, at: core.time.now(), audit };
    Ok(core.registry.put_plan(unit).await?)
}
