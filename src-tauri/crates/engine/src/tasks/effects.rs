//! Performs the effects of a committed transition: wakes the feed, the actor, the deliverer and the notices.
//!
//! Every effect is a level ("check this handle"), so performing one twice or out of order does no harm, and one that is
//! lost with the process is found again from the registry at the next start.

use std::sync::Arc;

use domain::ids::Seq;
use domain::task::{Effect, TaskHandle, Transition};
use domain::time::Timestamp;

use crate::attention::notices::AttentionQueue;
use crate::connections::connection::PollRequest;
use crate::connections::pool::ConnectionPool;
use crate::decisions::deliver::queue::DeliveryQueue;
use crate::decisions::shared_questions::SharedQuestionQueue;
use crate::runtime::commit_signal::CommitSignal;
use crate::runtime::tick_queue::TickQueue;

/// Who is woken after a commit.
pub(crate) struct Effects {
    connections: Arc<ConnectionPool>,
    pub(crate) deliveries: DeliveryQueue,
    pub(crate) attention: AttentionQueue,
    pub(crate) commits: Arc<CommitSignal>,
    pub(crate) shared_questions: SharedQuestionQueue,
    /// Tasks that time alone changes soon.
    pub(crate) ticks: TickQueue,
}

impl Effects {
    pub(crate) fn new(connections: Arc<ConnectionPool>, commits: Arc<CommitSignal>) -> Self {
        Self {
            connections,
            deliveries: DeliveryQueue::default(),
            attention: AttentionQueue::default(),
            commits,
            shared_questions: SharedQuestionQueue::default(),
            ticks: TickQueue::default(),
        }
    }

    /// Performs the effects of a transition that is now durable at `seq`.
    pub(crate) fn perform(&self, handle: &TaskHandle, transition: &Transition, seq: Seq, now: Timestamp) {
        self.commits.committed(seq);
        self.shared_questions.changed(handle);
        for effect in &transition.effects {
            match effect {
                Effect::Deliver => self.deliveries.push(handle.id, handle.deliver_at().unwrap_or(now)),
                Effect::Tell(attention) => self.attention.push(handle.id, *attention),
                // The actor sees from the handle that it need not poll; reservations are rows, released by the
                // terminal phase in the same commit. Polls are below.
                Effect::PollAt(_) | Effect::StopPolling | Effect::Release => {}
            }
        }
        self.request_poll(handle, poll_request(transition, now));
    }

    /// Performs what an observation without a change asks for: another poll. Without a commit there is nothing to tell or
    /// to deliver.
    pub(crate) fn poll_again(&self, handle: &TaskHandle, transition: &Transition, now: Timestamp) {
        let poll = poll_request(transition, now);
        if poll.poll_at.is_some() {
            self.request_poll(handle, poll);
        }
    }

    fn request_poll(&self, handle: &TaskHandle, poll: PollRequest) {
        if let Some(connection) = self.connections.of(handle) {
            connection.request_poll(handle.id, poll);
        }
    }
}

/// The poll that a transition asks for. One that is due already means as soon as the server's hint allows.
fn poll_request(transition: &Transition, now: Timestamp) -> PollRequest {
    let poll_at = transition.effects.iter().rev().find_map(|effect| match effect {
        Effect::PollAt(at) => Some(*at),
        Effect::Deliver | Effect::Tell(_) | Effect::StopPolling | Effect::Release => None,
    });
    PollRequest { soon: poll_at.is_some_and(|at| at <= now), poll_at, person_acted: false }
}
