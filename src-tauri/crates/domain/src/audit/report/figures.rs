//! The parts of a month's report: a day, a server, waiting times, kinds of decisions, and rows that are listed.
//!
//! Figures only count; what a row means for them is in `report.rs`.

use std::time::Duration;

use crate::audit::Verb;
use crate::time::Timestamp;

/// A day of the month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayFigures {
    /// Calls of agents that left a receipt.
    pub calls: u64,
    /// Tasks that began.
    pub tasks: u64,
    /// Decisions of any kind and actor.
    pub decisions: u64,
}

/// What a server did with the tasks and cancels that it got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerFigures {
    pub tasks: u64,
    /// Tasks that it was asked to cancel.
    pub cancels: u64,
    pub acknowledged: u64,
    pub refused: u64,
    /// Cancels that could not be sent.
    pub unsent: u64,
    /// Tasks that it says it cancelled, after it was asked to.
    pub stopped: u64,
    /// Tasks that ended in another way, after it was asked to cancel them.
    pub finished_anyway: u64,
    /// Tasks that became unreachable for good.
    pub lost: u64,
    /// Tasks of which it took back that they had ended.
    pub contradictions: u64,
}

/// Questions, and how long they waited for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerFigures {
    pub asked: u64,
    pub withdrawn: u64,
    /// Answers to questions of an earlier month: their wait is not known here.
    pub asked_before: u64,
    waits: Vec<Duration>,
}

impl AnswerFigures {
    pub(super) fn waited(&mut self, wait: Duration) {
        self.waits.push(wait);
    }

    /// Answers to questions of this month.
    #[must_use]
    pub fn answered(&self) -> u64 {
        u64::try_from(self.waits.len()).unwrap_or(u64::MAX)
    }

    /// The wait that this share of the answers did not exceed (nearest rank), such as 0.5 for the median; `None` without
    /// answers.
    #[must_use]
    pub fn wait_at(&self, percent: u8) -> Option<Duration> {
        let mut sorted = self.waits.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * usize::from(percent)).div_ceil(100).max(1);
        sorted.get(rank - 1).copied()
    }
}

/// What somebody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
    Answered,
    /// A question was answered with a no, or dismissed.
    Declined,
    Cancelled,
    Revoked,
    Released,
    Withheld,
    /// A task was allowed more time or tokens.
    LimitLifted,
    Escalated,
    Halted,
    Resumed,
    /// New calls of an agent wait, or a server is frozen.
    Paused,
    PauseEnded,
    /// The tools of a server were looked at and marked as seen.
    ToolsSeen,
    /// The process of a server was ended.
    ServerEnded,
    /// A server was restarted, or its connection opened anew.
    ServerRestarted,
}

impl DecisionKind {
    pub(super) fn of(verb: Verb, note: &str) -> Option<Self> {
        Some(match verb {
            Verb::AnswerBegun if note.starts_with("decline") || note.starts_with("dismiss") => Self::Declined,
            Verb::AnswerBegun => Self::Answered,
            Verb::CancelBegun => Self::Cancelled,
            Verb::Revoked => Self::Revoked,
            Verb::ResultReleased => Self::Released,
            Verb::ResultWithheld => Self::Withheld,
            Verb::LimitLifted => Self::LimitLifted,
            Verb::Escalated => Self::Escalated,
            Verb::Halted => Self::Halted,
            Verb::Resumed => Self::Resumed,
            Verb::PauseBegun => Self::Paused,
            Verb::PauseEnded => Self::PauseEnded,
            Verb::ToolsSeen => Self::ToolsSeen,
            Verb::ProcessEnded => Self::ServerEnded,
            Verb::ServerRestarted => Self::ServerRestarted,
            _ => return None,
        })
    }

    /// The verb of its rows, which a filter finds them by.
    #[must_use]
    pub const fn verb(self) -> Verb {
        match self {
            Self::Answered | Self::Declined => Verb::AnswerBegun,
            Self::Cancelled => Verb::CancelBegun,
            Self::Revoked => Verb::Revoked,
            Self::Released => Verb::ResultReleased,
            Self::Withheld => Verb::ResultWithheld,
            Self::LimitLifted => Verb::LimitLifted,
            Self::Escalated => Verb::Escalated,
            Self::Halted => Verb::Halted,
            Self::Resumed => Verb::Resumed,
            Self::Paused => Verb::PauseBegun,
            Self::PauseEnded => Verb::PauseEnded,
            Self::ToolsSeen => Verb::ToolsSeen,
            Self::ServerEnded => Verb::ProcessEnded,
            Self::ServerRestarted => Verb::ServerRestarted,
        }
    }

    /// Word for JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Revoked => "revoked",
            Self::Released => "released",
            Self::Withheld => "withheld",
            Self::LimitLifted => "limitLifted",
            Self::Escalated => "escalated",
            Self::Halted => "halted",
            Self::Resumed => "resumed",
            Self::Paused => "paused",
            Self::PauseEnded => "pauseEnded",
            Self::ToolsSeen => "toolsSeen",
            Self::ServerEnded => "serverEnded",
            Self::ServerRestarted => "serverRestarted",
        }
    }
}

/// Rows of a month that were found together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowsFound {
    pub rows: u64,
    /// The number of the first of them; 0 without any.
    pub first: u64,
    /// The number of the last of them; 0 without any.
    pub last: u64,
}

/// What a report reads of a row; texts as the row has them.
#[derive(Debug, Clone, Copy)]
pub struct ReportedRow<'a> {
    pub number: u64,
    pub at: Timestamp,
    pub actor: &'a str,
    pub verb: &'a str,
    pub subject: &'a str,
    /// Empty where none is named.
    pub server: &'a str,
    /// Empty where none is named.
    pub agent: &'a str,
    /// Empty when it was erased.
    pub note: &'a str,
}

/// A row that the report lists as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRow {
    pub number: u64,
    pub at: Timestamp,
    pub actor: String,
    pub verb: String,
    /// Empty when it was erased.
    pub note: String,
}

impl ListedRow {
    pub(super) fn of(row: &ReportedRow<'_>) -> Self {
        let ReportedRow { number, at, actor, verb, note, .. } = *row;
        Self { number, at, actor: actor.to_owned(), verb: verb.to_owned(), note: note.to_owned() }
    }
}
