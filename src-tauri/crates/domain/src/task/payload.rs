//! Opaque bytes that pass through: arguments, results, answers.
//!
//! A payload is JSON text exactly as it was on the wire; nothing here parses it. It is large, private or both, so it is
//! stored outside the handle, sealed at rest, and never shown in `Debug`.

use std::fmt;

use bytestring::ByteString;

use crate::ids::RequestKey;

/// JSON text as it came, cheap to clone, redacted in `Debug`.
///
/// It may be a part of the message that it came in, which stays in memory as long as the part does. What keeps a
/// payload for long takes [`Payload::detached`].
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(ByteString);

impl Payload {
    /// Takes JSON text as it is. A [`ByteString`] is shared, other texts are copied or moved.
    pub fn new(text: impl Into<ByteString>) -> Self {
        Self(text.into())
    }

    /// The same text in memory of its own, so that it keeps no message alive.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self::new(self.as_str())
    }

    /// The text as shared bytes, for writing it without a copy.
    #[must_use]
    pub const fn shared(&self) -> &ByteString {
        &self.0
    }

    /// The text as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// Which payload of a handle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadKind {
    /// Arguments of the call, as sent.
    Arguments,
    /// The terminal result, as received.
    Result,
    /// The terminal JSON-RPC error object, as received.
    Error,
    /// What a person answered to one request.
    Answer(RequestKey),
    /// `requestState` of a multi round-trip call, to be sent back byte for byte.
    RequestState,
    /// The last message that could not be read, cut to `unreadable_kept_bytes`, for `doctor`.
    Unreadable,
    /// The server's task object as last received, without result, error and questions: what an agent sees of it.
    Task,
    /// One question as received (`{method, params}`), for an agent that is asked.
    Question(RequestKey),
}

impl PayloadKind {
    /// The kind as text, for the registry: `result`, `answer:KEY` and so on.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Arguments => "arguments".into(),
            Self::Result => "result".into(),
            Self::Error => "error".into(),
            Self::Answer(key) => format!("answer:{key}"),
            Self::RequestState => "requestState".into(),
            Self::Unreadable => "unreadable".into(),
            Self::Task => "task".into(),
            Self::Question(key) => format!("question:{key}"),
        }
    }

    /// Reads [`PayloadKind::text`] back.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "arguments" => Some(Self::Arguments),
            "result" => Some(Self::Result),
            "error" => Some(Self::Error),
            "requestState" => Some(Self::RequestState),
            "unreadable" => Some(Self::Unreadable),
            "task" => Some(Self::Task),
            _ => {
                let answer = text.strip_prefix("answer:").map(|key| Self::Answer(RequestKey::new(key)));
                answer.or_else(|| text.strip_prefix("question:").map(|key| Self::Question(RequestKey::new(key))))
            }
        }
    }
}

/// A payload to store with a commit; replaces the earlier one of the same kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadWrite {
    pub kind: PayloadKind,
    /// The bytes; `None` erases (an acknowledged answer to a field that looks secret, ruling 9).
    pub payload: Option<Payload>,
}

/// A stored terminal payload of this handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultRef {
    /// Size of the payload in bytes.
    pub bytes: u64,
}
