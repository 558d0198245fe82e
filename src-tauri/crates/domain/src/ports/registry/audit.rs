//! Reading the audit log by a filter: rows as they are stored, so that what is shown is what was hashed.
//!
//! Words stay texts here, because a newer version may have written words that this one does not know. The hash is
//! described in `docs/audit.md`.

use crate::audit::report::MonthReport;
use crate::ids::{AgentId, HandleId, ServerId};
use crate::time::Timestamp;

/// Which rows are wanted; what is absent lets every row pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// The first row number.
    pub first: Option<u64>,
    /// The last row number.
    pub last: Option<u64>,
    /// Rows of this moment pass.
    pub since: Option<Timestamp>,
    /// Rows of this moment do not pass.
    pub until: Option<Timestamp>,
    /// A whole actor such as `person:ada`, or a kind of actors such as `person`.
    pub actor: Option<String>,
    /// One of these verbs; every verb when empty.
    pub verbs: Vec<String>,
    /// A whole subject such as `store`, or a kind of subjects such as `handle`.
    pub subject: Option<String>,
    /// Rows of layout 1 name no server and never pass.
    pub server: Option<ServerId>,
    /// Rows of layout 1 name no agent and never pass.
    pub agent: Option<AgentId>,
    /// Rows about this task and its questions.
    pub task: Option<HandleId>,
    /// Words of the note, whatever the case of ASCII letters.
    pub text: Option<String>,
}

/// In which order rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    NewestFirst,
    OldestFirst,
}

/// A page of rows to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    pub filter: AuditFilter,
    pub order: AuditOrder,
    /// The row behind which the page begins, in the order of the query; `None` at the first.
    pub behind: Option<u64>,
    pub limit: u32,
}

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub number: u64,
    /// Which fields are hashed, and how.
    pub layout: u8,
    pub at: Timestamp,
    pub actor: String,
    pub verb: String,
    pub subject: String,
    /// Layout 2; empty where none is.
    pub server: String,
    /// Layout 2; empty where none is.
    pub agent: String,
    /// `None` when it was erased.
    pub note: Option<String>,
    /// Layout 1: how a person's decision came in.
    pub origin: Option<String>,
    /// Layout 2: RFC 8785 JSON; `None` when it was erased.
    pub detail: Option<String>,
    /// Layout 2; `None` when it was erased.
    pub salt: Option<Vec<u8>>,
    /// Layout 2: what stands in the hash for note and detail.
    pub commitment: Option<[u8; 32]>,
    pub previous: [u8; 32],
    pub hash: [u8; 32],
    /// Whether its fields give its hash. That it follows the row before is not said here.
    pub fits: bool,
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditRows {
    pub rows: Vec<AuditRow>,
    /// Where the next page begins; `None` when every row was looked at. A page may be short, even empty, and not the last:
    /// one read looks at a limited number of rows.
    pub next: Option<u64>,
    /// The first row that is still there; 0 without rows.
    pub first: u64,
    /// The last row that was written; 0 without rows.
    pub last: u64,
}

/// What the rows of a month amount to.
#[derive(Debug, Default)]
pub struct MonthRead {
    pub report: MonthReport,
    /// The first row that is still there; 0 without rows.
    pub first: u64,
    /// Rows up to this one were verified before, and their hashes were not computed again; 0 for none.
    pub verified_to: u64,
    /// Rows of the month behind it whose fields do not give their hash.
    pub changed: u64,
}
