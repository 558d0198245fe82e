//! `tool_error`: answers at once with a result that says `isError`.
//!
//! Never a task: for seeing a plain call, and an error meant for the model.

use mcp::serve::desk::{Length, Needs, ToolCard};
use serde_json::json;

use super::{reads_only, schema};
use crate::bench::{Bench, Finish};

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "tool_error",
        title: "Answer with a tool error",
        description: "Answers at once with a result that is marked as an error of the tool.",
        input_schema: schema(json!({}), &[]),
        output_schema: None,
        annotations: reads_only(),
        length: Length::Short,
        needs: Needs::Nobody,
    }
}

pub(super) async fn run(_bench: Bench) -> Finish {
    Finish::ToolError("This tool always ends with an error of its own; nothing was done.".to_owned())
}
