//! The port to the places of anchors: copies of checkpoints outside the registry.
//!
//! What a copy proves is in `docs/audit.md`; when one is written is the engine's (`tasks/audit_log/anchors.rs`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::audit::log_sink::CollectorHeaderError;
use crate::ports::{LogHead, PortFuture, Secret};

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
    /// A collector over OTLP/HTTP: one log record for each checkpoint. What it has cannot be read back.
    Otlp {
        /// The number that the values of its headers are kept under: that of the anchor.
        number: u32,
        /// The address in front of the path of the signal.
        url: String,
        /// Names of the headers.
        headers: Vec<String>,
    },
}

impl AnchorPlace {
    /// The file, the folder of the repository, or the whole address of the collector.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Git { repository: path, .. } => path,
            Self::Otlp { url, .. } => Path::new(url),
        }
    }

    /// The same as it is shown and recorded: of an address only scheme, host and port, because a path may hold a key.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Otlp { url, .. } => url.split('/').take(3).collect::<Vec<_>>().join("/"),
            Self::File(path) | Self::Git { repository: path, .. } => path.display().to_string(),
        }
    }
}

/// Copies of checkpoints outside the registry: signed notes, the newest one last.
///
/// A place may be on a disk or a machine that does not answer; each call then ends with that after a while.
pub trait AnchorPlaces: Send + Sync + 'static {
    /// The head of the last note of a place, checked with these public keys; `None` where it has none, and for a
    /// collector. A note that was written and not pushed is pushed first.
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
    /// Sends a checkpoint to a collector, as an `ExportLogsServiceRequest` in the JSON encoding of OTLP with one record.
    ///
    /// # Errors
    /// Why it was not taken, as the second half of a sentence about the collector.
    fn send(&self, place: &AnchorPlace, request: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>>;
    /// Stores the values of headers of a collector under this number, in place of earlier ones of these names.
    ///
    /// # Errors
    /// When a header cannot be sent or its value cannot be stored; then none is stored.
    fn keep_headers(&self, number: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError>;
    /// Forgets headers of a collector; forgetting what is not there is fine.
    fn forget_headers(&self, number: u32, names: &[String]);
    /// Whether a place is only on the disk of the registry, so that what destroys one destroys the other.
    fn is_beside_registry(&self, place: &AnchorPlace) -> PortFuture<'_, bool>;
}

/// Why a place of anchors cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorPlaceFault {
    /// It cannot be read or written now.
    Unreachable(String),
    /// A collector cannot take anything now.
    Later {
        why: String,
        /// How long it asks to be left alone.
        wait: Option<Duration>,
    },
    /// It holds something that is no checkpoint of this log.
    NotOurs(String),
    /// A collector refuses the record and will refuse it again, or what answered is no collector.
    Refused(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_only_scheme_host_and_port_are_shown() {
        for (url, shown) in [
            ("https://collector.example", "https://collector.example"),
            ("https://collector.example:4318/tenant/hush", "https://collector.example:4318"),
            ("http://[::1]:4318/hush", "http://[::1]:4318"),
        ] {
            let place = AnchorPlace::Otlp { number: 1, url: url.into(), headers: Vec::new() };
            assert_eq!(place.shown(), shown);
        }
    }
}
