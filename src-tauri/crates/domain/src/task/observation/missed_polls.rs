//! What follows when a task cannot be seen (rules 8 to 10). Never touches the server's view or people's intent.
//!
//! A task never fails because we could not see it: it is silent, blocked, lost or expired, with the last thing seen.
//! The engine decides when to poll and counts failures; what was seen is in `observe.rs`.

use std::mem::discriminant;
use std::time::Duration;

use crate::audit::{Actor, Verb};
use crate::policy::Policy;
use crate::raw_message::{Direction, RawText};
use crate::server::ServerAct;
use crate::task::input_request::AskDoor;
use crate::task::status::{Contact, GoneWhy, Miss, Needs, REMOVED_BEFORE_SENT, RpcError};
use crate::task::{Attention, Effect, TaskHandle, Transition};
use crate::time::Timestamp;

/// What the poller counted since the task was last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct MissCount {
    /// Polls in a row that brought nothing.
    pub failures: u32,
    /// "Unknown task" answers in a row.
    pub unknown: u32,
    /// The interval at which the task is polled.
    pub interval: Duration,
}

impl TaskHandle {
    /// A poll brought nothing. Becomes silent after the policy's misses or intervals, whichever is later;
    /// lost or expired by rule 9. Below these limits nothing changes.
    #[must_use]
    pub fn missed(&self, miss: &Miss, count: &MissCount, now: Timestamp, policy: &Policy) -> Transition {
        if self.is_over() {
            return Transition::none(self);
        }
        match miss {
            Miss::UnknownTask if self.view.task().is_some() => {
                if self.expires().is_some_and(|expires| expires <= now) {
                    return self.gone(&GoneWhy::Expired, now);
                }
                if count.unknown >= policy.unknown_tries {
                    return self.gone(&GoneWhy::Unknown, now);
                }
            }
            Miss::UnknownTask | Miss::Unreachable(_) | Miss::Unreadable { .. } | Miss::Refused(_) => {}
        }
        let told_before = match &self.contact {
            Contact::Silent { last, .. } => last == miss,
            Contact::Fresh { .. } | Contact::Blocked { .. } | Contact::Gone { .. } => false,
        };
        let silent = |since| Contact::Silent { since, failures: count.failures, last: miss.clone() };
        let mut step = Transition::none(self);
        match &self.contact {
            Contact::Fresh { seen } => {
                let long = count.interval.saturating_mul(policy.silent_intervals);
                if count.failures >= policy.silent_misses && now.since(*seen) >= long {
                    step.next.contact = silent(*seen);
                    step.effect(Effect::Tell(Attention::Problem));
                }
            }
            Contact::Silent { since, .. } => step.next.contact = silent(*since),
            Contact::Blocked { .. } | Contact::Gone { .. } => {}
        }
        let shown = match &step.next.contact {
            Contact::Silent { .. } => !told_before,
            Contact::Fresh { .. } | Contact::Blocked { .. } | Contact::Gone { .. } => false,
        };
        match miss {
            Miss::Refused(error) if shown => step.keep_error(now, "tasks/get", error, policy),
            Miss::Refused(_) | Miss::UnknownTask | Miss::Unreachable(_) | Miss::Unreadable { .. } => {}
        }
        step.settle(self, now)
    }

    /// The server answered one of our messages about the task with an error; only kept for people to read.
    #[must_use]
    pub fn error_heard(&self, about: &str, error: &RpcError, now: Timestamp, policy: &Policy) -> Transition {
        let mut step = Transition::none(self);
        step.keep_error(now, about, error, policy);
        step.settle(self, now)
    }

    /// The server needs a person first.
    #[must_use]
    pub fn blocked(&self, needs: &Needs, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.is_over() {
            return step;
        }
        let known = match &self.contact {
            Contact::Blocked { needs: before, .. } => discriminant(before) == discriminant(needs),
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Gone { .. } => false,
        };
        if !known {
            step.effect(Effect::Tell(Attention::Problem));
        }
        step.next.contact = Contact::Blocked { since: self.contact.seen(), needs: needs.clone() };
        step.settle(self, now)
    }

    /// Beyond reach for good, by evidence. A server has nothing of a call that was not sent, so it cannot lose it; without
    /// the server it is never sent.
    #[must_use]
    pub fn gone(&self, why: &GoneWhy, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.is_over() {
            return step;
        }
        if self.view.is_gated() {
            return match why {
                GoneWhy::ServerRemoved => self.not_sent(REMOVED_BEFORE_SENT, now),
                GoneWhy::Unknown
                | GoneWhy::Expired
                | GoneWhy::ProcessEnded(_)
                | GoneWhy::OutOfReach(_)
                | GoneWhy::EndedByPerson { .. }
                | GoneWhy::Replaced => step,
            };
        }
        let mut part = Actor::System("contact");
        let note = match why {
            GoneWhy::Unknown => "its server does not know it any more",
            GoneWhy::Expired => "its time on the server ran out",
            GoneWhy::ProcessEnded(_) => "the process that ran it ended",
            GoneWhy::OutOfReach(_) => "its process may go on where this core does not reach it",
            GoneWhy::EndedByPerson { by, act } => {
                part = Actor::Person(by.clone());
                match act {
                    ServerAct::End => "its server was ended",
                    ServerAct::Restart => "its server was restarted",
                    ServerAct::Change => "its server was changed",
                }
            }
            GoneWhy::Replaced => "its server shows another task under the same id",
            GoneWhy::ServerRemoved => "its server was removed",
        };
        step.next.contact = Contact::Gone { at: now, seen: self.contact.seen(), why: why.clone() };
        let is_settled = step.next.is_settled_loss(step.next.phase(now));
        step.fact(now, part.clone(), Verb::Lost, note);
        // A server that says "unknown" may know the task again a moment later, and a key opens only once (rule 5): its
        // questions wait, out of the inbox, because the phase is over.
        let may_return = match why {
            GoneWhy::Unknown | GoneWhy::Expired | GoneWhy::OutOfReach(_) => true,
            GoneWhy::ProcessEnded(_) | GoneWhy::EndedByPerson { .. } | GoneWhy::Replaced | GoneWhy::ServerRemoved => {
                false
            }
        };
        step.close_requests(now, &part, "the task is beyond reach", |door| match door {
            AskDoor::Listed { .. } => !may_return,
            AskDoor::Round { .. } | AskDoor::Live { .. } => true,
        });
        step.effect(Effect::StopPolling);
        step.effect(Effect::Release);
        step.effect(Effect::Tell(if is_settled { Attention::Finished } else { Attention::Problem }));
        step.settle(self, now)
    }
}

impl Transition {
    /// Keeps what is known of an error: code and words, the rest of the message was not kept.
    fn keep_error(&mut self, now: Timestamp, about: &str, error: &RpcError, policy: &Policy) {
        let text = serde_json::json!({ "code": error.code, "message": error.message }).to_string();
        self.said(now, Direction::FromServer, about, &RawText::part(&text, policy));
    }
}
