//! A question that a task waits on, its life, and its answer: `Open → Answered → Confirmed`, or `Withdrawn` when the
//! server takes it back.
//!
//! The content of an answer is a payload of the handle; here is only who did what, and how far it got. Recording
//! answers is in `answer.rs`, the rules of a form in `form.rs`, questions on live connections in `live_question.rs`, who
//! is asked in `audience.rs`.

pub(crate) mod answer;
pub(crate) mod audience;
pub mod form;
pub(crate) mod live_question;
pub(crate) mod open_limit;
pub(crate) mod request_map;
mod secret_fields;
pub(crate) mod shared_question;
pub mod standing_answer;
mod thaw;
mod unfit_answer;
mod unmet_input;

pub use secret_fields::{looks_secret, secret_looking_fields};

use serde_json::Value;

use crate::ids::{ConnectionId, RequestKey};
use crate::raw_message::RawText;
use crate::task::decider::Decider;
use crate::task::payload::Payload;
use crate::task::status::Delivery;
use crate::time::Timestamp;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Fields to fill in; the server's schema, untouched.
    Form {
        /// The server's words, capped.
        message: String,
        /// `requestedSchema` as it came.
        schema: Value,
    },
    /// A page to visit; `accept` is consent to open it, not completion.
    Visit {
        /// The server's words, capped.
        message: String,
        /// The whole address.
        url: String,
        /// 2025 dialect: completion is announced under this id.
        elicitation: Option<String>,
    },
    /// `sampling/createMessage`: not ours to answer.
    Sampling,
    /// `roots/list`: not ours to answer.
    Roots,
    /// A method we do not know; its name.
    Unsupported(String),
}

/// Through which door the question came, and so how its answer goes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskDoor {
    /// 2026: listed under this key by `tasks/get`; answered by `tasks/update`.
    Listed {
        /// The server's key.
        key: String,
    },
    /// 2026: asked in reply to the call itself; answered by calling again.
    Round {
        round: u32,
        /// The server's key.
        key: String,
    },
    /// 2025: a JSON-RPC request on a live connection; answered by its response.
    Live {
        /// The connection it came on.
        connection: ConnectionId,
        /// Names the pending JSON-RPC request within that connection.
        token: String,
        /// Method, and hash of the canonical parameters: what makes a repeated question the same one.
        digest: String,
    },
}

/// A question that arrived on a live connection, not yet tied to a key.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveQuestion {
    /// The connection it came on.
    pub connection: ConnectionId,
    /// Names the pending JSON-RPC request within that connection.
    pub token: String,
    /// Hex SHA-256 of method and canonical parameters, without the related-task metadata.
    pub digest: String,
    /// What is asked.
    pub ask: Ask,
    /// The message, as received.
    pub raw: Option<RawText>,
    /// The question as received (`{method, params}`), for an agent that is asked.
    pub whole: Option<Payload>,
}

/// What was chosen. Three outcomes of a person, never merged, and what an agent said for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerAction {
    /// Send the content, or consent to a visit.
    Accept,
    /// An explicit no.
    Decline,
    /// Dismissed without a choice.
    Dismiss,
    /// The agent's own response object as it is: the content is the whole of it, and goes out verbatim.
    Forwarded,
}

impl AnswerAction {
    /// The word on the wire (`ElicitResult.action`). A forwarded response brings its own.
    #[must_use]
    pub const fn wire_word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Dismiss => "cancel",
            Self::Forwarded => "forwarded",
        }
    }

    /// Lower camel case word for JSON, audit and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Dismiss => "dismiss",
            Self::Forwarded => "forwarded",
        }
    }

    /// What was done, as people read it: `declined`.
    #[must_use]
    pub const fn past(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Decline => "declined",
            Self::Dismiss => "dismissed",
            Self::Forwarded => "answered",
        }
    }

    /// Reads [`AnswerAction::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Accept, Self::Decline, Self::Dismiss, Self::Forwarded].into_iter().find(|action| action.word() == word)
    }
}

/// An answer as recorded. Never changed once recorded (rule 14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    pub by: Decider,
    pub at: Timestamp,
    /// What was chosen.
    pub action: AnswerAction,
    /// Held back until then, and revocable until then (ruling 7).
    pub not_before: Option<Timestamp>,
    /// How far it got.
    pub delivery: Delivery,
}

/// Life of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// Waits for an answer.
    Open,
    /// Answered here, on its way or acknowledged.
    Answered(RecordedAnswer),
    /// Answered here, and the server no longer asks.
    Confirmed(RecordedAnswer),
    /// The server no longer asks; nobody here answered.
    Withdrawn {
        /// When we saw it.
        at: Timestamp,
        why: String,
    },
}

impl Ask {
    /// About how many bytes the question takes in memory: what a server can make grow.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Form { message, schema } => message.len().saturating_add(json_bytes(schema)),
            Self::Visit { message, url, elicitation } => {
                message.len() + url.len() + elicitation.as_deref().map_or(0, str::len)
            }
            Self::Sampling | Self::Roots => 0,
            Self::Unsupported(method) => method.len(),
        }
    }
}

/// About how many bytes a JSON value takes in memory. Each value costs its own size; texts cost their length besides.
fn json_bytes(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(json_bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + json_bytes(value)).sum(),
    };
    inside.saturating_add(size_of::<Value>())
}

impl RequestState {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered(_) => "answered",
            Self::Confirmed(_) => "confirmed",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }

    /// Whether it waits for an answer.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

/// A question of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// Unique for the life of the task.
    pub key: RequestKey,
    /// What is asked.
    pub ask: Ask,
    /// How it came.
    pub door: AskDoor,
    /// When we first saw it.
    pub opened: Timestamp,
    /// How far it got.
    pub state: RequestState,
}
