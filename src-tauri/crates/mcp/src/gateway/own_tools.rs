//! Four small tools for agents whose client does not know tasks: wait, read, list, stop (ruling 23).
//!
//! Offered by token and by what the client declares, never by connection. A task is found by its handle alone, never by
//! equal arguments. They are calls like any other and take no way into servers; a server's tool of the same name wins,
//! and ours is left out then. The definitions together stay below 1,500 tokens, because every turn carries them.

use std::sync::Arc;
use std::time::Duration;

use domain::handle::{Sight, TaskHandle, agent_sight};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::guest::Guest;
use super::hold::{Held, Patience, hold};
use super::names::ToolPlace;
use super::tell::Teller;
use super::wire::{End, META_TASK};
use super::{Gate, clients, find, merge, modern, outcome, service, wire};
use crate::serve::fault::{Fault, FaultKind};
use crate::serve::{Params, Seat};

const WAIT: &str = "tasks_wait";
const RESULT: &str = "tasks_result";
const LIST: &str = "tasks_list";
const CANCEL: &str = "tasks_cancel";

/// The four, as they stand in `tools/list`.
fn four() -> [(&'static str, Value); 4] {
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
            "Waits for a call that goes on in the background. Returns its result when it has ended, otherwise says that \
             it goes on; then wait again or do something else meanwhile.",
            json!({
                "task": task,
                "seconds": {"type": "integer", "minimum": 1, "description": "How long to wait at most; about 20 is the longest."},
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
            "Ask a task to stop",
            "Asks the server to stop a call that goes on in the background. The server may finish it all the same.",
            json!({"task": task}),
            json!(["task"]),
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}),
        ),
    ]
}

/// The definitions for this agent's list of tools, those whose names are not `taken` by its servers.
pub(super) fn definitions(guest: &Guest, taken: &dyn Fn(&str) -> bool) -> Vec<Box<RawValue>> {
    if !guest.wants_own_tools() {
        return Vec::new();
    }
    let free = four().into_iter().filter(|(name, _)| {
        let is_taken = taken(name);
        if is_taken {
            tracing::info!(tool = name, "a server has a tool of this name, so the gateway's own is left out");
        }
        !is_taken
    });
    free.filter_map(|(_, tool)| serde_json::value::to_raw_value(&tool).ok()).collect()
}

/// Whether this name means one of ours for this agent.
pub(super) async fn is_ours(gate: &Arc<Gate>, guest: &Guest, name: &str) -> bool {
    if !matches!(name, WAIT | RESULT | LIST | CANCEL) || !guest.wants_own_tools() {
        return false;
    }
    // With all servers behind the door, theirs have a prefix.
    let Some(server) = guest.server else { return true };
    match gate.engine.tools(server).await {
        Ok(tools) => !tools.iter().any(|tool| tool.name == name),
        // A server that is away does nothing with the call; ours reads what is here.
        Err(_) => true,
    }
}

/// Answers a call of one of ours.
///
/// # Errors
/// The error that a task ended with, raw, or ours.
pub(super) async fn call(
    gate: &Arc<Gate>,
    guest: &Guest,
    name: &str,
    params: &Params,
    seat: &Seat,
) -> Result<Box<RawValue>, Fault> {
    let arguments = params.value("arguments").and_then(|said| match said {
        Value::Object(members) => Some(members),
        _ => None,
    });
    let arguments = arguments.unwrap_or_default();
    if name == LIST {
        return list(gate, guest).await;
    }
    let Some(task) = arguments.get("task").and_then(Value::as_str) else {
        return says(guest, "`task` must be the handle of a task.", true, None);
    };
    let handle = match find::in_words(gate, guest, task).await {
        Ok(handle) => handle,
        Err(fault) if fault.kind == FaultKind::InvalidParams => {
            return says(guest, "There is no such task. `tasks_list` shows yours.", true, None);
        }
        Err(fault) => return Err(fault),
    };
    match name {
        WAIT => wait(gate, guest, &handle, &arguments, params, seat).await,
        RESULT => result(gate, guest, &handle, &arguments).await,
        _ => {
            modern::ask_stop(gate, guest, handle.id).await?;
            let text = match agent_sight(&handle, gate.clock.now()) {
                sight if sight.is_terminal() => "The task is over already.",
                _ => "The server was asked to stop. It may finish all the same; `tasks_wait` tells how it ends.",
            };
            says(guest, text, false, Some(&handle))
        }
    }
}

async fn wait(
    gate: &Arc<Gate>,
    guest: &Guest,
    handle: &Arc<TaskHandle>,
    arguments: &Map<String, Value>,
    params: &Params,
    seat: &Seat,
) -> Result<Box<RawValue>, Fault> {
    let asked = arguments.get("seconds").and_then(Value::as_u64).map(Duration::from_secs);
    let most = gate.policy.gateway.wait_max.min(clients::patience(guest.client.program(), &gate.policy));
    let patience = Patience::Limit(Instant::now() + asked.unwrap_or(most).min(most));
    let (mut teller, _listener) = Teller::new(gate, guest, handle.server, params.progress_token());
    let place = ToolPlace { server: handle.server, tool: handle.tool.clone().unwrap_or_else(|| Arc::from("")) };
    // Whoever gives up waiting wants nothing of the task.
    hold(gate, guest, Held { id: handle.id, place, patience, waits: true }, &mut teller, seat).await
}

async fn result(
    gate: &Arc<Gate>,
    guest: &Guest,
    handle: &Arc<TaskHandle>,
    arguments: &Map<String, Value>,
) -> Result<Box<RawValue>, Fault> {
    let sight = agent_sight(handle, gate.clock.now());
    if !sight.is_terminal() {
        let message = last_word(handle, &sight);
        let text = format!("The task still runs.{message} `tasks_wait` waits for it.");
        return says(guest, &text, false, Some(handle));
    }
    let end = outcome::end(gate, guest, handle, &sight).await?;
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let (offset, limit) = (number("offset"), number("limit"));
    let page = gate.policy.gateway.result_page_bytes;
    match end {
        End::Result(raw) if offset.is_some() || limit.is_some() || raw.get().len() > page => {
            let text = words(&raw);
            let part = part(&text, offset.unwrap_or(0), limit.unwrap_or(page).min(page));
            says(guest, &part, false, Some(handle))
        }
        end => outcome::reply(guest, end),
    }
}

/// What a result says in words: its texts, or the whole of it where it has none.
fn words(result: &RawValue) -> String {
    let value: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let blocks = value.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    if texts.is_empty() { result.get().to_owned() } else { texts.join("\n") }
}

/// The characters from `offset` on, at most `limit` bytes of them, and where to go on.
fn part(text: &str, offset: usize, limit: usize) -> String {
    let all = text.chars().count();
    let mut said = String::new();
    let mut count = 0;
    for character in text.chars().skip(offset) {
        if said.len() + character.len_utf8() > limit && count > 0 {
            break;
        }
        said.push(character);
        count += 1;
    }
    let upto = offset.saturating_add(count);
    if upto < all {
        said.push_str(&format!("\n[{upto} of {all} characters; continue with offset {upto}]"));
    }
    said
}

async fn list(gate: &Arc<Gate>, guest: &Guest) -> Result<Box<RawValue>, Fault> {
    let most = gate.policy.gateway.tasks_per_page;
    let tasks =
        gate.registry.agent_tasks(guest.agent, None, most).await.map_err(|error| service::unreadable(&error))?;
    let servers = gate.engine.servers();
    let now = gate.clock.now();
    let mut lines = Vec::new();
    for task in tasks {
        let sight = agent_sight(&task, now);
        let (Some(word), true) = (wire::status(&sight), guest.server.is_none_or(|server| server == task.server)) else {
            continue;
        };
        let server = servers.iter().find(|(id, _)| *id == task.server).map_or("?", |(_, name)| name);
        let tool = task.tool.as_deref().unwrap_or("?");
        let age = now.since(task.created).as_secs();
        let waits = match &sight {
            Sight::Working { message: Some(message) } => format!(" ({message})"),
            _ => String::new(),
        };
        let short = find::short(gate, guest, task.id).await;
        lines.push(format!("{short}  {word}{waits}  {server} {tool}  {age} s ago"));
    }
    let text = if lines.is_empty() { "There are no tasks of yours.".to_owned() } else { lines.join("\n") };
    says(guest, &text, false, None)
}

/// The ordinary result of a call that outlasts its client: the work goes on under a short handle.
///
/// # Errors
/// When it cannot be written.
pub(super) async fn goes_on(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    place: &ToolPlace,
) -> Result<Box<RawValue>, Fault> {
    let short = find::short(gate, guest, handle.id).await;
    let sight = agent_sight(handle, gate.clock.now());
    let message = last_word(handle, &sight);
    let next = if guest.wants_own_tools() {
        format!(
            "Call `{WAIT}` with {{\"task\":\"{short}\"}} to wait for it, `{RESULT}` to read its result later, or \
             `{CANCEL}` to stop it. Do not call the tool again for this."
        )
    } else {
        "A person can follow it in Taskwarden.".to_owned()
    };
    let text = format!("The work goes on in the background as task {short}.{message} {next}");
    // A client that knows the tool's output schema takes no result without structured content but an error.
    let shaped = merge::listed_tool(gate, place).is_some_and(|tool| tool.contains("\"outputSchema\""));
    says(guest, &text, shaped, Some(handle))
}

/// What was said last about the work: words of a server, shown as such.
fn last_word(handle: &TaskHandle, sight: &Sight) -> String {
    wire::message(handle, sight).map_or_else(String::new, |said| format!(" Its last word: \"{said}\"."))
}

/// A tool result of ours.
fn says(guest: &Guest, text: &str, is_error: bool, task: Option<&TaskHandle>) -> Result<Box<RawValue>, Fault> {
    let mut said = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    if let (Some(task), Some(members)) = (task, said.as_object_mut()) {
        members.insert("_meta".to_owned(), json!({META_TASK: {"id": task.id.to_string()}}));
    }
    if guest.is_modern() { wire::ours("complete", &said) } else { service::result(&said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_tools_cost_a_turn_less_than_1500_tokens() {
        /// Bytes of JSON a token, at the least, of common tokenisers on schemas. Judgement, see the brief of ruling 23.
        const BYTES_A_TOKEN: f64 = 3.2;
        let bytes: usize = four().iter().map(|(_, tool)| tool.to_string().len()).sum();
        assert!((bytes as f64) / BYTES_A_TOKEN < 1_500.0, "{bytes} bytes");
        assert!(bytes <= domain::policy::Policy::default().gateway.own_tools_cap_bytes, "{bytes} bytes");
    }

    #[test]
    fn a_long_result_is_read_in_parts_without_losing_a_character() {
        let text = "äöü".repeat(100);
        let (mut offset, mut read) = (0, String::new());
        for _ in 0..1_000 {
            let said = part(&text, offset, 64);
            let Some((piece, note)) = said.split_once("\n[") else {
                read.push_str(&said);
                break;
            };
            read.push_str(piece);
            offset = note.split(' ').next().and_then(|upto| upto.parse().ok()).expect("it says where to go on");
        }
        assert_eq!(read, text, "the parts are the whole");
        assert_eq!(part("a", 7, 64), "", "nothing is beyond the end");
    }
}
