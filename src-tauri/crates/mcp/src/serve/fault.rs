//! A JSON-RPC error that we answer, with the HTTP status that goes with it.
//!
//! The codes are those of the protocol; their numbers appear here and nowhere else on the serving side. Messages are
//! ours and never quote arguments. What a client answers us is in `ask.rs`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::message::{self, Id};

/// The id of the tasks extension of 2026-07-28.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Which error; each has one code and one HTTP status (protocol.md §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Not a request we can read.
    InvalidRequest,
    /// No such method, or not for this client.
    MethodNotFound,
    /// The parameters do not fit: also unknown tools and tasks.
    InvalidParams,
    /// A required `_meta` key is missing or unreadable.
    BadMeta,
    /// Our own failure, or a limit of ours.
    Internal,
    /// A mirrored header contradicts the body, or is missing.
    HeaderMismatch,
    /// The client must declare a capability for this.
    MissingCapability,
    /// We do not speak this version.
    UnsupportedVersion,
    /// The agent's access was taken away.
    Revoked,
    /// More requests in a second than an agent may send.
    TooOften,
    /// A person or a rule decided against it. A service may answer a tool call with the message as an ordinary result.
    Decided,
    /// The work itself failed with a code of its own.
    OfTool(i64),
}

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Which.
    pub kind: FaultKind,
    /// One line.
    pub message: String,
    /// The `data` member.
    pub data: Option<Box<Value>>,
    /// The whole `error` member of somebody else, which goes out as it is.
    pub raw: Option<Arc<str>>,
}

/// What is read of an error that goes out as it is.
#[derive(Deserialize)]
struct Coded {
    code: f64,
}

impl Fault {
    /// An error without data.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None, raw: None }
    }

    /// The error of somebody else, answered as it is; its code decides the HTTP status.
    #[must_use]
    pub fn raw(error: &RawValue) -> Self {
        let code = serde_json::from_str::<Coded>(error.get()).map_or(0, |coded| coded.code as i64);
        let kind = match code {
            -32_600 => FaultKind::InvalidRequest,
            -32_601 => FaultKind::MethodNotFound,
            -32_602 => FaultKind::InvalidParams,
            -32_603 => FaultKind::Internal,
            -32_020 => FaultKind::HeaderMismatch,
            -32_021 => FaultKind::MissingCapability,
            -32_022 => FaultKind::UnsupportedVersion,
            other => FaultKind::OfTool(other),
        };
        let message = "the server answered with an error".to_owned();
        Self { kind, message, data: None, raw: Some(error.get().into()) }
    }

    /// The agent may not come in any more.
    #[must_use]
    pub fn revoked(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Revoked, message)
    }

    /// [`FaultKind::InvalidParams`].
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParams, message)
    }

    /// The one answer for unknown, expired and foreign tasks: nothing tells them apart (protocol.md §6.1).
    #[must_use]
    pub fn unknown_task() -> Self {
        Self::params("there is no such task")
    }

    /// [`FaultKind::MethodNotFound`] for a method that is not served.
    #[must_use]
    pub fn no_method() -> Self {
        Self::new(FaultKind::MethodNotFound, "this method is not served here")
    }

    /// The client must declare the tasks extension.
    #[must_use]
    pub fn needs_tasks() -> Self {
        Self::needs(
            json!({"extensions": {TASKS_EXTENSION: {}}}),
            "this needs the tasks extension, declared by the client",
        )
    }

    /// The client must declare what `required` holds, in the shape of its capabilities.
    #[must_use]
    pub fn needs(required: Value, message: &str) -> Self {
        Self {
            kind: FaultKind::MissingCapability,
            message: message.to_owned(),
            data: Some(Box::new(json!({"requiredCapabilities": required}))),
            raw: None,
        }
    }

    /// The JSON-RPC code.
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self.kind {
            FaultKind::InvalidRequest => -32_600,
            FaultKind::MethodNotFound => -32_601,
            FaultKind::InvalidParams | FaultKind::BadMeta => -32_602,
            FaultKind::Internal => -32_603,
            FaultKind::HeaderMismatch => -32_020,
            FaultKind::MissingCapability => -32_021,
            FaultKind::UnsupportedVersion => -32_022,
            FaultKind::Revoked | FaultKind::TooOften | FaultKind::Decided => -32_000,
            FaultKind::OfTool(code) => code,
        }
    }

    /// The HTTP status of a response to a modern request. Older eras answer errors with 200.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.kind {
            FaultKind::MethodNotFound => 404,
            // Not 401: that makes a client sign in again, which cannot help here (decision 0021).
            FaultKind::Revoked => 403,
            FaultKind::TooOften => 429,
            FaultKind::InvalidRequest
            | FaultKind::BadMeta
            | FaultKind::HeaderMismatch
            | FaultKind::MissingCapability
            | FaultKind::UnsupportedVersion => 400,
            FaultKind::InvalidParams | FaultKind::Internal | FaultKind::Decided | FaultKind::OfTool(_) => 200,
        }
    }

    /// The whole response as bytes on one line.
    ///
    /// # Errors
    /// When it cannot be written, which does not happen to errors of ours.
    pub fn write(&self, id: Option<&Id>) -> serde_json::Result<Vec<u8>> {
        match &self.raw {
            Some(raw) => message::error(id, serde_json::from_str::<&RawValue>(raw)?),
            None => message::error(id, &self.json()),
        }
    }

    /// The `error` member.
    #[must_use]
    pub fn json(&self) -> Value {
        if let Some(error) = self.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok()) {
            return error;
        }
        let mut error = json!({"code": self.code(), "message": self.message});
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".to_owned(), Value::clone(data));
        }
        error
    }
}
