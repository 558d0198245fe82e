//! A result that a person looks at before the agent gets it (promise R2).
//!
//! A rule or a person holds it back before the end; a person delivers or withholds it, once. The server knows nothing
//! of it and the record stays whole: only what the agent sees changes (`agent.rs`).

use super::{Refusal, TaskHandle, Transition};
use crate::audit::{Actor, Verb};
use crate::ids::PersonId;
use crate::status::Intent;
use crate::time::Timestamp;

/// What a person decided about a held result. Final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The agent gets it.
    Deliver {
        /// Who.
        by: PersonId,
        /// When.
        at: Timestamp,
    },
    /// The agent does not get it.
    Withhold {
        /// Who.
        by: PersonId,
        /// When.
        at: Timestamp,
        /// Why, in the person's words; told to the agent.
        reason: Option<String>,
    },
}

/// A hold on the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Who holds it back; `None`: a rule does, from the beginning.
    pub by: Option<PersonId>,
    /// Since when.
    pub at: Timestamp,
    /// What was decided.
    pub verdict: Option<Verdict>,
}

impl TaskHandle {
    /// Whether its result is held back and nobody decided yet. A handle that was taken from its agent holds nothing.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let revoked = match self.intent {
            Intent::Revoked(_) => true,
            Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => false,
        };
        !revoked && self.hold.as_ref().is_some_and(|hold| hold.verdict.is_none()) && !self.ended_without_result()
    }

    /// Holds the result back from its agent until a person decides.
    ///
    /// # Errors
    /// A [`Refusal`] when no agent waits for it, it is held or was decided about, or the agent may have seen its end.
    pub fn hold(&self, by: &PersonId, now: Timestamp) -> Result<Transition, Refusal> {
        if self.agent.is_none() {
            return Err(Refusal::NotHeld);
        }
        match &self.hold {
            Some(Hold { verdict: Some(Verdict::Deliver { by, at } | Verdict::Withhold { by, at, .. }), .. }) => {
                return Err(Refusal::AlreadyDecided { by: by.clone(), at: *at });
            }
            Some(Hold { verdict: None, .. }) => return Err(Refusal::AlreadyHeld),
            None => {}
        }
        if self.view.is_terminal() || self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        let mut step = Transition::none(self);
        step.next.hold = Some(Hold { by: Some(by.clone()), at: now, verdict: None });
        step.fact(now, Actor::Person(by.clone()), Verb::ResultHeld, "");
        Ok(step.settle(self, now))
    }

    /// Lets a held result go to its agent, or withholds it for good. May be decided before the end.
    ///
    /// # Errors
    /// A [`Refusal`] when it is not held, or somebody decided before.
    pub fn release(
        &self,
        by: &PersonId,
        deliver: bool,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<Transition, Refusal> {
        let held = match &self.hold {
            Some(Hold { verdict: Some(Verdict::Deliver { by, at } | Verdict::Withhold { by, at, .. }), .. }) => {
                return Err(Refusal::AlreadyDecided { by: by.clone(), at: *at });
            }
            Some(held) if self.is_held() => held,
            Some(_) | None => return Err(Refusal::NotHeld),
        };
        let (verb, verdict) = if deliver {
            (Verb::ResultReleased, Verdict::Deliver { by: by.clone(), at: now })
        } else {
            let reason = reason.map(str::to_owned);
            (Verb::ResultWithheld, Verdict::Withhold { by: by.clone(), at: now, reason })
        };
        let mut step = Transition::none(self);
        step.next.hold = Some(Hold { verdict: Some(verdict), ..held.clone() });
        step.fact(now, Actor::Person(by.clone()), verb, reason.unwrap_or_default());
        Ok(step.settle(self, now))
    }
}
