//! The tools of the demo server, one module each.
//!
//! [`DemoTool`] is the table of names, descriptions and cancel behaviour. A tool is an async function from a
//! [`ToolContext`] to a [`ToolOutcome`]; it knows neither the dialect nor the job store.

mod flaky;
mod hash_tree;
mod huge_report;
mod index_folder;
mod known_files;
mod plan_sorting;
mod runaway;
mod sample;
mod schemas;
mod sign_in;
mod stubborn;
mod tidy_downloads;
mod tool_error;

use std::pin::Pin;

use crate::script_server::script::ToolCard;
use domain::policy::ServingPolicy;

use crate::tool_context::{ToolContext, ToolOutcome};

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DemoTool {
    IndexFolder,
    HashTree,
    PlanSorting,
    TidyDownloads,
    SignIn,
    Runaway,
    Stubborn,
    HugeReport,
    Flaky,
    Mistaken,
}

impl DemoTool {
    /// All, in the order in which they are listed.
    pub(crate) const ALL: &[Self] = &[
        Self::IndexFolder,
        Self::HashTree,
        Self::PlanSorting,
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
            Self::PlanSorting => "plan_sorting",
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
            Self::PlanSorting => plan_sorting::card(limits),
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
            | Self::PlanSorting
            | Self::SignIn
            | Self::Runaway
            | Self::HugeReport
            | Self::Flaky
            | Self::Mistaken => true,
        }
    }
}

/// Runs a tool.
pub(crate) fn run(tool: DemoTool, context: ToolContext) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send>> {
    match tool {
        DemoTool::IndexFolder => Box::pin(index_folder::run(context)),
        DemoTool::HashTree => Box::pin(hash_tree::run(context)),
        DemoTool::PlanSorting => Box::pin(plan_sorting::run(context)),
        DemoTool::TidyDownloads => Box::pin(tidy_downloads::run(context)),
        DemoTool::SignIn => Box::pin(sign_in::run(context)),
        DemoTool::Runaway => Box::pin(runaway::run(context)),
        DemoTool::Stubborn => Box::pin(stubborn::run(context)),
        DemoTool::HugeReport => Box::pin(huge_report::run(context)),
        DemoTool::Flaky => Box::pin(flaky::run(context)),
        DemoTool::Mistaken => Box::pin(tool_error::run(context)),
    }
}
