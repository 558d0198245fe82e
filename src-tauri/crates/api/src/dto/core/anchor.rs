//! Places of anchors in JSON, and how kept checkpoints compare with the log.
//!
//! What is wrong with a place is the second half of a sentence about it, so that each door can begin it. Who copies, and
//! when, is in the engine's `audit_log/anchors.rs`.

use engine::{AnchorStatus, AnchorTrouble};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;

/// A file to which checkpoints are copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnchorDto {
    pub id: u32,
    pub path: String,
    /// How many rows the newest copy covers; null while that is not known.
    pub newest: Option<u64>,
    /// When this core copied last; null when it did not yet.
    pub copied: Option<String>,
    /// Why it gets no copies now, as the second half of a sentence about the file; null while it gets them.
    pub trouble: Option<String>,
    /// Whether the file and the log cannot both be right.
    pub contradicts: bool,
    /// Whether the file is on the disk of the registry, so that what destroys one destroys the other.
    pub is_beside_registry: bool,
}

impl AnchorDto {
    pub(crate) fn of(anchor: AnchorStatus) -> Self {
        let AnchorStatus { id, path, newest, copied, trouble, is_beside_registry } = anchor;
        let contradicts = matches!(trouble, Some(AnchorTrouble::Contradicts(_)));
        let trouble = trouble.map(|trouble| trouble.words().to_owned());
        Self { id, path, newest, copied: copied.map(iso), trouble, contradicts, is_beside_registry }
    }

    /// Its number, its file, and how far the copies go or what is wrong.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { id, path, newest, trouble, is_beside_registry, .. } = self;
        let state = match (newest, trouble) {
            (_, Some(why)) => why.clone(),
            (Some(rows), None) => format!("holds the checkpoint of row {rows}"),
            (None, None) => "was not looked at yet".to_owned(),
        };
        let beside = if *is_beside_registry { " (on the disk of the registry)" } else { "" };
        format!("{id}  `{path}` {state}{beside}")
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
}

/// How kept checkpoints compare with the log, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotesCompared {
    pub notes: Vec<ComparedNote>,
    /// The rows that the newest checkpoint of the log covers.
    pub newest: u64,
}
