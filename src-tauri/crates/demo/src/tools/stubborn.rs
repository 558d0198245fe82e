//! `stubborn`: acknowledges a cancel and works on to its end.
//!
//! It shows the difference between a cancel that was acknowledged and work that stopped.

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use serde_json::json;

use super::schemas::{reads_only, schema};
use crate::tool_context::{ToolContext, ToolOutcome};

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "stubborn",
        title: "Go on regardless",
        description: "Works for the given seconds. It acknowledges a cancel and then goes on to its end, as servers \
                      may.",
        input_schema: schema(
            json!({"seconds": {"type": "integer", "minimum": 1, "maximum": 3_000, "default": 60,
                               "description": "How long to work."}}),
            &[],
        ),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let seconds = context.whole("seconds", 60);
    let stop = context.stopping();
    let mut asked_at = None;
    for done in 0..seconds {
        if stop.is_cancelled() && asked_at.is_none() {
            asked_at = Some(done);
        }
        let regardless = if asked_at.is_some() { ", asked to stop, going on" } else { "" };
        context.report(format!("{done} of {seconds} s{regardless}"), done, Some(seconds));
        tokio::time::sleep(context.limits.tick).await;
    }
    let asked = match asked_at {
        Some(at) => format!(" It was asked to stop after about {at} s and went on."),
        None if stop.is_cancelled() => " It was asked to stop at the very end.".to_owned(),
        None => " Nobody asked it to stop.".to_owned(),
    };
    ToolOutcome::Text(format!("Finished after {seconds} s of work.{asked}"), None)
}
