//! `tool_error`: answers at once with a result that has `isError`.
//!
//! It is never a task: it shows a plain call, and an error meant for the model.

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use serde_json::json;

use super::schemas::{reads_only, schema};
use crate::tool_context::{ToolContext, ToolOutcome};

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "tool_error",
        title: "Answer with a tool error",
        description: "Answers at once with a result that is marked as an error of the tool.",
        input_schema: schema(json!({}), &[]),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Short,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(_bench: ToolContext) -> ToolOutcome {
    ToolOutcome::ToolError("This tool always ends with an error of its own; nothing was done.".to_owned())
}
