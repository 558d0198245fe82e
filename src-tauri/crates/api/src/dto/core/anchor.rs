//! Places of anchors in JSON, and how kept checkpoints compare with the log.
//!
//! What is wrong with a place is the second half of a sentence about it, so that each door can begin it. Who copies, and
//! when, is in the engine's `audit_log/anchors.rs`.

use domain::ports::AnchorPlace;
use engine::{AnchorStatus, AnchorTrouble};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;

/// What kind of place gets copies of checkpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum AnchorKind {
    /// A file of signed notes.
    #[default]
    File,
    /// The branch `taskwarden-checkpoints` of a git repository, with one commit for each checkpoint.
    Git,
    /// A collector, with one log record of OpenTelemetry for each checkpoint.
    Otlp,
}

/// A place to which checkpoints are copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnchorDto {
    pub id: u32,
    pub kind: AnchorKind,
    /// The whole path of the file, or of the folder of the repository; of a collector scheme, host and port.
    pub path: String,
    /// The remote that each commit is pushed to; null where nothing is pushed.
    pub remote: Option<String>,
    /// How many rows the newest copy covers; null while that is not known. Of a collector the newest that it took.
    pub newest: Option<u64>,
    /// When this core copied last; null when it did not yet.
    pub copied: Option<String>,
    /// Why it gets no copies now, as the second half of a sentence about the place; null while it gets them.
    pub trouble: Option<String>,
    /// Whether the copies and the log cannot both be right.
    pub contradicts: bool,
    /// Whether the copies are only on the disk of the registry, so that what destroys one destroys the other.
    pub is_beside_registry: bool,
}

impl AnchorDto {
    pub(crate) fn of(anchor: AnchorStatus) -> Self {
        let AnchorStatus { id, place, newest, copied, trouble, is_beside_registry, .. } = anchor;
        let path = place.shown();
        let (kind, remote) = match place {
            AnchorPlace::File(_) => (AnchorKind::File, None),
            AnchorPlace::Otlp { .. } => (AnchorKind::Otlp, None),
            AnchorPlace::Git { remote, .. } => (AnchorKind::Git, remote),
        };
        let contradicts = matches!(trouble, Some(AnchorTrouble::Contradicts(_)));
        let trouble = trouble.map(|trouble| trouble.words().to_owned());
        Self { id, kind, path, remote, newest, copied: copied.map(iso), trouble, contradicts, is_beside_registry }
    }

    /// Its number, its place, and how far the copies go or what is wrong.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { id, kind, path, remote, newest, trouble, is_beside_registry, .. } = self;
        let kind = match (kind, remote) {
            (AnchorKind::File, _) => String::new(),
            (AnchorKind::Otlp, _) => " (otlp)".to_owned(),
            (AnchorKind::Git, None) => " (git)".to_owned(),
            (AnchorKind::Git, Some(remote)) => format!(" (git, pushed to {remote})"),
        };
        let state = match (newest, trouble, self.kind) {
            (_, Some(why), _) => why.clone(),
            (Some(rows), None, AnchorKind::Otlp) => format!("took the checkpoint of row {rows}"),
            (Some(rows), None, _) => format!("holds the checkpoint of row {rows}"),
            (None, None, AnchorKind::Otlp) => "was not sent a checkpoint yet".to_owned(),
            (None, None, _) => "was not looked at yet".to_owned(),
        };
        let beside = if *is_beside_registry { " (on the disk of the registry)" } else { "" };
        format!("{id}  `{path}`{kind} {state}{beside}")
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnchorList {
    pub anchors: Vec<AnchorDto>,
}

/// How one kept checkpoint compares with the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ComparedNote {
    /// The rows that it covers.
    pub size: u64,
    /// Why it and the log cannot both be right, as the second half of a sentence about its file; null where they agree.
    pub fault: Option<String>,
    /// Whether it is of an earlier epoch of the log and forks from it, as whoever asks knows.
    pub is_known_fork: bool,
}

/// How kept checkpoints compare with the log, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotesCompared {
    pub notes: Vec<ComparedNote>,
    /// The rows that the newest checkpoint of the log covers.
    pub newest: u64,
}
