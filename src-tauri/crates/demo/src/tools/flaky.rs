//! `flaky`: fails with a JSON-RPC error after a second of work.
//!
//! It shows how a task that *failed* differs from one that completed with a tool error (`tool_error.rs`).

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use serde_json::json;

use super::schemas::{reads_only, schema};
use crate::tool_context::{ToolContext, ToolOutcome};

/// In the range that carries no meaning of MCP.
const CODE: i64 = -32_010;

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "flaky",
        title: "Fail",
        description: "Works for a second and then always fails with a JSON-RPC error.",
        input_schema: schema(json!({}), &[]),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    context.report("about to fail".to_owned(), 0, Some(1));
    tokio::time::sleep(context.limits.tick).await;
    ToolOutcome::RpcError(RequestError::new(
        RequestErrorKind::OfTool(CODE),
        "the work failed half way, as it always does",
    ))
}
