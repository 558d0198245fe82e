//! Parses and writes one JSON-RPC message, raw.
//!
//! [`parse`] tells requests, notifications and responses apart and leaves `params`, `result` and `error` as text, so
//! that what is forwarded is never re-typed. Reading what servers say is lenient (a missing `jsonrpc`, an id of `1.0`);
//! a call of a client needs `"jsonrpc":"2.0"` and no id of `null`; writing in `write.rs` is strict. Size, depth, ids and
//! batches are bounded before anything is kept.

mod id;
mod nesting;
mod request;
mod response;
mod write;

#[cfg(test)]
mod tests;

use domain::policy::Policy;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error_codes;

pub use id::Id;
pub use keeper::MessageSkim;
pub use nesting::too_deep_at;
pub(crate) use request::{RequestFrame, SharedRequest, parse_request};
pub use response::SharedAnswer;
pub(crate) use response::{ResponseFrame, parse_response};
pub use write::{error, notification, on_one_line, request, result};
pub(crate) use write::{request_text, result_ends, result_text};

/// Bounds on one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimits {
    /// Longest message in bytes.
    pub bytes: usize,
    /// Deepest nesting of objects and arrays.
    pub depth: usize,
    /// Longest id in bytes.
    pub id_bytes: usize,
    /// Most messages in one batch.
    pub batch: usize,
}

impl MessageLimits {
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

/// One JSON-RPC message, with its content raw.
#[derive(Clone)]
pub enum Message {
    /// A request, which is owed an answer.
    Request {
        /// Its id, in the type that the sender chose.
        id: Id,
        /// The JSON-RPC method.
        method: String,
        /// The params as they came, `None` when absent.
        params: Option<Box<RawValue>>,
    },
    /// A notification, which gets no answer.
    Notification {
        /// The JSON-RPC method.
        method: String,
        /// The params as they came, `None` when absent.
        params: Option<Box<RawValue>>,
    },
    /// A response to a request.
    Response {
        /// The id of the request; `None` in an error about a message whose id was unreadable.
        id: Option<Id>,
        /// Its result or error.
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

/// A message, or a batch of them (peers of 2025-03-26 and older).
#[derive(Debug, Clone)]
pub enum Incoming {
    /// A single message.
    One(Message),
    /// A batch; bad members do not spoil the good ones.
    Batch(Vec<Result<Message, BadMessage>>),
}

/// Text that is not a JSON-RPC message. It is never quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}")]
pub struct BadMessage {
    /// The id, when it could be read: an error answer names it.
    pub id: Option<Id>,
    /// What is wrong.
    pub wrong: MessageProblem,
}

/// What is wrong with a message, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageProblem {
    /// Longer than the limit.
    #[error("the message has more than {cap} bytes")]
    TooLarge {
        /// The limit that applies.
        cap: usize,
    },
    /// Nested deeper than the limit.
    #[error("the message is nested deeper than {cap} levels at byte {at}")]
    TooDeep {
        /// The limit that applies.
        cap: usize,
        /// Where the first level too many begins.
        at: usize,
    },
    /// The bytes are not UTF-8.
    #[error("the message is not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The first wrong byte.
        at: usize,
    },
    /// The text is not JSON.
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
    /// `jsonrpc` is not `"2.0"`, or is missing in a call of a client.
    #[error("`jsonrpc` must be \"2.0\"")]
    BadVersion,
    /// `id` is not a string or an integer, or is too long; or `null` in a call of a client.
    #[error("`id` must be a string or an integer, and not overlong")]
    BadId,
    /// `method` is not a string.
    #[error("`method` must be a string")]
    BadMethod,
    /// `params` is not an object or array.
    #[error("`params` must be an object or an array")]
    BadParams,
    /// `error` is not an object.
    #[error("`error` must be an object")]
    BadError,
    /// A response without an id that is not an error.
    #[error("the result has no `id`")]
    NoId,
    /// None of `method`, `result` and `error`, or more than one.
    #[error("the message is neither a request, nor a notification, nor a response")]
    Neither,
    /// A batch without messages, `[]`.
    #[error("the batch is empty")]
    EmptyBatch,
    /// More messages than the limit.
    #[error("the batch has more than {cap} messages")]
    LongBatch {
        /// The limit that applies.
        cap: usize,
    },
}

impl BadMessage {
    const fn of(wrong: MessageProblem) -> Self {
        Self { id: None, wrong }
    }

    /// The JSON-RPC error code for the sender.
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self.wrong {
            MessageProblem::NotUtf8 { .. } | MessageProblem::NotJson { .. } => error_codes::PARSE_ERROR,
            MessageProblem::TooLarge { .. }
            | MessageProblem::TooDeep { .. }
            | MessageProblem::NotAnObject
            | MessageProblem::BadVersion
            | MessageProblem::BadId
            | MessageProblem::BadMethod
            | MessageProblem::BadParams
            | MessageProblem::BadError
            | MessageProblem::NoId
            | MessageProblem::Neither
            | MessageProblem::EmptyBatch
            | MessageProblem::LongBatch { .. } => error_codes::INVALID_REQUEST,
        }
    }
}

/// Who sent a message. Servers are read as leniently as can be (protocol.md §7.7); a client is told what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Server,
    Client,
}

/// Reads one frame of a server: a message, or a batch.
///
/// # Errors
/// Says what is wrong and where, never what was said.
pub fn parse(bytes: &[u8], limits: &MessageLimits) -> Result<Incoming, BadMessage> {
    frame(bytes, limits, Sender::Server)
}

/// As [`parse`], for a frame of a client.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_of_client(bytes: &[u8], limits: &MessageLimits) -> Result<Incoming, BadMessage> {
    frame(bytes, limits, Sender::Client)
}

fn frame(bytes: &[u8], limits: &MessageLimits, from: Sender) -> Result<Incoming, BadMessage> {
    let text = checked(bytes, limits)?;
    if !text.trim_start().starts_with('[') {
        return one(text, limits, from).map(Incoming::One);
    }
    batch(text, limits, from).map(Incoming::Batch)
}

/// The text of a frame, which is not too long and not too deep.
fn checked<'a>(bytes: &'a [u8], limits: &MessageLimits) -> Result<&'a str, BadMessage> {
    if bytes.len() > limits.bytes {
        return Err(BadMessage::of(MessageProblem::TooLarge { cap: limits.bytes }));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|bad| BadMessage::of(MessageProblem::NotUtf8 { at: bad.valid_up_to() }))?;
    let text = text.trim_start_matches('\u{feff}');
    match too_deep_at(text.as_bytes(), limits.depth) {
        Some(at) => Err(BadMessage::of(MessageProblem::TooDeep { cap: limits.depth, at })),
        None => Ok(text),
    }
}

fn batch(text: &str, limits: &MessageLimits, from: Sender) -> Result<Vec<Result<Message, BadMessage>>, BadMessage> {
    if nesting::members(text.as_bytes()) > limits.batch {
        return Err(BadMessage::of(MessageProblem::LongBatch { cap: limits.batch }));
    }
    let members: Vec<&RawValue> = serde_json::from_str(text).map_err(|bad| BadMessage::of(shape(&bad)))?;
    if members.is_empty() {
        return Err(BadMessage::of(MessageProblem::EmptyBatch));
    }
    Ok(members.into_iter().map(|member| one(member.get(), limits, from)).collect())
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

fn shape(bad: &serde_json::Error) -> MessageProblem {
    match bad.classify() {
        serde_json::error::Category::Data => MessageProblem::NotAnObject,
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof | serde_json::error::Category::Io => {
            MessageProblem::NotJson { line: bad.line(), column: bad.column() }
        }
    }
}

fn one(text: &str, limits: &MessageLimits, from: Sender) -> Result<Message, BadMessage> {
    let (envelope, id) = envelope(text, limits)?;
    match content(&envelope, id.is_some(), from) {
        Ok(content) => Ok(content.into_message(id)),
        Err(wrong) => Err(BadMessage { id, wrong }),
    }
}

/// The members of a message, and its id.
fn envelope<'a>(text: &'a str, limits: &MessageLimits) -> Result<(Envelope<'a>, Option<Id>), BadMessage> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|bad| BadMessage::of(shape(&bad)))?;
    let id = match envelope.id.filter(|raw| raw.get() != "null") {
        Some(raw) => Some(Id::read(raw.get(), limits.id_bytes).ok_or(BadMessage::of(MessageProblem::BadId))?),
        None => None,
    };
    Ok((envelope, id))
}

/// What a message is about, where it stands.
enum Content<'a> {
    /// A request, or a notification when it has no id.
    Call {
        method: String,
        params: Option<&'a RawValue>,
    },
    Result(&'a RawValue),
    Error(&'a RawValue),
}

impl Content<'_> {
    /// The message in memory of its own.
    fn into_message(self, id: Option<Id>) -> Message {
        match (self, id) {
            (Self::Call { method, params }, Some(id)) => {
                Message::Request { id, method, params: params.map(ToOwned::to_owned) }
            }
            (Self::Call { method, params }, None) => {
                Message::Notification { method, params: params.map(ToOwned::to_owned) }
            }
            (Self::Result(raw), id) => Message::Response { id, answer: Answer::Result(raw.to_owned()) },
            (Self::Error(raw), id) => Message::Response { id, answer: Answer::Error(raw.to_owned()) },
        }
    }
}

fn content<'a>(envelope: &Envelope<'a>, has_id: bool, from: Sender) -> Result<Content<'a>, MessageProblem> {
    if envelope.jsonrpc.is_some_and(|raw| raw.get() != "\"2.0\"") {
        return Err(MessageProblem::BadVersion);
    }
    let error = envelope.error.filter(|raw| raw.get() != "null");
    // Peers of JSON-RPC 1.0 habits send `"result":null` beside an error.
    let result = envelope.result.filter(|raw| error.is_none() || raw.get() != "null");
    match (envelope.method, result, error) {
        (Some(_), None, None) if from == Sender::Client && envelope.jsonrpc.is_none() => {
            Err(MessageProblem::BadVersion)
        }
        // JSON-RPC would take it for a notification, or answer it with an id of `null`; MCP forbids it.
        (Some(_), None, None) if from == Sender::Client && envelope.id.is_some() && !has_id => {
            Err(MessageProblem::BadId)
        }
        (Some(method), None, None) => {
            let method = serde_json::from_str(method.get()).map_err(|_| MessageProblem::BadMethod)?;
            let params = match envelope.params.filter(|raw| raw.get() != "null") {
                Some(raw) if raw.get().starts_with(['{', '[']) => Some(raw),
                Some(_) => return Err(MessageProblem::BadParams),
                None => None,
            };
            Ok(Content::Call { method, params })
        }
        (None, Some(result), None) if has_id => Ok(Content::Result(result)),
        (None, Some(_), None) => Err(MessageProblem::NoId),
        (None, None, Some(error)) if error.get().starts_with('{') => Ok(Content::Error(error)),
        (None, None, Some(_)) => Err(MessageProblem::BadError),
        _ => Err(MessageProblem::Neither),
    }
}
