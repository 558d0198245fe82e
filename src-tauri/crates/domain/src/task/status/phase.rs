//! The phases as a closed list: what each means, which are over, and which put questions before people.
//!
//! Which phase a task has at a moment is decided in `task/phase.rs`. The window has the labels once more, in
//! `ui/src/lib/text/task.ts`; a test compares the two.

/// The one word shown for a task. Derived, never stored as truth; the stored column is an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The call's reply can no longer arrive.
    Unconfirmed,
    Running,
    /// Waits for a person.
    Waiting,
    /// An answer is on its way.
    Answering,
    /// A cancel was requested; the server has not said that it cancelled.
    Cancelling,
    /// No news for longer than there should be.
    Silent,
    /// Needs sign-in or an upgrade.
    Blocked,
    /// Later than agreed or usual.
    Overdue,
    Done,
    /// Finished, and the tool reported an error.
    DoneWithError,
    /// Failed with a JSON-RPC error, or never left this machine.
    Failed,
    /// The server says it cancelled, or a cancel was requested and nothing of it runs on the server.
    Cancelled,
    /// Taken from its agent.
    Revoked,
    /// Not polled any more.
    Unwatched,
    /// The server does not know it any more.
    Lost,
    /// Its time on the server ran out.
    Expired,
}

impl Phase {
    /// Every phase, in the order of the appendix of architecture.md.
    pub const ALL: [Self; 16] = [
        Self::Waiting,
        Self::Overdue,
        Self::Unconfirmed,
        Self::Blocked,
        Self::Running,
        Self::Answering,
        Self::Cancelling,
        Self::Done,
        Self::DoneWithError,
        Self::Failed,
        Self::Cancelled,
        Self::Revoked,
        Self::Unwatched,
        Self::Silent,
        Self::Lost,
        Self::Expired,
    ];

    /// Lower camel case, as in JSON and in the registry (ruling 20).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Answering => "answering",
            Self::Cancelling => "cancelling",
            Self::Silent => "silent",
            Self::Blocked => "blocked",
            Self::Overdue => "overdue",
            Self::Done => "done",
            Self::DoneWithError => "doneWithError",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Revoked => "revoked",
            Self::Unwatched => "unwatched",
            Self::Lost => "lost",
            Self::Expired => "expired",
        }
    }

    /// Reads [`Phase::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// What people are shown, in the window and on the command line.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting for you",
            Self::Overdue => "Later than agreed",
            Self::Unconfirmed => "Not confirmed by the server",
            Self::Blocked => "Server needs sign-in",
            Self::Running => "Working",
            Self::Answering => "Sending answer",
            Self::Cancelling => "Cancel requested",
            Self::Done => "Done",
            Self::DoneWithError => "Finished with an error",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Revoked => "Access revoked",
            Self::Unwatched => "Not watched",
            Self::Silent => "No news",
            Self::Lost => "Lost by the server",
            Self::Expired => "Expired at the server",
        }
    }

    /// Reads [`Phase::word`] or [`Phase::label`] as a person types it: case, spaces, hyphens and underscores make no
    /// difference.
    #[must_use]
    pub fn from_typed(typed: &str) -> Option<Self> {
        let same = |name: &str| letters(name).eq(letters(typed));
        Self::ALL.into_iter().find(|phase| same(phase.word()) || same(phase.label()))
    }

    /// Whether the end of the task is not known and will not be, so that only a person can close it.
    #[must_use]
    pub const fn is_resolvable(self) -> bool {
        match self {
            Self::Unconfirmed | Self::Lost | Self::Expired => true,
            Self::Waiting
            | Self::Overdue
            | Self::Blocked
            | Self::Running
            | Self::Answering
            | Self::Cancelling
            | Self::Done
            | Self::DoneWithError
            | Self::Failed
            | Self::Cancelled
            | Self::Revoked
            | Self::Unwatched
            | Self::Silent => false,
        }
    }

    /// Whether open questions of the task are shown to people. Not when it is over, nor when its cancel was requested
    /// (protocol.md §7.5, 8).
    #[must_use]
    pub const fn asks_people(self) -> bool {
        match self {
            Self::Cancelling | Self::Revoked => false,
            Self::Unconfirmed
            | Self::Running
            | Self::Waiting
            | Self::Answering
            | Self::Silent
            | Self::Blocked
            | Self::Overdue
            | Self::Done
            | Self::DoneWithError
            | Self::Failed
            | Self::Cancelled
            | Self::Unwatched
            | Self::Lost
            | Self::Expired => !self.is_over(),
        }
    }

    /// Whether the task is over: nothing is polled, nothing can be asked of it.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Done
            | Self::DoneWithError
            | Self::Failed
            | Self::Cancelled
            | Self::Lost
            | Self::Expired
            | Self::Unwatched => true,
            Self::Unconfirmed
            | Self::Running
            | Self::Waiting
            | Self::Answering
            | Self::Cancelling
            | Self::Silent
            | Self::Blocked
            | Self::Overdue
            | Self::Revoked => false,
        }
    }

    /// Who has to act: the groups of the task list.
    #[must_use]
    pub const fn group(self) -> PhaseGroup {
        match self {
            Self::Waiting | Self::Overdue | Self::Unconfirmed | Self::Blocked | Self::Lost => PhaseGroup::NeedsYou,
            Self::Answering | Self::Cancelling | Self::Running | Self::Revoked => PhaseGroup::Moving,
            Self::Silent | Self::Unwatched | Self::Expired => PhaseGroup::NoNews,
            Self::Done | Self::DoneWithError | Self::Failed | Self::Cancelled => PhaseGroup::Finished,
        }
    }

    /// Whether the task belongs before people without asking anything: something is wrong that they can settle.
    #[must_use]
    pub const fn needs_attention(self) -> bool {
        match self {
            Self::Overdue | Self::Lost | Self::Unconfirmed | Self::Blocked => true,
            Self::Waiting
            | Self::Running
            | Self::Answering
            | Self::Cancelling
            | Self::Silent
            | Self::Done
            | Self::DoneWithError
            | Self::Failed
            | Self::Cancelled
            | Self::Revoked
            | Self::Unwatched
            | Self::Expired => false,
        }
    }
}

/// The letters of a phase's name, without what people type differently.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase)
}

/// Who has to act on a task, as a closed list: the sections of the task list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PhaseGroup {
    NeedsYou,
    /// Nobody: it continues by itself.
    Moving,
    /// Nobody can: there is no news of it.
    NoNews,
    /// Nobody: it is over.
    Finished,
}

impl PhaseGroup {
    /// Every group, in the order of the list.
    pub const ALL: [Self; 4] = [Self::NeedsYou, Self::Moving, Self::NoNews, Self::Finished];

    /// Lower camel case, as in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NeedsYou => "needsYou",
            Self::Moving => "moving",
            Self::NoNews => "noNews",
            Self::Finished => "finished",
        }
    }

    /// Its place in the list, from 0.
    #[must_use]
    pub const fn rank(self) -> usize {
        match self {
            Self::NeedsYou => 0,
            Self::Moving => 1,
            Self::NoNews => 2,
            Self::Finished => 3,
        }
    }

    /// Reads [`PhaseGroup::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_is_read_by_its_word_and_by_its_label() {
        for phase in Phase::ALL {
            for typed in [phase.word().to_owned(), phase.label().to_owned(), phase.label().to_lowercase()] {
                assert_eq!(Phase::from_typed(&typed), Some(phase), "`{typed}`");
            }
            assert_eq!(Phase::from_typed(&phase.label().replace(' ', "-")), Some(phase), "with hyphens");
        }
        for none in ["", "-", "sleeping", "work", "no news today"] {
            assert_eq!(Phase::from_typed(none), None, "`{none}` names no phase");
        }
    }
}
