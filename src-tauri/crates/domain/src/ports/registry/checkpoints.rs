//! The part of the registry that proves the audit log: its tree, the keys that signed it, and checkpoints.
//!
//! Nothing is signed here; a [`LogSigner`] holds the key. The tree, the notes and what they prove are described in
//! `docs/audit.md`.

use crate::audit::AuditEvent;
use crate::ports::{AuditFilter, AuditRecheck, MonthRead, PortFuture, RegistryError, SecretError};
use crate::time::Timestamp;

/// A hash of SHA-256.
pub type LogHash = [u8; 32];

/// The name of a log in one of its epochs: `taskwarden/LOG_ID`, then `taskwarden/LOG_ID/2`, and so on. A new one begins
/// when an older copy of the registry was put back and gives numbers out again that checkpoints elsewhere cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEpoch<'a> {
    /// The name without the epoch.
    pub log: &'a str,
    /// The first one is 1.
    pub number: u32,
}

impl<'a> LogEpoch<'a> {
    /// Reads the name of a log.
    #[must_use]
    pub fn of(origin: &'a str) -> Self {
        let later = origin.rsplit_once('/').filter(|(log, _)| log.contains('/'));
        let later = later.and_then(|(log, number)| Some(Self { log, number: number.parse().ok()? }));
        later.filter(|epoch| epoch.number > 1).unwrap_or(Self { log: origin, number: 1 })
    }

    /// The name of the log in the epoch after this one, and after the epoch `seen` that checkpoints elsewhere have.
    #[must_use]
    pub fn next_origin(self, seen: u32) -> String {
        format!("{}/{}", self.log, self.number.max(seen).saturating_add(1))
    }
}

/// The root of the tree over the first `size` rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// The name of the log in its epoch; see [`LogEpoch`].
    pub origin: String,
    pub size: u64,
    pub root: LogHash,
}

impl LogHead {
    /// Why this head, which somebody kept, and the log cannot both be right, as the second half of a sentence about the
    /// place where it lies; `None` where they agree. `root` is the root of the log over as many rows. That the log forked
    /// before the epoch `known` is no contradiction: somebody knows of it.
    #[must_use]
    pub fn contradiction(&self, log: &Self, root: Option<LogHash>, known: u32) -> Option<String> {
        let Self { origin, size, root: kept } = self;
        let (then, now) = (LogEpoch::of(origin), LogEpoch::of(&log.origin));
        if then.log != now.log {
            return Some(format!("holds checkpoints of another log, `{origin}`; this one is `{}`", log.origin));
        }
        if then.number > now.number {
            return Some(
                "has a checkpoint from after a time when the log went on from an older copy, of which the log has no row: an \
                 older copy of the registry was put back"
                    .into(),
            );
        }
        if self.is_fork(log, root) {
            return (then.number >= known).then(|| {
                format!(
                    "has a checkpoint of {size} rows from before the log went on from an older copy, which are not those of \
                     the log: it forked, and a row `epochBegun` says who let it go on; `--epoch {}` says that you know of it",
                    now.number
                )
            });
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

    /// Whether it is of an earlier epoch of the log and covers rows that are not those of the log.
    #[must_use]
    pub fn is_fork(&self, log: &Self, root: Option<LogHash>) -> bool {
        let (then, now) = (LogEpoch::of(&self.origin), LogEpoch::of(&log.origin));
        let is_beginning = self.size == 0 || (self.size <= log.size && root == Some(self.root));
        then.log == now.log && then.number < now.number && !is_beginning
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

/// A new epoch of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochUnit {
    /// Its name from here on.
    pub origin: String,
    /// Rows of the log with which it begins.
    pub size: u64,
    /// The root of the tree over them.
    pub root: LogHash,
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
    /// At the newest checkpoint that does not cover this row, or at the first row.
    Before(u64),
    /// Where the comparison before this one stopped.
    After(Vec<u8>),
}

/// A checkpoint that the rows contradict, that is no valid note, or that is not there any more.
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
    /// The epoch of the log; see [`LogEpoch`].
    pub epoch: u32,
    /// The last row that was read.
    pub upto: u64,
    /// The last checkpoint of this read whose root the rows give: its size and root.
    pub proven: Option<(u64, LogHash)>,
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
    /// Why the rows do not lead from what was signed last to this head, so that it may not be signed; `None` where they do.
    /// Checkpoints that were removed, and rows that were changed below them, are such a reason.
    fn signing_fault(&self, head: LogHead) -> PortFuture<'_, Result<Option<BrokenCheckpoint>, RegistryError>>;
    /// Builds the tree anew from the rows that are there, for an epoch that begins with them.
    fn rebuild_tree(&self) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Stores a checkpoint, and in the same transaction that it is what was signed last. Not a change of the change log.
    fn put_checkpoint(&self, unit: CheckpointUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Gives the log its name in a new epoch, with the fact, and takes the rows with which it begins in the place of what was
    /// signed last. Not a change of the change log.
    fn begin_epoch(&self, unit: EpochUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Checkpoints, the newest first, at most `limit`.
    fn checkpoints(&self, limit: u32) -> PortFuture<'_, Result<Vec<Checkpoint>, RegistryError>>;
    /// All keys that signed, the one in use first.
    fn log_keys(&self) -> PortFuture<'_, Result<Vec<LogKey>, RegistryError>>;
    /// The roots over these leaves; `None` where rows were removed whose hashes are not kept, or the tree is smaller.
    fn tree_roots(&self, spans: Vec<LeafSpan>) -> PortFuture<'_, Result<Vec<Option<LogHash>>, RegistryError>>;
    /// Compares checkpoints with at most `rows` rows, whose stored hashes are believed, and at the end the newest checkpoint
    /// with what was signed last.
    fn check_tree(&self, start: TreeStart, rows: u32) -> PortFuture<'_, Result<TreeCheck, RegistryError>>;
    /// Verifies at most `rows` rows of the chain again, among those that were verified before: behind row `after`, whose
    /// stored hash is believed, or where the read before stopped. Behind the last one the next read begins at the first row.
    /// With a writer, the place is remembered; one that does not fit its mark counts for nothing.
    fn reverify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditRecheck, RegistryError>>;
    /// How many rows up to row `last` pass a filter.
    fn audit_count(&self, filter: AuditFilter, last: u64) -> PortFuture<'_, Result<u64, RegistryError>>;
    /// What the rows from `since` on and before `until` amount to.
    fn month_report(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Result<MonthRead, RegistryError>>;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn head(origin: &str, size: u64, root: u8) -> LogHead {
        LogHead { origin: origin.into(), size, root: [root; 32] }
    }

    #[test]
    fn an_epoch_is_read_from_the_name_of_the_log_and_names_the_next_one() {
        for (origin, log, number, next) in [
            ("taskwarden/l0g", "taskwarden/l0g", 1, "taskwarden/l0g/2"),
            ("taskwarden/l0g/2", "taskwarden/l0g", 2, "taskwarden/l0g/3"),
            ("taskwarden/7", "taskwarden/7", 1, "taskwarden/7/2"),
            ("taskwarden/l0g/1", "taskwarden/l0g/1", 1, "taskwarden/l0g/1/2"),
            ("taskwarden/l0g/x", "taskwarden/l0g/x", 1, "taskwarden/l0g/x/2"),
        ] {
            let epoch = LogEpoch::of(origin);
            assert_eq!((epoch.log, epoch.number, epoch.next_origin(0).as_str()), (log, number, next), "{origin}");
        }
        assert_eq!(
            LogEpoch::of("taskwarden/l0g").next_origin(2),
            "taskwarden/l0g/3",
            "an epoch that was lost is not begun again"
        );
    }

    #[test]
    fn a_checkpoint_of_an_earlier_epoch_agrees_with_what_both_have_and_names_the_fork_behind_it() {
        let log = head("taskwarden/l0g/2", 30, 3);
        let kept = |size, root| head("taskwarden/l0g", size, root);
        assert_eq!(kept(20, 5).contradiction(&log, Some([5; 32]), 1), None, "before the fork");
        for (size, root) in [(20, Some([6; 32])), (40, None), (30, Some([3; 32]))] {
            let forked = kept(size, 5).contradiction(&log, root, 1).expect("it forked");
            assert!(forked.contains("it forked") && forked.contains("epoch 2"), "{forked}");
            assert_eq!(kept(size, 5).contradiction(&log, root, 2), None, "somebody knows of it");
        }
        let later = head("taskwarden/l0g/3", 20, 5).contradiction(&log, Some([5; 32]), 9).expect("it is newer");
        assert!(later.contains("an older copy of the registry was put back"), "{later}");
        let other = head("taskwarden/l1g", 20, 5).contradiction(&log, Some([5; 32]), 9).expect("another log");
        assert!(other.contains("another log"), "{other}");
        let same = head("taskwarden/l0g/2", 20, 5).contradiction(&log, Some([6; 32]), 9).expect("it was changed");
        assert!(same.contains("were changed"), "knowing of a fork forgives nothing after it: {same}");
    }
}
