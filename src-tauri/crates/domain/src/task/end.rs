//! Ends one question, all questions, or the task (rules 1, 5, 6, 14; ruling 9).
//!
//! A question that ends unanswered is withdrawn; one whose answer was sent is confirmed. Whether something ended is
//! decided in `observation`, `call.rs` and `input_request/answer.rs`.

use std::time::Duration;

use super::{Attention, Effect, Origin, TaskHandle, Transition};
use crate::audit::{Actor, Verb};
use crate::ids::RequestKey;
use crate::task::input_request::{AnswerAction, AskDoor, RequestState};
use crate::task::payload::PayloadKind;
use crate::task::status::{Contact, Delivery, ServerView};
use crate::time::Timestamp;

impl Transition {
    /// The question is no longer asked. An answer that never left goes with it; one that left is confirmed.
    pub(crate) fn close_request(&mut self, key: &RequestKey, now: Timestamp, actor: &Actor, why: &str) {
        let Some(request) = self.next.requests.get_mut(key) else { return };
        match request.state.clone() {
            RequestState::Open => {
                request.state = RequestState::Withdrawn { at: now, why: why.to_owned() };
                self.request_fact(now, actor.clone(), Verb::Withdrawn, key, why);
            }
            RequestState::Answered(answered) => match answered.delivery {
                Delivery::Recorded => {
                    let why = format!("{why}; the answer did not reach the server");
                    request.state = RequestState::Withdrawn { at: now, why: why.clone() };
                    self.request_fact(now, actor.clone(), Verb::Withdrawn, key, why);
                    self.erase_secret(key, answered.action);
                }
                Delivery::Sent { .. } => {
                    request.state = RequestState::Confirmed(answered.clone());
                    self.request_fact(now, actor.clone(), Verb::AnswerEnded, key, "no longer asked");
                    self.erase_secret(key, answered.action);
                }
                Delivery::Acknowledged { .. } | Delivery::Refused { .. } => {
                    request.state = RequestState::Confirmed(answered.clone());
                    self.erase_secret(key, answered.action);
                }
            },
            RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => {}
        }
    }

    /// Closes every question that came through a door of this kind.
    pub(crate) fn close_requests(
        &mut self,
        now: Timestamp,
        actor: &Actor,
        why: &str,
        concerned: impl Fn(&AskDoor) -> bool,
    ) {
        let keys: Vec<RequestKey> = self
            .next
            .requests
            .values()
            .filter(|request| match request.state {
                RequestState::Open | RequestState::Answered(_) => concerned(&request.door),
                RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
            })
            .map(|request| request.key.clone())
            .collect();
        for key in keys {
            self.close_request(&key, now, actor, why);
        }
    }

    /// Erases the content of an answer whose form asked for something that looks like a secret (ruling 9).
    pub(crate) fn erase_secret(&mut self, key: &RequestKey, action: AnswerAction) {
        let secret = self.next.requests.get(key).is_some_and(|request| request.ask.may_hold_secret());
        let kind = PayloadKind::Answer(key.clone());
        let already = self.payloads.iter().any(|write| write.kind == kind);
        let carries = match action {
            AnswerAction::Accept | AnswerAction::Forwarded => true,
            AnswerAction::Decline | AnswerAction::Dismiss => false,
        };
        if secret && carries && !already {
            self.keep(kind, None);
        }
    }

    /// The call or task ended: says so, closes its questions and gives back what was reserved.
    pub(crate) fn end(&mut self, now: Timestamp, from: &str, to: &str) {
        let server = self.by_server();
        self.fact(now, server.clone(), Verb::Ended, format!("{from} -> {to}"));
        self.close_requests(now, &server, "the task ended", |_| true);
        self.effect(Effect::StopPolling);
        self.effect(Effect::Release);
        self.effect(Effect::Tell(Attention::Finished));
    }

    /// Notes how long it took, for "usually takes": calls that began here, waiting for people not counted.
    pub(crate) fn learn(&mut self, now: Timestamp) {
        let began_here = match self.next.origin {
            Origin::Started | Origin::Agent => self.next.tool.is_some(),
            Origin::Discovered | Origin::Adopted => false,
        };
        if began_here {
            self.learned_ms = Some(u64::try_from(self.next.worked_until(now).as_millis()).unwrap_or(u64::MAX));
        }
    }
}

/// How long a task worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkTime {
    /// Up to where it stopped, or up to its last change.
    pub so_far: Duration,
    /// Since when it works besides; `None` while the task stands still and after contact or the task ended.
    pub works_since: Option<Timestamp>,
}

impl TaskHandle {
    /// How long it worked from its admission to its end, or until now while it has none. Time that it waited for people or
    /// stood still in a pause is not counted, and none after contact ended: what it did since then is not known.
    #[must_use]
    pub fn worked(&self, now: Timestamp) -> Duration {
        let WorkTime { so_far, works_since } = self.work_time();
        so_far + works_since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The time that it worked, so that whoever shows it can let it grow. After the wall clock was set while it worked, all
    /// of it is counted from `works_since`: moments of before are of another clock.
    #[must_use]
    pub fn work_time(&self) -> WorkTime {
        if let Some(stopped) = self.stopped_at() {
            return WorkTime { so_far: self.worked_until(stopped), works_since: None };
        }
        if let Some(paused) = self.paused_since {
            return WorkTime { so_far: self.worked_until(paused), works_since: None };
        }
        if self.stepped_ms == 0 {
            return WorkTime { so_far: self.worked_until(self.changed), works_since: Some(self.changed) };
        }
        WorkTime { so_far: Duration::ZERO, works_since: Some(self.created.shifted(self.uncounted_ms())) }
    }

    /// How long ago it was admitted; no step of the wall clock while it worked is counted.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        now.since(self.created.shifted(self.stepped_ms))
    }

    /// Whether it works, or may again when a pause ends.
    pub(crate) fn counts_time(&self) -> bool {
        self.stopped_at().is_none()
    }

    /// Where its work ended: at its own end, or with contact.
    fn stopped_at(&self) -> Option<Timestamp> {
        let contact_ended = if let ServerView::Unanswered { since, .. } = &self.view {
            Some(*since)
        } else if let Contact::Gone { seen, .. } = &self.contact {
            Some(*seen)
        } else {
            None
        };
        // One that is over without an end of its own is heard of no more after its last change.
        self.ended_at().or(contact_ended).or(self.is_over().then_some(self.changed))
    }

    fn uncounted_ms(&self) -> i64 {
        self.stepped_ms.saturating_add(i64::try_from(self.paused_ms).unwrap_or(i64::MAX))
    }

    fn worked_until(&self, end: Timestamp) -> Duration {
        let end = self.paused_since.map_or(end, |paused| paused.min(end));
        end.since(self.created.shifted(self.uncounted_ms()))
    }
}
