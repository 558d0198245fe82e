//! Performs the effects of a committed transition: wakes the feed, the follower, the deliverer, and who tells people.
//!
//! Every effect is a level left somewhere ("look at this"), so performing one twice or out of order does no harm,
//! and one that is lost with the process is found again from the registry at the next start.

use std::sync::Arc;

use domain::task::{Effect, TaskHandle, Transition};
use domain::ids::Seq;
use domain::time::Timestamp;

use crate::attend::Board;
use crate::parcels::Parcels;
use crate::post::{Posts, Touch};
use crate::pulse::Pulse;
use crate::shared_questions::SharedBoard;

/// Where effects go.
#[derive(Clone)]
pub(crate) struct Outbox {
    pub(crate) posts: Arc<Posts>,
    pub(crate) parcels: Arc<Parcels>,
    pub(crate) board: Arc<Board>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) shared: Arc<SharedBoard>,
}

impl Outbox {
    /// Performs the effects of a transition that is now durable at `seq`.
    pub(crate) fn perform(&self, handle: &TaskHandle, transition: &Transition, seq: Seq, now: Timestamp) {
        self.pulse.committed(seq);
        self.shared.changed(handle);
        for effect in &transition.effects {
            match effect {
                Effect::Deliver => self.parcels.leave(handle.id, handle.deliver_at().unwrap_or(now)),
                Effect::Tell(attention) => self.board.pin(handle.id, *attention),
                // The follower sees from the handle that it need not look; reservations are rows, released by the
                // terminal phase in the same commit. Looks are below.
                Effect::PollAt(_) | Effect::StopPolling | Effect::Release => {}
            }
        }
        self.touch(handle, look(transition, now));
    }

    /// Performs what a sighting asks for that changed nothing: another look. There is nothing to tell or to deliver
    /// without a commit.
    pub(crate) fn look_again(&self, handle: &TaskHandle, transition: &Transition, now: Timestamp) {
        let touch = look(transition, now);
        if touch.look_at.is_some() {
            self.touch(handle, touch);
        }
    }

    fn touch(&self, handle: &TaskHandle, touch: Touch) {
        if let Some(post) = self.posts.of(handle) {
            post.touch(handle.id, touch);
        }
    }
}

/// The look that a transition asks for. One that is due already means as soon as the server's hint allows.
fn look(transition: &Transition, now: Timestamp) -> Touch {
    let look_at = transition.effects.iter().rev().find_map(|effect| match effect {
        Effect::PollAt(at) => Some(*at),
        Effect::Deliver | Effect::Tell(_) | Effect::StopPolling | Effect::Release => None,
    });
    Touch { soon: look_at.is_some_and(|at| at <= now), look_at, person_acted: false }
}
