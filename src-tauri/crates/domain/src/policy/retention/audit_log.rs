//! How often the audit log is signed, and how much of it is read at once.
//!
//! What a checkpoint is and proves is in `docs/audit.md`; the engine makes them (`tasks/audit_log/checkpoints.rs`).

use std::time::Duration;

use super::super::{BadPolicy, MINUTE, SECOND};

/// When checkpoints are made, and how work on the tree is divided into small steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPolicy {
    /// The shortest time between two checkpoints that nobody asked for. audit.md §2.3: at most one per second.
    pub checkpoint_gap: Duration,
    /// New rows are signed at the latest after this. audit.md §2.3: 60 s.
    pub checkpoint_every: Duration,
    /// So many new rows are signed at once. audit.md §2.3.
    pub checkpoint_rows: u64,
    /// Rows that have waited longer for a signature are told by `doctor`. audit.md §3 (2): 10 minutes.
    pub unsigned_told_after: Duration,
    /// Rows taken into the tree in one transaction. Judgement: some tens of milliseconds of reading.
    pub tree_rows_at_once: u32,
    /// Rows behind which `doctor` compares checkpoints with the rows; `audit verify` compares all. Judgement: a day of
    /// usual work, and some milliseconds.
    pub checked_rows: u32,
    /// Rows of an export with stubs, at most. audit.md §3.1: 1,000,000.
    pub export_stubs_max: u64,
    /// Places to which checkpoints are copied, at most. Judgement: two disks and some to spare.
    pub anchors_max: usize,
    /// The shortest time between two copies to one place. Judgement: a day of decisions is a few megabytes, and the rows
    /// that nothing outside proves are those of some seconds.
    pub anchor_gap: Duration,
    /// A place that does not answer for so long counts as unreachable. Judgement: a disk that wakes up takes some seconds.
    pub anchor_limit: Duration,
    /// A place that was unreachable is tried again after this. Judgement: a person who plugs a disk in sees it work.
    pub anchor_again: Duration,
    /// Of a file of anchors, so much of its end is read for its last note. Judgement: a note has some 250 bytes.
    pub anchor_tail_bytes: u64,
    /// Checkpoints of a file that are compared with the log in one call. Judgement: some milliseconds.
    pub compared_at_once: usize,
    /// Newest checkpoints that an export has consistency proofs for, so that copies of them can be compared. Judgement:
    /// some 100 KB.
    pub export_earlier_max: u32,
}

impl Default for AuditPolicy {
    fn default() -> Self {
        Self {
            checkpoint_gap: SECOND,
            checkpoint_every: MINUTE,
            checkpoint_rows: 1_024,
            unsigned_told_after: 10 * MINUTE,
            tree_rows_at_once: 20_000,
            checked_rows: 5_000,
            anchors_max: 8,
            anchor_gap: 10 * SECOND,
            anchor_limit: 10 * SECOND,
            anchor_again: MINUTE,
            anchor_tail_bytes: 4_096,
            compared_at_once: 256,
            export_stubs_max: 1_000_000,
            export_earlier_max: 64,
        }
    }
}

impl AuditPolicy {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(
            self.checkpoint_every >= self.checkpoint_gap,
            "audit.checkpoint_every",
            "must not be below checkpoint_gap",
        )?;
        rule(self.checkpoint_rows > 0, "audit.checkpoint_rows", "must be above zero")?;
        rule(self.tree_rows_at_once > 0, "audit.tree_rows_at_once", "must be above zero")?;
        rule(self.checked_rows > 0, "audit.checked_rows", "must be above zero")
    }
}
