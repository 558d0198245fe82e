//! A result, or the error in its place, that is held back from its agent: because a person wants to see it first
//! (promise R2), or because it is too large (B4).
//!
//! A rule, a limit or a person holds it; a person delivers it in some form or withholds it, once. A limit may decide
//! that it goes in slices; a person can still decide otherwise. Nothing reaches the server: only `view.rs` changes.

use crate::audit::{Actor, Verb};
use crate::client::profile::ClientProfile;
use crate::ids::PersonId;
use crate::task::decider::Decider;
use crate::task::{AgentView, Attention, Effect, EscalationStep, Refusal, TaskHandle, Transition, agent_view};
use crate::time::Timestamp;
use crate::tokens::{Count, Exactness, Family, TaskTokens, are_free, grouped, token_count, token_noun};

/// In which form an agent gets a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultForm {
    /// As it came.
    Whole,
    /// A short result with its size, its first lines and a link, from which the agent reads slices. An error is short,
    /// too, and has no slices.
    Slices,
    /// Cut to about so many tokens, still a valid result.
    Trimmed {
        /// In tokens of the agent's family.
        tokens: u64,
    },
}

/// Why a result is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// A person or a rule wants to see it first.
    Review,
    /// It is larger than one result may be.
    TooLarge {
        /// Its size, in tokens of the agent's family.
        tokens: u64,
        limit: u64,
    },
    /// With it the window would be fuller than it may be.
    DoesNotFit {
        tokens: u64,
        /// What was free below the limit.
        free: u64,
    },
    /// The agent's program would cut it silently (decision 0022).
    WouldBeCut {
        tokens: u64,
        /// Tokens up to which the program shows its model all of a result, whatever is in it.
        shown: u64,
        program: &'static ClientProfile,
    },
}

impl HoldReason {
    /// The size of the result where it is held for it.
    #[must_use]
    pub const fn tokens(self) -> Option<u64> {
        match self {
            Self::Review => None,
            Self::TooLarge { tokens, .. } | Self::DoesNotFit { tokens, .. } | Self::WouldBeCut { tokens, .. } => {
                Some(tokens)
            }
        }
    }
}

/// What was decided about a held result. Final, where a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldVerdict {
    /// The limit says that it goes in slices.
    ByLimit { at: Timestamp },
    /// The agent gets it.
    Deliver { by: PersonId, at: Timestamp, form: ResultForm },
    /// The agent does not get it.
    Withhold {
        by: PersonId,
        at: Timestamp,
        /// Why, in the person's words; shown to the agent.
        reason: Option<String>,
        /// The agent may have been shown that the task completed, because a limit gave the result in slices: then it
        /// stays completed for it, with nothing to read (statement 69).
        shown: bool,
    },
}

/// A hold on the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultHold {
    /// Who holds it back; `None`: a rule does from the beginning, or a control token that halted the work.
    pub by: Option<PersonId>,
    pub at: Timestamp,
    pub why: HoldReason,
    /// What was decided.
    pub verdict: Option<HoldVerdict>,
}

impl TaskHandle {
    /// Whether its result is held back and nobody decided yet. A handle that was taken from its agent holds nothing.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.intent.is_revoked()
            && self.hold.as_ref().is_some_and(|hold| hold.verdict.is_none())
            && !self.ended_without_result()
    }

    /// Holds the result back from its agent until a person decides.
    ///
    /// # Errors
    /// A [`Refusal`] when no agent waits for it, it is held or was decided about, or the agent may have seen its end.
    pub fn hold(&self, by: impl Into<Decider>, now: Timestamp) -> Result<Transition, Refusal> {
        let by = by.into();
        if self.agent.is_none() {
            return Err(Refusal::NotHeld);
        }
        match &self.hold {
            Some(ResultHold {
                verdict: Some(HoldVerdict::Deliver { by, at, .. } | HoldVerdict::Withhold { by, at, .. }),
                ..
            }) => {
                return Err(Refusal::AlreadyDecided { by: by.clone(), at: *at });
            }
            Some(ResultHold { verdict: None | Some(HoldVerdict::ByLimit { .. }), .. }) => {
                return Err(Refusal::AlreadyHeld);
            }
            None => {}
        }
        if self.view.is_terminal() || self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        let mut step = Transition::none(self);
        step.next.hold = Some(ResultHold { by: by.person().cloned(), at: now, why: HoldReason::Review, verdict: None });
        if self.cancel_request().is_some() {
            step.note_step(EscalationStep::HoldResult, &by, now, None);
        }
        step.fact(now, by.actor(), Verb::ResultHeld, "");
        Ok(step.settle(self, now))
    }

    /// Lets a held result go to its agent in this form, or withholds it for good (`None`). May be decided before the
    /// end.
    ///
    /// # Errors
    /// A [`Refusal`] when it is not held, or somebody decided before.
    pub fn release(
        &self,
        by: &PersonId,
        form: Option<ResultForm>,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<Transition, Refusal> {
        let held = match &self.hold {
            Some(ResultHold {
                verdict: Some(HoldVerdict::Deliver { by, at, .. } | HoldVerdict::Withhold { by, at, .. }),
                ..
            }) => {
                return Err(Refusal::AlreadyDecided { by: by.clone(), at: *at });
            }
            Some(held) if self.is_held() || self.is_sliced_by_limit() => held,
            Some(_) | None => return Err(Refusal::NotHeld),
        };
        let (verb, verdict, note) = match form {
            Some(form) => {
                let how = match form {
                    ResultForm::Whole => "whole".to_owned(),
                    ResultForm::Slices => "in slices".to_owned(),
                    ResultForm::Trimmed { tokens } => format!("trimmed to {tokens} {}", token_noun(tokens)),
                };
                (Verb::ResultReleased, HoldVerdict::Deliver { by: by.clone(), at: now, form }, how)
            }
            None => {
                let shown = agent_view(self, now) == AgentView::Completed;
                let verdict =
                    HoldVerdict::Withhold { by: by.clone(), at: now, reason: reason.map(str::to_owned), shown };
                (Verb::ResultWithheld, verdict, String::new())
            }
        };
        let mut step = Transition::none(self);
        step.next.hold = Some(ResultHold { verdict: Some(verdict), ..held.clone() });
        let note = match reason {
            Some(reason) if note.is_empty() => reason.to_owned(),
            Some(reason) => format!("{note}: {reason}"),
            None => note,
        };
        step.fact(now, Actor::Person(by.clone()), verb, note);
        Ok(step.settle(self, now))
    }

    /// Whether a limit decided that its result goes in slices, and no person decided otherwise.
    #[must_use]
    pub fn is_sliced_by_limit(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| matches!(hold.verdict, Some(HoldVerdict::ByLimit { .. })))
    }

    /// In which form its agent gets the result; `None` while it is held, or for good.
    #[must_use]
    pub fn form(&self) -> Option<ResultForm> {
        match &self.hold {
            None => Some(ResultForm::Whole),
            Some(ResultHold { verdict: Some(HoldVerdict::ByLimit { .. }), .. }) => Some(ResultForm::Slices),
            Some(ResultHold { verdict: Some(HoldVerdict::Deliver { form, .. }), .. }) => Some(*form),
            Some(ResultHold { verdict: None | Some(HoldVerdict::Withhold { .. }), .. }) => None,
        }
    }

    /// Whether a result that comes now goes to its agent whole, unless a limit holds it: an agent waits for it, and
    /// nobody holds it or chose its form. That it was delivered whole before there was a result says nothing of its
    /// size.
    #[must_use]
    pub fn may_be_held_at_limit(&self) -> bool {
        let ended = self.cancelled_for_agent.is_some() || self.failed_for_agent.is_some();
        if self.agent.is_none() || self.intent.is_revoked() || ended {
            return false;
        }
        match &self.hold {
            None => true,
            Some(ResultHold {
                why: HoldReason::Review,
                verdict: Some(HoldVerdict::Deliver { form: ResultForm::Whole, .. }),
                ..
            }) => true,
            Some(_) => false,
        }
    }

    /// How exact the size of its result is, counted in this family: text as its family is, and a picture, a sound or
    /// other bytes in it less, as the figures of the task say.
    #[must_use]
    pub fn result_exactness(&self, family: Family) -> Exactness {
        self.tokens.map_or_else(|| family.exactness(), |tokens| tokens.exactness.max(family.exactness()))
    }

    /// So many tokens of its result: whose they are and how exact, where it was counted.
    pub(crate) fn result_in_words(&self, tokens: u64) -> String {
        match self.tokens {
            Some(TaskTokens { family, .. }) => Count { tokens, exactness: self.result_exactness(family) }.told(family),
            None => token_count(tokens),
        }
    }

    /// A limit holds the result that has just come: until a person decides, or in slices at once. Does nothing where it
    /// may not be held ([`Self::may_be_held_at_limit`]).
    #[must_use]
    pub fn hold_at_limit(&self, why: HoldReason, in_slices: bool, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if !self.may_be_held_at_limit() {
            return step;
        }
        let verdict = in_slices.then_some(HoldVerdict::ByLimit { at: now });
        let asks = verdict.is_none();
        step.next.hold = Some(ResultHold { by: None, at: now, why, verdict });
        let note = match why {
            HoldReason::Review => String::new(),
            HoldReason::TooLarge { tokens, limit } => {
                format!("{}, the limit is {}", self.result_in_words(tokens), grouped(limit))
            }
            HoldReason::DoesNotFit { tokens, free } => {
                format!("{}, {}", self.result_in_words(tokens), are_free(free))
            }
            HoldReason::WouldBeCut { tokens, shown, program } => {
                let (size, shown) = (self.result_in_words(tokens), grouped(shown));
                format!("{size}, above the {shown} that {} surely shows its model", program.label)
            }
        };
        step.fact(now, Actor::System("budget"), Verb::ResultHeld, note);
        if asks {
            step.effect(Effect::Tell(Attention::Waiting));
        }
        step.settle(self, now)
    }
}
