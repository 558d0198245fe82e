//! What people want: to stop, to revoke, to look away (rules 7 and 12; promise R1).
//!
//! A wish changes the intent and nothing else; only the server's own word ends a task. Sending is
//! `engine::deliver`'s, and whether it was obeyed is read off the view.

use super::{Attention, Effect, Refusal, TaskHandle, Told, Transition};
use crate::audit::{Actor, Verb};
use crate::decider::Decider;
use crate::ids::PersonId;
use crate::status::{Contact, Delivery, Intent, ServerView, StopState, TaskStatus, Wish};
use crate::time::Timestamp;

impl TaskHandle {
    /// Asks for a stop. Changes intent only. A wish that the server refused may be asked again.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over or a stop was asked before.
    pub fn cancel(&self, by: impl Into<Decider>, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let by = by.into();
        if self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        match &self.intent {
            Intent::Revoked(wish) => return Err(Refusal::AlreadyAsked { by: wish.by.clone(), at: wish.at }),
            Intent::Cancel(wish) => match wish.delivery {
                Delivery::Refused { .. } => {}
                Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => {
                    return Err(Refusal::AlreadyAsked { by: wish.by.clone(), at: wish.at });
                }
            },
            Intent::None | Intent::Unwatched { .. } => {}
        }
        let mut step = Transition::none(self);
        let delivery = Delivery::Recorded;
        step.next.intent = Intent::Cancel(Wish::new(&by, now, reason, delivery));
        step.fact(now, by.actor(), Verb::StopBegun, reason.unwrap_or_default());
        step.effect(Effect::Deliver);
        Ok(step.settle(self, now))
    }

    /// Takes the handle from its agent at once and asks for a stop. An earlier wish to cancel becomes this, with
    /// what was sent of it; of a task that is over, nothing is asked.
    ///
    /// # Errors
    /// A [`Refusal`] when it was revoked before.
    pub fn revoke(&self, by: &PersonId, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let ended = Delivery::Refused { at: now, why: "it was over already".to_owned() };
        let (delivery, sent, asks) = match &self.intent {
            Intent::Revoked(wish) => return Err(Refusal::AlreadyAsked { by: wish.by.clone(), at: wish.at }),
            Intent::Cancel(wish) => (wish.delivery.clone(), wish.sent, false),
            Intent::Unwatched { .. } if self.may_be_stopped() => (Delivery::Recorded, None, true),
            Intent::None if !self.is_over() => (Delivery::Recorded, None, true),
            Intent::None | Intent::Unwatched { .. } => (ended, None, false),
        };
        let mut step = Transition::none(self);
        let person = Actor::Person(by.clone());
        step.next.intent = Intent::Revoked(Wish { sent, ..Wish::new(&by.into(), now, reason, delivery) });
        if self.is_unwatched() && !asks {
            // What a person has settled stays settled; only the handle is taken from its agent.
            step.next.told.insert(Told::Resolved);
        }
        step.fact(now, person.clone(), Verb::Revoked, reason.unwrap_or_default());
        if asks {
            step.fact(now, person, Verb::StopBegun, "revoked");
            step.effect(Effect::LookAt(now));
        }
        if step.next.stop_due() {
            step.effect(Effect::Deliver);
        }
        Ok(step.settle(self, now))
    }

    /// Stops looking; nothing is asked of the server. Its questions leave the inbox. A task that is lost, expired or
    /// unconfirmed is marked as resolved by it, whatever was asked of it before: a handle that was taken from its agent
    /// stays taken.
    ///
    /// # Errors
    /// A [`Refusal`] when the server said how it ended or nobody watches it, and while it can be reached also when it is
    /// revoked or a stop is still on its way to the server.
    pub fn unwatch(&self, by: &PersonId, note: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        if self.view.is_terminal() || self.is_unwatched() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        let beyond_reach = !self.may_be_stopped();
        let mut step = Transition::none(self);
        match &self.intent {
            Intent::Revoked(_) if beyond_reach => {
                step.next.told.insert(Told::Resolved);
            }
            Intent::Revoked(wish) => return Err(Refusal::AlreadyAsked { by: wish.by.clone(), at: wish.at }),
            Intent::Cancel(wish) if wish.delivery.is_pending() && !beyond_reach => {
                return Err(Refusal::AlreadyAsked { by: wish.by.clone(), at: wish.at });
            }
            Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => {
                step.next.intent = Intent::Unwatched { by: by.clone(), at: now };
            }
        }
        let person = Actor::Person(by.clone());
        step.fact(now, person.clone(), Verb::Unwatched, note.unwrap_or_default());
        step.close_requests(now, &person, "the task is no longer watched", |_| true);
        step.effect(Effect::StopLooking);
        step.effect(Effect::Release);
        Ok(step.settle(self, now))
    }

    /// Whether a stop could still reach anything: it has not ended, is not gone, and its call's reply may come.
    fn may_be_stopped(&self) -> bool {
        let gone = match &self.contact {
            Contact::Gone { .. } => true,
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
        };
        let unconfirmed = match &self.view {
            ServerView::Unanswered { .. } => true,
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::NotSent { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => false,
        };
        !self.view.is_terminal() && !gone && !unconfirmed
    }

    /// How far the wish to stop got. An outcome is final; attempts are counted here.
    #[must_use]
    pub fn stop_step(&self, delivered: &Delivery, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let server = step.by_server();
        let Some(wish) = step.next.wish_mut().filter(|wish| wish.delivery.is_pending()) else { return step };
        wish.delivery = advance(&wish.delivery, delivered);
        match delivered {
            Delivery::Sent { at, .. } => wish.sent = wish.sent.or(Some(*at)),
            Delivery::Recorded | Delivery::Acknowledged { .. } | Delivery::Refused { .. } => {}
        }
        match delivered {
            Delivery::Recorded | Delivery::Sent { .. } => {}
            Delivery::Acknowledged { .. } => step.fact(now, server, Verb::StopEnded, "acknowledged"),
            Delivery::Refused { .. } => {
                let sent = step.next.wish().is_some_and(|wish| wish.sent.is_some());
                step.fact(now, server, Verb::StopEnded, if sent { "refused" } else { "notSent" });
                step.effect(Effect::Tell(Attention::Problem));
            }
        }
        step.settle(self, now)
    }

    /// Whether a stop must be sent now.
    #[must_use]
    pub fn stop_due(&self) -> bool {
        !self.is_over() && self.wish().is_some_and(|wish| wish.delivery.is_pending())
    }

    /// Where the wish to stop stands; `None` when there is none.
    #[must_use]
    pub fn stop_state(&self) -> Option<StopState> {
        let wish = self.wish()?;
        let stopped = match &self.view {
            ServerView::Task(task) => task.status == TaskStatus::Cancelled,
            ServerView::NotSent { .. } => self.stopped_unsent(),
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_) => false,
        };
        if stopped {
            return Some(StopState::Stopped);
        }
        if self.view.is_terminal() {
            return Some(StopState::FinishedAnyway);
        }
        Some(match wish.delivery {
            Delivery::Recorded | Delivery::Sent { .. } => StopState::Asked,
            // A call without a task is stopped by a notice, and nobody ever acknowledges a notice: it only left.
            Delivery::Acknowledged { .. } if self.view.task().is_none() => StopState::Asked,
            Delivery::Acknowledged { .. } => StopState::Acknowledged,
            Delivery::Refused { .. } => StopState::Refused,
        })
    }
}

/// One step of a delivery; a sending counts one attempt more than the sending before.
pub(super) fn advance(before: &Delivery, delivered: &Delivery) -> Delivery {
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
