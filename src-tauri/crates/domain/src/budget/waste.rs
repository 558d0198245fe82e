//! What cost tokens or time and brought nothing, by kind, and what to do about it.
//!
//! The engine counts it per server, agent and hour; screens show it with the advice given here.

/// A kind of waste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waste {
    /// A poll of a task, by an agent.
    Look,
    /// A poll that brought nothing new.
    EmptyPoll,
    /// A poll sooner after the last than the task's interval says.
    HastyPoll,
    /// A question waited longer than the reminder for its answer.
    StalledQuestion,
    /// The server lost the task before its time was over.
    LostTask,
    /// A result that its agent could have read and did not until its window was over.
    UnreadResult,
    /// The server is known to have finished what it was asked to cancel. Where MCP has no reply, what it did is not
    /// known, and not counted.
    DisobeyedCancel,
}

impl Waste {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Look,
        Self::EmptyPoll,
        Self::HastyPoll,
        Self::StalledQuestion,
        Self::LostTask,
        Self::UnreadResult,
        Self::DisobeyedCancel,
    ];

    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::EmptyPoll => "emptyLook",
            Self::HastyPoll => "hastyLook",
            Self::StalledQuestion => "stalledQuestion",
            Self::LostTask => "lostTask",
            Self::UnreadResult => "unreadResult",
            Self::DisobeyedCancel => "disobeyedCancel",
        }
    }

    /// Reads [`Waste::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|waste| waste.word() == word)
    }

    /// What a person can do about it; `None` for a poll as such.
    #[must_use]
    pub const fn advice(self) -> Option<&'static str> {
        match self {
            Self::Look => None,
            Self::EmptyPoll => Some("Let the agent wait with `tasks_wait` instead of polling again and again."),
            Self::HastyPoll => {
                Some("The agent polls more often than the server asks for: its client ignores the interval.")
            }
            Self::StalledQuestion => Some("Answer sooner, or let the agent answer by a rule."),
            Self::LostTask => {
                Some("The server forgets tasks before their time: ask for a longer ttl, or for an update.")
            }
            Self::UnreadResult => Some("The agent starts work whose results it never reads."),
            Self::DisobeyedCancel => Some("The server finishes what it was asked to stop: hold its results."),
        }
    }
}
