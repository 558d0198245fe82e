//! `flaky`: fails with a JSON-RPC error after a second of work.
//!
//! For seeing how a task that *failed* differs from one that completed with a tool error (`tool_error.rs`).

use mcp::serve::desk::{Length, Needs, ToolCard};
use mcp::serve::fault::{Fault, FaultKind};
use serde_json::json;

use super::{reads_only, schema};
use crate::bench::{Bench, Finish};

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
        length: Length::Long,
        needs: Needs::Nobody,
    }
}

pub(super) async fn run(bench: Bench) -> Finish {
    bench.report("about to fail".to_owned(), 0, Some(1));
    tokio::time::sleep(bench.limits.tick).await;
    Finish::Fault(Fault::new(FaultKind::OfTool(CODE), "the work failed half way, as it always does"))
}
