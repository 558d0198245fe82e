//! The tools of the demo server, one module each.
//!
//! [`Tool`] is the table: names, what clients are told of them, whether they obey. A tool is an async function from a
//! [`Bench`] to a [`Finish`]; it knows neither dialect nor job store.

mod flaky;
mod hash_tree;
mod huge_report;
mod index_folder;
mod runaway;
mod sign_in;
mod stubborn;
mod tidy_downloads;
mod tool_error;

use std::pin::Pin;

use domain::policy::ServingPolicy;
use mcp::serve::desk::ToolCard;
use serde_json::{Value, json};

use crate::bench::{Bench, Finish};

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    IndexFolder,
    HashTree,
    TidyDownloads,
    SignIn,
    Runaway,
    Stubborn,
    HugeReport,
    Flaky,
    Mistaken,
}

impl Tool {
    /// All, in the order in which they are listed.
    pub(crate) const ALL: &[Self] = &[
        Self::IndexFolder,
        Self::HashTree,
        Self::TidyDownloads,
        Self::SignIn,
        Self::Runaway,
        Self::Stubborn,
        Self::HugeReport,
        Self::Flaky,
        Self::Mistaken,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::IndexFolder => "index_folder",
            Self::HashTree => "hash_tree",
            Self::TidyDownloads => "tidy_downloads",
            Self::SignIn => "sign_in",
            Self::Runaway => "runaway",
            Self::Stubborn => "stubborn",
            Self::HugeReport => "huge_report",
            Self::Flaky => "flaky",
            Self::Mistaken => "tool_error",
        }
    }

    pub(crate) fn card(self, limits: &ServingPolicy) -> ToolCard {
        match self {
            Self::IndexFolder => index_folder::card(limits),
            Self::HashTree => hash_tree::card(limits),
            Self::TidyDownloads => tidy_downloads::card(limits),
            Self::SignIn => sign_in::card(),
            Self::Runaway => runaway::card(),
            Self::Stubborn => stubborn::card(),
            Self::HugeReport => huge_report::card(limits),
            Self::Flaky => flaky::card(),
            Self::Mistaken => tool_error::card(),
        }
    }

    /// Whether it is simply dropped when a stop is asked. Tidying ends itself between two files, to tell the truth
    /// about what was moved; `stubborn` does not obey at all.
    pub(crate) const fn obeys(self) -> bool {
        match self {
            Self::TidyDownloads | Self::Stubborn => false,
            Self::IndexFolder
            | Self::HashTree
            | Self::SignIn
            | Self::Runaway
            | Self::HugeReport
            | Self::Flaky
            | Self::Mistaken => true,
        }
    }
}

/// Runs a tool.
pub(crate) fn run(tool: Tool, bench: Bench) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
    match tool {
        Tool::IndexFolder => Box::pin(index_folder::run(bench)),
        Tool::HashTree => Box::pin(hash_tree::run(bench)),
        Tool::TidyDownloads => Box::pin(tidy_downloads::run(bench)),
        Tool::SignIn => Box::pin(sign_in::run(bench)),
        Tool::Runaway => Box::pin(runaway::run(bench)),
        Tool::Stubborn => Box::pin(stubborn::run(bench)),
        Tool::HugeReport => Box::pin(huge_report::run(bench)),
        Tool::Flaky => Box::pin(flaky::run(bench)),
        Tool::Mistaken => Box::pin(tool_error::run(bench)),
    }
}

/// An input schema: an object with these properties and nothing else.
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The schema of a folder argument.
fn folder_schema(description: &str, limits: &ServingPolicy) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": limits.path_chars_max, "description": description})
}

/// `annotations` of a tool that changes nothing.
fn reads_only() -> Value {
    json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
}
