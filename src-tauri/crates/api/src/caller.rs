//! Who makes a call, and what they may ask for (ruling 26).
//!
//! The host fills this from what the operating system says about the peer of a socket, never from what the peer says of
//! itself. `dispatch.rs` checks the ability a call needs before it reads the input.

use domain::ids::PersonId;

use crate::error::ApiError;

/// What a call needs of its caller. Closed; roles come with the team registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ability {
    /// Facts about the core's health, without names of tasks and without content.
    Health,
    /// Read tasks, agents, servers and what belongs to them.
    Read,
    /// Change anything, or decide what only a person decides.
    Decide,
}

impl Ability {
    /// Whether a call that needs it may change something.
    #[must_use]
    pub const fn changes(self) -> bool {
        match self {
            Self::Health | Self::Read => false,
            Self::Decide => true,
        }
    }
}

/// The one who makes a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The person, by the name of the operating system's user.
    pub person: PersonId,
    /// The peer's process, when it came over a socket.
    pub process: Option<u32>,
    /// The id of the browser session that the call came in with.
    pub session: Option<String>,
    /// What everything but [`Ability::Health`] is refused with; `None` for a person.
    refusal: Option<Box<ApiError>>,
}

impl Caller {
    /// A person in the core's own process, or in a command that reads the registry by itself.
    #[must_use]
    pub fn here(person: PersonId) -> Self {
        Self::person(person, None)
    }

    /// A person, proven to be one by the door.
    #[must_use]
    pub fn person(person: PersonId, process: Option<u32>) -> Self {
        Self { person, process, session: None, refusal: None }
    }

    /// The same caller, in this browser session.
    #[must_use]
    pub fn in_session(self, id: String) -> Self {
        Self { session: Some(id), ..self }
    }

    /// A process that is not proven to be a person's: it learns how the core is, and `refusal` for everything else.
    #[must_use]
    pub fn restricted(person: PersonId, process: Option<u32>, refusal: ApiError) -> Self {
        Self { person, process, session: None, refusal: Some(Box::new(refusal)) }
    }

    /// Refuses what this caller may not ask for.
    ///
    /// # Errors
    /// The door's reason, when it is not a person who asks.
    pub fn require(&self, ability: Ability) -> Result<(), ApiError> {
        match (&self.refusal, ability) {
            (None, _) | (Some(_), Ability::Health) => Ok(()),
            (Some(refusal), Ability::Read | Ability::Decide) => Err((**refusal).clone()),
        }
    }
}
