//! Who asks: the person, and the process that spoke for them (ruling 26).
//!
//! The host fills this from what the operating system says about the peer of a socket, never from what the peer says
//! of itself. What may be asked by whom is decided here in one place; scoped tokens come with the control API.

use domain::ids::PersonId;

use crate::error::{ApiError, Code};

/// The one who makes a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The person, by the name of the operating system's user.
    pub person: PersonId,
    /// The peer's process, when it came over a socket.
    pub process: Option<u32>,
    /// Whether that process was started by a server, a bridge or a keeper of ours: it may read, and never decides.
    pub is_descendant: bool,
}

impl Caller {
    /// A person in the core's own process, or in a command that reads the registry by itself.
    #[must_use]
    pub fn here(person: PersonId) -> Self {
        Self { person, process: None, is_descendant: false }
    }

    /// Refuses what only a person may decide.
    ///
    /// # Errors
    /// When the call comes from a process that a server started.
    pub(crate) fn may_decide(&self) -> Result<(), ApiError> {
        if self.is_descendant {
            return Err(ApiError::new(
                Code::Refused,
                "a process that a server or an agent started may not decide this",
                "Run the command in a terminal of your own, or use the window; servers, agents and what they start can only read.",
            ));
        }
        Ok(())
    }
}
