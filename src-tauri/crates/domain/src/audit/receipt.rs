//! Words of receipts: what each call of an agent leaves behind, also one that was quick or was refused.
//!
//! A receipt says who called what, whether it was let through, and what the agent got first. It has no argument, no
//! result and no word of a server but the name of a tool. Receipts are stored in batches, each of which one row of the
//! audit log vouches for; how, is described in `docs/audit.md`.

use crate::time::Timestamp;

/// Whether a call was let through, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiptVerdict {
    /// Nothing forbade it.
    Allowed,
    /// A halt covers it.
    Halted,
    /// The agent has no access, or lost it before it had its answer.
    NoAccess,
    /// A limit was reached: of requests, of open calls, or of what is stored.
    OverLimit,
    /// There is no such server or tool for this agent.
    UnknownTool,
    /// The request did not read, or its arguments did not.
    Invalid,
    /// The registry could not record a call, and what cannot be recorded is not sent.
    NotRecorded,
}

impl ReceiptVerdict {
    pub const ALL: [Self; 7] = [
        Self::Allowed,
        Self::Halted,
        Self::NoAccess,
        Self::OverLimit,
        Self::UnknownTool,
        Self::Invalid,
        Self::NotRecorded,
    ];

    /// Its word in JSON, in the registry, and where it is hashed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Halted => "halted",
            Self::NoAccess => "noAccess",
            Self::OverLimit => "overLimit",
            Self::UnknownTool => "unknownTool",
            Self::Invalid => "invalid",
            Self::NotRecorded => "notRecorded",
        }
    }
}

/// What the agent got first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiptOutcome {
    /// The result of the tool.
    Result,
    /// A result that the tool itself calls an error.
    ToolError,
    /// A JSON-RPC error of the server, or an answer of it that refuses the sign-in or asks to wait.
    Error,
    /// A question before the call began. The answer is a request of its own, with a receipt of its own.
    Question,
    /// The call has a task; how that ends is in the audit log under its handle.
    Task,
    /// Nothing: the agent hung up or lost its access, or a person cancelled the call first. Work that goes on all the same
    /// has a task, whose rows name the agent.
    Cancelled,
    /// The call was sent, and its reply can no longer arrive. While the core was ending, it may not have been sent.
    Lost,
    /// The call was allowed and never left, because the server could not be reached.
    NotSent,
    /// A refusal; the verdict says why.
    Refused,
}

impl ReceiptOutcome {
    pub const ALL: [Self; 9] = [
        Self::Result,
        Self::ToolError,
        Self::Error,
        Self::Question,
        Self::Task,
        Self::Cancelled,
        Self::Lost,
        Self::NotSent,
        Self::Refused,
    ];

    /// Its word in JSON, in the registry, and where it is hashed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolError => "toolError",
            Self::Error => "error",
            Self::Question => "question",
            Self::Task => "task",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::NotSent => "notSent",
            Self::Refused => "refused",
        }
    }
}

/// Calls that left no receipt because too many waited to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedReceipts {
    pub count: u64,
    /// When the first of them was answered.
    pub first: Timestamp,
    /// When the last of them was answered.
    pub last: Timestamp,
}

impl MissedReceipts {
    /// One more at this moment.
    #[must_use]
    pub fn with_one(missed: Option<Self>, at: Timestamp) -> Self {
        let one = Self { count: 1, first: at, last: at };
        missed.map_or(one, |known| known.and(one))
    }

    /// Those of both, with the time that both span.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// The note of the audit row that says so.
    #[must_use]
    pub fn note(&self) -> String {
        let Self { count, first, last } = self;
        let calls = if *count == 1 { "call" } else { "calls" };
        format!("{count} {calls} answered from {first} to {last}: too many receipts waited to be stored")
    }
}

/// The note of the audit row after a core that ended without a shutdown: receipts of calls that were answered between
/// these moments may be missing.
#[must_use]
pub fn unclean_end_note(from: Timestamp, to: Timestamp) -> String {
    format!("calls answered from {from} to {to} may have no receipt: the core ended without a shutdown")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_told_apart() {
        let verdicts: BTreeSet<_> = ReceiptVerdict::ALL.map(ReceiptVerdict::word).into();
        let outcomes: BTreeSet<_> = ReceiptOutcome::ALL.map(ReceiptOutcome::word).into();
        assert_eq!((verdicts.len(), outcomes.len()), (ReceiptVerdict::ALL.len(), ReceiptOutcome::ALL.len()));
    }

    #[test]
    fn calls_without_a_receipt_are_counted_with_the_time_in_which_they_were_answered() {
        let at = Timestamp::from_millis;
        let missed = [5, 3, 9].into_iter().fold(None, |all, ms| Some(MissedReceipts::with_one(all, at(ms))));
        assert_eq!(missed, Some(MissedReceipts { count: 3, first: at(3), last: at(9) }));
    }
}
