//! The port to the places of anchors: copies of checkpoints outside the registry.
//!
//! What a copy proves is in `docs/audit.md`; when one is written is the engine's (`tasks/audit_log/anchors.rs`).

use std::path::{Path, PathBuf};

use crate::ports::{LogHead, PortFuture};

/// Where a person wants copies of checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorPlace {
    /// A file of signed notes, one after the other.
    File(PathBuf),
    /// A branch of a git repository: one commit for each checkpoint.
    Git {
        /// The folder of the repository, with a working tree or bare.
        repository: PathBuf,
        /// The name of the remote that each commit is pushed to, as the repository is configured; `None` where nothing is
        /// pushed.
        remote: Option<String>,
    },
}

impl AnchorPlace {
    /// The file, or the folder of the repository.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Git { repository: path, .. } => path,
        }
    }
}

/// Copies of checkpoints outside the registry: signed notes, the newest one last.
///
/// A place may be on a disk or a machine that does not answer; each call then ends with that after a while.
pub trait AnchorPlaces: Send + Sync + 'static {
    /// The head of the last note of a place, checked with these public keys; `None` where it has none. A note that was
    /// written and not pushed is pushed first.
    ///
    /// # Errors
    /// Why the place cannot be used, as the second half of a sentence about it. What is not there is unreachable, as it is
    /// where its disk was taken away.
    fn newest(
        &self,
        place: &AnchorPlace,
        keys: Vec<String>,
    ) -> PortFuture<'_, Result<Option<LogHead>, AnchorPlaceFault>>;
    /// Makes a file where there is none, and proves that the place can be written. A repository has to be there.
    ///
    /// # Errors
    /// Why it cannot, as the second half of a sentence about the place.
    fn prepare(&self, place: &AnchorPlace) -> PortFuture<'_, Result<(), AnchorPlaceFault>>;
    /// Appends the note of a checkpoint to a place that is there; on the disk, and pushed where that is wanted, when it
    /// returns. Where a disk was taken away, the folder in which it was mounted gets nothing.
    ///
    /// # Errors
    /// Why it was not written, as the second half of a sentence about the place.
    fn append(&self, place: &AnchorPlace, size: u64, note: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>>;
    /// Whether a place is only on the disk of the registry, so that what destroys one destroys the other.
    fn is_beside_registry(&self, place: &AnchorPlace) -> PortFuture<'_, bool>;
}

/// Why a place of anchors cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorPlaceFault {
    /// It cannot be read or written now.
    Unreachable(String),
    /// It holds something that is no checkpoint of this log.
    NotOurs(String),
}
