//! A program that reaches servers through Taskwarden.
//!
//! An agent proves itself with a token of which only the digest is kept (ruling 25); the token itself is shown once, to
//! the person who adds the agent. What is decided for its tasks is in `rule.rs`.

pub mod alarm;
pub mod call_episodes;
pub mod call_history;
pub mod call_pattern;
pub mod control_token;

use std::fmt;

use sha2::{Digest, Sha256};

use crate::budget::window::CountingSettings;
use crate::client::learned_timeout::LearnedTimeout;
use crate::ids::AgentId;
pub use crate::rule::{AudienceRule, RepeatRule, ResolvedRule, Rule, RuleScope, Rules};
use crate::time::Timestamp;

/// SHA-256 of an agent's token. Compared in constant time, redacted in `Debug`.
#[derive(Clone, Copy)]
pub struct TokenDigest(pub [u8; 32]);

impl TokenDigest {
    /// The digest of a token as it is in a header.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

impl PartialEq for TokenDigest {
    /// Compares every byte, wherever the first difference is.
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0.iter()).fold(0_u8, |differences, (a, b)| differences | (a ^ b)) == 0
    }
}

impl Eq for TokenDigest {}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(…)")
    }
}

/// An agent as a person named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    /// The person's name for it: unique among those with access.
    pub name: String,
    /// When it was added.
    pub created: Timestamp,
    /// When its access was taken away.
    pub revoked: Option<Timestamp>,
    /// What its token hashes to.
    pub token: TokenDigest,
    /// When that token was made. The token that was made last is the one that counts.
    pub token_made: Timestamp,
    /// When it was last seen, as last flushed.
    pub seen: Option<Timestamp>,
    /// What its program says it is, `name version`; capped plain text, self-reported.
    pub client: Option<String>,
    /// The timeout that its program was seen to have, as last flushed.
    pub learned_timeout: Option<LearnedTimeout>,
    /// Whether a client that does not know tasks is offered the four task tools.
    pub task_tools: bool,
    /// Calls of tools so far, as last flushed.
    pub calls: u64,
    /// How its tokens are counted, as far as a person set it.
    pub meter: CountingSettings,
}

/// A name that cannot be an agent's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be an agent name: use 1 to 40 of a-z, 0-9, dot, dash and underscore")]
pub struct BadAgentName(String);

/// Checks a name for an agent: it names a file and appears in commands and lists.
///
/// # Errors
/// When it is empty, longer than 40, begins with a dot or has other characters.
pub fn check_agent_name(name: &str) -> Result<(), BadAgentName> {
    let fits = (1..=40).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    if fits { Ok(()) } else { Err(BadAgentName(name.chars().take(80).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_apart_by_any_byte_and_never_shown() {
        let digest = TokenDigest::of("twa_x");
        let mut other = digest;
        other.0[31] ^= 1;
        assert_eq!(digest, TokenDigest::of("twa_x"), "the same token");
        assert_ne!(digest, other, "the last byte counts");
        assert_eq!(format!("{digest:?}"), "TokenDigest(…)", "nothing of it in logs");
    }

    #[test]
    fn an_agent_name_names_a_file_safely() {
        assert_eq!(check_agent_name("claude-code.2"), Ok(()));
        for bad in ["", ".hidden", "../up", "Big", "a b", &"a".repeat(41)] {
            assert!(check_agent_name(bad).is_err(), "`{bad}` is refused");
        }
    }
}
