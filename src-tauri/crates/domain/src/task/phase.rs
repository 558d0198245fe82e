//! Derives the one word shown for a task, and what time alone changes (rulings 3 to 5).
//!
//! [`TaskHandle::phase`] is the only place where the three truths meet. Who is notified, and how, is the engine's. Read
//! `status.rs` for what each phase means.

use super::{Attention, Effect, TaskHandle, Told, Transition};
use crate::policy::Policy;
use crate::task::input_request::{AskDoor, RequestState};
use crate::task::status::{Contact, Delivery, GoneWhy, Intent, Outcome, Phase, ServerView, TaskStatus};
use crate::time::Timestamp;

impl TaskHandle {
    /// The phase at a moment: the first of these that holds.
    #[must_use]
    pub fn phase(&self, now: Timestamp) -> Phase {
        self.end_phase()
            .or_else(|| self.is_unwatched().then_some(Phase::Unwatched))
            .or_else(|| self.lost_phase())
            .or_else(|| self.wish_phase())
            .or_else(|| self.contact_phase())
            .unwrap_or_else(|| self.work_phase(now))
    }

    fn end_phase(&self) -> Option<Phase> {
        let of_outcome = |outcome: &Outcome| match outcome {
            Outcome::ToolError(_) | Outcome::FailedWithResult(_) => Phase::DoneWithError,
            Outcome::Error(_) => Phase::Failed,
            Outcome::Ok(_) | Outcome::NotFetched | Outcome::Unavailable => Phase::Done,
        };
        match &self.view {
            ServerView::Task(task) => match &task.status {
                TaskStatus::Completed(outcome) => Some(of_outcome(outcome)),
                TaskStatus::Failed(_) => Some(Phase::Failed),
                TaskStatus::Cancelled => Some(Phase::Cancelled),
                TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => None,
            },
            ServerView::Direct(outcome) => Some(of_outcome(outcome)),
            ServerView::Refused(_) => Some(Phase::Failed),
            ServerView::NotSent { .. } => Some(if self.cancelled_unsent() { Phase::Cancelled } else { Phase::Failed }),
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::Unanswered { .. } => None,
        }
    }

    /// Whether a cancel was requested of a call of which nothing runs on the server.
    pub(crate) fn cancelled_unsent(&self) -> bool {
        self.cancel_request().is_some_and(|cancel_request| !cancel_request.delivery.is_refused())
    }

    fn lost_phase(&self) -> Option<Phase> {
        match &self.contact {
            Contact::Gone { why, .. } => match why {
                GoneWhy::Expired => return Some(Phase::Expired),
                GoneWhy::Unknown
                | GoneWhy::ProcessEnded(_)
                | GoneWhy::OutOfReach(_)
                | GoneWhy::EndedByPerson { .. }
                | GoneWhy::Replaced
                | GoneWhy::ServerRemoved => return Some(Phase::Lost),
            },
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => {}
        }
        match &self.view {
            ServerView::Unanswered { .. } => Some(Phase::Unconfirmed),
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => None,
        }
    }

    /// Whether it is lost because a person ended its server: that is known and wanted, and nobody has to look at it.
    #[must_use]
    pub fn is_settled_loss(&self, phase: Phase) -> bool {
        let by_person = matches!(&self.contact, Contact::Gone { why: GoneWhy::EndedByPerson { .. }, .. });
        by_person && phase == Phase::Lost
    }

    /// Whether its phase says that a person has to act, and nobody has: a person ended its server, or paused it.
    #[must_use]
    pub fn is_settled_wait(&self, phase: Phase) -> bool {
        let is_paused = phase == Phase::Waiting && self.view.is_gated();
        is_paused || self.is_settled_loss(phase)
    }

    fn wish_phase(&self) -> Option<Phase> {
        match &self.intent {
            Intent::None => None,
            Intent::Unwatched { .. } => Some(Phase::Unwatched),
            Intent::Revoked(_) => Some(Phase::Revoked),
            Intent::Cancel(cancel_request) => match cancel_request.delivery {
                Delivery::Refused { .. } => None,
                Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => Some(Phase::Cancelling),
            },
        }
    }

    fn contact_phase(&self) -> Option<Phase> {
        match self.contact {
            Contact::Blocked { .. } => Some(Phase::Blocked),
            Contact::Silent { .. } => Some(Phase::Silent),
            Contact::Fresh { .. } | Contact::Gone { .. } => None,
        }
    }

    fn work_phase(&self, now: Timestamp) -> Phase {
        let answering = self.requests.values().any(|request| match &request.state {
            RequestState::Answered(answered) => !answered.delivery.is_refused(),
            RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
        });
        let late = self.paused_since.is_none() && self.due.is_some_and(|due| due.at <= now);
        if self.view.is_gated() || self.has_request_for_people(now) || !self.shared.elsewhere.is_empty() {
            Phase::Waiting
        } else if answering {
            Phase::Answering
        } else if late {
            Phase::Overdue
        } else {
            Phase::Running
        }
    }

    /// When the phase may next change by time alone, or something must be notified or polled by then. What was notified
    /// is left out, so that a task never ticks twice for one thing.
    #[must_use]
    pub fn next_tick(&self, policy: &Policy) -> Option<Timestamp> {
        [
            self.overdue_tick(),
            self.expiry_tick(),
            self.disobeyed_tick(policy),
            self.payload_tick(policy),
            self.people_tick(),
            self.run_limit_tick(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn overdue_tick(&self) -> Option<Timestamp> {
        let due = self.due.filter(|_| !self.told.contains(&Told::Overdue))?;
        (self.phase(due.at) == Phase::Overdue).then_some(due.at)
    }

    fn expiry_tick(&self) -> Option<Timestamp> {
        let expires = self.expires().filter(|_| !self.is_over())?;
        let ticks = match self.contact {
            Contact::Fresh { .. } => !self.told.contains(&Told::Expiry),
            Contact::Silent { .. } | Contact::Blocked { .. } => true,
            Contact::Gone { .. } => false,
        };
        ticks.then_some(expires)
    }

    fn disobeyed_tick(&self, policy: &Policy) -> Option<Timestamp> {
        let cancel_request =
            self.cancel_request().filter(|_| !self.is_over() && !self.told.contains(&Told::Disobeyed))?;
        match cancel_request.delivery {
            Delivery::Refused { .. } => None,
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => {
                Some(cancel_request.at.plus(policy.cancel_grace))
            }
        }
    }

    /// A finished task whose payload is still missing is polled again, also after a restart.
    fn payload_tick(&self, policy: &Policy) -> Option<Timestamp> {
        self.lacks_payload().then(|| self.changed.plus(policy.backoff_last))
    }

    fn lacks_payload(&self) -> bool {
        self.view.task().is_some_and(|task| task.status == TaskStatus::Completed(Outcome::NotFetched))
    }

    /// When something may be delivered; `None` when there is nothing. A round of a call that only wants its state
    /// back, without questions, counts as something to deliver from the moment it was asked.
    #[must_use]
    pub fn deliver_at(&self) -> Option<Timestamp> {
        if self.is_over() {
            return None;
        }
        let stop = self.cancel_request().filter(|_| self.is_cancel_due()).map(|cancel_request| cancel_request.at);
        let answers = self
            .requests
            .values()
            .filter(|request| match request.door {
                AskDoor::Listed { .. } | AskDoor::Live { .. } => true,
                AskDoor::Round { .. } => false,
            })
            .filter_map(|request| request.sendable_from())
            .min();
        [stop, answers, self.round_ready_at()].into_iter().flatten().min()
    }

    /// What time alone has changed since the last commit.
    #[must_use]
    pub fn ticked(&self, now: Timestamp, policy: &Policy) -> Transition {
        let reached = |tick: Option<Timestamp>| tick.is_some_and(|at| at <= now);
        let mut step = Transition::none(self);
        if reached(self.payload_tick(policy)) {
            return self.payload_missing(now, policy);
        }
        if let Some(step) = self.run_limit_reached(now) {
            // What else is due is found by the next look, which this commit does not put off.
            return step;
        }
        if reached(self.expiry_tick()) {
            match self.contact {
                Contact::Silent { .. } | Contact::Blocked { .. } => return self.gone(&GoneWhy::Expired, now),
                Contact::Fresh { .. } | Contact::Gone { .. } => {
                    step.next.told.insert(Told::Expiry);
                    step.effect(Effect::PollAt(now));
                }
            }
        }
        if reached(self.disobeyed_tick(policy)) {
            step.next.told.insert(Told::Disobeyed);
            step.effect(Effect::Tell(Attention::Problem));
        }
        step.tell_overdue(now);
        let mut step = step.settle(self, now);
        if let Some(since) = self.people_tick().filter(|at| *at <= now && !step.changed) {
            // The moment of the commit is what says that people are asked now.
            step.touch(self, now);
            step.people_asked(since, now);
        }
        step
    }

    /// Polls again for a payload, or gives up when the server was silent for the longest interval between two polls.
    fn payload_missing(&self, now: Timestamp, policy: &Policy) -> Transition {
        let mut step = Transition::none(self);
        if now.since(self.contact.seen()) >= policy.hint_ceiling {
            if let ServerView::Task(task) = &mut step.next.view {
                task.status = TaskStatus::Completed(Outcome::Unavailable);
            }
            step.effect(Effect::StopPolling);
        } else {
            step.effect(Effect::PollAt(now));
        }
        let mut step = step.settle(self, now);
        // The next tick counts from here, so this one is worth a commit even when only a poll was requested.
        step.touch(self, now);
        step
    }
}
