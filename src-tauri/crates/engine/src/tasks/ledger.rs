//! The one way a handle changes: load, decide purely, commit, then perform the effects.
//!
//! Holds every open handle as last committed, with contact fresher than the registry's (ruling 6). A transition that
//! changes nothing touches memory only. After a conflict it loads and decides again. It decides nothing itself and
//! talks to no server.

mod clock_steps;

use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::Policy;
use domain::ports::{CommitError, ContactNote, Registry, RegistryError};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::Miss;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use parking_lot::Mutex;

use crate::budget::{Budget, IncomingResult};
use crate::connections::connection_key::ConnectionKey;
use crate::core::then;
use crate::engine::Engine;
use crate::error::{EngineError, LedgerError};
use crate::runtime::time::Time;
use crate::tasks::delivery_receipts::DeliveryReceipts;
use crate::tasks::effects::Effects;
use crate::tasks::handle_watch::Watchers;
use crate::tasks::loss_causes::LossCauses;
use crate::tasks::open_handles::{FailingPolls, OpenHandles};

/// What an attempt to change a handle became.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    /// The handle as it is now.
    pub(crate) handle: Arc<TaskHandle>,
    /// Whether anything was committed.
    pub(crate) changed: bool,
}

/// Open handles, and the way to change them.
pub(crate) struct TaskLedger {
    registry: Arc<dyn Registry>,
    time: Arc<Time>,
    policy: Arc<Policy>,
    effects: Arc<Effects>,
    /// Looks at results before they are committed, and at every commit after it.
    budget: Arc<Budget>,
    open: Mutex<OpenHandles>,
    /// Who waits for a change of one handle.
    pub(crate) watchers: Arc<Watchers>,
    /// What reached its agent and is stored with the next change.
    pub(crate) receipts: DeliveryReceipts,
    losses: LossCauses,
}

impl TaskLedger {
    pub(crate) fn new(
        registry: Arc<dyn Registry>,
        time: Arc<Time>,
        policy: Arc<Policy>,
        effects: Arc<Effects>,
        budget: Arc<Budget>,
    ) -> Self {
        Self {
            registry,
            time,
            policy,
            effects,
            budget,
            open: Mutex::default(),
            watchers: Arc::default(),
            receipts: DeliveryReceipts::default(),
            losses: LossCauses::default(),
        }
    }

    /// The handle, when it is open.
    pub(crate) fn held(&self, id: HandleId) -> Option<Arc<TaskHandle>> {
        self.open.lock().get(id).map(|held| Arc::clone(&held.handle))
    }

    /// The handle, when it is open and the registry cannot know a newer one. Whoever read of a change in the change log
    /// gets that change or a later one from here, or nothing: a commit is visible there before it is kept here.
    pub(crate) fn held_newest(&self, id: HandleId) -> Option<Arc<TaskHandle>> {
        let open = self.open.lock();
        open.get(id).filter(|held| held.unfinished_commits == 0).map(|held| Arc::clone(&held.handle))
    }

    pub(crate) fn plan_poll(&self, id: HandleId, at: Option<Timestamp>) {
        if let Some(held) = self.open.lock().get_mut(id)
            && held.next_poll != at
        {
            held.next_poll = at;
            held.stale_note = true;
        }
    }

    /// A poll of it failed. Kept in memory, so that people see why before the task counts as silent.
    pub(crate) fn poll_failed(&self, id: HandleId, why: &Miss) {
        let now = self.time.now();
        if let Some(held) = self.open.lock().get_mut(id) {
            let (since, before) = held.failing.as_ref().map_or((now, 0), |failing| (failing.since, failing.count));
            held.failing = Some(FailingPolls { count: before.saturating_add(1), since, last: why.clone() });
        }
    }

    /// It was seen: the polls that failed before are over.
    pub(crate) fn poll_succeeded(&self, id: HandleId) {
        if let Some(held) = self.open.lock().get_mut(id) {
            held.failing = None;
        }
    }

    pub(crate) fn of_connection(&self, key: ConnectionKey) -> Vec<Arc<TaskHandle>> {
        self.open.lock().of_connection(key)
    }

    /// Open handles of a server, over all its connections.
    pub(crate) fn of_server(&self, server: ServerId) -> Vec<Arc<TaskHandle>> {
        self.open.lock().of_server(server)
    }

    /// How many handles of a server are open, including those that need nothing from it.
    pub(crate) fn count(&self, server: ServerId) -> u64 {
        self.open.lock().count(server)
    }

    /// How many more questions the server of this task may open, beside the first one of each task: over all its tasks,
    /// and within the shares of the task's agent and of all agents.
    pub(crate) fn question_room(&self, task: &TaskHandle) -> usize {
        let most = self.policy.open_questions_per_server;
        let whole = u64::try_from(most).unwrap_or(u64::MAX);
        let part = |share: u64| usize::try_from(share).unwrap_or(most);
        let (one, agents) =
            (part(self.policy.shares.of_one_agent(whole)), part(self.policy.shares.of_all_agents(whole)));
        let open = self.open.lock();
        let Some(questions) = open.questions(task.server) else { return task.agent.map_or(most, |_| one) };
        let left = most.saturating_sub(questions.all);
        let Some(agent) = task.agent else { return left };
        let of_one = one.saturating_sub(questions.of_agent(agent));
        left.min(of_one).min(agents.saturating_sub(questions.of_agents()))
    }

    /// The server with the most open questions beside the first one of each task, and how many.
    pub(crate) fn most_questions_of_server(&self) -> Option<(ServerId, usize)> {
        self.open.lock().most_questions_of_server()
    }

    /// The task with the most open questions, and how many.
    pub(crate) fn most_questions_of_task(&self) -> Option<(HandleId, usize)> {
        self.open.lock().most_questions_of_task()
    }

    pub(crate) fn of_agent(&self, agent: AgentId) -> Vec<Arc<TaskHandle>> {
        self.open.lock().of_agent(agent)
    }

    /// The newest open handle of an agent for which this holds.
    pub(crate) fn newest_of_agent(&self, agent: AgentId, holds: impl Fn(&TaskHandle) -> bool) -> Option<HandleId> {
        self.open.lock().newest_of_agent(agent, holds)
    }

    pub(crate) fn of_trace(&self, trace: &str) -> Vec<Arc<TaskHandle>> {
        self.open.lock().of_trace(trace)
    }

    /// The connections on which something is open.
    pub(crate) fn connection_keys(&self) -> Vec<ConnectionKey> {
        self.open.lock().connection_keys()
    }

    pub(crate) fn all(&self) -> Vec<Arc<TaskHandle>> {
        self.open.lock().all()
    }

    /// Takes up a handle that was found in the registry.
    pub(crate) fn take_up(&self, handle: TaskHandle) -> Arc<TaskHandle> {
        let handle = Arc::new(handle);
        self.keep(&handle);
        handle
    }

    /// The handle, from memory or from the registry.
    pub(crate) async fn load(&self, id: HandleId) -> Result<Option<Arc<TaskHandle>>, RegistryError> {
        match self.held(id) {
            Some(handle) => Ok(Some(handle)),
            None => Ok(self.registry.handle(id).await?.map(Arc::new)),
        }
    }

    /// Records a new handle; durable when this returns.
    pub(crate) async fn admit(&self, born: Transition) -> Result<Arc<TaskHandle>, CommitError> {
        let mut incoming = IncomingResult::default();
        let born = self.budget.within_limits(born, &mut incoming, self.time.now()).await;
        let born = &self.with_loss_cause(born, self.time.now());
        let recorded = self.registry.admit(born.unit(self.time.now(), &self.policy)).await?;
        let handle = Arc::new(TaskHandle { version: recorded.version, ..born.next.clone() });
        self.keep(&handle);
        self.effects.perform(&handle, born, recorded.seq, self.time.now());
        self.effects.ticks.note(handle.id, handle.next_tick(&self.policy));
        self.budget.committed(None, born, &handle, incoming);
        Ok(handle)
    }

    /// Decides on the handle in memory and, when nothing changes but contact, is done: no registry, no await.
    /// Returns the handle, or `None` when there is something to commit (use [`TaskLedger::apply`]) or it is not open.
    pub(crate) fn apply_unchanged(
        &self,
        id: HandleId,
        decide: impl FnOnce(&TaskHandle, Timestamp) -> Transition,
    ) -> Option<Arc<TaskHandle>> {
        let (handle, stepped_ms) = {
            let open = self.open.lock();
            let held = open.get(id)?;
            (Arc::clone(&held.handle), held.unrecorded_step_ms)
        };
        let now = self.time.now();
        let transition = decide(&handle, now);
        if transition.changed {
            return None;
        }
        self.effects.poll_again(&handle, &transition, now);
        let next = transition.next;
        if next.contact == handle.contact {
            return Some(handle);
        }
        let next = Arc::new(next);
        self.refresh(&next, stepped_ms);
        Some(next)
    }

    /// Changes a handle by a decision that cannot be no.
    pub(crate) async fn apply(
        &self,
        id: HandleId,
        mut decide: impl FnMut(&TaskHandle, Timestamp) -> Transition,
    ) -> Result<Applied, LedgerError<std::convert::Infallible>> {
        self.decide(id, |handle, now| Ok((decide(handle, now), ()))).await.map(|(applied, ())| applied)
    }

    /// Changes a handle by a decision that may be no, and that says something besides.
    pub(crate) async fn decide<T, E>(
        &self,
        id: HandleId,
        mut decide: impl FnMut(&TaskHandle, Timestamp) -> Result<(Transition, T), E>,
    ) -> Result<(Applied, T), LedgerError<E>> {
        let mut handle = self.load(id).await?.ok_or(LedgerError::Unknown)?;
        let mut incoming = IncomingResult::default();
        loop {
            let stepped_ms = self.unrecorded_step_ms(id);
            let now = self.time.now();
            let (transition, said) = decide(&handle, now).map_err(LedgerError::Declined)?;
            if !transition.changed {
                self.effects.poll_again(&handle, &transition, now);
                let next = Arc::new(transition.next);
                self.refresh(&next, stepped_ms);
                return Ok((Applied { handle: next, changed: false }, said));
            }
            let transition = self.budget.within_limits(transition, &mut incoming, now).await;
            let delivered = self.receipts.take(id);
            let transition = if delivered { then(transition, |next| next.delivered(now)) } else { transition };
            let transition = self.with_loss_cause(transition, now);
            let unfinished = UnfinishedCommit::new(self, id);
            match self.registry.commit(transition.unit(now, &self.policy)).await {
                Ok(recorded) => {
                    let next = TaskHandle { version: recorded.version, ..transition.next.clone() };
                    let next = self.keep_recorded(next, stepped_ms, now);
                    drop(unfinished);
                    self.effects.perform(&next, &transition, recorded.seq, now);
                    self.effects.ticks.note(id, next.next_tick(&self.policy));
                    self.budget.committed(Some(&handle), &transition, &next, incoming);
                    return Ok((Applied { handle: next, changed: true }, said));
                }
                Err(error) => {
                    if delivered {
                        self.receipts.add(id);
                    }
                    match error {
                        // Each conflict is somebody else's commit, so this ends.
                        CommitError::Conflict => {
                            let stored = self.registry.handle(id).await?.ok_or(LedgerError::Unknown)?;
                            handle = self.newer(Arc::new(stored));
                        }
                        CommitError::Exists(other) => return Err(LedgerError::Exists(other)),
                        CommitError::Registry(error) => return Err(LedgerError::Registry(error)),
                    }
                }
            }
        }
    }

    fn with_loss_cause(&self, transition: Transition, now: Timestamp) -> Transition {
        transition.with_loss_cause(now, |lost| self.losses.first_of(lost, now, self.policy.asking.loss_gap))
    }

    /// Contact that moved since the last flush.
    pub(crate) fn notes(&self) -> Vec<ContactNote> {
        let mut open = self.open.lock();
        open.all_mut()
            .filter(|held| held.stale_note)
            .map(|held| {
                held.stale_note = false;
                ContactNote { handle: held.handle.id, seen: held.handle.contact.seen(), next_poll: held.next_poll }
            })
            .collect()
    }

    /// Puts notes back that could not be flushed.
    pub(crate) fn notes_kept(&self, notes: &[ContactNote]) {
        let mut open = self.open.lock();
        for note in notes {
            if let Some(held) = open.get_mut(note.handle) {
                held.stale_note = true;
            }
        }
    }

    /// The newer of what was read and what is in memory; a commit of ours may be newer than our read.
    fn newer(&self, stored: Arc<TaskHandle>) -> Arc<TaskHandle> {
        match self.held(stored.id) {
            Some(held) if held.version >= stored.version => held,
            Some(_) | None => {
                self.keep(&stored);
                stored
            }
        }
    }

    /// Keeps a committed handle, forwards only; forgets it when there is nothing left to do for it.
    fn keep(&self, handle: &Arc<TaskHandle>) {
        let now = self.time.now();
        if keep_in(&mut self.open.lock(), handle, now) {
            self.watchers.show(handle);
        }
    }

    /// Keeps fresher contact of the same version, unless the times in memory moved with the clock meanwhile.
    fn refresh(&self, next: &Arc<TaskHandle>, stepped_ms: i64) {
        if let Some(held) = self.open.lock().get_mut(next.id)
            && held.handle.version == next.version
            && held.unrecorded_step_ms == stepped_ms
            && held.handle.contact.seen() <= next.contact.seen()
        {
            held.handle = Arc::clone(next);
            held.stale_note = true;
        }
    }
}

/// Takes a committed handle into memory; false when a later state of it is there.
fn keep_in(open: &mut OpenHandles, handle: &Arc<TaskHandle>, now: Timestamp) -> bool {
    if open.get(handle.id).is_some_and(|held| held.handle.version > handle.version) {
        return false;
    }
    if crate::connections::task_needs::is_settled(handle, now) {
        open.remove(handle.id);
    } else if !open.replace(handle) {
        open.insert(Arc::clone(handle));
    }
    true
}

/// A commit of a handle that has begun and is not kept yet.
struct UnfinishedCommit<'a> {
    ledger: &'a TaskLedger,
    id: HandleId,
}

impl<'a> UnfinishedCommit<'a> {
    fn new(ledger: &'a TaskLedger, id: HandleId) -> Self {
        if let Some(held) = ledger.open.lock().get_mut(id) {
            held.unfinished_commits += 1;
        }
        Self { ledger, id }
    }
}

impl Drop for UnfinishedCommit<'_> {
    fn drop(&mut self) {
        // A handle taken up since may not have been counted.
        if let Some(held) = self.ledger.open.lock().get_mut(self.id) {
            held.unfinished_commits = held.unfinished_commits.saturating_sub(1);
        }
    }
}

/// What the engine knows of a task beyond the registry, from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFacts {
    /// When it was last seen.
    pub seen: Timestamp,
    /// When it is polled next; `None` when it is not polled.
    pub next_poll: Option<Timestamp>,
    /// The polls that failed since; `None` when the last one succeeded.
    pub failing: Option<FailingPolls>,
}

impl Engine {
    /// The task as last committed, with the newest contact, from memory; `None` when it is over and so not held, or when
    /// the registry may know a newer one.
    #[must_use]
    pub fn task(&self, id: HandleId) -> Option<Arc<TaskHandle>> {
        self.core.ledger.held_newest(id)
    }

    /// Contact of the moment, newer than the registry's.
    #[must_use]
    pub fn live(&self, id: HandleId) -> Option<LiveFacts> {
        let open = self.core.ledger.open.lock();
        let held = open.get(id)?;
        Some(LiveFacts { seen: held.handle.contact.seen(), next_poll: held.next_poll, failing: held.failing.clone() })
    }

    /// Open tasks of an agent, as last committed.
    #[must_use]
    pub fn open_tasks(&self, id: AgentId) -> Vec<Arc<TaskHandle>> {
        self.core.ledger.of_agent(id)
    }

    /// A stored payload of a task.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn payload(&self, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, EngineError> {
        Ok(self.core.registry.payload(id, kind).await?)
    }
}
