//! How the tools of a server differ from what a person last saw, as JSON shows it.
//!
//! All names and lines are the server's text: cut, and without control characters. Two definitions are compared in
//! `format/tool_diff.rs`.

use domain::server::tool_memory::{ToolChange, ToolMemory};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::words::words;

words! {
    /// How a tool differs.
    ToolChangeKind {
        /// The server did not have it.
        Added = "added",
        /// The server does not list it any more.
        Removed = "removed",
        /// Its definition is another.
        Changed = "changed",
    }
    /// What a line of a comparison is.
    DiffLineKind {
        /// It is in both.
        Same = "same",
        /// Only in what was seen.
        Removed = "removed",
        /// Only in what is listed now.
        Added = "added",
        /// Lines that are the same and left out; the text is their number.
        Skipped = "skipped",
    }
}

/// How the tools differ from what a person last saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolChangesDto {
    /// Names what is listed now; handed back with `servers.toolsSeen`.
    pub digest: String,
    /// When a person last looked, or when the tools were first listed.
    pub seen_at: String,
    /// Who looked; null when nobody has.
    pub seen_by: Option<String>,
    /// The tools that differ, by name.
    pub tools: Vec<ChangedTool>,
    /// Listed tools beyond the limit, which are not compared.
    pub left_out: u64,
}

/// A tool that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangedTool {
    pub name: String,
    #[ts(inline)]
    pub change: ToolChangeKind,
}

/// A changed tool, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolDiff {
    pub name: String,
    /// How it differs; null when it does not.
    #[ts(inline)]
    pub change: Option<ToolChangeKind>,
    pub lines: Vec<DiffLine>,
    /// How many lines were added and removed.
    pub added: u64,
    pub removed: u64,
    /// A definition is too long to be kept, so that there are no lines.
    pub is_too_long: bool,
}

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    #[ts(inline)]
    pub kind: DiffLineKind,
    pub text: String,
}

impl From<ToolChange> for ToolChangeKind {
    fn from(change: ToolChange) -> Self {
        match change {
            ToolChange::Added => Self::Added,
            ToolChange::Removed => Self::Removed,
            ToolChange::Changed => Self::Changed,
        }
    }
}

impl From<&ToolMemory> for ToolChangesDto {
    fn from(memory: &ToolMemory) -> Self {
        let tools = memory.changes();
        Self {
            digest: memory.digest(),
            seen_at: iso(memory.seen.at),
            seen_by: memory.seen.by.as_ref().map(ToString::to_string),
            tools: tools
                .map(|(tool, change)| ChangedTool { name: tool.name.to_string(), change: change.into() })
                .collect(),
            left_out: memory.left_out,
        }
    }
}
