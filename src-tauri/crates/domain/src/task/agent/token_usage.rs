//! What a task adds to its agent's window, as it is counted, and what follows when that is too much.
//!
//! Counting does not change the task for its agent. A limit that cancels a task does so like anybody else (`cancel.rs`)
//! and leaves a reason that the agent can read (`view.rs`).

use crate::audit::{Actor, Verb};
use crate::ids::PersonId;
use crate::rule::{LimitAction, LimitKind, TokenLimit};
use crate::task::decider::Decider;
use crate::task::status::Intent;
use crate::task::{Attention, Effect, Refusal, TaskHandle, Transition};
use crate::time::Timestamp;
use crate::tokens::{Count, TaskTokens, grouped, token_count};

/// A task said and brought more than it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverLimit {
    /// Tokens, when it was noticed.
    pub tokens: u64,
    /// The limit that it went past, and what happens at it.
    pub limit: TokenLimit,
    /// When it was noticed.
    pub at: Timestamp,
    /// Who let it continue, and when.
    pub settled: Option<(PersonId, Timestamp)>,
}

impl TaskHandle {
    /// The figures are these now.
    #[must_use]
    pub fn counted(&self, tokens: TaskTokens) -> Transition {
        let mut step = Transition::none(self);
        step.changed = self.tokens != Some(tokens);
        step.next.tokens = Some(tokens);
        step
    }

    /// It went past its limit: people are notified, or asked, or it is cancelled. Noticed once; for one that is over,
    /// people are only notified, whatever the limit says.
    #[must_use]
    pub fn exceed_limit(&self, tokens: u64, limit: TokenLimit, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let goes_on = !self.is_over();
        if self.over_limit.is_some() {
            return step;
        }
        let size = match self.tokens {
            // A sum of counts: as exact as the least exact of them.
            Some(TaskTokens { family, exactness, .. }) => Count { tokens, exactness }.told(family),
            None => token_count(tokens),
        };
        let why = format!("{size}, the limit is {}", grouped(limit.tokens));
        if limit.at == LimitAction::Stop
            && goes_on
            && let Ok(stop) = self.cancel(Decider::Limit(LimitKind::Tokens), Some(&why), now)
        {
            step = stop;
        }
        step.next.over_limit = Some(OverLimit { tokens, limit, at: now, settled: None });
        step.fact(now, Actor::System("budget"), Verb::OverLimit, why);
        step.effect(Effect::Tell(match limit.at {
            LimitAction::Ask if goes_on => Attention::Waiting,
            LimitAction::Ask | LimitAction::Warn | LimitAction::Hold | LimitAction::Stop => Attention::Problem,
        }));
        step.settle(self, now)
    }

    /// Whether a person is asked if it may continue past its limit.
    #[must_use]
    pub fn asks_to_go_on(&self) -> bool {
        let asked = |over: &OverLimit| over.limit.at == LimitAction::Ask && over.settled.is_none();
        !self.is_over() && self.cancel_request().is_none() && self.over_limit.as_ref().is_some_and(asked)
    }

    /// A person lets it continue past its limit.
    ///
    /// # Errors
    /// A [`Refusal`] when nobody was asked, or it was settled before.
    pub fn let_go_on(&self, by: &PersonId, now: Timestamp) -> Result<Transition, Refusal> {
        match &self.over_limit {
            Some(OverLimit { settled: Some((by, at)), .. }) => Err(Refusal::AlreadyDecided { by: by.clone(), at: *at }),
            Some(over) if self.asks_to_go_on() => {
                let mut step = Transition::none(self);
                step.next.over_limit = Some(OverLimit { settled: Some((by.clone(), now)), ..over.clone() });
                step.fact(now, Actor::Person(by.clone()), Verb::LimitLifted, "");
                Ok(step.settle(self, now))
            }
            Some(_) | None => Err(Refusal::NotAskedToGoOn),
        }
    }

    /// Why a limit cancelled it, in words for its agent; `None` where no limit did.
    #[must_use]
    pub fn cancelled_by_limit(&self) -> Option<&str> {
        match &self.intent {
            Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request)
                if matches!(cancel_request.by, Decider::Limit(_)) =>
            {
                cancel_request.reason.as_deref()
            }
            Intent::Cancel(_) | Intent::Revoked(_) | Intent::None | Intent::Unwatched { .. } => None,
        }
    }
}
