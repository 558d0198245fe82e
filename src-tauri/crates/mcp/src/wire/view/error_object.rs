//! A JSON-RPC error of a server.
//!
//! It tells apart what callers branch on: by code, or by the shape of `data` where servers number differently
//! (protocol.md §2.1). Only the server's own message is quoted, capped.

use domain::policy::{Policy, plain_text};
use domain::ports::UpstreamError;
use domain::task::payload::Payload;
use domain::task::status::RpcError;
use serde_json::Value;
use serde_json::value::RawValue;

use super::JsonFields;
use crate::wire::error_codes::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY,
};

/// How deep the name of a missing capability is spelled: `extensions` and the extension's id. Judgement.
const CAPABILITY_DEPTH: usize = 2;
/// Missing capabilities named at most. Judgement: one line.
const CAPABILITIES_NAMED: usize = 5;

/// An error as it came.
#[derive(Debug, Clone)]
pub(crate) struct ServerError {
    /// Code and message, for display.
    pub(crate) error: RpcError,
    /// The `error` member as received.
    pub(crate) payload: Payload,
    missing: Option<String>,
}

impl ServerError {
    /// Reads an `error` member, whatever it is.
    pub(crate) fn read(raw: &RawValue, policy: &Policy) -> Self {
        let payload = Payload::new(raw.get());
        let Ok(fields) = JsonFields::of(raw, "$.error") else {
            let message = "the error has no message".into();
            return Self { error: RpcError { code: 0, message }, payload, missing: None };
        };
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and codes are small integers")]
        let code = fields.number("code").map_or(0, |number| number as i64);
        let message = fields.words("message", policy).unwrap_or_else(|| "the error has no message".into());
        let required = fields.object_or_none("data").and_then(|data| data.value("requiredCapabilities"));
        let missing = match required {
            Some(Value::Object(names)) => Some(capability_names(&Value::Object(names), policy)),
            Some(_) | None if code == MISSING_CAPABILITY => Some("one that it does not name".into()),
            Some(_) | None => None,
        };
        Self { error: RpcError { code, message }, payload, missing }
    }

    /// The capability of its client that the server misses.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// The server checked mirrored headers against the body and found a difference: nothing ran.
    pub(crate) fn is_header_mismatch(&self) -> bool {
        self.error.code == HEADER_MISMATCH
    }

    pub(crate) fn is_method_not_found(&self) -> bool {
        self.error.code == METHOD_NOT_FOUND
    }

    /// `-32601` or `-32600`: what servers say of a call that should, or should not, have been a task.
    pub(crate) fn may_want_a_task(&self) -> bool {
        self.is_method_not_found() || self.error.code == INVALID_REQUEST
    }

    /// `-32602`: for the methods of tasks this is the answer to an unknown id.
    pub(crate) fn is_invalid_params(&self) -> bool {
        self.error.code == INVALID_PARAMS
    }

    /// What it means as the answer to one of the methods of tasks. `verb` completes "this server cannot …".
    pub(crate) fn of_task_method(self, verb: &'static str) -> UpstreamError {
        match self.missing {
            Some(name) => UpstreamError::MissingCapability(name),
            None if self.is_invalid_params() => UpstreamError::UnknownTask,
            None => self.of_method(verb),
        }
    }

    /// What it means as the answer to any other method.
    pub(crate) fn of_method(self, verb: &'static str) -> UpstreamError {
        match self.missing {
            Some(name) => UpstreamError::MissingCapability(name),
            None if self.is_method_not_found() => UpstreamError::Unsupported(verb),
            None => UpstreamError::Refused(self.error),
        }
    }
}

/// `{"extensions": {"x": {}}, "sampling": {}}` as `extensions.x, sampling`.
fn capability_names(required: &Value, policy: &Policy) -> String {
    let mut names = Vec::new();
    collect_names(required, String::new(), CAPABILITY_DEPTH, &mut names);
    if names.is_empty() {
        return "one that it does not name".into();
    }
    plain_text(&names.join(", "), policy.server_text_cap_chars)
}

fn collect_names(value: &Value, path: String, depth: usize, names: &mut Vec<String>) {
    let below = value.as_object().filter(|members| !members.is_empty() && depth > 0);
    match below {
        Some(members) => {
            for (name, inner) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect_names(inner, path, depth - 1, names);
            }
        }
        None if !path.is_empty() && names.len() < CAPABILITIES_NAMED => names.push(path),
        None => {}
    }
}
