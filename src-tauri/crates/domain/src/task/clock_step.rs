//! Applies a step of the wall clock to a task: every deadline and every open age moves by as much.
//!
//! A clock that is set says nothing about how much time passed, so nothing may become due, old or early by it. What is
//! history stays as it was written. The engine detects steps.

use super::{Audience, Effect, TaskHandle, Transition};
use crate::task::input_request::RequestState;
use crate::task::status::{Contact, Intent, ServerView};
use crate::time::Timestamp;

impl TaskHandle {
    /// The wall clock was set forward by `millis`, or back when it is negative. Nothing is notified again by it.
    #[must_use]
    pub fn clock_stepped(&self, millis: i64) -> Transition {
        let mut step = Transition::none(self);
        let moved = |at: &mut Timestamp| *at = at.shifted(millis);
        if self.counts_time() {
            step.next.stepped_ms = step.next.stepped_ms.saturating_add(millis);
        }
        let next = &mut step.next;
        match &mut next.view {
            ServerView::Task(task) => {
                moved(&mut task.first_seen);
                task.expires.iter_mut().for_each(moved);
            }
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_) => {}
        }
        match &mut next.contact {
            Contact::Fresh { seen } | Contact::Gone { seen, .. } => moved(seen),
            Contact::Silent { since, .. } | Contact::Blocked { since, .. } => moved(since),
        }
        match &mut next.intent {
            Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => moved(&mut cancel_request.at),
            Intent::None | Intent::Unwatched { .. } => {}
        }
        if let Audience::AgentThenPeople { people_at } = &mut next.audience {
            moved(people_at);
        }
        next.due.iter_mut().for_each(|due| moved(&mut due.at));
        next.run_limits.dues_mut().for_each(moved);
        next.paused_since.iter_mut().for_each(moved);
        next.frozen_since.iter_mut().for_each(moved);
        next.undelivered.iter_mut().for_each(moved);
        if next.requests.values().any(|request| matches!(request.state, RequestState::Open | RequestState::Answered(_)))
        {
            for request in next.requests.values_mut() {
                match &mut request.state {
                    RequestState::Open => moved(&mut request.opened),
                    RequestState::Answered(answered) => {
                        moved(&mut request.opened);
                        moved(&mut answered.at);
                        answered.not_before.iter_mut().for_each(moved);
                    }
                    RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => {}
                }
            }
        }
        if step.next.deliver_at().is_some() {
            step.effect(Effect::Deliver);
        }
        step.changed = step.next != *self;
        step
    }

    /// The latest moment that something of this task is known to have happened at. A clock that shows less was set
    /// back.
    #[must_use]
    pub fn latest(&self) -> Timestamp {
        self.changed.max(self.contact.seen())
    }
}
