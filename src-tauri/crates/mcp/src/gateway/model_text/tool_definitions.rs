//! The four task tools as a model reads them in `tools/list`: wait, read, list, cancel (ruling 23).
//!
//! Together they stay below 1,500 tokens, because every turn of a conversation carries them. What they do is
//! `calls/task_tools.rs`.

use serde_json::{Value, json};

pub(crate) const WAIT: &str = "tasks_wait";

pub(crate) const RESULT: &str = "tasks_result";

pub(crate) const LIST: &str = "tasks_list";

pub(crate) const CANCEL: &str = "tasks_cancel";

/// The names of all four.
pub(crate) const NAMES: [&str; 4] = [WAIT, RESULT, LIST, CANCEL];

/// The definitions, by name.
pub(crate) fn definitions() -> [(&'static str, Value); 4] {
    let task = json!({"type": "string", "description": "The handle that the call named, such as hdl_3k9f2m7q."});
    let tool = |name: &'static str,
                title: &str,
                description: &str,
                properties: Value,
                required: Value,
                hints: Value| {
        let schema =
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let tool = json!({"name": name, "title": title, "description": description, "inputSchema": schema, "annotations": hints});
        (name, tool)
    };
    let reads = json!({"readOnlyHint": true, "openWorldHint": false});
    [
        tool(
            WAIT,
            "Wait for a task",
            "Waits for a call that goes on in the background, as long as your program allows. Returns its result when it \
             has ended, otherwise says that it goes on and how to wait again; or do something else meanwhile.",
            json!({
                "task": task,
                "seconds": {"type": "integer", "minimum": 1, "description": "How long to wait at most; leave it out to wait as long as possible."},
                "since": {"type": "integer", "minimum": 0, "description": "The number that the last answer named; it makes no two calls alike."},
            }),
            json!(["task"]),
            reads.clone(),
        ),
        tool(
            RESULT,
            "Read a task's result",
            "Returns the result of a call that ended in the background, as often as needed. A long result comes in parts: \
             continue at the offset it names. Does not wait.",
            json!({
                "task": task,
                "offset": {"type": "integer", "minimum": 0, "description": "Where in the result's text to begin."},
                "limit": {"type": "integer", "minimum": 1, "description": "How many characters at most."},
            }),
            json!(["task"]),
            reads.clone(),
        ),
        tool(
            LIST,
            "List tasks",
            "Lists the calls of yours that went on in the background: handle, tool, state and age, newest first.",
            json!({}),
            json!([]),
            reads,
        ),
        tool(
            CANCEL,
            "Cancel a task",
            "Asks the server to cancel a call that goes on in the background. The server may finish it all the same.",
            json!({"task": task}),
            json!(["task"]),
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use domain::ports::TokenCounter;
    use domain::tokens::Family;

    use super::*;

    #[test]
    fn the_four_tools_cost_a_turn_less_than_1500_tokens() {
        let list = json!({"tools": definitions().map(|(_, tool)| tool)}).to_string();
        let weigher = tokens::FamilyCounter::new();
        for family in [Family::O200k, Family::Cl100k, Family::Claude3, Family::Claude47, Family::Gemini, Family::Llama]
        {
            let counted: u64 = weigher.tools(family, &list).into_values().map(|count| count.tokens).sum();
            assert!(counted > 100 && counted < 1_500, "{counted} tokens of {}", family.label());
        }
        let bytes: usize = definitions().iter().map(|(_, tool)| tool.to_string().len()).sum();
        assert!(bytes <= domain::policy::Policy::default().gateway.own_tools_cap_bytes, "{bytes} bytes");
    }
}
