//! The part of the registry that proves the audit log: its tree, the keys that signed it, and checkpoints.
//!
//! Nothing is signed here; a [`LogSigner`] holds the key. The tree, the notes and what they prove are described in
//! `docs/audit.md`.

use crate::audit::AuditEvent;
use crate::ports::{AuditFilter, PortFuture, RegistryError, SecretError};
use crate::time::Timestamp;

/// A hash of SHA-256.
pub type LogHash = [u8; 32];

/// The root of the tree over the first `size` rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// The name of the log, `taskwarden/LOG_ID`.
    pub origin: String,
    pub size: u64,
    pub root: LogHash,
}

impl LogHead {
    /// Why this head, which somebody kept, and the log cannot both be right, as the second half of a sentence about the
    /// place where it lies; `None` where they agree. `root` is the root of the log over as many rows.
    #[must_use]
    pub fn contradiction(&self, log: &Self, root: Option<LogHash>) -> Option<String> {
        let Self { origin, size, root: kept } = self;
        if *origin != log.origin {
            return Some(format!("holds checkpoints of another log, `{origin}`; this one is `{}`", log.origin));
        }
        if *size > log.size {
            return Some(format!(
                "has a checkpoint of {size} rows, and the log has {}: rows were cut off, or an older copy of the registry \
                 was put back",
                log.size
            ));
        }
        match root {
            // A tree without rows has a root that is not stored.
            _ if *size == 0 => None,
            Some(root) if root == *kept => None,
            Some(_) => Some(format!("has a checkpoint of {size} rows with another root: rows up to it were changed")),
            None => {
                Some(format!("has a checkpoint of {size} rows, of which the log does not have all hashes any more"))
            }
        }
    }

    /// The leaves that it covers.
    #[must_use]
    pub const fn span(&self) -> LeafSpan {
        LeafSpan { begin: 0, end: self.size }
    }
}

/// How far the tree has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeGrowth {
    pub head: LogHead,
    /// The last row that was written; the tree is complete when its size is this number.
    pub last: u64,
}

/// Rows that no checkpoint covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnsignedRows {
    pub rows: u64,
    /// Whether one of the newest of them is a decision, or a halt.
    pub has_decision: bool,
    /// When the first of them was written.
    pub since: Option<Timestamp>,
}

/// A signed root of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub size: u64,
    pub root: LogHash,
    /// The whole signed note.
    pub note: String,
    pub at: Timestamp,
    /// The id of the key that signed.
    pub key: String,
}

/// A key that signed checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogKey {
    pub id: String,
    /// The public key as `NAME+ID+BASE64`.
    pub public: String,
    pub created: Timestamp,
    /// When another key took its place.
    pub retired: Option<Timestamp>,
}

/// A checkpoint to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointUnit {
    pub checkpoint: Checkpoint,
    /// The public key that signed, as `NAME+ID+BASE64`; stored when it is new, and then the one before is retired.
    pub public: String,
    /// The fact that a new key signs, when it takes the place of another.
    pub audit: Vec<AuditEvent>,
}

/// Rows of the tree from leaf `begin` to leaf `end`, without `end`; row `n` is leaf `n - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafSpan {
    pub begin: u64,
    pub end: u64,
}

/// Where a comparison of checkpoints with the rows begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeStart {
    /// At the first row that is still there.
    First,
    /// At a checkpoint so many rows before the newest one, or at the first row.
    Recent,
    /// Where the comparison before this one stopped.
    After(Vec<u8>),
}

/// A checkpoint that the rows contradict, or that is no valid note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenCheckpoint {
    pub size: u64,
    pub why: String,
}

/// How checkpoints compare with the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeCheck {
    /// Checkpoints that were compared in this read.
    pub compared: u64,
    /// The newest checkpoint; 0 without any.
    pub newest: u64,
    /// The last row that was read.
    pub upto: u64,
    /// The first checkpoint that does not hold.
    pub broken: Option<BrokenCheckpoint>,
    /// Where the comparison goes on; `None` at the end.
    pub next: Option<Vec<u8>>,
}

/// Keeps the tree over the audit log, and what was signed of it.
pub trait CheckpointStore: Send + Sync {
    /// Takes at most `rows` further rows into the tree. Rows that retention removed before the tree was begun stand in it
    /// as leaves over 32 zero bytes.
    fn grow_tree(&self, rows: u32) -> PortFuture<'_, Result<TreeGrowth, RegistryError>>;
    /// Rows behind the newest checkpoint; whether one is a decision is asked of the newest `newest` of them.
    fn unsigned_rows(&self, newest: u64) -> PortFuture<'_, Result<UnsignedRows, RegistryError>>;
    /// Stores a checkpoint. Not a change of the change log.
    fn put_checkpoint(&self, unit: CheckpointUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Checkpoints, the newest first, at most `limit`.
    fn checkpoints(&self, limit: u32) -> PortFuture<'_, Result<Vec<Checkpoint>, RegistryError>>;
    /// All keys that signed, the one in use first.
    fn log_keys(&self) -> PortFuture<'_, Result<Vec<LogKey>, RegistryError>>;
    /// The roots over these leaves; `None` where rows were removed whose hashes are not kept, or the tree is smaller.
    fn tree_roots(&self, spans: Vec<LeafSpan>) -> PortFuture<'_, Result<Vec<Option<LogHash>>, RegistryError>>;
    /// Compares checkpoints with at most `rows` rows, whose stored hashes are believed.
    fn check_tree(&self, start: TreeStart, rows: u32) -> PortFuture<'_, Result<TreeCheck, RegistryError>>;
    /// How many rows up to row `last` pass a filter.
    fn audit_count(&self, filter: AuditFilter, last: u64) -> PortFuture<'_, Result<u64, RegistryError>>;
}

/// A signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedHead {
    /// The whole note.
    pub note: String,
    /// The id of the key.
    pub key: String,
    /// The public key as `NAME+ID+BASE64`.
    pub public: String,
}

/// Signs heads of the audit log with a key that nobody else reads.
pub trait LogSigner: Send + Sync + 'static {
    /// Signs a head. Makes the key when there is none.
    ///
    /// # Errors
    /// When the key cannot be read or stored now.
    fn sign(&self, head: &LogHead) -> Result<SignedHead, SecretError>;
}
