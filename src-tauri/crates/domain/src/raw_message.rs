//! Raw messages of a task: what went over the wire when a question was asked or answered, and when something failed.
//!
//! They are evidence for people; the product never reads them. Bodies are capped, sealed at rest and redacted in
//! `Debug`; the registry keeps the newest few of a task. Answers that may hold a secret are noted without their body
//! (ruling 9).

use crate::policy::Policy;
use crate::task::payload::Payload;
use crate::time::Timestamp;

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The server said it.
    FromServer,
    /// We said it.
    ToServer,
}

impl Direction {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::FromServer => "fromServer",
            Self::ToServer => "toServer",
        }
    }

    /// Reads [`Direction::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::FromServer, Self::ToServer].into_iter().find(|direction| direction.word() == word)
    }
}

/// The text of a message, capped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawText {
    /// JSON text, from its beginning.
    pub body: Payload,
    /// Size of the message before it was cut.
    pub bytes: u64,
    /// Whether the body is not the whole message.
    pub cut: bool,
}

impl RawText {
    /// A text cut to `raw_message_bytes`.
    #[must_use]
    pub fn of(text: &str, policy: &Policy) -> Self {
        let kept = text.get(..text.floor_char_boundary(policy.raw_message_bytes)).unwrap_or_default();
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Self { body: Payload::new(kept), bytes, cut: kept.len() < text.len() }
    }

    /// A text that is only a part of its message.
    #[must_use]
    pub fn part(text: &str, policy: &Policy) -> Self {
        Self { cut: true, ..Self::of(text, policy) }
    }

    /// The same message without its body.
    #[must_use]
    pub fn without_body(&self) -> Self {
        Self { body: Payload::new(""), bytes: self.bytes, cut: true }
    }
}

/// One message to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// When it came or left.
    pub at: Timestamp,
    /// Which way it went.
    pub direction: Direction,
    /// The method or kind, in our words: `tasks/get`, `elicitation/create`.
    pub about: String,
    /// The JSON text, capped; empty when it may hold a secret.
    pub body: Payload,
    /// Size of the message before it was cut.
    pub bytes: u64,
    /// Whether the body is not the whole message.
    pub cut: bool,
}

impl RawMessage {
    /// A message of this text.
    #[must_use]
    pub fn new(at: Timestamp, direction: Direction, about: &str, text: &RawText) -> Self {
        let RawText { body, bytes, cut } = text;
        Self { at, direction, about: about.to_owned(), body: body.clone(), bytes: *bytes, cut: *cut }
    }
}

/// A kept message without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawNote {
    /// Its number among the messages of the task, rising.
    pub n: u64,
    /// When it came or left.
    pub at: Timestamp,
    /// Which way it went.
    pub direction: Direction,
    /// The method or kind.
    pub about: String,
    /// Size of the message before it was cut.
    pub bytes: u64,
    /// Whether what is kept is not the whole message.
    pub cut: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_at_a_character_and_says_so() {
        let policy = Policy { raw_message_bytes: 4, ..Policy::default() };
        let of = |text: &str| RawText::of(text, &policy);
        let long = of("abcä!");
        assert_eq!((long.body.as_str(), long.bytes, long.cut), ("abc", 6, true), "never within a character");
        let short = of("abcd");
        assert_eq!((short.body.as_str(), short.cut), ("abcd", false), "what fits is whole");
    }
}
