//! The time that questions have, after it stood still: what was left when they were frozen is left again.
//!
//! Only our own deadlines move. When a server forgets a task is the server's to say and goes on.

use std::time::Duration;

use crate::task::input_request::RequestState;
use crate::task::{Audience, TaskHandle, Transition};
use crate::time::Timestamp;

impl TaskHandle {
    /// When the first of its open questions was asked.
    #[must_use]
    pub fn asked_since(&self) -> Option<Timestamp> {
        let open = self.requests.values().filter(|request| matches!(request.state, RequestState::Open));
        open.map(|request| request.opened).min()
    }

    /// Its questions stood still for this long until `now`. A deadline that had passed before they were frozen stays.
    #[must_use]
    pub fn thawed(&self, frozen: Duration, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if frozen.is_zero() || self.asked_since().is_none() {
            return step;
        }
        let moved = |at: &mut Timestamp| {
            if at.plus(frozen) > now {
                *at = at.plus(frozen);
            }
        };
        if let Audience::AgentThenPeople { people_at } = &mut step.next.audience {
            moved(people_at);
        }
        if step.next.paused_since.is_none() {
            step.next.due.iter_mut().for_each(|due| moved(&mut due.at));
            step.next.run_limits.dues_mut().for_each(moved);
        }
        if step.next != *self {
            step.touch(self, now);
        }
        step
    }
}
