//! What passes between a task and its agent: its handle, its reply, and whether the agent is still there.
//!
//! Each is a fact that must be in the registry before it counts: an agent never holds a handle that a crash can forget
//! (promise T1). What the agent then sees is in `view.rs`; when to release a handle is decided by the engine and the
//! gateway.

use crate::audit::{Actor, Verb};
use crate::task::status::ServerView;
use crate::task::{Attention, Effect, HoldVerdict, TaskHandle, Transition};
use crate::time::Timestamp;

/// The part of the product that speaks with agents, as an actor.
const GATEWAY: &str = "gateway";

impl TaskHandle {
    /// The handle is released to its agent. A call that is still in flight is a task of our own from then on.
    #[must_use]
    pub fn give(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.agent.is_none() || self.given.is_some() {
            return step;
        }
        step.next.given = Some(now);
        step.next.undelivered = None;
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
        step.fact(now, Actor::System(GATEWAY), Verb::Given, "");
        step.settle(self, now)
    }

    /// The agent's reply could not be delivered: it hung up, or the core ended. A repeated call may join.
    #[must_use]
    pub fn undeliver(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.agent.is_some() && self.undelivered.is_none() {
            step.next.undelivered = Some(now);
        }
        step.settle(self, now)
    }

    /// The agent has its reply after all: a repeated call is a new one.
    #[must_use]
    pub fn delivered(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        step.next.undelivered = None;
        step.settle(self, now)
    }

    /// Whether the agent never got its reply, and may join it by calling again.
    #[must_use]
    pub fn is_undelivered(&self) -> bool {
        self.undelivered.is_some() && !self.intent.is_revoked()
    }

    /// Since when the reply for its agent is ready: the task is over, and no hold on the result waits for a decision.
    #[must_use]
    pub fn reply_ready_at(&self) -> Option<Timestamp> {
        let ended = self.ended_at().filter(|_| !self.is_held())?;
        let decided = self.hold.as_ref().and_then(|hold| match &hold.verdict {
            Some(HoldVerdict::ByLimit { at } | HoldVerdict::Deliver { at, .. } | HoldVerdict::Withhold { at, .. }) => {
                Some(*at)
            }
            None => None,
        });
        Some(decided.map_or(ended, |at| at.max(ended)))
    }

    /// Whether its agent has its handle: given, and not taken away since.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.agent.is_some() && self.given.is_some() && !self.intent.is_revoked()
    }

    /// Its agent is gone: nobody will ask for it. Its open questions are asked of people from now on.
    #[must_use]
    pub fn agent_gone(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let waits = self.given.is_some() || self.undelivered.is_some();
        if self.agent.is_none() || !waits || self.orphaned.is_some() || self.is_over() {
            return step;
        }
        let asked_before = self.has_request_for_people(now);
        step.next.orphaned = Some(now);
        step.fact(now, Actor::System(GATEWAY), Verb::Orphaned, "its agent was not heard of any more");
        if !asked_before && step.next.has_request_for_people(now) {
            step.effect(Effect::Tell(Attention::Waiting));
        }
        step.settle(self, now)
    }

    /// Its agent is back.
    #[must_use]
    pub fn agent_back(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        step.next.orphaned = None;
        step.settle(self, now)
    }

    /// Whether its agent is gone while the task continues.
    #[must_use]
    pub fn is_orphaned(&self) -> bool {
        self.orphaned.is_some() && !self.is_over()
    }

    /// It is declared cancelled to its agent, which must see it at once (2025 dialect); the record of what the
    /// server does continues. The cancel itself is requested by [`TaskHandle::cancel`].
    #[must_use]
    pub fn agent_told_cancelled(&self, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.agent.is_some() && !crate::task::agent_view(self, now).is_terminal() {
            step.next.cancelled_for_agent = Some(now);
        }
        step.settle(self, now)
    }
}
