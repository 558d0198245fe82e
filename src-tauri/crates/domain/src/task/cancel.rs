//! What people want: to cancel, to revoke, to stop watching (rules 7 and 12; promise R1).
//!
//! A request to cancel changes the intent and nothing else: only the server's own word ends a task. Sending it is the
//! engine's, and whether the server complied is read from its view.

pub mod plan;

use super::{Attention, Effect, EscalationStep, Refusal, TaskHandle, Told, Transition};
use crate::audit::{Actor, Verb};
use crate::ids::PersonId;
use crate::task::decider::Decider;
use crate::task::status::{CancelRequest, CancelState, Delivery, Intent, Outcome, SentCancel, ServerView, TaskStatus};
use crate::time::Timestamp;

impl TaskHandle {
    /// Requests a cancel. Changes intent only. A cancel request that the server refused may be asked again.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over or a cancel was requested before.
    pub fn cancel(&self, by: impl Into<Decider>, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let by = by.into();
        if self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        match &self.intent {
            Intent::Revoked(cancel_request) => {
                return Err(Refusal::AlreadyAsked { by: cancel_request.by.clone(), at: cancel_request.at });
            }
            Intent::Cancel(cancel_request) => match cancel_request.delivery {
                Delivery::Refused { .. } => {}
                Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => {
                    return Err(Refusal::AlreadyAsked { by: cancel_request.by.clone(), at: cancel_request.at });
                }
            },
            Intent::None | Intent::Unwatched { .. } => {}
        }
        let mut step = Transition::none(self);
        let delivery = Delivery::Recorded;
        step.next.intent = Intent::Cancel(CancelRequest::new(&by, now, reason, delivery));
        step.note_step(EscalationStep::Cancel, &by, now, reason);
        step.fact(now, by.actor(), Verb::CancelBegun, reason.unwrap_or_default());
        step.effect(Effect::Deliver);
        Ok(step.settle(self, now))
    }

    /// Asks once more for a cancel that was asked before and is not confirmed. What was asked first stays in the audit log.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over, or when it is a call without a task whose cancel was sent: the notification
    /// gave up its request, so there is nothing left that a second one could name.
    pub fn cancel_again(&self, by: impl Into<Decider>, now: Timestamp) -> Result<Transition, Refusal> {
        let by = by.into();
        if self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        if let Some(request) = self.cancel_request()
            && (request.sent.is_some() || request.acknowledged_at().is_some())
            && self.view.task().is_none()
        {
            return Err(Refusal::AlreadyAsked { by: request.by.clone(), at: request.at });
        }
        let mut step = Transition::none(self);
        let Some(request) = step.next.cancel_request_mut() else { return self.cancel(by, None, now) };
        *request = CancelRequest::new(&by, now, request.reason.as_deref(), Delivery::Recorded);
        step.next.told.remove(&Told::Disobeyed);
        step.fact(now, by.actor(), Verb::CancelBegun, "asked again");
        step.effect(Effect::Deliver);
        Ok(step.settle(self, now))
    }

    /// Takes the handle from its agent at once and requests a cancel. An earlier cancel request becomes this, with
    /// what was sent of it; of a task that is over, nothing is asked.
    ///
    /// # Errors
    /// A [`Refusal`] when it was revoked before.
    pub fn revoke(&self, by: impl Into<Decider>, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let by = by.into();
        let ended = Delivery::Refused { at: now, why: "it was over already".to_owned() };
        let (delivery, sent, asks) = match &self.intent {
            Intent::Revoked(cancel_request) => {
                return Err(Refusal::AlreadyAsked { by: cancel_request.by.clone(), at: cancel_request.at });
            }
            Intent::Cancel(cancel_request) => (cancel_request.delivery.clone(), cancel_request.sent, false),
            Intent::Unwatched { .. } if self.may_be_cancelled() => (Delivery::Recorded, None, true),
            Intent::None if !self.is_over() => (Delivery::Recorded, None, true),
            Intent::None | Intent::Unwatched { .. } => (ended, None, false),
        };
        let mut step = Transition::none(self);
        let actor = by.actor();
        step.next.intent = Intent::Revoked(CancelRequest { sent, ..CancelRequest::new(&by, now, reason, delivery) });
        if self.is_unwatched() && !asks {
            // What a person has settled stays settled; only the handle is taken from its agent.
            step.next.told.insert(Told::Resolved);
        }
        step.note_step(EscalationStep::Revoke, &by, now, reason);
        step.fact(now, actor.clone(), Verb::Revoked, reason.unwrap_or_default());
        if asks {
            step.fact(now, actor, Verb::CancelBegun, "revoked");
            step.effect(Effect::PollAt(now));
        }
        if step.next.is_cancel_due() {
            step.effect(Effect::Deliver);
        }
        Ok(step.settle(self, now))
    }

    /// Stops watching; nothing is asked of the server. Its questions leave the inbox. A task that is lost, expired or
    /// unconfirmed is marked as resolved by it, whatever was asked of it before: a handle that was taken from its agent
    /// stays taken.
    ///
    /// # Errors
    /// A [`Refusal`] when the server said how it ended or nobody watches it, and while it can be reached also when it
    /// is revoked or a cancel is still on its way to the server.
    pub fn unwatch(&self, by: &PersonId, note: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        if self.view.is_terminal() || self.is_unwatched() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        let beyond_reach = !self.may_be_cancelled();
        let mut step = Transition::none(self);
        match &self.intent {
            Intent::Revoked(_) if beyond_reach => {
                step.next.told.insert(Told::Resolved);
            }
            Intent::Revoked(cancel_request) => {
                return Err(Refusal::AlreadyAsked { by: cancel_request.by.clone(), at: cancel_request.at });
            }
            Intent::Cancel(cancel_request) if cancel_request.delivery.is_pending() && !beyond_reach => {
                return Err(Refusal::AlreadyAsked { by: cancel_request.by.clone(), at: cancel_request.at });
            }
            Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => {
                step.next.intent = Intent::Unwatched { by: by.clone(), at: now };
            }
        }
        let person = Actor::Person(by.clone());
        step.fact(now, person.clone(), Verb::Unwatched, note.unwrap_or_default());
        step.close_requests(now, &person, "the task is no longer watched", |_| true);
        step.effect(Effect::StopPolling);
        step.effect(Effect::Release);
        Ok(step.settle(self, now))
    }

    /// Whether a cancel could still reach anything: it has not ended, is not gone, and its call's reply may come.
    fn may_be_cancelled(&self) -> bool {
        !self.view.is_terminal() && !self.contact.is_gone() && !matches!(self.view, ServerView::Unanswered { .. })
    }

    /// How far the cancel request got. An outcome is final; attempts are counted here.
    #[must_use]
    pub fn cancel_step(&self, delivered: &Delivery, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let server = step.by_server();
        let Some(cancel_request) =
            step.next.cancel_request_mut().filter(|cancel_request| cancel_request.delivery.is_pending())
        else {
            return step;
        };
        cancel_request.delivery = advance(&cancel_request.delivery, delivered);
        match delivered {
            Delivery::Sent { at, .. } => cancel_request.sent = cancel_request.sent.or(Some(*at)),
            Delivery::Recorded | Delivery::Acknowledged { .. } | Delivery::Refused { .. } => {}
        }
        match delivered {
            Delivery::Recorded | Delivery::Sent { .. } => {}
            // A call without a task is cancelled by a notification, to which no server answers.
            Delivery::Acknowledged { .. } if self.view.task().is_none() => {
                step.fact(now, Actor::System("deliver"), Verb::CancelEnded, "sent");
            }
            Delivery::Acknowledged { .. } => step.fact(now, server, Verb::CancelEnded, "acknowledged"),
            Delivery::Refused { .. } => {
                let sent = step.next.cancel_request().is_some_and(|cancel_request| cancel_request.sent.is_some());
                step.fact(now, server, Verb::CancelEnded, if sent { "refused" } else { "notSent" });
                step.effect(Effect::Tell(Attention::Problem));
            }
        }
        step.settle(self, now)
    }

    /// Whether a cancel must be sent now. One that left for a call whose reply is lost is not sent again: that is a
    /// notification, which no server answers, and nobody refused it.
    #[must_use]
    pub fn is_cancel_due(&self) -> bool {
        let has_left = |delivery: &Delivery| {
            matches!((delivery, &self.view), (Delivery::Sent { .. }, ServerView::Unanswered { .. }))
        };
        let request = self.cancel_request().filter(|request| request.delivery.is_pending());
        !self.is_over() && request.is_some_and(|request| !has_left(&request.delivery))
    }

    /// How the cancel counts in the record of its server; `None` when none was sent.
    #[must_use]
    pub fn sent_cancel(&self) -> Option<SentCancel> {
        let request = self.cancel_request()?;
        let was_sent = match request.delivery {
            Delivery::Sent { .. } | Delivery::Acknowledged { .. } => true,
            Delivery::Recorded | Delivery::Refused { .. } => request.sent.is_some(),
        };
        if !was_sent {
            return None;
        }
        if self.view.task().is_none() {
            return Some(SentCancel::OfCall);
        }
        self.stop_state().map(SentCancel::OfTask)
    }

    /// Whether the server is known to have finished it after it was asked to cancel it. Silence says nothing: a call
    /// without a task is cancelled by a notification, to which a server that obeys sends no reply. Nor does an error,
    /// which may be how the call was stopped.
    #[must_use]
    pub fn finished_in_spite_of_cancel(&self) -> bool {
        match self.sent_cancel() {
            Some(SentCancel::OfTask(state)) => state == CancelState::FinishedAnyway,
            Some(SentCancel::OfCall) => matches!(self.view, ServerView::Direct(Outcome::Ok(_))),
            None => false,
        }
    }

    /// How far the cancel request got; `None` when there is none.
    #[must_use]
    pub fn stop_state(&self) -> Option<CancelState> {
        let cancel_request = self.cancel_request()?;
        let stopped = match &self.view {
            ServerView::Task(task) => task.status == TaskStatus::Cancelled,
            ServerView::NotSent { .. } if self.cancelled_unsent() => return Some(CancelState::EndedHere),
            ServerView::NotSent { .. } => false,
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_) => false,
        };
        if stopped {
            return Some(CancelState::Stopped);
        }
        if self.view.is_terminal() {
            return Some(CancelState::FinishedAnyway);
        }
        Some(match cancel_request.delivery {
            Delivery::Recorded | Delivery::Sent { .. } => CancelState::Asked,
            // A call without a task is cancelled by a notification, which nobody ever acknowledges: it was only sent.
            Delivery::Acknowledged { .. } if self.view.task().is_none() => CancelState::Asked,
            Delivery::Acknowledged { .. } => CancelState::Acknowledged,
            Delivery::Refused { .. } => CancelState::Refused,
        })
    }
}

/// One step of a delivery; a sending counts one attempt more than the sending before.
pub(crate) fn advance(before: &Delivery, delivered: &Delivery) -> Delivery {
    match delivered {
        Delivery::Sent { at, .. } => {
            let earlier = match before {
                Delivery::Sent { attempts, .. } => *attempts,
                Delivery::Recorded | Delivery::Acknowledged { .. } | Delivery::Refused { .. } => 0,
            };
            Delivery::Sent { at: *at, attempts: earlier.saturating_add(1) }
        }
        Delivery::Recorded | Delivery::Acknowledged { .. } | Delivery::Refused { .. } => delivered.clone(),
    }
}
