//! Who decided something about a task: a person, the agent whose task it is, or what a person decided in advance (a limit,
//! a standing answer).
//!
//! Whether a decider may answer or cancel follows from the audience and from ownership, not from this type. What only
//! people decide (holding a result, stopping to watch) keeps its `PersonId`.

use std::fmt;

use crate::audit::decision_origin::DecisionDoor;
use crate::audit::{Actor, DecidingRule};
use crate::ids::{AgentId, ControlTokenId, PersonId};
use crate::rule::LimitKind;
use crate::server::halt::HaltedBy;
use crate::task::input_request::standing_answer::StandingAnswerRef;

/// What the text form of an agent begins with. No user of an operating system can have a colon in its name.
const AGENT: &str = "agent:";
/// What the text form of a limit begins with; no name of a user either.
const LIMIT: &str = "limit:";
/// What the text form of a standing answer begins with; no name of a user either.
const RULE: &str = "rule:";
/// What the text form of a control token begins with; no name of a user either.
const CONTROL: &str = "control:";

/// A person, an agent, a limit, a standing answer, or a supervisor program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decider {
    /// A person of this machine.
    Person(PersonId),
    /// An agent, about a task of its own.
    Agent(AgentId),
    /// A limit that people set beforehand.
    Limit(LimitKind),
    /// What a person decided to answer whenever this is asked.
    Rule(StandingAnswerRef),
    /// A supervisor program, by its control token.
    Control(ControlTokenId),
}

impl Decider {
    /// The person, when it is one.
    #[must_use]
    pub fn person(&self) -> Option<&PersonId> {
        match self {
            Self::Person(id) => Some(id),
            Self::Agent(_) | Self::Limit(_) | Self::Rule(_) | Self::Control(_) => None,
        }
    }

    /// The agent, when it is one.
    #[must_use]
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Self::Person(_) | Self::Limit(_) | Self::Rule(_) | Self::Control(_) => None,
            Self::Agent(id) => Some(*id),
        }
    }

    /// The kind of limit, when it is one.
    #[must_use]
    pub const fn limit(&self) -> Option<LimitKind> {
        match self {
            Self::Limit(kind) => Some(*kind),
            Self::Person(_) | Self::Agent(_) | Self::Rule(_) | Self::Control(_) => None,
        }
    }

    /// Whether a supervisor program decided.
    #[must_use]
    pub const fn is_control(&self) -> bool {
        matches!(self, Self::Control(_))
    }

    /// As the one who acted, for the audit log.
    #[must_use]
    pub fn actor(&self) -> Actor {
        match self {
            Self::Person(id) => Actor::Person(id.clone()),
            Self::Agent(id) => Actor::Agent(*id),
            Self::Limit(LimitKind::Tokens) => Actor::System("budget"),
            Self::Limit(LimitKind::Time | LimitKind::Progress) => Actor::System("limits"),
            Self::Limit(LimitKind::Calls) => Actor::System("loop_detector"),
            Self::Rule(rule) => Actor::Rule(DecidingRule { id: rule.id, version: rule.version }),
            Self::Control(id) => Actor::Control(*id),
        }
    }

    /// The standing answer, when it is one.
    #[must_use]
    pub const fn rule(&self) -> Option<StandingAnswerRef> {
        match self {
            Self::Rule(rule) => Some(*rule),
            Self::Person(_) | Self::Agent(_) | Self::Limit(_) | Self::Control(_) => None,
        }
    }

    /// As people read it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Limit(_) => "a limit".into(),
            Self::Rule(_) => "a rule".into(),
            Self::Person(_) | Self::Agent(_) | Self::Control(_) => self.to_string(),
        }
    }

    /// As people read it, with the way in where that is still known: `ada in a terminal`. Only the audit log keeps it.
    pub(crate) fn name_and_door(&self) -> String {
        let door = self.person().and_then(PersonId::origin).map(|origin| origin.door);
        let way = match door {
            Some(DecisionDoor::Window) => " in the window",
            Some(DecisionDoor::Browser) => " in a browser",
            Some(DecisionDoor::Terminal) => " in a terminal",
            None => "",
        };
        format!("{}{way}", self.name())
    }

    /// Reads the text form back: `agent:agt_…`, `limit:time`, `rule:ans_…@1`, `control:ctl_…`, or anything else as a
    /// person's name.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        if let Some(kind) = text.strip_prefix(LIMIT).and_then(LimitKind::from_word) {
            return Self::Limit(kind);
        }
        if let Some(rule) = text.strip_prefix(RULE).and_then(StandingAnswerRef::from_text) {
            return Self::Rule(rule);
        }
        if let Some(id) = text.strip_prefix(CONTROL).and_then(|id| id.parse().ok()) {
            return Self::Control(id);
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
            Self::Limit(kind) => write!(f, "{LIMIT}{}", kind.word()),
            Self::Rule(rule) => write!(f, "{RULE}{rule}"),
            Self::Control(id) => write!(f, "{CONTROL}{id}"),
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

impl From<ControlTokenId> for Decider {
    fn from(id: ControlTokenId) -> Self {
        Self::Control(id)
    }
}

impl From<&HaltedBy> for Decider {
    fn from(by: &HaltedBy) -> Self {
        match by {
            HaltedBy::Person(id) => Self::Person(id.clone()),
            HaltedBy::Control(id) => Self::Control(*id),
        }
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
    use crate::ids::StandingAnswerId;

    #[test]
    fn whoever_decided_reads_back_from_the_text() {
        let agent = Decider::Agent(AgentId::from_random(7));
        let rule = Decider::Rule(StandingAnswerRef { id: StandingAnswerId::from_random(8), version: 2 });
        let control = Decider::Control(ControlTokenId::from_random(9));
        let limits = [LimitKind::Tokens, LimitKind::Time, LimitKind::Progress, LimitKind::Calls].map(Decider::Limit);
        for decider in [Decider::Person(PersonId::new("ann")), agent, rule, control].into_iter().chain(limits) {
            assert_eq!(Decider::from_text(&decider.to_string()), decider, "who decided is kept as text");
        }
        let odd = Decider::from_text("agent:nobody");
        assert_eq!(odd, Decider::Person(PersonId::new("agent:nobody")), "what is no agent is shown as it is");
    }
}
