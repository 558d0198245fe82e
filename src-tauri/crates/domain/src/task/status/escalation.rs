//! How far people went to end one task, and what was observed of it (promise R2).
//!
//! Steps only go up, and each is part of one commit. The first three change the task alone; the last two also end the
//! agent's access or the server's process, which the engine does after the commit and again after a restart until it is
//! recorded as done. Nothing here says that a task ended: see [`TaskHandle::stopped`].

use crate::audit::Verb;
use crate::task::decider::Decider;
use crate::task::status::{Contact, GoneWhy, ServerView};
use crate::task::{Refusal, TaskHandle, Transition};
use crate::time::Timestamp;

/// One step, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EscalationStep {
    /// The server is asked to cancel the task.
    Cancel,
    /// The result is held; the agent sees the task as still working.
    HoldResult,
    /// The agent loses its handle of the task.
    Revoke,
    /// The agent loses its access, and all its tasks are cancelled.
    RevokeAgent,
    /// The local process behind the task is ended, with everything it started.
    ShutDown,
}

impl EscalationStep {
    pub const ALL: [Self; 5] = [Self::Cancel, Self::HoldResult, Self::Revoke, Self::RevokeAgent, Self::ShutDown];

    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::HoldResult => "holdResult",
            Self::Revoke => "revoke",
            Self::RevokeAgent => "revokeAgent",
            Self::ShutDown => "shutDown",
        }
    }

    /// Reads [`EscalationStep::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.word() == word)
    }

    /// Its number for people, from 1.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Cancel => 1,
            Self::HoldResult => 2,
            Self::Revoke => 3,
            Self::RevokeAgent => 4,
            Self::ShutDown => 5,
        }
    }

    /// Reads [`EscalationStep::number`] back.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.number() == number)
    }

    /// Whether more than the commit of the task is to be done for it.
    const fn reaches_beyond_task(self) -> bool {
        matches!(self, Self::RevokeAgent | Self::ShutDown)
    }
}

/// A step that somebody took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenStep {
    pub step: EscalationStep,
    pub by: Decider,
    pub at: Timestamp,
    /// In the person's words.
    pub reason: Option<String>,
    /// That it was carried out; `None` while the engine still has to.
    pub done: Option<StepDone>,
}

/// That a step was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepDone {
    pub at: Timestamp,
    /// Other tasks that ended or were asked to cancel with it.
    pub other_tasks: u64,
}

/// A process that was seen after its server was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftProcess {
    pub pid: u32,
    /// As it names itself, capped.
    pub name: String,
    /// It belongs to somebody else, and was not signalled.
    pub is_foreign: bool,
}

/// What was observed of the processes behind a task after they were ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// None is left.
    Gone { at: Timestamp, ended: u32 },
    /// Some are left.
    Left {
        at: Timestamp,
        ended: u32,
        /// How many are left.
        left: u32,
        /// The first of them.
        named: Vec<LeftProcess>,
    },
    /// Nobody looked; says why.
    NotObserved { at: Timestamp, why: String },
}

/// The steps of one task, and what was seen of its processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Escalation {
    /// In the order in which they were taken, each at most once.
    pub steps: Vec<TakenStep>,
    /// Also of a task that ended with the process of another.
    pub process_end: Option<ProcessEnd>,
}

/// Why a task counts as stopped: nothing of it runs any more, by what was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    /// The server said how it ended.
    ServerSaidSo,
    /// It was not sent, or not sent again, so the server had nothing of it.
    NothingRan,
    /// Its process group, and what had left it, was seen empty at this time.
    ProcessesGone(Timestamp),
}

impl Escalation {
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.process_end.is_none()
    }

    /// The highest step that was taken.
    #[must_use]
    pub fn highest(&self) -> Option<EscalationStep> {
        self.steps.iter().map(|taken| taken.step).max()
    }

    /// A step that was recorded and has not been carried out.
    #[must_use]
    pub fn unfinished(&self) -> Option<&TakenStep> {
        self.steps.iter().find(|taken| taken.step.reaches_beyond_task() && taken.done.is_none())
    }

    /// Notes a step, unless a higher one or the same was taken.
    fn note(&mut self, step: EscalationStep, by: Decider, at: Timestamp, reason: Option<&str>) {
        if self.highest().is_none_or(|highest| highest < step) {
            let done = (!step.reaches_beyond_task()).then_some(StepDone { at, other_tasks: 0 });
            self.steps.push(TakenStep { step, by, at, reason: reason.map(str::to_owned), done });
        }
    }
}

impl Transition {
    /// Notes a step that this transition takes.
    pub(crate) fn note_step(&mut self, step: EscalationStep, by: &Decider, at: Timestamp, reason: Option<&str>) {
        self.next.escalation.note(step, by.clone(), at, reason);
    }
}

impl TaskHandle {
    /// The steps so far. A cancel or a revocation of an earlier version left none: its request stands for it.
    #[must_use]
    pub fn steps_taken(&self) -> Vec<TakenStep> {
        let mut steps = self.escalation.steps.clone();
        let implied = if self.intent.is_revoked() { EscalationStep::Revoke } else { EscalationStep::Cancel };
        if let Some(request) = self.cancel_request()
            && steps.iter().all(|taken| taken.step < implied)
        {
            let done = Some(StepDone { at: request.at, other_tasks: 0 });
            let (by, reason) = (request.by.clone(), request.reason.clone());
            steps.push(TakenStep { step: implied, by, at: request.at, reason, done });
            steps.sort_by_key(|taken| taken.step);
        }
        steps
    }

    /// The highest step so far.
    #[must_use]
    pub fn highest_step(&self) -> Option<EscalationStep> {
        self.steps_taken().iter().map(|taken| taken.step).max()
    }

    /// Checks whether this step can be taken on this task now. What the server is, and whether its agent has
    /// access, is not the task's to say.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over, a higher step was taken, or no agent is concerned.
    pub fn check_step(&self, step: EscalationStep, now: Timestamp) -> Result<(), Refusal> {
        if let Some(taken) = self.highest_step().filter(|taken| *taken > step) {
            return Err(Refusal::HigherStepTaken { asked: step.number(), taken: taken.number() });
        }
        let may_end_process = step == EscalationStep::ShutDown && !self.view.is_terminal() && !self.contact.is_gone();
        if self.is_over() && !may_end_process {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        match step {
            EscalationStep::HoldResult | EscalationStep::Revoke | EscalationStep::RevokeAgent => {
                self.agent.map(|_| ()).ok_or(Refusal::NoAgent)
            }
            EscalationStep::Cancel | EscalationStep::ShutDown => Ok(()),
        }
    }

    /// Takes a step. One that was taken before changes nothing.
    ///
    /// # Errors
    /// A [`Refusal`] of [`TaskHandle::check_step`], or of what the step does.
    pub fn escalate(
        &self,
        step: EscalationStep,
        by: &Decider,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<Transition, Refusal> {
        if self.highest_step() == Some(step) {
            return Ok(Transition::none(self));
        }
        self.check_step(step, now)?;
        let person = || by.person().cloned().ok_or(Refusal::NotByPerson);
        match step {
            EscalationStep::Cancel => self.cancel(by, reason, now),
            EscalationStep::HoldResult => match self.hold(&person()?, now) {
                Ok(mut held) => {
                    // Also where nobody asked for a cancel first.
                    held.note_step(step, by, now, reason);
                    Ok(held)
                }
                Err(refusal) => Err(refusal),
            },
            EscalationStep::Revoke => self.revoke(&person()?, reason, now),
            EscalationStep::RevokeAgent | EscalationStep::ShutDown => {
                let mut taken = Transition::none(self);
                taken.note_step(step, by, now, reason);
                let note = match reason {
                    Some(reason) => format!("step {} {}: {reason}", step.number(), step.word()),
                    None => format!("step {} {}", step.number(), step.word()),
                };
                taken.fact(now, by.actor(), Verb::Escalated, note);
                Ok(taken.settle(self, now))
            }
        }
    }

    /// A step that reaches beyond the task was carried out.
    #[must_use]
    pub fn step_done(&self, step: EscalationStep, other_tasks: u64, now: Timestamp) -> Transition {
        let mut done = Transition::none(self);
        let taken = done.next.escalation.steps.iter_mut().find(|taken| taken.step == step && taken.done.is_none());
        if let Some(taken) = taken {
            taken.done = Some(StepDone { at: now, other_tasks });
        }
        done.settle(self, now)
    }

    /// What was observed of the processes behind the task. A later observation counts more than an earlier one, and
    /// none takes back that they were seen to be gone.
    #[must_use]
    pub fn processes_observed(&self, end: &ProcessEnd, now: Timestamp) -> Transition {
        let mut seen = Transition::none(self);
        if !matches!(self.escalation.process_end, Some(ProcessEnd::Gone { .. })) {
            seen.next.escalation.process_end = Some(end.clone());
        }
        seen.settle(self, now)
    }

    /// Whether nothing of it runs any more, and by what observation. A task that is only lost is not stopped.
    #[must_use]
    pub fn stopped(&self) -> Option<StoppedBy> {
        if matches!(self.view, ServerView::NotSent { .. }) {
            return Some(StoppedBy::NothingRan);
        }
        if self.view.is_terminal() {
            return Some(StoppedBy::ServerSaidSo);
        }
        match (&self.contact, &self.escalation.process_end) {
            (Contact::Gone { why: GoneWhy::EndedByPerson { .. }, .. }, Some(ProcessEnd::Gone { at, .. })) => {
                Some(StoppedBy::ProcessesGone(*at))
            }
            (Contact::Gone { .. } | Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. }, _) => {
                None
            }
        }
    }
}
