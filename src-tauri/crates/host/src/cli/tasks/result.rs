//! `taskwarden tasks result`: prints a result, its text as it is, or the raw payload with `--json`.
//!
//! `call --wait` prints through here as well. Whether there is a result is the core's answer.

use api::calls::OneTask;
use api::calls::tasks::{ResultKind, TaskResult};
use api::{ApiError, Code};
use serde_json::Value;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line, short_id};
use crate::config::Config;

pub(super) async fn run(id: String, config: &Config, screen: &Screen) -> CommandResult {
    let result: TaskResult = CoreClient::attach_or_read(config).await?.request("tasks.result", &OneTask { id }).await?;
    print_result(&result, screen)
}

/// Prints a result: its text unchanged, or the raw payload with `--json`.
pub(crate) fn print_result(result: &TaskResult, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.raw(format!("{}\n", result.payload.get()).as_bytes());
        return Ok(if result.is_error { FAILED } else { DONE });
    }
    let payload: Value = serde_json::from_str(result.payload.get()).map_err(|error| {
        ApiError::new(Code::Failed, format!("the stored result cannot be read: {error}"), "Try `--json`.")
    })?;
    if result.kind == ResultKind::Error {
        let code = payload.get("code").and_then(Value::as_i64).unwrap_or_default();
        let received = || payload.get("message").and_then(Value::as_str);
        let message = result.message.as_deref().or_else(received).unwrap_or("no message");
        return Err(ApiError::new(
            Code::Failed,
            format!("task `{}` failed: the server answered with error {code}: {}", result.id, one_line(message)),
            format!("`taskwarden tasks result {} --json` prints all of it.", short_id(&result.id, false)),
        ));
    }
    let text = content(&payload);
    let text = if screen.is_terminal() { sentences::plain(&text) } else { text };
    screen.raw(text.as_bytes());
    if !text.ends_with('\n') {
        screen.raw(b"\n");
    }
    Ok(if result.is_error { FAILED } else { DONE })
}

/// The text blocks of a result. Other blocks are named; a result of another shape is printed as JSON.
fn content(payload: &Value) -> String {
    let Some(blocks) = payload.get("content").and_then(Value::as_array) else { return pretty(payload) };
    let mut parts: Vec<String> = blocks
        .iter()
        .map(|block| match (block.get("type").and_then(Value::as_str), block.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => text.to_owned(),
            (Some(kind), _) => format!("[{}; `--json` prints it]", one_line(kind)),
            (None, _) => pretty(block),
        })
        .collect();
    if parts.is_empty()
        && let Some(structured) = payload.get("structuredContent")
    {
        parts.push(pretty(structured));
    }
    parts.join("\n")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
