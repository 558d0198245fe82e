//! Records answers and follows them to the server (rules 5, 6, 14; rulings 1, 7, 9, 10).
//!
//! An answer is recorded once and then only moves along its way to the server. How a question is recognised as the same
//! one as before is in `live_question.rs`, how questions end in `task/end.rs`; sending is the engine's.

use serde_json::Value;

use crate::audit::{Actor, Verb};
use crate::ids::{PersonId, RequestKey};
use crate::raw_message::{Direction, RawText};
use crate::task::cancel::advance;
use crate::task::decider::Decider;
use crate::task::input_request::{
    AnswerAction, Ask, AskDoor, InputRequest, RecordedAnswer, RequestState, secret_looking_fields,
};
use crate::task::payload::{Payload, PayloadKind};
use crate::task::status::LogLine;
use crate::task::status::{Delivery, ServerView};
use crate::task::{Attention, Effect, Refusal, TaskHandle, Told, Transition};
use crate::time::Timestamp;

/// What a person, or an agent that is asked, answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerInput {
    /// Which question; may be left out when exactly one is open.
    pub key: Option<RequestKey>,
    /// What was chosen.
    pub action: AnswerAction,
    /// Content of an accepted form, or the whole of a forwarded response: a JSON object.
    pub content: Option<Payload>,
    pub by: Decider,
    /// Held back until then (ruling 7).
    pub not_before: Option<Timestamp>,
}

impl Ask {
    /// The method or kind, for people and audit; never the content.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Self::Form { .. } => "form",
            Self::Visit { .. } => "visit",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
            Self::Unsupported(method) => method,
        }
    }

    /// Whether what is answered may be a secret.
    pub(crate) fn may_hold_secret(&self) -> bool {
        match self {
            Self::Form { schema, .. } => !secret_looking_fields(schema).is_empty(),
            Self::Visit { .. } | Self::Sampling | Self::Roots | Self::Unsupported(_) => false,
        }
    }

    /// Whether only an agent can answer it, which its client declared: no rule about people speaks of it.
    #[must_use]
    pub fn is_for_agents_alone(&self) -> bool {
        match self {
            Self::Sampling | Self::Roots => true,
            Self::Form { .. } | Self::Visit { .. } | Self::Unsupported(_) => false,
        }
    }

    /// Whether a person can answer it here.
    #[must_use]
    pub fn is_for_people(&self) -> bool {
        match self {
            Self::Form { .. } | Self::Visit { .. } => true,
            Self::Sampling | Self::Roots | Self::Unsupported(_) => false,
        }
    }
}

impl InputRequest {
    /// From when its answer may go out. A live answer that was sent waits for its outcome or for the question to
    /// come again: a second response to one JSON-RPC request must never leave.
    pub(crate) fn sendable_from(&self) -> Option<Timestamp> {
        let RequestState::Answered(answered) = &self.state else { return None };
        let sendable = match (&answered.delivery, &self.door) {
            (Delivery::Recorded, _) | (Delivery::Sent { .. }, AskDoor::Listed { .. } | AskDoor::Round { .. }) => true,
            (Delivery::Sent { .. }, AskDoor::Live { .. })
            | (Delivery::Acknowledged { .. } | Delivery::Refused { .. }, _) => false,
        };
        sendable.then(|| answered.not_before.unwrap_or(answered.at))
    }
}

impl TaskHandle {
    /// Records an answer. The first one wins; it is never changed.
    ///
    /// # Errors
    /// A [`Refusal`] when there is nothing to answer or somebody was faster.
    pub fn answer(&self, input: AnswerInput, now: Timestamp) -> Result<(Transition, RequestKey), Refusal> {
        let key = self.meant(input.key, &input.by)?;
        let request = self.requests.get(&key).ok_or_else(|| Refusal::UnknownKey(key.clone()))?;
        match &request.state {
            RequestState::Open => {}
            RequestState::Answered(first) | RequestState::Confirmed(first) => {
                return Err(Refusal::AlreadyAnswered { by: first.by.clone(), at: first.at, action: first.action });
            }
            RequestState::Withdrawn { .. } if input.by.agent().is_none() && !request.ask.is_for_people() => {
                return Err(Refusal::NotForPeople(request.ask.kind().to_owned()));
            }
            RequestState::Withdrawn { .. } if self.is_over() => return Err(Refusal::EndedBeforeAnswer),
            RequestState::Withdrawn { .. } => return Err(Refusal::Withdrawn),
        }
        if self.is_over() {
            return Err(Refusal::EndedBeforeAnswer);
        }
        self.check_decider(&input.by, request)?;
        check_content(request, input.action, input.content.as_ref())?;
        if input.by.agent().is_some() {
            let fits = request.ask.check_answer(input.action, input.content.as_ref());
            fits.map_err(|broken| Refusal::DoesNotFit { key: key.clone(), broken: Box::new(broken) })?;
        }
        let mut step = Transition::none(self);
        let answered = RecordedAnswer {
            by: input.by.clone(),
            at: now,
            action: input.action,
            not_before: input.not_before,
            delivery: Delivery::Recorded,
        };
        if let Some(request) = step.next.requests.get_mut(&key) {
            request.state = RequestState::Answered(answered);
        }
        if let Some(content) = input.content {
            step.keep(PayloadKind::Answer(key.clone()), Some(content));
        }
        let note = match input.by.rule() {
            Some(rule) => format!("{} by rule {} version {}", input.action.word(), rule.id, rule.version),
            None => input.action.word().to_owned(),
        };
        step.request_fact(now, input.by.actor(), Verb::AnswerBegun, &key, note);
        step.effect(Effect::Deliver);
        Ok((step.settle(self, now), key))
    }

    /// The question that is meant: the named one, the only open one that this one may answer, or, when none is open,
    /// the only answered one: whoever comes second learns who was first.
    fn meant(&self, key: Option<RequestKey>, by: &Decider) -> Result<RequestKey, Refusal> {
        if let Some(key) = key {
            return Ok(key);
        }
        let theirs = |request: &&InputRequest| self.check_decider(by, request).is_ok();
        let any_theirs = self.requests.values().any(|request| request.state.is_open() && theirs(&request));
        // Where none is theirs, the only one there is says why not.
        let mut open =
            self.requests.values().filter(|request| request.state.is_open() && (!any_theirs || theirs(request)));
        match (open.next(), open.count()) {
            (None, _) => {
                let mut answered = self.requests.values().filter(|request| match request.state {
                    RequestState::Answered(_) | RequestState::Confirmed(_) => true,
                    RequestState::Open | RequestState::Withdrawn { .. } => false,
                });
                match (answered.next(), answered.next(), self.requests.values().next()) {
                    (Some(only), None, _) => Ok(only.key.clone()),
                    // Whoever answers as the task ends learns that it did.
                    (None, _, Some(_)) if self.is_over() => Err(Refusal::EndedBeforeAnswer),
                    (Some(_) | None, _, _) => Err(Refusal::NothingAsked),
                }
            }
            (Some(only), 0) => Ok(only.key.clone()),
            (Some(_), others) => Err(Refusal::AmbiguousKey(others.saturating_add(1))),
        }
    }

    /// Somebody answered a question that was answered already: the log and the audit say so, once for each task, so
    /// that nobody fills them. Nothing else changes.
    #[must_use]
    pub fn answered_late(&self, key: &RequestKey, by: &Decider, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let Some(request) = self.requests.get(key) else { return step };
        let first = match &request.state {
            RequestState::Answered(answered) | RequestState::Confirmed(answered) => &answered.by,
            RequestState::Open | RequestState::Withdrawn { .. } => return step,
        };
        if first == by || self.check_decider(by, request).is_err() || !step.next.told.insert(Told::AnsweredLate) {
            return step;
        }
        let who = |decider: &Decider| match decider {
            Decider::Person(id) => id.to_string(),
            Decider::Agent(_) => "the agent".to_owned(),
            Decider::Limit(_) | Decider::Rule(_) | Decider::Control(_) => decider.name(),
        };
        let text = format!("An answer of {} came too late: {} was first.", who(by), who(first));
        let status = self.view.task().map_or("working", |task| task.status.word()).to_owned();
        step.log.push(LogLine { at: now, status, text });
        step.request_fact(now, by.actor(), Verb::AnswerEnded, key, "too late");
        step.settle(self, now)
    }

    /// Takes back an answer that is still held back.
    ///
    /// # Errors
    /// A [`Refusal`] when it already left.
    pub fn undo_answer(&self, key: &RequestKey, by: &PersonId, now: Timestamp) -> Result<Transition, Refusal> {
        let request = self.requests.get(key).ok_or_else(|| Refusal::UnknownKey(key.clone()))?;
        match &request.state {
            RequestState::Open => return Err(Refusal::NothingAsked),
            RequestState::Withdrawn { .. } => return Err(Refusal::Withdrawn),
            RequestState::Confirmed(_) => return Err(Refusal::AlreadySent),
            RequestState::Answered(answered) => {
                let held = answered.delivery == Delivery::Recorded && answered.not_before.is_some_and(|at| now < at);
                if !held {
                    return Err(Refusal::AlreadySent);
                }
            }
        }
        let mut step = Transition::none(self);
        if let Some(request) = step.next.requests.get_mut(key) {
            request.state = RequestState::Open;
        }
        step.keep(PayloadKind::Answer(key.clone()), None);
        step.request_fact(now, Actor::Person(by.clone()), Verb::AnswerUndone, key, "");
        Ok(step.settle(self, now))
    }

    /// How far the delivery of an answer got. An outcome is final; attempts are counted here. An acknowledged live
    /// answer is confirmed at once; one that a poll confirmed before keeps its late acknowledgement. `Recorded` puts a
    /// live answer back whose channel was gone before it left.
    #[must_use]
    pub fn answer_step(&self, key: &RequestKey, delivered: &Delivery, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let server = step.by_server();
        let Some(request) = step.next.requests.get_mut(key) else { return step };
        let answered = match &mut request.state {
            RequestState::Answered(answered) => answered,
            // A poll was faster than the acknowledgement: that the server took it is still worth knowing.
            RequestState::Confirmed(answered) => {
                if matches!((&answered.delivery, delivered), (Delivery::Sent { .. }, Delivery::Acknowledged { .. })) {
                    answered.delivery = delivered.clone();
                    step.request_fact(now, server, Verb::AnswerEnded, key, "acknowledged");
                }
                return step.settle(self, now);
            }
            RequestState::Open | RequestState::Withdrawn { .. } => return step,
        };
        if !answered.delivery.is_pending() {
            return step;
        }
        answered.delivery = advance(&answered.delivery, delivered);
        let action = answered.action;
        match delivered {
            Delivery::Recorded | Delivery::Sent { .. } => {}
            Delivery::Acknowledged { .. } => {
                match request.door {
                    AskDoor::Live { .. } => request.state = RequestState::Confirmed(answered.clone()),
                    AskDoor::Listed { .. } | AskDoor::Round { .. } => {}
                }
                step.request_fact(now, server, Verb::AnswerEnded, key, "acknowledged");
                step.erase_secret(key, action);
                step.effect(Effect::PollAt(now));
            }
            Delivery::Refused { .. } => {
                step.request_fact(now, server, Verb::AnswerEnded, key, "refused");
                step.effect(Effect::Tell(Attention::Problem));
            }
        }
        step.settle(self, now)
    }

    /// The message with the answers to these questions leaves now. It is kept for people to read, once; without its
    /// body when one of the forms asks for something that looks like a secret (ruling 9).
    #[must_use]
    pub fn answers_left(&self, keys: &[RequestKey], text: &RawText, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let asked: Vec<&InputRequest> = keys.iter().filter_map(|key| self.requests.get(key)).collect();
        let first = asked.iter().any(|request| match &request.state {
            RequestState::Answered(answered) => answered.delivery == Delivery::Recorded,
            RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
        });
        let secret = asked.len() < keys.len() || asked.iter().any(|request| request.ask.may_hold_secret());
        let about = match asked.first().map(|request| &request.door) {
            Some(AskDoor::Listed { .. }) => "tasks/update",
            Some(AskDoor::Round { .. }) => "tools/call",
            Some(AskDoor::Live { .. }) => "elicitation/create",
            None => return step,
        };
        if first {
            let text = if secret { text.without_body() } else { text.clone() };
            step.said(now, Direction::ToServer, about, &text);
        }
        step.settle(self, now)
    }

    /// Answers that may go out now. Answers of a round go only when no question of that round is open.
    #[must_use]
    pub fn answers_due(&self, now: Timestamp) -> Vec<&InputRequest> {
        if self.is_over() {
            return Vec::new();
        }
        let round_ready = self.round_ready_at().is_some_and(|at| at <= now);
        self.requests
            .values()
            .filter(|request| match &request.door {
                AskDoor::Listed { .. } | AskDoor::Live { .. } => request.sendable_from().is_some_and(|at| at <= now),
                AskDoor::Round { round, .. } => {
                    round_ready && self.asking_round() == Some(*round) && request.sendable_from().is_some()
                }
            })
            .collect()
    }

    /// The round of questions that the call waits on.
    fn asking_round(&self) -> Option<u32> {
        match &self.view {
            ServerView::Asking { round, .. } => Some(*round),
            ServerView::Gated { .. }
            | ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => None,
        }
    }

    /// From when the call may be sent again with the answers of its round (none, when the server only wants its
    /// state back). Never while a question of the round is open, nor when a cancel was requested.
    #[must_use]
    pub fn round_ready_at(&self) -> Option<Timestamp> {
        let ServerView::Asking { since, round, .. } = &self.view else { return None };
        if self.is_over() || self.cancelled_unsent() {
            return None;
        }
        let mut ready = *since;
        for request in self.requests.values() {
            match (&request.door, &request.state) {
                (AskDoor::Round { round: of, .. }, RequestState::Open) if of == round => return None,
                (AskDoor::Round { round: of, .. }, RequestState::Answered(answered)) if of == round => {
                    ready = ready.max(answered.not_before.unwrap_or(answered.at));
                }
                (
                    AskDoor::Round { .. } | AskDoor::Listed { .. } | AskDoor::Live { .. },
                    RequestState::Open
                    | RequestState::Answered(_)
                    | RequestState::Confirmed(_)
                    | RequestState::Withdrawn { .. },
                ) => {}
            }
        }
        Some(ready)
    }
}

/// An accepted form and a forwarded response carry a JSON object; nothing else carries content.
fn check_content(request: &InputRequest, action: AnswerAction, content: Option<&Payload>) -> Result<(), Refusal> {
    let needs = match (action, &request.ask) {
        (AnswerAction::Accept, Ask::Form { .. }) | (AnswerAction::Forwarded, _) => true,
        (AnswerAction::Accept, Ask::Visit { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_))
        | (AnswerAction::Decline | AnswerAction::Dismiss, _) => false,
    };
    let is_object = |payload: &Payload| serde_json::from_str::<Value>(payload.as_str()).is_ok_and(|v| v.is_object());
    match content {
        Some(payload) if needs && is_object(payload) => Ok(()),
        None if !needs => Ok(()),
        Some(_) if !needs => Err(Refusal::NoContent(request.key.clone())),
        Some(_) | None => Err(Refusal::NeedsContent(request.key.clone())),
    }
}
