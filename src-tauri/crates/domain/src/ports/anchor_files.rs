//! The port to files of anchors: copies of checkpoints outside the registry.
//!
//! What a copy proves is in `docs/audit.md`; when one is written is the engine's (`tasks/audit_log/anchors.rs`).

use std::path::Path;

use crate::ports::{LogHead, PortFuture};

/// Copies of checkpoints in files outside the registry: signed notes one after the other.
///
/// A file may be on a disk that does not answer; each call then ends with that after a while.
pub trait AnchorFiles: Send + Sync + 'static {
    /// The head of the last note of a file, checked with these public keys; `None` where the file is empty.
    ///
    /// # Errors
    /// Why the file cannot be used, as the second half of a sentence about it. A file that is not there is unreachable,
    /// as it is where its disk was taken away.
    fn newest(&self, path: &Path, keys: Vec<String>) -> PortFuture<'_, Result<Option<LogHead>, AnchorFileFault>>;
    /// Makes a file where there is none, and proves that it can be written.
    ///
    /// # Errors
    /// Why it cannot, as the second half of a sentence about the file.
    fn prepare(&self, path: &Path) -> PortFuture<'_, Result<(), AnchorFileFault>>;
    /// Appends a note to a file that is there; on the disk when it returns. Where a disk was taken away, the folder in
    /// which it was mounted gets no file.
    ///
    /// # Errors
    /// Why it was not written, as the second half of a sentence about the file.
    fn append(&self, path: &Path, note: String) -> PortFuture<'_, Result<(), AnchorFileFault>>;
    /// Whether a file is on the disk of the registry, so that what destroys one destroys the other.
    fn is_beside_registry(&self, path: &Path) -> PortFuture<'_, bool>;
}

/// Why a file of anchors cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorFileFault {
    /// It cannot be read or written now.
    Unreachable(String),
    /// It holds something that is no checkpoint of this log.
    NotOurs(String),
}
