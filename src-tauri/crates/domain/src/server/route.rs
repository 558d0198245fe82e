//! Routes: entries of one file of an agent program that lead through Taskwarden, and what takes them back.
//!
//! A route is stored before its file is written and says afterwards how far that came. What the entries look like is the
//! host's (`host::clients`); nothing here reads or writes a file.

use std::fmt;

use crate::ids::{PersonId, RouteId};
use crate::time::Timestamp;

/// How far a route came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteState {
    /// It is stored, and its file may or may not be written.
    Planned,
    /// The file leads through Taskwarden.
    Applied,
    /// It is being taken back, and its file may or may not be written.
    Undoing,
    /// The file is as the person wants it again.
    Undone,
}

impl RouteState {
    pub const ALL: [Self; 4] = [Self::Planned, Self::Applied, Self::Undoing, Self::Undone];

    /// The stored word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Applied => "applied",
            Self::Undoing => "undoing",
            Self::Undone => "undone",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// Text of a file that may hold secrets: never shown in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RouteText(String);

impl RouteText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the registry that seals it and the host that writes it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RouteText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RouteText(…)")
    }
}

/// Entries of one file that were routed at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRoute {
    pub id: RouteId,
    /// The program's word, such as `claude-code`.
    pub client: String,
    pub path: String,
    /// The name of the agent that the entries connect as.
    pub agent: String,
    pub state: RouteState,
    /// The names of the entries in the file.
    pub entries: Vec<String>,
    /// Hex SHA-256 of the file as it was written.
    pub after_digest: String,
    pub backup: Option<String>,
    pub at: Timestamp,
    pub by: PersonId,
    /// The text of the file before.
    pub before: RouteText,
    /// The entries before and what was written, in the host's words.
    pub changes: RouteText,
}

impl ClientRoute {
    /// Whether something of it may stand in the file.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.state, RouteState::Undone)
    }
}
