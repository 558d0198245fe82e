//! Four small tools for agents whose client does not know tasks: wait, read, list, cancel (ruling 23).
//!
//! Offered by token and by what the client declares, never by connection. A task is found by its handle alone, never by
//! equal arguments. They are calls like any other and take no way into servers; a server's tool of the same name wins,
//! and ours is left out then. The definitions together stay below 1,500 tokens, because every turn carries them.

use std::sync::Arc;
use std::time::Duration;

use domain::task::{AgentView, ResultForm, TaskHandle, agent_view};
use domain::ids::ServerId;
use domain::task::payload::Payload;
use engine::Passed;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::budget::Tap;
use super::clients::{TimeoutWatch, WaitingProgram};
use super::guest::Guest;
use super::hold::{Held, Patience, hold};
use super::model_text::waiting::{self, GoingOn, State};
use super::slices::{self, META_SLICE, Range, Slice};
use super::tell::Teller;
use super::wire::META_TASK;
use super::{Gate, find, modern, outcome, scale, service, short, wire};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, RequestParams, ResponseStream};

/// The key under which a text of ours says that it brings nothing of a result.
pub(super) const META_BRINGS: &str = "io.taskwarden/brings";
pub(super) const WAIT: &str = "tasks_wait";
pub(super) const RESULT: &str = "tasks_result";
const LIST: &str = "tasks_list";
pub(super) const CANCEL: &str = "tasks_cancel";

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
    params: &RequestParams,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let arguments = params.value("arguments").and_then(|said| match said {
        Value::Object(members) => Some(members),
        _ => None,
    });
    let arguments = arguments.unwrap_or_default();
    if name == LIST {
        return list(gate, guest, tap).await;
    }
    let Some(task) = arguments.get("task").and_then(Value::as_str) else {
        return note(guest, "`task` must be the handle of a task.", true, None, tap);
    };
    let handle = match find::in_words(gate, guest, task).await {
        Ok(handle) => handle,
        Err(fault) if fault.kind == RequestErrorKind::InvalidParams => {
            let (text, is_error) = find::why_none(gate, guest, task).await;
            return note(guest, &text, is_error, None, tap);
        }
        Err(fault) => return Err(fault),
    };
    tap.about(&handle);
    match name {
        WAIT => wait(gate, guest, &handle, &arguments, (params, seat), tap).await,
        RESULT => result(gate, guest, &handle, &arguments, tap).await,
        _ => {
            modern::ask_stop(gate, guest, handle.id).await?;
            let text = match agent_view(&handle, gate.clock.now()) {
                sight if sight.is_terminal() => "The task is over already.",
                _ => "The server was asked to stop. It may finish all the same; `tasks_wait` tells how it ends.",
            };
            note(guest, text, false, Some(&handle), tap)
        }
    }
}

async fn wait(
    gate: &Arc<Gate>,
    guest: &Guest,
    handle: &Arc<TaskHandle>,
    arguments: &Map<String, Value>,
    (params, seat): (&RequestParams, &ResponseStream),
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let number = |name: &str| arguments.get(name).and_then(slices::whole);
    let (asked, since) = (number("seconds").map(Duration::from_secs), number("since"));
    let program = WaitingProgram::of(gate, guest, params, seat);
    let most = program.wait_limit(&gate.policy.gateway);
    let patience = Patience::Limit(Instant::now() + asked.unwrap_or(most).min(most));
    let (mut teller, _listener) = Teller::new(gate, guest, handle.server, params.progress_token());
    // Whoever gives up waiting wants nothing of the task.
    let _gives_up = TimeoutWatch::new(gate, guest, program, seat);
    let held = Held { id: handle.id, patience, waits: true, since };
    hold(gate, guest, held, &mut teller, seat, tap).await
}

async fn result(
    gate: &Arc<Gate>,
    guest: &Guest,
    handle: &Arc<TaskHandle>,
    arguments: &Map<String, Value>,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let sight = agent_view(handle, gate.clock.now());
    if !sight.is_terminal() {
        let text = told(gate, guest, handle, None, |task| task.no_result_yet()).await;
        let said = says(guest, &text, false, Some(handle), Brings::Nothing)?;
        tap.shows(gate.looks.at(gate, guest, handle).look(Payload::new(said.get())));
        return Ok(RawResult::Raw(said));
    }
    let (offset, limit) = match range(arguments) {
        Ok(range) => range,
        Err(wrong) => return note(guest, &wrong, true, Some(handle), tap),
    };
    let page = gate.policy.gateway.result_page_bytes;
    if let Some((text, form)) = outcome::readable(gate, guest, handle).await? {
        let is_part = match form {
            ResultForm::Slices => true,
            ResultForm::Whole | ResultForm::Trimmed { .. } => {
                let is_long = text.as_str().len() > page;
                // Parts are text: pictures and sounds that it may have come only with the whole.
                offset.is_some() || limit.is_some() || (is_long && short::unseen(text.as_str()).is_empty())
            }
        };
        if is_part {
            let range = Range { offset: offset.unwrap_or(0), tokens: None, chars: limit, bytes: Some(page) };
            return part(gate, guest, handle, (text, range), tap).await;
        }
    }
    if let (AgentView::Failed | AgentView::Completed, Some(text)) = (&sight, outcome::withheld(handle)) {
        return note(guest, &text, false, Some(handle), tap);
    }
    let end = outcome::of_call(gate, guest, handle, &sight).await?;
    tap.ended(&end);
    outcome::reply(guest, end).map(RawResult::Text)
}

/// From where on a result is wanted, and how many characters of it.
///
/// # Errors
/// In words for a model: the beginning once more would be no answer to what it meant.
fn range(arguments: &Map<String, Value>) -> Result<(Option<usize>, Option<usize>), String> {
    if let Some(unknown) = arguments.keys().find(|name| !matches!(name.as_str(), "task" | "offset" | "limit")) {
        return Err(format!("`{unknown}` is not known here; `{RESULT}` takes `task`, `offset` and `limit`."));
    }
    let number = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(said) => match slices::whole(said) {
            Some(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
            None => Err(format!("`{name}` {}.", slices::NO_NUMBER)),
        },
    };
    Ok((number("offset")?, number("limit")?))
}

/// A part of a result, as text, with where it goes on.
async fn part(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    (result, range): (Payload, Range),
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let family = scale::family(gate, guest, handle);
    let most = slices::most(gate, handle);
    let cut = scale::beside(gate, handle.id, move |scale| {
        slices::slice(scale, family, &scale.words(result.as_str()), range, most)
    });
    let Slice { mut text, offset, next, of } = cut.await?;
    if let Some(next) = next {
        text.push_str(&format!("\n[{next} of {of} characters; continue with offset {next}]"));
    }
    let said =
        says(guest, &text, false, Some(handle), Brings::Slice(json!({"offset": offset, "next": next, "of": of})))?;
    tap.shows(Passed::Slice(Payload::new(said.get())));
    Ok(RawResult::Raw(said))
}

async fn list(gate: &Arc<Gate>, guest: &Guest, tap: &mut Tap<'_>) -> Result<RawResult, RequestError> {
    let most = gate.policy.gateway.tasks_per_page;
    let tasks =
        gate.registry.agent_tasks(guest.agent, None, most).await.map_err(|error| service::unreadable(&error))?;
    let servers = gate.engine.servers();
    let now = gate.clock.now();
    let (mut lines, mut sights) = (Vec::new(), Vec::new());
    for task in tasks {
        let sight = agent_view(&task, now);
        let (Some(word), true) = (wire::status(&sight), guest.server.is_none_or(|server| server == task.server)) else {
            continue;
        };
        let server = servers.iter().find(|(id, _)| *id == task.server).map_or("?", |(_, name)| name);
        let tool = task.tool.as_deref().unwrap_or("?");
        let age = now.since(task.created).as_secs();
        let waits = match &sight {
            AgentView::Working { message: Some(message) } => format!(" ({message})"),
            _ => String::new(),
        };
        sights.push((task.id, word, waits.clone()));
        let short = find::short(gate, guest, task.id).await;
        lines.push(format!("{short}  {word}{waits}  {server} {tool}  {age} s ago"));
    }
    let text = if lines.is_empty() { "There are no tasks of yours.".to_owned() } else { lines.join("\n") };
    let said = says(guest, &text, false, None, Brings::Nothing)?;
    if let Some(server) = guest.server {
        tap.at(server);
    }
    tap.shows(gate.looks.at_list(gate, guest, sights).look(Payload::new(said.get())));
    Ok(RawResult::Raw(said))
}

/// The ordinary result of a call that outlasts its client: the work goes on under a short handle.
///
/// # Errors
/// When it cannot be written.
pub(super) async fn goes_on(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    held: &Held,
) -> Result<Box<RawValue>, RequestError> {
    let text = told(gate, guest, handle, held.since, |task| task.text()).await;
    says(guest, &text, false, Some(handle), Brings::Nothing)
}

fn server_name(gate: &Gate, id: ServerId) -> Arc<str> {
    let known = gate.engine.servers().into_iter().find(|(server, _)| *server == id);
    known.map_or_else(|| Arc::from("?"), |(_, name)| name)
}

/// What a task that is not over is told as; `named` is the `since` of the call that is answered.
async fn told(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    named: Option<u64>,
    told: impl FnOnce(&GoingOn<'_>) -> String,
) -> String {
    let now = gate.clock.now();
    let (task, server) = (find::short(gate, guest, handle.id).await, server_name(gate, handle.server));
    let ran = now.since(handle.created);
    let why = short::waits(gate, guest, handle);
    let message = wire::message(handle, &agent_view(handle, now));
    let progress = handle.progress.as_ref();
    let of_task = handle.view.task().and_then(|task| task.message.as_deref());
    let of_progress = progress.and_then(|progress| progress.message.as_deref());
    let message = message.as_deref();
    let is_servers = message == of_task || message == of_progress;
    let (said, ours) = if is_servers { (message, None) } else { (None, message) };
    told(&GoingOn {
        task: &task,
        tool: handle.tool.as_deref(),
        server: &server,
        ran,
        usual: handle.usual,
        state: why.as_deref().map_or(State::Running { ours, progress, said }, State::Held),
        since: guest.wants_own_tools().then(|| waiting::next_since(ran, named)),
    })
}

/// What of a result is in a text of ours.
enum Brings {
    /// Nothing.
    Nothing,
    /// A part: where it stands.
    Slice(Value),
}

/// A word of ours that brings nothing of a result.
fn note(
    guest: &Guest,
    text: &str,
    is_error: bool,
    task: Option<&TaskHandle>,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let said = says(guest, text, is_error, task, Brings::Nothing)?;
    tap.handle(&said);
    Ok(RawResult::Raw(said))
}

/// A tool result of ours.
fn says(
    guest: &Guest,
    text: &str,
    is_error: bool,
    task: Option<&TaskHandle>,
    brings: Brings,
) -> Result<Box<RawValue>, RequestError> {
    let mut meta = match brings {
        Brings::Nothing => json!({META_BRINGS: false}),
        Brings::Slice(place) => json!({META_SLICE: place}),
    };
    if let (Some(task), Some(meta)) = (task, meta.as_object_mut()) {
        meta.insert(META_TASK.to_owned(), json!({"id": task.id.to_string()}));
    }
    let said = json!({"content": [{"type": "text", "text": text}], "isError": is_error, "_meta": meta});
    if guest.is_modern() { wire::ours("complete", &said) } else { service::result(&said) }
}

#[cfg(test)]
mod tests {
    use domain::ports::TokenCounter;
    use domain::tokens::Family;

    use super::*;

    #[test]
    fn the_four_tools_cost_a_turn_less_than_1500_tokens() {
        let list = json!({"tools": four().map(|(_, tool)| tool)}).to_string();
        let weigher = tokens::FamilyCounter::new();
        for family in [Family::O200k, Family::Cl100k, Family::Claude3, Family::Claude47, Family::Gemini, Family::Llama]
        {
            let counted: u64 = weigher.tools(family, &list).into_values().map(|count| count.tokens).sum();
            assert!(counted > 100 && counted < 1_500, "{counted} tokens of {}", family.label());
        }
        let bytes: usize = four().iter().map(|(_, tool)| tool.to_string().len()).sum();
        assert!(bytes <= domain::policy::Policy::default().gateway.own_tools_cap_bytes, "{bytes} bytes");
    }
}
