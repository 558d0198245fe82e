//! What became of a call: its reply, its rounds of questions, or its loss (rule 11, ruling 2).
//!
//! A call is never sent again by itself, whatever happened to its reply. What a created task says later is in
//! `observe.rs`; sending is `engine::admit`'s.

use std::collections::BTreeMap;

use super::observe::Sighting;
use super::{Attention, Effect, Home, TaskHandle, Transition};
use crate::audit::{Actor, Verb};
use crate::ids::{HostId, RequestKey};
use crate::observation::Door;
use crate::payload::{Payload, PayloadKind, ResultRef};
use crate::policy::Policy;
use crate::ports::CallReply;
use crate::raw::{Direction, RawText};
use crate::request::{Ask, AskDoor, InputRequest, RequestState};
use crate::status::{Delivery, Outcome, ServerView};
use crate::time::Timestamp;

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
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The reply came. `home` is where a created task lives. A reply that was given up is still taken: better late
    /// than never. A wish to stop stays pending across it.
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
                step.said(now, Direction::FromServer, Door::Create.method(), &text);
                step.end(now, "call", "refused");
            }
            CallReply::NeedsInput { questions, state, raw, asks_raw, whole: _ } => {
                if let Some(raw) = raw {
                    step.said(now, Direction::FromServer, Door::Create.method(), raw);
                }
                step.ask_round(round, (questions, asks_raw), state.as_ref(), now, policy);
            }
            CallReply::Task { id, seen } => {
                step.next.home = home.clone();
                let server = step.by_server();
                step.fact(now, server, Verb::Accepted, "");
                step.apply(None, id, Sighting::first(seen), policy);
                if !seen.status.is_terminal() {
                    step.effect(Effect::LookAt(now));
                    step.ask_again_to_stop();
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
        match self.view {
            ServerView::Awaiting { .. } | ServerView::OwnCall { .. } | ServerView::Asking { .. } => {
                step.give_up(why, now);
            }
            ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The reply can no longer arrive; the call is never sent again. Questions asked on its behalf end with it.
    #[must_use]
    pub fn reply_lost(&self, why: &str, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        match self.view {
            ServerView::Awaiting { .. } | ServerView::OwnCall { .. } => {
                let part = Actor::System("call");
                step.next.view = ServerView::Unanswered { since: now, why: why.to_owned() };
                step.fact(now, part.clone(), Verb::Unconfirmed, "the reply can no longer arrive");
                step.close_requests(now, &part, "the call's reply can no longer arrive", |_| true);
                step.effect(Effect::StopLooking);
                step.effect(Effect::Tell(Attention::Problem));
            }
            ServerView::Asking { .. }
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
            | ServerView::NotSent { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => {}
        }
        step.settle(self, now)
    }

    /// The call was stopped from here, on request. Between two rounds nothing of it runs on the server, so that is
    /// its end; in flight, the server's word is missing and stays missing.
    #[must_use]
    pub fn call_stopped(&self, now: Timestamp) -> Transition {
        match self.view {
            ServerView::Asking { .. } => {
                let mut step = Transition::none(self);
                if let Some(wish) = step.next.wish_mut().filter(|wish| wish.delivery.is_pending()) {
                    wish.delivery = Delivery::Acknowledged { at: now };
                }
                step.give_up("stopped on request before the call was sent again", now);
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

impl Transition {
    /// Nothing of the call runs on the server, and nothing will.
    fn give_up(&mut self, why: &str, now: Timestamp) {
        self.next.view = ServerView::NotSent { why: why.to_owned() };
        self.keep(PayloadKind::RequestState, None);
        let part = Actor::System("call");
        self.fact(now, part.clone(), Verb::Ended, "call -> not sent");
        self.close_requests(now, &part, "the call was given up", |_| true);
        self.effect(Effect::StopLooking);
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
    fn ask_round(
        &mut self,
        before: u32,
        (questions, asks_raw): (&BTreeMap<RequestKey, Ask>, &BTreeMap<RequestKey, Payload>),
        state: Option<&Payload>,
        now: Timestamp,
        policy: &Policy,
    ) {
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
            if self.next.requests.contains_key(&ours) || !self.may_ask(&ours, now, policy) {
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

    /// A stop that was asked of the call is now asked of its task.
    fn ask_again_to_stop(&mut self) {
        if let Some(wish) = self.next.wish_mut() {
            if !wish.delivery.is_pending() {
                wish.delivery = Delivery::Recorded;
            }
            self.effect(Effect::Deliver);
        }
    }
}
