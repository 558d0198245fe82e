//! One JSON-RPC message, raw: the core that both sides of the wire share.
//!
//! [`parse`] tells a request from a notification from a response and leaves `params`, `result` and `error` as the
//! text they were, so that what is forwarded is never re-typed. It reads leniently (a missing `jsonrpc`, an id of
//! `1.0`) and `message/write.rs` writes strictly. Size, depth, ids and batches are bounded before anything is kept.
//! It knows neither methods nor sides; `skim.rs` looks at bytes that are not worth parsing.

mod id;
mod skim;
pub(crate) mod text;
mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use domain::policy::Policy;
use serde::Deserialize;
use serde_json::value::RawValue;

pub use id::Id;
pub use skim::{Skim, too_deep_at};
pub use write::{error, notification, on_one_line, request, result};
pub(crate) use write::{request_text, result_text};

/// How large a message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest message in bytes.
    pub bytes: usize,
    /// Deepest nesting of objects and arrays.
    pub depth: usize,
    /// Longest id in bytes.
    pub id_bytes: usize,
    /// Most messages in one batch.
    pub batch: usize,
}

impl Limits {
    /// The limits of the policy.
    #[must_use]
    pub const fn of(policy: &Policy) -> Self {
        Self {
            bytes: policy.message_cap_bytes,
            depth: policy.message_depth_max,
            id_bytes: policy.rpc_id_cap_bytes,
            batch: policy.batch_messages_max,
        }
    }
}

/// The answer to a request, raw.
#[derive(Clone)]
pub enum Answer {
    /// The `result` member.
    Result(Box<RawValue>),
    /// The `error` member, a JSON object.
    Error(Box<RawValue>),
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Result(raw) => write!(f, "Result({} bytes)", raw.get().len()),
            Self::Error(raw) => write!(f, "Error({} bytes)", raw.get().len()),
        }
    }
}

/// One message.
#[derive(Clone)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Its id, in its type.
        id: Id,
        /// Method.
        method: String,
        /// Params, `None` when absent.
        params: Option<Box<RawValue>>,
    },
    /// Wants none.
    Notification {
        /// Method.
        method: String,
        /// Params, `None` when absent.
        params: Option<Box<RawValue>>,
    },
    /// Answers a request.
    Response {
        /// Which; `None` in an error about a message whose id could not be read.
        id: Option<Id>,
        /// What.
        answer: Answer,
    },
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request { method, .. } => write!(f, "Request({method})"),
            Self::Notification { method, .. } => write!(f, "Notification({method})"),
            Self::Response { answer, .. } => write!(f, "Response({answer:?})"),
        }
    }
}

/// What one frame held: a message, or a batch of them (peers of 2025-03-26 and older).
#[derive(Debug, Clone)]
pub enum Incoming {
    /// A single message.
    One(Message),
    /// A batch; bad members do not spoil the good ones.
    Batch(Vec<Result<Message, BadMessage>>),
}

/// Text that is not a JSON-RPC message. Never quotes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}")]
pub struct BadMessage {
    /// The id, when it could be read: an error answer names it.
    pub id: Option<Id>,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with a message, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Longer than the limit.
    #[error("the message has more than {cap} bytes")]
    TooLarge {
        /// The limit.
        cap: usize,
    },
    /// Nested deeper than the limit.
    #[error("the message is nested deeper than {cap} levels at byte {at}")]
    TooDeep {
        /// The limit.
        cap: usize,
        /// Where the first level too many begins.
        at: usize,
    },
    /// Not UTF-8.
    #[error("the message is not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The first wrong byte.
        at: usize,
    },
    /// Not JSON.
    #[error("the message is not JSON at line {line}, column {column}")]
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// JSON, not an object with each member once.
    #[error("the message is not a JSON-RPC object")]
    NotAnObject,
    /// `jsonrpc` is there and is not `"2.0"`.
    #[error("`jsonrpc` is not \"2.0\"")]
    BadVersion,
    /// `id` is neither text nor a whole number, or too long.
    #[error("`id` is neither a text nor a whole number of fair length")]
    BadId,
    /// `method` is not text.
    #[error("`method` is not a text")]
    BadMethod,
    /// `params` is not an object or array.
    #[error("`params` is neither an object nor an array")]
    BadParams,
    /// `error` is not an object.
    #[error("`error` is not an object")]
    BadError,
    /// A response without an id that is not an error.
    #[error("the result has no `id`")]
    NoId,
    /// Neither `method`, nor `result`, nor `error`; or too many of them.
    #[error("the message is neither a request, nor a notification, nor a response")]
    Neither,
    /// `[]`.
    #[error("the batch is empty")]
    EmptyBatch,
    /// More messages than the limit.
    #[error("the batch has more than {cap} messages")]
    LongBatch {
        /// The limit.
        cap: usize,
    },
}

impl BadMessage {
    const fn of(wrong: Wrong) -> Self {
        Self { id: None, wrong }
    }

    /// The JSON-RPC error code that tells the sender: `-32700` when it is not JSON at all, `-32600` otherwise.
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self.wrong {
            Wrong::NotUtf8 { .. } | Wrong::NotJson { .. } => -32_700,
            Wrong::TooLarge { .. }
            | Wrong::TooDeep { .. }
            | Wrong::NotAnObject
            | Wrong::BadVersion
            | Wrong::BadId
            | Wrong::BadMethod
            | Wrong::BadParams
            | Wrong::BadError
            | Wrong::NoId
            | Wrong::Neither
            | Wrong::EmptyBatch
            | Wrong::LongBatch { .. } => -32_600,
        }
    }
}

/// Reads one frame: a message, or a batch.
///
/// # Errors
/// Says what is wrong and where, never what was said.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Incoming, BadMessage> {
    if bytes.len() > limits.bytes {
        return Err(BadMessage::of(Wrong::TooLarge { cap: limits.bytes }));
    }
    let text = std::str::from_utf8(bytes).map_err(|bad| BadMessage::of(Wrong::NotUtf8 { at: bad.valid_up_to() }))?;
    let text = text.trim_start_matches('\u{feff}');
    if let Some(at) = too_deep_at(text.as_bytes(), limits.depth) {
        return Err(BadMessage::of(Wrong::TooDeep { cap: limits.depth, at }));
    }
    if !text.trim_start().starts_with('[') {
        return one(text, limits).map(Incoming::One);
    }
    batch(text, limits).map(Incoming::Batch)
}

fn batch(text: &str, limits: &Limits) -> Result<Vec<Result<Message, BadMessage>>, BadMessage> {
    if skim::members(text.as_bytes()) > limits.batch {
        return Err(BadMessage::of(Wrong::LongBatch { cap: limits.batch }));
    }
    let members: Vec<&RawValue> = serde_json::from_str(text).map_err(|bad| BadMessage::of(shape(&bad)))?;
    if members.is_empty() {
        return Err(BadMessage::of(Wrong::EmptyBatch));
    }
    Ok(members.into_iter().map(|member| one(member.get(), limits)).collect())
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// `null` is a member that is there; a plain `Option` would take it for absent.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

fn shape(bad: &serde_json::Error) -> Wrong {
    match bad.classify() {
        serde_json::error::Category::Data => Wrong::NotAnObject,
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof | serde_json::error::Category::Io => {
            Wrong::NotJson { line: bad.line(), column: bad.column() }
        }
    }
}

fn one(text: &str, limits: &Limits) -> Result<Message, BadMessage> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|bad| BadMessage::of(shape(&bad)))?;
    let id = match envelope.id.filter(|raw| raw.get() != "null") {
        Some(raw) => Some(Id::read(raw.get(), limits.id_bytes).ok_or(BadMessage::of(Wrong::BadId))?),
        None => None,
    };
    let told = id.clone();
    assemble(&envelope, id).map_err(|wrong| BadMessage { id: told, wrong })
}

fn assemble(envelope: &Envelope<'_>, id: Option<Id>) -> Result<Message, Wrong> {
    if envelope.jsonrpc.is_some_and(|raw| raw.get() != "\"2.0\"") {
        return Err(Wrong::BadVersion);
    }
    let error = envelope.error.filter(|raw| raw.get() != "null");
    // Peers of JSON-RPC 1.0 habits send `"result":null` beside an error.
    let result = envelope.result.filter(|raw| error.is_none() || raw.get() != "null");
    match (envelope.method, result, error) {
        (Some(method), None, None) => {
            let method: Cow<'_, str> = serde_json::from_str(method.get()).map_err(|_| Wrong::BadMethod)?;
            let method = method.into_owned();
            let params = match envelope.params.filter(|raw| raw.get() != "null") {
                Some(raw) if raw.get().starts_with(['{', '[']) => Some(raw.to_owned()),
                Some(_) => return Err(Wrong::BadParams),
                None => None,
            };
            Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            })
        }
        (None, Some(result), None) if id.is_some() => {
            Ok(Message::Response { id, answer: Answer::Result(result.to_owned()) })
        }
        (None, Some(_), None) => Err(Wrong::NoId),
        (None, None, Some(error)) if error.get().starts_with('{') => {
            Ok(Message::Response { id, answer: Answer::Error(error.to_owned()) })
        }
        (None, None, Some(_)) => Err(Wrong::BadError),
        _ => Err(Wrong::Neither),
    }
}
