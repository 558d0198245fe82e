//! Whether changes are recorded, what is stored, and whether the audit log is intact.
//!
//! Figures and states only; `calls/core/storage.rs` reads and changes them.

use domain::policy::RetentionPolicy;
use domain::ports::{BrokenLink, Recording, RecordingFault, Removal, StorageFacts, StoredKind};
use engine::StorageLimits;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::{iso, millis};

/// Why changes are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum RecordingReason {
    /// The disk has no room; decisions of people are recorded from the reserve.
    DiskFull,
    /// The file system or the file cannot be written.
    ReadOnly,
    /// The database file is damaged.
    Damaged,
    /// Commits take seconds.
    SlowDisk,
    /// Another program holds the database.
    Locked,
    /// Writing fails for another reason.
    Failing,
}

impl From<RecordingFault> for RecordingReason {
    fn from(fault: RecordingFault) -> Self {
        match fault {
            RecordingFault::DiskFull => Self::DiskFull,
            RecordingFault::ReadOnly => Self::ReadOnly,
            RecordingFault::Damaged => Self::Damaged,
            RecordingFault::SlowDisk => Self::SlowDisk,
            RecordingFault::Locked => Self::Locked,
            RecordingFault::Failing => Self::Failing,
        }
    }
}

/// A call of an agent that is in flight and has no row, because it could not be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnrecordedCallDto {
    /// The handle it will have; `tasks.cancel` takes it.
    pub id: String,
    pub server: String,
    pub agent: String,
    pub tool: String,
    /// When it left.
    pub since: String,
}

/// Whether changes are recorded. While they are not, calls of agents are refused before they leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordingDto {
    #[default]
    Ok,
    /// They are not.
    Cannot {
        reason: RecordingReason,
        /// Why, as a sentence without its full stop.
        message: String,
        /// What a person can do.
        cure: String,
        since: String,
        /// Calls that left before and have no row.
        calls: Vec<UnrecordedCallDto>,
    },
}

impl RecordingDto {
    /// With calls as they are shown.
    pub(crate) fn of(recording: Recording, since: String, calls: Vec<UnrecordedCallDto>) -> Self {
        match recording {
            Recording::Possible => Self::Ok,
            Recording::Impossible(fault) => Self::Cannot {
                reason: fault.into(),
                message: format!("nothing new is recorded, because {}", fault.reason()),
                cure: fault.cure().into(),
                since,
                calls,
            },
        }
    }
}

/// How much is stored of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StoredKindDto {
    pub rows: u64,
    /// Bytes; null where they are not summed up.
    pub bytes: Option<u64>,
}

impl StoredKindDto {
    fn rows(kind: StoredKind) -> Self {
        Self { rows: kind.rows, bytes: None }
    }

    fn sized(kind: StoredKind) -> Self {
        Self { rows: kind.rows, bytes: Some(kind.bytes) }
    }
}

/// What is stored, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StoredDto {
    pub tasks: StoredKindDto,
    /// Arguments, results, answers and errors.
    pub payloads: StoredKindDto,
    /// Payloads that no limit removes: their task is open, held, unanswered or undelivered.
    pub kept_payloads: StoredKindDto,
    /// Tasks that no limit removes for the same reasons, with the bytes of all their contents.
    pub kept_tasks: StoredKindDto,
    pub raw_messages: StoredKindDto,
    /// Questions and their forms.
    pub questions: StoredKindDto,
    pub status_lines: StoredKindDto,
    pub changes: StoredKindDto,
    /// Receipts of calls.
    pub receipts: StoredKindDto,
    /// Audit rows that are still there.
    pub audit: StoredKindDto,
}

/// How long and how much is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StorageLimitsDto {
    /// Payloads of tasks that ended longer ago go.
    pub payload_age_ms: u64,
    /// Bytes of the contents of all tasks (payloads, raw messages, questions, status lines); beyond it the oldest go.
    pub payload_bytes: u64,
    /// The same of one agent.
    pub agent_payload_bytes: u64,
    /// The same of one server.
    pub server_payload_bytes: u64,
    /// Tasks that ended longer ago go.
    pub task_age_ms: u64,
    /// Stored tasks; beyond it those that ended first go.
    pub tasks: u64,
    /// Stored tasks of one agent.
    pub agent_tasks: u64,
    /// Stored tasks of one server.
    pub server_tasks: u64,
    /// Receipts of calls that are older go, and none stays longer than the audit log.
    pub receipt_age_ms: u64,
    /// Stored receipts; beyond it the oldest go.
    pub receipts: u64,
    /// Audit segments that are older go.
    pub audit_age_ms: u64,
}

impl From<&RetentionPolicy> for StorageLimitsDto {
    fn from(limits: &RetentionPolicy) -> Self {
        Self {
            payload_age_ms: millis(limits.payload_age),
            payload_bytes: limits.payload_bytes,
            agent_payload_bytes: limits.agent_payload_bytes,
            server_payload_bytes: limits.server_payload_bytes,
            task_age_ms: millis(limits.task_age),
            tasks: limits.tasks,
            agent_tasks: limits.agent_tasks,
            server_tasks: limits.server_tasks,
            receipt_age_ms: millis(limits.receipt_age),
            receipts: limits.receipts,
            audit_age_ms: millis(limits.audit_age),
        }
    }
}

/// What clean-up removes, or removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RemovalDto {
    /// Tasks that lose contents and stay.
    pub payload_tasks: u64,
    /// Bytes of these contents.
    pub payload_bytes: u64,
    /// Tasks that go with all that belongs to them.
    pub tasks: u64,
    /// Receipts of calls that go, in whole batches.
    pub receipts: u64,
    /// Audit rows that go, in whole segments.
    pub audit_rows: u64,
}

impl From<Removal> for RemovalDto {
    fn from(removal: Removal) -> Self {
        let Removal { payload_tasks, payload_bytes, tasks, receipts, audit_rows } = removal;
        Self { payload_tasks, payload_bytes, tasks, receipts, audit_rows }
    }
}

/// What is stored, how long it is kept, and what clean-up would remove now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StorageDto {
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of it that are free.
    pub free_bytes: u64,
    /// Whether free bytes go back to the disk by themselves; where not, `storage.clean` with `compact` does it once.
    pub shrinks: bool,
    /// Bytes of the reserve file that are there.
    pub reserve_bytes: u64,
    /// Bytes that the reserve file should have.
    pub reserve_wanted_bytes: u64,
    /// When the oldest task was created.
    pub oldest_task: Option<String>,
    /// What is stored.
    pub stored: StoredDto,
    /// Bytes of the contents of all tasks, which `limits.payloadBytes` limits.
    pub content_bytes: u64,
    /// Audit segments that were removed, each with a tombstone.
    pub removed_segments: u64,
    /// The limits that hold.
    pub limits: StorageLimitsDto,
    /// The limits that are built in or configured.
    pub built_in: StorageLimitsDto,
    /// What exceeds the limits.
    pub due: RemovalDto,
    /// Nothing goes by itself because of a lowered limit before this; null when none was lowered lately.
    pub waits_until: Option<String>,
}

impl StorageDto {
    pub(crate) fn of(facts: &StorageFacts, limits: &StorageLimits, built_in: &RetentionPolicy, reserve: u64) -> Self {
        Self {
            file_bytes: facts.file_bytes,
            free_bytes: facts.free_bytes,
            shrinks: facts.shrinks,
            reserve_bytes: facts.reserve_bytes,
            reserve_wanted_bytes: reserve,
            oldest_task: facts.oldest_task.map(iso),
            stored: StoredDto {
                tasks: StoredKindDto::rows(facts.tasks),
                payloads: StoredKindDto::sized(facts.payloads),
                kept_payloads: StoredKindDto::sized(facts.kept_payloads),
                kept_tasks: StoredKindDto::sized(facts.kept_tasks),
                raw_messages: StoredKindDto::sized(facts.raw_messages),
                questions: StoredKindDto::sized(facts.questions),
                status_lines: StoredKindDto::sized(facts.status_lines),
                changes: StoredKindDto::rows(facts.changes),
                receipts: StoredKindDto::rows(facts.receipts),
                audit: StoredKindDto::rows(facts.audit),
            },
            content_bytes: facts.content_bytes(),
            removed_segments: facts.removed_segments,
            limits: limits.limits().into(),
            built_in: built_in.into(),
            due: facts.due.into(),
            waits_until: limits.waits_until().map(iso),
        }
    }
}

/// How far the audit log is verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditVerifiedDto {
    /// Rows checked now.
    pub checked: u64,
    /// Everything up to this row fits.
    pub verified_to: u64,
    /// The last row.
    pub last: u64,
    /// The first row that is still there.
    pub first: u64,
    /// Whether everything was checked.
    pub complete: bool,
    /// Rows checked now whose text was erased: their commitments stand for it, and no row says who erased it.
    pub erased: u64,
    /// The first of these.
    pub first_erased: Option<u64>,
    /// The first row that does not fit.
    pub broken: Option<BrokenRowDto>,
}

/// Rows of the audit log that were verified before and were verified again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecheckedDto {
    /// Rows verified again now.
    pub rows: u64,
    /// Rows that were verified before; each is verified again in some round.
    pub of: u64,
    /// The first row that does not fit any more.
    pub broken: Option<BrokenRowDto>,
}

/// An audit row that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BrokenRowDto {
    pub number: u64,
    /// What is wrong with it.
    pub why: String,
}

impl BrokenRowDto {
    pub(crate) fn of(link: BrokenLink) -> Self {
        Self { number: link.number, why: link.why }
    }
}
