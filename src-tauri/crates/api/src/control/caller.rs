//! A supervisor program, and what its control token lets it do.
//!
//! The door gives the text of a token; who it belongs to and whether it is in force is the engine's. Scopes become
//! abilities here and nowhere else; which calls need them is in `table.rs`.

use std::sync::Arc;

use domain::agent::TokenDigest;
use domain::agent::control_token::{ControlScope, ControlToken};
use domain::ids::ControlTokenId;
use domain::task::TaskHandle;
use domain::task::decider::Decider;
use domain::time::Timestamp;
use engine::ControlTokenRefused;

use crate::api::Api;
use crate::caller::{Ability, AbilitySet};
use crate::error::{ApiError, Code};

/// A supervisor program whose token is in force.
#[derive(Debug, Clone)]
pub struct ControlCaller {
    pub(crate) token: Arc<ControlToken>,
    /// It repeats a call of this moment that was never answered, by its idempotency key. What that call did is then no
    /// refusal and is not done again.
    pub(crate) first_began: Option<Timestamp>,
}

impl ControlCaller {
    pub(crate) fn decider(&self) -> Decider {
        Decider::Control(self.token.id)
    }

    /// Whether the call that this one repeats asked the task to cancel already.
    pub(crate) fn asked_before(&self, task: &TaskHandle) -> bool {
        self.first_began.is_some_and(|began| {
            task.cancel_request().is_some_and(|cancel| cancel.by == self.decider() && cancel.at >= began)
        })
    }

    /// What its scopes let it do. Revoking asks to cancel as well, so its scope has both.
    fn abilities(&self) -> AbilitySet {
        let mut abilities = Vec::new();
        for scope in &self.token.scopes {
            match scope {
                ControlScope::Read => abilities.push(Ability::Read),
                ControlScope::Cancel => abilities.push(Ability::Cancel),
                ControlScope::Revoke => abilities.extend([Ability::Cancel, Ability::Revoke]),
                ControlScope::Halt => abilities.push(Ability::Halt),
                ControlScope::Pause => abilities.push(Ability::Pause),
            }
        }
        AbilitySet::of(&abilities)
    }

    /// Whether its scopes open calls with this ability.
    #[must_use]
    pub fn may(&self, ability: Ability) -> bool {
        self.abilities().has(ability)
    }

    /// Whether a person said that an agent holds the token, so that it does not reach that agent's own tasks unawares.
    #[must_use]
    pub fn is_of_agent(&self) -> bool {
        self.token.owner.is_some()
    }

    /// The id of its token, for logs.
    #[must_use]
    pub fn id(&self) -> ControlTokenId {
        self.token.id
    }
}

/// The way to a token.
const MAKE_ONE: &str = "A control token begins with `twc_`. A person makes one with `taskwarden control add`.";

fn refused(why: ControlTokenRefused) -> ApiError {
    let hint = match why {
        ControlTokenRefused::Unknown => {
            "Check that it is whole and belongs to this data folder. `taskwarden control list` shows the tokens, and \
             `taskwarden control add` makes one."
        }
        ControlTokenRefused::Revoked { .. } | ControlTokenRefused::TimeOver { .. } => {
            "Nothing was asked. A person makes a new token with `taskwarden control add`."
        }
        ControlTokenRefused::ClockBehind { .. } => "Nothing was asked. Set the clock of this machine right.",
    };
    ApiError::new(Code::Refused, why.to_string(), hint)
}

impl Api {
    /// The program that a control token belongs to.
    ///
    /// # Errors
    /// When there is no such token, it is not in force, or no core runs.
    pub fn control_caller(&self, token: &str) -> Result<ControlCaller, ApiError> {
        if !token.starts_with(ControlToken::PREFIX) {
            return Err(ApiError::new(Code::Refused, "this is not a control token", MAKE_ONE));
        }
        let token = self.live()?.engine.control_token_of(&TokenDigest::of(token)).map_err(refused)?;
        Ok(ControlCaller { token, first_began: None })
    }

    /// The program whose control token has this id; `None` when it is not in force any more.
    #[must_use]
    pub fn control_caller_with(&self, id: ControlTokenId) -> Option<ControlCaller> {
        let token = self.engine()?.control_token(id)?;
        Some(ControlCaller { token, first_began: None })
    }

    /// The reason of a call, when the token needs one.
    pub(crate) fn control_reason(
        &self,
        caller: &ControlCaller,
        text: Option<&str>,
    ) -> Result<Option<String>, ApiError> {
        let reason = self.bounded_reason(text)?;
        if reason.is_none() && caller.token.needs_reason {
            return Err(ApiError::new(
                Code::Usage,
                "this control token needs a reason",
                "Say why in `reason`, on the command line with `--reason`; it is kept in the audit log. Nothing was asked.",
            ));
        }
        Ok(reason)
    }
}
