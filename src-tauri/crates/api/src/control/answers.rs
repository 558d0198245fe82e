//! One control call from its text to its answer: the status, and the answer that is kept for an idempotency key.
//!
//! That a call with a key begins is on record before it acts, so that a repeat after a kill is known as one (decision
//! 0118); what it does then is each call's. The status is that of HTTP, because it is kept; who speaks HTTP is the host.

use std::time::Duration;

use domain::agent::control_token::ControlAnswer;
use domain::digest::sha256_hex;
use domain::time::Timestamp;

use super::caller::ControlCaller;
use super::table::CONTROL_CALLS;
use crate::api::Api;
use crate::error::{ApiError, Code};

/// A call as it came.
#[derive(Debug, Clone, Copy)]
pub struct ControlRequest<'a> {
    pub name: &'a str,
    pub body: &'a str,
    /// The caller's idempotency key.
    pub key: Option<&'a str>,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct ControlReply {
    pub status: u16,
    pub body: String,
    pub retry_after: Option<Duration>,
    /// It is the answer to an earlier call with the same key; nothing was done now.
    pub is_kept: bool,
}

impl ControlReply {
    /// A refusal with this status.
    #[must_use]
    pub fn refusal(status: u16, error: &ApiError) -> Self {
        // Three texts are always JSON.
        let body = serde_json::to_string(error).unwrap_or_default();
        Self { status, body, retry_after: error.retry_after, is_kept: false }
    }

    /// A refusal with the status of its code.
    #[must_use]
    pub fn refused(error: &ApiError) -> Self {
        Self::refusal(status_of(error.code), error)
    }

    pub(crate) fn of(outcome: Result<String, ApiError>) -> Self {
        match outcome {
            Ok(body) => Self { status: 200, body, retry_after: None, is_kept: false },
            Err(error) => Self::refused(&error),
        }
    }

    /// Whether it says that nothing was tried: a body that cannot be read, or a limit that is used up. The corrected call
    /// may take the same key.
    const fn did_nothing(&self) -> bool {
        self.status == 400 || self.status == 429
    }

    /// Whether a repeat with the same key gets this answer. After an error of ours, part of the call may be done, and a
    /// repeat does the rest.
    const fn is_final(&self) -> bool {
        self.status < 500 && !self.did_nothing()
    }
}

impl Api {
    /// Makes a control call. With a key, a call that acts is made once; a repeat gets the same answer.
    pub async fn control_call(&self, caller: &ControlCaller, request: ControlRequest<'_>) -> ControlReply {
        let acts = CONTROL_CALLS.iter().any(|call| call.name == request.name && call.acts);
        match request.key.filter(|_| acts) {
            None => ControlReply::of(self.control_dispatch(caller, request.name, request.body).await),
            Some(key) => match self.once(caller, request, key).await {
                Ok(reply) => reply,
                Err(error) => ControlReply::of(Err(error)),
            },
        }
    }

    async fn once(
        &self,
        caller: &ControlCaller,
        request: ControlRequest<'_>,
        key: &str,
    ) -> Result<ControlReply, ApiError> {
        let engine = &self.live()?.engine;
        let (token, policy) = (caller.token.id, &self.policy.control.tokens);
        let chars = key.chars().count();
        if chars == 0 || chars > policy.key_chars {
            let message = format!("an idempotency key has 1 to {} characters", policy.key_chars);
            return Err(ApiError::new(Code::Usage, message, "Use a UUID. Nothing was asked."));
        }
        let Some(_claim) = engine.claim_control_key(token, key) else {
            let hint = "Ask again with the same key; the answer will be the same.";
            let error = ApiError::new(Code::Refused, "a call with this idempotency key is in progress", hint);
            return Ok(ControlReply::refusal(409, &ApiError { retry_after: Some(policy.busy_retry), ..error }));
        };
        let request_digest = sha256_hex(format!("{}\n{}", request.name, request.body));
        let now = self.now();
        let forget = now.shifted(i64::try_from(policy.answer_kept.as_millis()).map_or(i64::MIN, |millis| -millis));
        let kept = self.registry.kept_answer(token, key).await?.filter(|kept| kept.at >= forget);
        if kept.as_ref().is_some_and(|kept| kept.request != request_digest) {
            let error = ApiError::new(
                Code::Usage,
                "this idempotency key was used for another call",
                "Use a new key for each call; the first call and its answer stay. Nothing was asked.",
            );
            return Ok(ControlReply::refusal(422, &error));
        }
        let keep = |status, body: String, at| {
            let (key, request) = (key.to_owned(), request_digest.clone());
            self.registry.keep_answer(ControlAnswer { token, key, request, status, body, at }, forget)
        };
        let first_began = match kept {
            Some(kept) if kept.status != ControlAnswer::BEGUN => {
                return Ok(ControlReply { status: kept.status, body: kept.body, retry_after: None, is_kept: true });
            }
            Some(begun) => Some(begun.at),
            None => {
                // On a full disk the call is made all the same: it only makes things safer.
                let _ = keep(ControlAnswer::BEGUN, String::new(), now).await;
                None
            }
        };
        let caller = ControlCaller { first_began, ..caller.clone() };
        let reply = ControlReply::of(self.control_dispatch(&caller, request.name, request.body).await);
        // When what follows fails, a repeat finds on the tasks what was done.
        if reply.is_final() {
            let _ = keep(reply.status, reply.body.clone(), now).await;
        } else if reply.did_nothing() && first_began.is_none() {
            // What is older than `forget` is none.
            let _ = keep(ControlAnswer::BEGUN, String::new(), Timestamp::EPOCH).await;
        }
        Ok(reply)
    }
}

const fn status_of(code: Code) -> u16 {
    match code {
        Code::Usage => 400,
        Code::NotFound => 404,
        Code::Refused | Code::NeedsInput => 409,
        Code::OverLimit => 429,
        Code::Failed => 500,
        Code::NoCore => 503,
        Code::TimedOut => 504,
    }
}
