//! What cost tokens or time and brought nothing, by kind, and what to do about it.
//!
//! Counted by the engine per server, agent and hour; shown with the advice that stands here.

/// A kind of waste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waste {
    /// A look at a task, of an agent.
    Look,
    /// A look that brought nothing new.
    EmptyLook,
    /// A look sooner after the last than the task's interval says.
    HastyLook,
    /// A question waited longer than the reminder for its answer.
    StalledQuestion,
    /// The server lost the task before its time was over.
    LostTask,
    /// A result that its agent could have read and did not until its window was over.
    UnreadResult,
    /// The server did not obey a cancel within the grace.
    DisobeyedCancel,
}

impl Waste {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Look,
        Self::EmptyLook,
        Self::HastyLook,
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
            Self::EmptyLook => "emptyLook",
            Self::HastyLook => "hastyLook",
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

    /// What a person can do about it; `None` for a look as such.
    #[must_use]
    pub const fn advice(self) -> Option<&'static str> {
        match self {
            Self::Look => None,
            Self::EmptyLook => Some("Let the agent wait with `tasks_wait` instead of looking again and again."),
            Self::HastyLook => {
                Some("The agent looks more often than the server asks for: its client ignores the interval.")
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
