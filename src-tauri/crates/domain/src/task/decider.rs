//! Who decided something about a task: a person, the agent whose task it is, or a limit that a person set.
//!
//! Whether a decider may answer or cancel follows from the audience and from ownership, not from this type. What only
//! people decide (holding a result, stopping to watch) keeps its `PersonId`.

use std::fmt;

use crate::audit::Actor;
use crate::ids::{AgentId, PersonId};

/// What the text form of an agent begins with. No user of an operating system can have a colon in its name.
const AGENT: &str = "agent:";
/// The text form of a limit; no name of a user either.
const LIMIT: &str = "limit:tokens";

/// A person, an agent, or a limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decider {
    /// A person of this machine.
    Person(PersonId),
    /// An agent, about a task of its own.
    Agent(AgentId),
    /// A limit of tokens that people set beforehand.
    Limit,
}

impl Decider {
    /// The person, when it is one.
    #[must_use]
    pub fn person(&self) -> Option<&PersonId> {
        match self {
            Self::Person(id) => Some(id),
            Self::Agent(_) | Self::Limit => None,
        }
    }

    /// The agent, when it is one.
    #[must_use]
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Self::Person(_) | Self::Limit => None,
            Self::Agent(id) => Some(*id),
        }
    }

    /// As the one who acted, for the audit log.
    #[must_use]
    pub fn actor(&self) -> Actor {
        match self {
            Self::Person(id) => Actor::Person(id.clone()),
            Self::Agent(id) => Actor::Agent(*id),
            Self::Limit => Actor::System("budget"),
        }
    }

    /// Reads the text form back: `agent:agt_…`, `limit:tokens`, or anything else as a person's name.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        if text == LIMIT {
            return Self::Limit;
        }
        let agent = text.strip_prefix(AGENT).and_then(|id| id.parse().ok());
        agent.map_or_else(|| Self::Person(PersonId::new(text)), Self::Agent)
    }
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => write!(f, "{id}"),
            Self::Agent(id) => write!(f, "{AGENT}{id}"),
            Self::Limit => f.write_str(LIMIT),
        }
    }
}

impl From<PersonId> for Decider {
    fn from(id: PersonId) -> Self {
        Self::Person(id)
    }
}

impl From<&PersonId> for Decider {
    fn from(id: &PersonId) -> Self {
        Self::Person(id.clone())
    }
}

impl From<&Self> for Decider {
    fn from(decider: &Self) -> Self {
        decider.clone()
    }
}

impl From<AgentId> for Decider {
    fn from(id: AgentId) -> Self {
        Self::Agent(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_decided_reads_back_from_the_text() {
        let agent = Decider::Agent(AgentId::from_random(7));
        for decider in [Decider::Person(PersonId::new("ann")), agent, Decider::Limit] {
            assert_eq!(Decider::from_text(&decider.to_string()), decider, "who decided is kept as text");
        }
        let odd = Decider::from_text("agent:nobody");
        assert_eq!(odd, Decider::Person(PersonId::new("agent:nobody")), "what is no agent is shown as it is");
    }
}
