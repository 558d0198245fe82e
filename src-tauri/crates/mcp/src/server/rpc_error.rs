//! The error that answers a request, with its JSON-RPC code and HTTP status.
//!
//! Messages are ours and never quote arguments, or they are a server's error passed on as it came.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::error_codes;
use crate::wire::message::{self, Id};

/// The id of the tasks extension of 2026-07-28.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Which error; each has one code and one HTTP status (protocol.md §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestErrorKind {
    /// The request is malformed or not allowed now.
    InvalidRequest,
    /// No such method, or not for this client.
    MethodNotFound,
    /// The parameters do not fit: also unknown tools and tasks.
    InvalidParams,
    /// A required `_meta` key is missing or unreadable.
    BadMeta,
    /// A failure or a limit of ours.
    Internal,
    /// A mirrored header contradicts the body, or is missing.
    HeaderMismatch,
    /// The client must declare a capability for this.
    MissingCapability,
    /// The protocol version is not supported.
    UnsupportedVersion,
    /// The agent's access was revoked.
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
pub struct RequestError {
    /// The kind, which decides code and status.
    pub kind: RequestErrorKind,
    /// The message, on one line.
    pub message: String,
    /// The `data` member.
    pub data: Option<Box<Value>>,
    /// The whole `error` member of a server, which is passed on as it is.
    pub raw: Option<Arc<str>>,
}

/// What is read of an error that goes out as it is.
#[derive(Deserialize)]
struct Coded {
    code: f64,
}

impl RequestError {
    /// An error without data.
    pub fn new(kind: RequestErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None, raw: None }
    }

    /// A server's error, passed on as it is; its code decides the HTTP status.
    #[must_use]
    pub fn raw(error: &RawValue) -> Self {
        let code = serde_json::from_str::<Coded>(error.get()).map_or(0, |coded| coded.code as i64);
        let kind = match code {
            error_codes::INVALID_REQUEST => RequestErrorKind::InvalidRequest,
            error_codes::METHOD_NOT_FOUND => RequestErrorKind::MethodNotFound,
            error_codes::INVALID_PARAMS => RequestErrorKind::InvalidParams,
            error_codes::INTERNAL_ERROR => RequestErrorKind::Internal,
            error_codes::HEADER_MISMATCH => RequestErrorKind::HeaderMismatch,
            error_codes::MISSING_CAPABILITY => RequestErrorKind::MissingCapability,
            error_codes::UNSUPPORTED_VERSION => RequestErrorKind::UnsupportedVersion,
            other => RequestErrorKind::OfTool(other),
        };
        let message = "the server answered with an error".to_owned();
        Self { kind, message, data: None, raw: Some(error.get().into()) }
    }

    /// The agent's access was revoked.
    #[must_use]
    pub fn revoked(message: impl Into<String>) -> Self {
        Self::new(RequestErrorKind::Revoked, message)
    }

    /// An error of the kind [`RequestErrorKind::InvalidParams`].
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(RequestErrorKind::InvalidParams, message)
    }

    /// The same answer for unknown, expired and foreign tasks, so that nothing tells them apart (protocol.md §6.1).
    #[must_use]
    pub fn unknown_task() -> Self {
        Self::params("there is no such task")
    }

    /// [`RequestErrorKind::MethodNotFound`] for a method that is not served.
    #[must_use]
    pub fn no_method() -> Self {
        Self::new(RequestErrorKind::MethodNotFound, "this method is not served here")
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
            kind: RequestErrorKind::MissingCapability,
            message: message.to_owned(),
            data: Some(Box::new(json!({"requiredCapabilities": required}))),
            raw: None,
        }
    }

    /// The JSON-RPC code.
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self.kind {
            RequestErrorKind::InvalidRequest => error_codes::INVALID_REQUEST,
            RequestErrorKind::MethodNotFound => error_codes::METHOD_NOT_FOUND,
            RequestErrorKind::InvalidParams | RequestErrorKind::BadMeta => error_codes::INVALID_PARAMS,
            RequestErrorKind::Internal => error_codes::INTERNAL_ERROR,
            RequestErrorKind::HeaderMismatch => error_codes::HEADER_MISMATCH,
            RequestErrorKind::MissingCapability => error_codes::MISSING_CAPABILITY,
            RequestErrorKind::UnsupportedVersion => error_codes::UNSUPPORTED_VERSION,
            RequestErrorKind::Revoked | RequestErrorKind::TooOften | RequestErrorKind::Decided => {
                error_codes::SERVER_ERROR
            }
            RequestErrorKind::OfTool(code) => code,
        }
    }

    /// The HTTP status of a response to a modern request. Older eras answer errors with 200.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.kind {
            RequestErrorKind::MethodNotFound => 404,
            // Not 401: that makes a client sign in again, which cannot help here (decision 0021).
            RequestErrorKind::Revoked => 403,
            RequestErrorKind::TooOften => 429,
            RequestErrorKind::InvalidRequest
            | RequestErrorKind::BadMeta
            | RequestErrorKind::HeaderMismatch
            | RequestErrorKind::MissingCapability
            | RequestErrorKind::UnsupportedVersion => 400,
            RequestErrorKind::InvalidParams
            | RequestErrorKind::Internal
            | RequestErrorKind::Decided
            | RequestErrorKind::OfTool(_) => 200,
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
