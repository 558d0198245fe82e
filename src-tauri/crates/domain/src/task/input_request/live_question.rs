//! Questions on live connections, and which of them is the same question (rule 5; rulings 1 and 10).
//!
//! A live question is a JSON-RPC request: it lives and dies with its connection, but the same may be asked again on the
//! next one. Answers are in `answer.rs`; which task a question belongs to is decided by the engine.

use crate::audit::{Actor, Verb};
use crate::digest::sha256_hex;
use crate::ids::{ConnectionId, RequestKey};
use crate::policy::Policy;
use crate::raw_message::Direction;
use crate::task::input_request::{Ask, AskDoor, InputRequest, LiveQuestion, RequestState};
use crate::task::payload::{Payload, PayloadKind};
use crate::task::status::{Contact, Delivery, ServerView};
use crate::task::{Attention, Effect, TaskHandle, Told, Transition};
use crate::time::Timestamp;

/// Hex digits of the digest that a key shows.
const KEY_DIGITS: usize = 16;

/// What a live question turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveOutcome {
    /// A new question, opened under this key.
    Opened(RequestKey),
    /// The same question as before, still open, now on another channel.
    Same(RequestKey),
    /// The same question as one that is answered: its answer must go out on the new channel.
    AnsweredBefore(RequestKey),
    /// It has no space while others are open: it waits with the connection, and nothing was recorded of it.
    NoSpace,
    /// Not one that people answer here, or one too many: the server gets an error.
    Rejected(String),
}

/// What an earlier question with the same content means for the one that came now.
#[derive(PartialEq, Eq)]
enum Earlier {
    Unrelated,
    Rebind,
    Resend,
}

impl TaskHandle {
    /// A question arrived on a live connection.
    #[must_use]
    pub fn asked(&self, question: &LiveQuestion, now: Timestamp, policy: &Policy) -> (Transition, LiveOutcome) {
        self.asked_within(question, usize::MAX, now, policy)
    }

    /// As [`TaskHandle::asked`], where the server may open only `room` more questions over all its tasks.
    #[must_use]
    pub fn asked_within(
        &self,
        question: &LiveQuestion,
        room: usize,
        now: Timestamp,
        policy: &Policy,
    ) -> (Transition, LiveOutcome) {
        let mut step = Transition::none(self);
        if self.is_over() {
            return (step, LiveOutcome::Rejected("the task is over".to_owned()));
        }
        if !question.ask.is_for_people() && !self.may_ask_agent(&question.ask) {
            return (step, LiveOutcome::Rejected("not answered by people in Taskwarden".to_owned()));
        }
        match self.contact {
            Contact::Silent { .. } => step.next.contact = Contact::Fresh { seen: now },
            Contact::Fresh { .. } | Contact::Blocked { .. } | Contact::Gone { .. } => {}
        }
        let stem = key_stem(&question.digest);
        let door = AskDoor::Live {
            connection: question.connection,
            token: question.token.clone(),
            digest: question.digest.clone(),
        };
        let mut ordinal: usize = 1;
        loop {
            let key = RequestKey::new(format!("{stem}#{ordinal}"));
            let Some(request) = self.requests.get(&key) else {
                if !self.has_room_for(&question.ask, room, policy) {
                    return (Transition::none(self), LiveOutcome::NoSpace);
                }
                return self.open_live(step, key, question, door, now, policy);
            };
            let earlier = earlier(request, question);
            let Some(request) = step.next.requests.get_mut(&key).filter(|_| earlier != Earlier::Unrelated) else {
                ordinal = ordinal.saturating_add(1);
                continue;
            };
            match earlier {
                Earlier::Unrelated => {}
                Earlier::Rebind => {
                    request.door = door;
                    return (step.settle(self, now), LiveOutcome::Same(key));
                }
                Earlier::Resend => {
                    request.door = door;
                    if let RequestState::Answered(answered) = &mut request.state {
                        answered.delivery = Delivery::Recorded;
                    }
                    step.effect(Effect::Deliver);
                    return (step.settle(self, now), LiveOutcome::AnsweredBefore(key));
                }
            }
        }
    }

    fn open_live(
        &self,
        mut step: Transition,
        key: RequestKey,
        question: &LiveQuestion,
        door: AskDoor,
        now: Timestamp,
        policy: &Policy,
    ) -> (Transition, LiveOutcome) {
        if !step.accepts_request(&key, &question.ask, now, policy) {
            return (step.settle(self, now), LiveOutcome::Rejected("this task asked too much".to_owned()));
        }
        let ask = question.ask.clone();
        if let Some(raw) = &question.raw {
            step.said(now, Direction::FromServer, "elicitation/create", raw);
        }
        step.open(InputRequest { key: key.clone(), ask, door, opened: now, state: RequestState::Open }, now);
        step.keep_question(&key, question.whole.as_ref(), policy);
        (step.settle(self, now), LiveOutcome::Opened(key))
    }

    /// Whether this task may be the one that asks a live question: something of it runs on its server. A call whose reply
    /// can no longer arrive asks nothing any more.
    #[must_use]
    pub fn may_ask_live(&self) -> bool {
        !self.is_over() && self.view.holds_server()
    }

    /// Whether this task was asked the very same question on an earlier connection, and still owes the answer (ruling 10):
    /// then it asks again, whoever else may be asking.
    #[must_use]
    pub fn is_asked_again(&self, question: &LiveQuestion) -> bool {
        !self.is_over() && self.requests.values().any(|request| earlier(request, question) != Earlier::Unrelated)
    }

    /// Whether one of its questions, not answered yet or not delivered, came with this request of the server.
    #[must_use]
    pub fn was_asked_by(&self, token: &str) -> bool {
        self.requests.values().any(|request| match (&request.door, &request.state) {
            (AskDoor::Live { token: of, .. }, RequestState::Open | RequestState::Answered(_)) => of == token,
            (AskDoor::Live { .. }, RequestState::Confirmed(_) | RequestState::Withdrawn { .. })
            | (AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => false,
        })
    }

    /// Whether this very request of its server, made on an earlier connection, was closed here without an answer: it is
    /// not asked again, of this task or of another (ruling 10).
    #[must_use]
    pub fn has_closed(&self, question: &LiveQuestion) -> bool {
        self.requests.values().any(|request| match (&request.door, &request.state) {
            (AskDoor::Live { connection, token, digest }, RequestState::Withdrawn { .. }) => {
                *connection != question.connection && *token == question.token && *digest == question.digest
            }
            (AskDoor::Live { .. }, RequestState::Open | RequestState::Answered(_) | RequestState::Confirmed(_))
            | (AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => false,
        })
    }

    /// The live questions that were closed only because the task ended or its reply can no longer arrive. Their server
    /// was told nothing, and may wait for ever.
    pub fn left_unanswered(&self) -> impl Iterator<Item = (&RequestKey, &AskDoor)> {
        let unanswered_since = if let ServerView::Unanswered { since, .. } = &self.view { Some(*since) } else { None };
        let ended = self.ended_at().or(unanswered_since);
        self.requests.iter().filter_map(move |(key, request)| match (&request.door, &request.state) {
            (AskDoor::Live { .. }, RequestState::Withdrawn { at, .. }) if Some(*at) == ended => {
                Some((key, &request.door))
            }
            (AskDoor::Live { .. } | AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => None,
        })
    }

    /// Whether it waits for the answer to this live request of the server, or for the answer to arrive.
    #[must_use]
    pub fn asks_live(&self, on: ConnectionId, by: &str) -> bool {
        self.requests.values().any(|request| match (&request.door, &request.state) {
            (AskDoor::Live { connection, token, .. }, RequestState::Open | RequestState::Answered(_)) => {
                *connection == on && token == by
            }
            (AskDoor::Live { .. }, RequestState::Confirmed(_) | RequestState::Withdrawn { .. })
            | (AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => false,
        })
    }

    /// The server took back the live question with this token.
    #[must_use]
    pub fn taken_back(&self, connection: ConnectionId, token: &str, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let server = step.by_server();
        step.close_requests(now, &server, "the server took the question back", |door| match door {
            AskDoor::Live { connection: on, token: of, .. } => *on == connection && of == token,
            AskDoor::Listed { .. } | AskDoor::Round { .. } => false,
        });
        step.settle(self, now)
    }

    /// The connection is gone. Live questions stay while the session may ask them again; without a session that
    /// survives they end.
    #[must_use]
    pub fn channel_lost(&self, connection: ConnectionId, session_survives: bool, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if !session_survives {
            let part = Actor::System("live");
            step.close_requests(now, &part, "the connection and its session are gone", |door| match door {
                AskDoor::Live { connection: on, .. } => *on == connection,
                AskDoor::Listed { .. } | AskDoor::Round { .. } => false,
            });
        }
        step.settle(self, now)
    }
}

impl Transition {
    /// Whether one more question fits into what a task may ask over its life. The first that does not is said once, and
    /// it and all later ones are ignored.
    pub(crate) fn accepts_request(&mut self, key: &RequestKey, ask: &Ask, now: Timestamp, policy: &Policy) -> bool {
        if self.next.told.contains(&Told::TooMuchAsked) {
            return false;
        }
        let requests = &self.next.requests;
        let asked: usize = requests.values().map(|request| request.ask.bytes()).sum();
        let fits = requests.len() < policy.requests_per_task_max
            && asked.saturating_add(ask.bytes()) <= policy.question_bytes_per_task
            && key.as_str().len() <= policy.task_id_cap_bytes;
        if !fits {
            self.next.told.insert(Told::TooMuchAsked);
            let server = self.by_server();
            self.fact(now, server, Verb::Asked, "more than one task may ask; ignored from here on");
        }
        fits
    }

    /// Keeps a question as it was received, when an agent may be asked.
    pub(crate) fn keep_question(&mut self, key: &RequestKey, whole: Option<&Payload>, policy: &Policy) {
        let fits = |whole: &&Payload| whole.as_str().len() <= policy.gateway.question_raw_cap_bytes;
        let asked = self.next.requests.get(key).is_some_and(|request| self.next.may_ask_agent(&request.ask));
        if let Some(whole) = whole.filter(|_| asked).filter(fits) {
            self.keep(PayloadKind::Question(key.clone()), Some(whole.clone()));
        }
    }

    /// Opens a question that was never asked before.
    pub(crate) fn open(&mut self, request: InputRequest, now: Timestamp) {
        let server = self.by_server();
        let kind = match &request.ask {
            Ask::Unsupported(_) => "unsupported".to_owned(),
            other => other.kind().to_owned(),
        };
        self.request_fact(now, server, Verb::Asked, &request.key, kind);
        if self.next.asks_people(&request, now) {
            self.effect(Effect::Tell(Attention::Waiting));
        }
        self.next.requests.insert(request.key.clone(), request);
    }
}

/// Compares a question that came now with an earlier one under the same stem.
fn earlier(request: &InputRequest, question: &LiveQuestion) -> Earlier {
    let AskDoor::Live { connection, token, digest } = &request.door else { return Earlier::Unrelated };
    if *digest != question.digest {
        return Earlier::Unrelated;
    }
    let here = *connection == question.connection;
    match &request.state {
        RequestState::Open if !here || *token == question.token => Earlier::Rebind,
        RequestState::Answered(answered) if !here && answered.delivery.is_pending() => Earlier::Resend,
        RequestState::Open
        | RequestState::Answered(_)
        | RequestState::Confirmed(_)
        | RequestState::Withdrawn { .. } => Earlier::Unrelated,
    }
}

/// What the keys of all questions with this digest begin with.
fn key_stem(digest: &str) -> String {
    format!("live:{}", sha256_hex(digest).chars().take(KEY_DIGITS).collect::<String>())
}
