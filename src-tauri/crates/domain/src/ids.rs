//! Identities, each its own type.
//!
//! Ids of ours are 128 random bits with a prefix in text form (`hdl_…`); randomness comes in as a value,
//! so this module never draws any. Ids of a server's making are opaque text of any length.
//! Nothing here knows where an id is stored.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::audit::decision_origin::DecisionOrigin;
use crate::digest::hex;

/// Crockford's base 32 in lower case: no `i`, `l`, `o`, `u`, safe in headers, file names and speech.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 26 digits of 5 bits hold 128 bits.
const DIGITS: usize = 26;

/// Whether ids are made of this character.
pub(crate) fn is_digit(byte: u8) -> bool {
    ALPHABET.contains(&byte)
}

fn encode(value: u128) -> String {
    (0..DIGITS)
        .rev()
        .filter_map(|digit| {
            let index = usize::try_from((value >> (digit * 5)) & 31).ok()?;
            ALPHABET.get(index).map(|byte| char::from(*byte))
        })
        .collect()
}

fn decode(text: &str) -> Option<u128> {
    if text.len() != DIGITS {
        return None;
    }
    let mut value: u128 = 0;
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|known| *known == byte)?;
        if value >> 123 != 0 {
            return None;
        }
        value = (value << 5) | u128::try_from(digit).ok()?;
    }
    Some(value)
}

/// A text that is not an id of the kind asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form `{prefix}` and 26 characters")]
pub struct BadId {
    prefix: &'static str,
    text: String,
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            /// What the text form begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Makes an id of 128 random bits.
            #[must_use]
            pub const fn from_random(bits: u128) -> Self {
                Self(bits)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix)
                    .and_then(decode)
                    .map(Self)
                    .ok_or_else(|| BadId { prefix: $prefix, text: text.chars().take(80).collect() })
            }
        }
    };
}

random_id!(
    /// Our id of one task, stable across restarts of everything.
    HandleId, "hdl_"
);
random_id!(
    /// An upstream MCP server as configured here.
    ServerId, "srv_"
);
random_id!(
    /// A program that reaches servers through Taskwarden.
    AgentId, "agt_"
);
random_id!(
    /// One live connection to one server, from connect to close. Never reused.
    ConnectionId, "con_"
);
random_id!(
    /// One context window of an agent, from when it was empty to when it was emptied.
    WindowId, "win_"
);
random_id!(
    /// What a person decided to answer whenever a question comes again. Its changes are versions of it.
    StandingAnswerId, "ans_"
);
random_id!(
    /// What people stopped at one time, from the first order until all calls pass again.
    HaltId, "hlt_"
);
random_id!(
    /// One agent or one local server that stands still, from when somebody paused it until a person ends that.
    PauseId, "pau_"
);
random_id!(
    /// Tasks that somebody chose to end at once.
    PlanId, "pln_"
);
random_id!(
    /// Something that an agent did again and again, which people are told once.
    AlarmId, "alm_"
);
random_id!(
    /// Entries of one file of an agent program that were led through Taskwarden at one time.
    RouteId, "rte_"
);
random_id!(
    /// The run of a plan.
    OperationId, "opr_"
);
random_id!(
    /// What a supervisor program proves itself with.
    ControlTokenId, "ctl_"
);
random_id!(
    /// One run of the core, from start to stop.
    HostId, "hst_"
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text as it came.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

text_id!(
    /// The task id that a server gave. Opaque, any length, any characters; may act as a bearer token,
    /// so it is never logged and never shown in full (protocol.md §6.1).
    UpstreamTaskId
);
text_id!(
    /// Names one question of one task for the whole life of the task.
    RequestKey
);
/// A person, by the name the operating system gives its user. While a decision is made it carries how that came in, for
/// the audit row; two are equal when their names are, and what is stored of a person is the name.
#[derive(Clone)]
pub struct PersonId {
    name: Arc<str>,
    origin: Option<Arc<DecisionOrigin>>,
}

impl PersonId {
    /// The person of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Arc::from(name.into()), origin: None }
    }

    /// The same person, deciding in this way.
    #[must_use]
    pub fn through(self, origin: DecisionOrigin) -> Self {
        Self { origin: Some(Arc::new(origin)), ..self }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// How the decision came in, while it is made.
    #[must_use]
    pub fn origin(&self) -> Option<&DecisionOrigin> {
        self.origin.as_deref()
    }
}

impl PartialEq for PersonId {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PersonId {}

impl PartialOrd for PersonId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PersonId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl Hash for PersonId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
text_id!(
    /// A legacy session (`Mcp-Session-Id`) or the spawn of a child. Secret like a task id.
    SessionKey
);

text_id!(
    /// One logical job: hex SHA-256 of server, tool and arguments digest. Attempts of one job share it. Not a secret.
    JobKey
);

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobKey({})", self.0)
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JobKey {
    /// The job of a call of this tool with these arguments (hex SHA-256 of their canonical form).
    #[must_use]
    pub fn of(server: ServerId, tool: &str, arguments_digest: &str) -> Self {
        let mut hash = Sha256::new();
        for field in [server.to_string().as_str(), tool, arguments_digest] {
            hash.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(field.as_bytes());
        }
        Self(hex(&hash.finalize()))
    }
}

impl fmt::Debug for UpstreamTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UpstreamTaskId({} bytes)", self.0.len())
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({} bytes)", self.0.len())
    }
}

impl fmt::Debug for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestKey({})", self.0)
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PersonId({})", self.name)
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A place in the change log. Given out inside the committing transaction, so that order of numbers is
/// order of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn calls_of_one_job_share_its_key_and_no_field_runs_into_the_next() {
        let server = ServerId::from_random(7);
        assert_eq!(JobKey::of(server, "a", "bc"), JobKey::of(server, "a", "bc"), "the same call again");
        assert_ne!(JobKey::of(server, "a", "bc"), JobKey::of(server, "ab", "c"), "other fields, same letters");
        assert_ne!(JobKey::of(server, "a", "bc"), JobKey::of(ServerId::from_random(8), "a", "bc"), "another server");
    }

    proptest! {
        #[test]
        fn an_id_reads_back_as_it_was_written(bits in any::<u128>()) {
            let id = HandleId::from_random(bits);
            prop_assert_eq!(id.to_string().parse::<HandleId>(), Ok(id));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".*") {
            let _ = text.parse::<HandleId>();
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let server = ServerId::from_random(7).to_string();
        assert!(server.parse::<HandleId>().is_err(), "a server id names no task");
        assert!("hdl_zzzzzzzzzzzzzzzzzzzzzzzzzz".parse::<HandleId>().is_err(), "more than 128 bits");
    }
}
