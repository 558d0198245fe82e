//! What the registry reports about its storage: whether it can record, what it holds, what clean-up removed, and
//! whether the audit chain is whole.
//!
//! Figures and states only; limits are in `policy/retention.rs`, and whom to refuse is the engine's to decide.

use crate::ids::{AgentId, ServerId};
use crate::time::Timestamp;

/// Whether the registry can record changes at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recording {
    /// Changes are recorded.
    Possible,
    /// New work is refused before it leaves; with a full disk, decisions of people are recorded from the reserve.
    Impossible(RecordingFault),
}

/// Why the registry cannot record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordingFault {
    /// The disk has no room; the reserve file serves decisions of people.
    DiskFull,
    /// The file system or the file cannot be written.
    ReadOnly,
    /// The database file is damaged. Lasts until the core starts with a sound one.
    Damaged,
    /// A commit takes longer than `retention.slow_commit`.
    SlowDisk,
    /// Another program holds the database.
    Locked,
    /// Writing fails for another reason, which the log names.
    Failing,
}

impl RecordingFault {
    /// The word of the api.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::DiskFull => "diskFull",
            Self::ReadOnly => "readOnly",
            Self::Damaged => "damaged",
            Self::SlowDisk => "slowDisk",
            Self::Locked => "locked",
            Self::Failing => "failing",
        }
    }

    /// What is wrong, as the end of a sentence.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::DiskFull => "the disk of the data folder has too little free space",
            Self::ReadOnly => "the registry cannot be written",
            Self::Damaged => "the registry is damaged",
            Self::SlowDisk => "the disk takes seconds for each commit",
            Self::Locked => "another program holds the registry",
            Self::Failing => "writing the registry fails",
        }
    }

    /// What a person can do, as a sentence.
    #[must_use]
    pub const fn cure(self) -> &'static str {
        match self {
            Self::DiskFull => {
                "Free some space on the disk of the data folder, or run `taskwarden storage clean`; `taskwarden doctor` \
                 says how much is free and how much is needed. Cancels, answers and revocations are still recorded, and \
                 agents are served again as soon as there is room."
            }
            Self::ReadOnly => {
                "Mount the disk of the data folder for writing, or give your user write access to it; the core \
                 then continues automatically."
            }
            Self::Damaged => {
                "Stop Taskwarden and move the registry aside. If there is a `backups` folder beside it, put its newest \
                 file in its place; otherwise move `intents.sqlite` aside too, and the next start begins anew."
            }
            Self::SlowDisk => {
                "Look for what keeps the disk busy, or move TASKWARDEN_HOME to a local disk; the core then continues."
            }
            Self::Locked => "Close programs that have the registry open, such as a database browser or a backup.",
            Self::Failing => "Run `taskwarden doctor`, and check the disk; the log in the data folder has the error.",
        }
    }
}

/// How much is stored of one kind, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredKind {
    pub rows: u64,
    /// Bytes of their sealed values; zero for kinds that are not summed up.
    pub bytes: u64,
}

/// What clean-up would remove, or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removal {
    /// Tasks that lose contents and stay: payloads for their age; for their size also raw messages, questions and status
    /// lines. A task that is over both limits counts for each.
    pub payload_tasks: u64,
    /// Bytes of what they lose.
    pub payload_bytes: u64,
    /// Tasks that go with all that belongs to them.
    pub tasks: u64,
    /// Receipts of calls that go, in whole batches.
    pub receipts: u64,
    /// Audit rows that go, in whole segments.
    pub audit_rows: u64,
}

impl Removal {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            payload_tasks: self.payload_tasks.saturating_add(other.payload_tasks),
            payload_bytes: self.payload_bytes.saturating_add(other.payload_bytes),
            tasks: self.tasks.saturating_add(other.tasks),
            receipts: self.receipts.saturating_add(other.receipts),
            audit_rows: self.audit_rows.saturating_add(other.audit_rows),
        }
    }

    /// Whether nothing is removed.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What the registry holds, and what clean-up by these limits would remove now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorageFacts {
    /// Rows of tasks, and what they take.
    pub tasks: StoredKind,
    /// Payloads of tasks.
    pub payloads: StoredKind,
    /// Payloads that no limit removes, because their task is open, held or unanswered, or its reply may still be asked for.
    pub kept_payloads: StoredKind,
    /// Tasks that no limit removes for the same reasons, with the bytes of all their contents.
    pub kept_tasks: StoredKind,
    pub raw_messages: StoredKind,
    pub questions: StoredKind,
    pub status_lines: StoredKind,
    /// Rows of the change log.
    pub changes: StoredKind,
    /// Receipts of calls.
    pub receipts: StoredKind,
    /// Audit rows that are still there.
    pub audit: StoredKind,
    /// Audit segments that were removed, each with a tombstone.
    pub removed_segments: u64,
    /// When the oldest task was created.
    pub oldest_task: Option<Timestamp>,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of it that are free and given back to the disk in small steps.
    pub free_bytes: u64,
    /// Whether free pages can be given back without writing the whole file anew.
    pub shrinks: bool,
    /// Bytes of the reserve file that are there.
    pub reserve_bytes: u64,
    /// What clean-up would remove now.
    pub due: Removal,
}

impl StorageFacts {
    /// Bytes of the contents of all tasks, which the limits of bytes count.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        [self.payloads, self.raw_messages, self.questions, self.status_lines].iter().map(|kind| kind.bytes).sum()
    }
}

/// Facts about the store itself, for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryFacts {
    /// What and where, in one line.
    pub place: String,
    pub schema: i64,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of open questions.
    pub open_requests: u64,
    /// Number of audit rows.
    pub audit_rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Findings of a quick integrity check; empty is good.
    pub findings: Vec<String>,
}

/// What is stored of one agent on one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredUse {
    /// The server on which the tasks ran.
    pub server: ServerId,
    /// The agent that started the tasks; `None` for those of people.
    pub agent: Option<AgentId>,
    /// Bytes of the contents of their tasks: payloads, raw messages, questions and status lines.
    pub bytes: u64,
    /// How many tasks are stored.
    pub tasks: u64,
}

/// A row of the audit chain that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The first row that does not fit, or the segment's first row when a tombstone does not.
    pub number: u64,
    /// What is wrong with it, without its content.
    pub why: String,
}

/// Rows of the audit chain that were verified before and were verified again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditRecheck {
    /// Rows checked in this read.
    pub rows: u64,
    /// The last row that was checked, or the place where the read began.
    pub upto: u64,
    /// The last row that was verified before; a round ends there. 0 when nothing was, or it does not fit its mark.
    pub end: u64,
    /// Rows of a whole round.
    pub of: u64,
    /// The first row that does not fit.
    pub broken: Option<BrokenLink>,
}

/// How far the audit chain is verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditCheck {
    /// Rows checked in this read.
    pub rows: u64,
    /// Everything up to this row is verified.
    pub upto: u64,
    /// The last row of the chain.
    pub last: u64,
    /// The first row that is still there; rows before it were removed in sealed segments.
    pub first: u64,
    /// Rows checked in this read whose text was erased: their commitments stand for it.
    pub erased: u64,
    /// The first of these.
    pub first_erased: Option<u64>,
    /// The first row that does not fit.
    pub broken: Option<BrokenLink>,
}

impl AuditCheck {
    /// Whether there is nothing left to check.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.broken.is_some() || self.upto >= self.last
    }
}
