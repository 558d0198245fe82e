//! Who makes a call, and what they may ask for (ruling 26).
//!
//! The host fills this from what the operating system says about the peer of a socket, never from what the peer says of
//! itself. `dispatch.rs` checks the ability a call needs before it reads the input.

use domain::ids::PersonId;

use crate::error::{ApiError, Code};

/// What a call needs of its caller. Closed; roles come with the team registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ability {
    /// Facts about the core's health, without names of tasks and without content.
    Health,
    /// Tasks, agents, servers and rules, by name, state and figure.
    Read,
    /// Arguments, answers, results, drafts and what servers write to their log.
    ReadContent,
    /// What only a person decides: start a call, answer, release a result, agree to what changed.
    Decide,
    /// Ask servers to end work, or end the process of one.
    Cancel,
    /// Take access away from an agent, or a task from it.
    Revoke,
    /// Halt work: refuse calls, cancel tasks and freeze questions.
    Halt,
    /// Pause an agent, or freeze the processes of a local server.
    Pause,
    /// Let halted or paused work begin again.
    LiftHalt,
    /// Verify the audit log.
    ReadAudit,
    /// Sign and export the audit log, and say where checkpoints are kept.
    ExportAudit,
    /// Change servers, rules, budgets, prices, settings and what is stored.
    Configure,
    /// Make tokens of agents and sign-in codes, and end sessions.
    ManageTokens,
}

impl Ability {
    pub const ALL: [Self; 13] = [
        Self::Health,
        Self::Read,
        Self::ReadContent,
        Self::Decide,
        Self::Cancel,
        Self::Revoke,
        Self::Halt,
        Self::Pause,
        Self::LiftHalt,
        Self::ReadAudit,
        Self::ExportAudit,
        Self::Configure,
        Self::ManageTokens,
    ];
}

/// Abilities of one caller. Nothing adds to it after the door made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbilitySet(u16);

impl AbilitySet {
    /// Of a person: every ability.
    pub const PERSON: Self = Self::of(&Ability::ALL);
    /// Of a process that is not proven to be a person's.
    pub const UNPROVEN: Self = Self::of(&[Ability::Health]);

    #[must_use]
    pub const fn of(abilities: &[Ability]) -> Self {
        let (mut bits, mut rest) = (0, abilities);
        while let [first, others @ ..] = rest {
            bits |= 1 << *first as u16;
            rest = others;
        }
        Self(bits)
    }

    #[must_use]
    pub const fn has(self, ability: Ability) -> bool {
        self.0 & (1 << ability as u16) != 0
    }

    /// The abilities that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
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
    abilities: AbilitySet,
    /// The door's reason for what it left out; `None` for a person.
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
        Self { person, process, session: None, abilities: AbilitySet::PERSON, refusal: None }
    }

    /// The same caller, in this browser session.
    #[must_use]
    pub fn in_session(self, id: String) -> Self {
        Self { session: Some(id), ..self }
    }

    /// A process that is not proven to be a person's: it learns how the core is, and `refusal` for everything else.
    #[must_use]
    pub fn restricted(person: PersonId, process: Option<u32>, refusal: ApiError) -> Self {
        let refusal = Some(Box::new(refusal));
        Self { person, process, session: None, abilities: AbilitySet::UNPROVEN, refusal }
    }

    /// The same caller with only those of its abilities that are also in `most`.
    #[must_use]
    pub fn limited_to(self, most: AbilitySet) -> Self {
        Self { abilities: self.abilities.and(most), ..self }
    }

    /// Refuses what this caller may not ask for. The one place where this is decided.
    ///
    /// # Errors
    /// The door's reason, when the caller lacks the ability.
    pub fn require(&self, ability: Ability) -> Result<(), ApiError> {
        if self.abilities.has(ability) {
            return Ok(());
        }
        Err(self.refusal.as_deref().cloned().unwrap_or_else(|| {
            ApiError::new(
                Code::Refused,
                "this connection may not do that",
                "Do it in the window or in a terminal of your own.",
            )
        }))
    }
}
