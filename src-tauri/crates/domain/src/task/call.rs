//! What became of a call: its reply, its rounds of questions, or its loss (rule 11, ruling 2).
//!
//! A call is never sent again by itself, whatever happened to its reply. What a created task says later is in
//! `observation/observe.rs`; sending is the engine's.

mod gated;

use std::collections::BTreeMap;
use std::time::Duration;

pub use gated::LetThrough;

use super::{Attention, Effect, Home, TaskHandle, Transition};
use crate::audit::{Actor, Verb};
use crate::ids::{HostId, RequestKey, UpstreamTaskId};
use crate::policy::Policy;
use crate::raw_message::{Direction, RawText};
use crate::task::input_request::{Ask, AskDoor, InputRequest, RequestState};
use crate::task::observation::observe::Sighting;
use crate::task::observation::{Observation, ObservationDoor};
use crate::task::payload::{Payload, PayloadKind, ResultRef};
use crate::task::status::{ASKED_TO_WAIT, Delivery, Outcome, RpcError, SIGN_IN_REFUSED, ServerView};
use crate::time::Timestamp;

/// What a call brought.
#[derive(Debug, Clone, PartialEq)]
pub enum CallReply {
    /// A plain result.
    Result {
        /// As received (the `result` member).
        payload: Payload,
        is_error: bool,
    },
    /// A JSON-RPC error.
    Error {
        error: RpcError,
        /// As received (the `error` member).
        payload: Payload,
    },
    /// Questions first; there is no task yet. With no questions, the server only wants its state back.
    NeedsInput {
        /// By the server's keys.
        questions: BTreeMap<RequestKey, Ask>,
        /// To be echoed.
        state: Option<Payload>,
        /// The message, as received.
        raw: Option<RawText>,
        /// Each question as received (`{method, params}`), for an agent that is asked.
        asks_raw: BTreeMap<RequestKey, Payload>,
        /// The `result` member as received, for relaying to an agent that is asked.
        whole: Payload,
    },
    /// A task was created.
    Task {
        id: UpstreamTaskId,
        /// What the reply said of it.
        seen: Observation,
    },
}

impl TaskHandle {
    /// The call outlasts `promote_after`: it is now a task of our own.
    #[must_use]
    pub fn promoted(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        match self.view {
            ServerView::Awaiting { since, host, round } => {
                step.next.view = ServerView::OwnCall { since, host, round };
            }
            ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The reply came. `home` is where a created task lives. A reply that was given up is still taken: better late
    /// than never. A cancel request stays pending across it.
    #[must_use]
    pub fn replied(&self, reply: &CallReply, home: &Home, now: Timestamp, policy: &Policy) -> Transition {
        let mut step = Transition::none(self);
        let Some(round) = self.round_in_flight() else { return step };
        step.heard(now);
        step.round_ended(round, now);
        match reply {
            CallReply::Result { payload, is_error } => {
                let stored = ResultRef { bytes: payload.bytes() };
                let outcome = if *is_error { Outcome::ToolError(stored) } else { Outcome::Ok(stored) };
                step.next.view = ServerView::Direct(outcome);
                step.keep(PayloadKind::Result, Some(payload.clone()));
                step.end(now, "call", "completed");
                step.learn(now);
            }
            CallReply::Error { error, payload } => {
                step.next.view = ServerView::Refused(error.clone());
                step.keep(PayloadKind::Error, Some(payload.clone()));
                let text = RawText::of(payload.as_str(), policy);
                step.said(now, Direction::FromServer, ObservationDoor::Create.method(), &text);
                step.end(now, "call", "refused");
            }
            CallReply::NeedsInput { questions, state, raw, asks_raw, whole: _ } => {
                if let Some(raw) = raw {
                    step.said(now, Direction::FromServer, ObservationDoor::Create.method(), raw);
                }
                let asked = AskedRound { before: round, questions, asks_raw, state: state.as_ref() };
                step.ask_round(&asked, now, policy);
            }
            CallReply::Task { id, seen } => {
                step.next.home = home.clone();
                let server = step.by_server();
                step.fact(now, server, Verb::Accepted, "");
                step.apply(None, id, Sighting::first(seen), policy);
                if !seen.status.is_terminal() {
                    step.effect(Effect::PollAt(now));
                    step.cancel_task_too();
                }
            }
        }
        step.settle(self, now)
    }

    /// The round whose reply may come; `None` when none is awaited.
    fn round_in_flight(&self) -> Option<u32> {
        match &self.view {
            ServerView::Awaiting { round, .. } | ServerView::OwnCall { round, .. } => Some(*round),
            ServerView::Unanswered { .. } => Some(self.newest_round()),
            ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => None,
        }
    }

    /// The newest round that asked something.
    fn newest_round(&self) -> u32 {
        let rounds = self.requests.values().map(|request| match request.door {
            AskDoor::Round { round, .. } => round,
            AskDoor::Listed { .. } | AskDoor::Live { .. } => 0,
        });
        rounds.max().unwrap_or(0)
    }

    /// A further round of the call is leaving in this run of the core (its answers are marked sent before).
    #[must_use]
    pub fn resumed(&self, host: HostId, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if let ServerView::Asking { round, .. } = self.view {
            step.next.view = ServerView::Awaiting { since: now, host, round };
        }
        step.settle(self, now)
    }

    /// Nothing left this machine.
    #[must_use]
    pub fn not_sent(&self, why: &str, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.view.is_before_task() {
            step.give_up(why, now);
        }
        step.settle(self, now)
    }

    /// The server refused the sign-in for this call, so it did not run. `hint` is what a person can do.
    #[must_use]
    pub fn sign_in_refused(&self, why: &str, hint: &str, now: Timestamp) -> Transition {
        self.not_sent(&format!("{SIGN_IN_REFUSED}: {why}. {}", hint.trim_end_matches('.')), now)
    }

    /// The server did not take this call, because it gets too many requests: `after` is how long it asked to wait.
    #[must_use]
    pub fn asked_to_wait(&self, after: Option<Duration>, now: Timestamp) -> Transition {
        let span = after.map_or_else(String::new, |after| format!(" {} s", after.as_secs()));
        self.not_sent(&format!("{ASKED_TO_WAIT}{span}"), now)
    }

    /// The reply can no longer arrive, or came and could not be read; the call is never sent again. Questions asked on its
    /// behalf end with it.
    #[must_use]
    pub fn reply_lost(&self, why: &str, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        match self.view {
            ServerView::Awaiting { .. } | ServerView::OwnCall { .. } => {
                let part = Actor::System("call");
                step.next.view = ServerView::Unanswered { since: now, why: why.to_owned() };
                let (note, closed) = if step.next.view.is_reply_unreadable() {
                    ("the reply cannot be read", "the call's reply cannot be read")
                } else {
                    ("the reply can no longer arrive", "the call's reply can no longer arrive")
                };
                step.fact(now, part.clone(), Verb::Unconfirmed, note);
                step.close_requests(now, &part, closed, |_| true);
                step.effect(Effect::StopPolling);
                step.effect(Effect::Tell(Attention::Problem));
            }
            ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The reply can come after all: the child that works on the call outlived the core that made it (ruling 16), and
    /// this run of the core waits for it now.
    #[must_use]
    pub fn regained(&self, host: HostId, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        match self.view {
            ServerView::Awaiting { since, round, .. } | ServerView::OwnCall { since, round, .. } => {
                step.next.view = ServerView::OwnCall { since, host, round };
            }
            ServerView::Unanswered { .. } => {
                step.next.view = ServerView::OwnCall { since: self.created, host, round: self.newest_round() };
                step.heard(now);
            }
            ServerView::Asking { .. }
            | ServerView::Gated { .. }
            | ServerView::NotSent { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The call was cancelled from here. Between two rounds nothing of it runs on the server, so that is
    /// its end; in flight, the server's word is missing and stays missing.
    #[must_use]
    pub fn call_cancelled(&self, now: Timestamp) -> Transition {
        match self.view {
            ServerView::Asking { .. } | ServerView::Gated { .. } => {
                let mut step = Transition::none(self);
                if let Some(cancel_request) =
                    step.next.cancel_request_mut().filter(|cancel_request| cancel_request.delivery.is_pending())
                {
                    cancel_request.delivery = Delivery::Acknowledged { at: now };
                }
                let why = if self.view.is_gated() {
                    "cancelled before the call was sent"
                } else {
                    "cancelled before the call was sent again"
                };
                step.give_up(why, now);
                step.settle(self, now)
            }
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => self.reply_lost("stopped on request; the server's word did not arrive", now),
        }
    }
}

/// Questions that the server asks before it starts, after `before` earlier rounds.
struct AskedRound<'a> {
    before: u32,
    questions: &'a BTreeMap<RequestKey, Ask>,
    asks_raw: &'a BTreeMap<RequestKey, Payload>,
    state: Option<&'a Payload>,
}

impl Transition {
    /// Nothing of the call runs on the server, and nothing will.
    fn give_up(&mut self, why: &str, now: Timestamp) {
        self.next.view = ServerView::NotSent { why: why.to_owned() };
        self.keep(PayloadKind::RequestState, None);
        let part = Actor::System("call");
        let note = if self.next.view.is_sign_in_refused() {
            "call -> sign-in refused"
        } else if self.next.view.is_asked_to_wait() {
            "call -> asked to wait"
        } else {
            "call -> not sent"
        };
        self.fact(now, part.clone(), Verb::Ended, note);
        self.close_requests(now, &part, "the call was given up", |_| true);
        self.effect(Effect::StopPolling);
        self.effect(Effect::Release);
        self.effect(Effect::Tell(Attention::Finished));
    }

    /// The answers of the round were taken with the reply, and its state is used up.
    fn round_ended(&mut self, round: u32, now: Timestamp) {
        if round > 0 {
            let server = self.by_server();
            self.close_requests(now, &server, "the call went on", |door| match door {
                AskDoor::Round { .. } => true,
                AskDoor::Listed { .. } | AskDoor::Live { .. } => false,
            });
            self.keep(PayloadKind::RequestState, None);
        }
    }

    /// The server asks before it starts. What nobody here can answer ends the call: it cannot be sent again.
    fn ask_round(&mut self, asked: &AskedRound<'_>, now: Timestamp, policy: &Policy) {
        let AskedRound { before, questions, asks_raw, state } = *asked;
        let round = before.saturating_add(1);
        if round > policy.rounds_max {
            return self.give_up("the server asked in more rounds than one call may", now);
        }
        if questions.values().any(|ask| !ask.is_for_people() && !self.next.may_ask_agent(ask)) {
            return self.give_up("the server asks before it starts for what Taskwarden does not answer", now);
        }
        if questions.len() > policy.open_questions_per_task {
            // A round is answered as a whole, so its questions cannot come up one after the other.
            return self.give_up("the server asked more in one round than a person is shown at once", now);
        }
        for (key, ask) in questions {
            let ours = RequestKey::new(format!("call.{round}:{key}"));
            if self.next.requests.contains_key(&ours) || !self.accepts_request(&ours, ask, now, policy) {
                return self.give_up("the server asked more than one call may", now);
            }
            let door = AskDoor::Round { round, key: key.as_str().to_owned() };
            let (ask, state) = (ask.clone(), RequestState::Open);
            self.open(InputRequest { key: ours.clone(), ask, door, opened: now, state }, now);
            self.keep_question(&ours, asks_raw.get(key), policy);
        }
        self.payloads.retain(|write| write.kind != PayloadKind::RequestState);
        if before > 0 || state.is_some() {
            self.keep(PayloadKind::RequestState, state.cloned());
        }
        self.next.view = ServerView::Asking { since: now, round, has_state: state.is_some() };
        if questions.is_empty() {
            self.effect(Effect::Deliver);
        }
    }

    /// A cancel that was requested of the call is now requested of its task.
    fn cancel_task_too(&mut self) {
        if let Some(cancel_request) = self.next.cancel_request_mut() {
            if !cancel_request.delivery.is_pending() {
                cancel_request.delivery = Delivery::Recorded;
            }
            self.effect(Effect::Deliver);
        }
    }
}
