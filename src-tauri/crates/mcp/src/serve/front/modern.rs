//! The methods of 2026-07-28: every request stands for itself, and we decide what becomes a task.
//!
//! A long call becomes a task when this request declares the extension; without it the call is held, and a question
//! goes back as `input_required` (`hold.rs`). Nothing here remembers a client.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::desk::{Job, Kept, Length, Needs, Order, Owner, Reply, ToolCard};
use super::super::fault::{Fault, TASKS_EXTENSION};
use super::super::seat::Seat;
use super::super::service::{ModernClient, Request};
use super::super::version;
use super::{Inner, hold, listen, progress_token, task_id, wire};

/// Answers one request.
pub(super) async fn answer(
    front: &Arc<Inner>,
    client: &ModernClient,
    request: Request,
    seat: Seat,
) -> Result<Value, Fault> {
    let params = request.params.map();
    let card = front.desk.card();
    let complete = |members| Ok(wire::modern_result("complete", members, &card));
    match request.method.as_str() {
        "server/discover" => complete(discover(front)),
        "tools/list" => complete(tools(front, &params)?),
        "tools/call" => call(front, client, &params, seat).await,
        "tasks/get" => {
            let job = job(front, client, &params)?;
            complete(wire::modern_task(job.id(), &job.sheet(), &card))
        }
        "tasks/update" => {
            update(front, client, &params)?;
            complete(Map::new())
        }
        "tasks/cancel" => {
            job(front, client, &params)?.ask_stop();
            complete(Map::new())
        }
        "subscriptions/listen" => listen::listen(front, client, &request, seat).await,
        _ => Err(Fault::no_method()),
    }
}

fn discover(front: &Inner) -> Map<String, Value> {
    let card = front.desk.card();
    members(json!({
        "supportedVersions": version::MODERN,
        "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
        "instructions": card.instructions,
        "ttlMs": fresh_ms(front),
        "cacheScope": "private",
    }))
}

fn tools(front: &Inner, params: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    if params.contains_key("cursor") {
        return Err(Fault::params("this `cursor` is not known here"));
    }
    let tools: Vec<Value> = front.desk.tools().iter().map(|tool| wire::tool(tool, false)).collect();
    Ok(members(json!({"tools": tools, "ttlMs": fresh_ms(front), "cacheScope": "private"})))
}

fn fresh_ms(front: &Inner) -> u64 {
    u64::try_from(front.limits.list_fresh.as_millis()).unwrap_or(u64::MAX)
}

async fn call(
    front: &Arc<Inner>,
    client: &ModernClient,
    params: &Map<String, Value>,
    seat: Seat,
) -> Result<Value, Fault> {
    let (tool, arguments) = front.tool_call(params)?;
    may_ask(client, tool)?;
    if let Some(state) = params.get("requestState") {
        let state = state.as_str().ok_or_else(|| Fault::params("`requestState` must be a text"))?;
        // What cannot be read leaves the call parked, for a better retry.
        let replies = replies(&*front.parked.find(state, tool.name, &arguments)?, params)?;
        let job = front.parked.resume(state)?;
        give(&*job, replies);
        return hold::modern(front, job, tool.name, arguments, progress_token(params), seat).await;
    }
    if tool.length == Length::Endless && !client.has_tasks() {
        return Err(Fault::needs_tasks());
    }
    let order = |kept| Order { tool: tool.name, arguments: arguments.clone(), owner: Owner::Bearer, kept };
    if tool.length != Length::Short && client.has_tasks() {
        let job = front.desk.begin(order(Kept::For(None)))?;
        return Ok(wire::modern_result("task", wire::modern_seed(job.id(), &job.sheet()), &front.desk.card()));
    }
    let job = front.desk.begin(order(Kept::WhileHeld))?;
    hold::modern(front, job, tool.name, arguments, progress_token(params), seat).await
}

/// Whether the client can show what the tool asks; told before anything begins.
fn may_ask(client: &ModernClient, tool: &ToolCard) -> Result<(), Fault> {
    let declared = client.capabilities.get("elicitation").and_then(Value::as_object);
    let (has, mode) = match tool.needs {
        Needs::Nobody => return Ok(()),
        // An empty object means forms (protocol.md §2.8).
        Needs::Forms => (declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form")), "form"),
        Needs::Visits => (declared.is_some_and(|modes| modes.contains_key("url")), "url"),
    };
    if has {
        return Ok(());
    }
    Err(Fault::needs(json!({"elicitation": {mode: {}}}), "this tool asks a person, which the client must declare"))
}

/// The job of a `tasks/*` request from a client that declares the extension.
fn job(front: &Inner, client: &ModernClient, params: &Map<String, Value>) -> Result<Arc<dyn Job>, Fault> {
    if !client.has_tasks() {
        return Err(Fault::needs_tasks());
    }
    front.desk.job(&Owner::Bearer, task_id(params)?).ok_or_else(Fault::unknown_task)
}

fn update(front: &Inner, client: &ModernClient, params: &Map<String, Value>) -> Result<(), Fault> {
    let job = job(front, client, params)?;
    if !params.get("inputResponses").is_some_and(Value::is_object) {
        return Err(Fault::params("`inputResponses` must be an object"));
    }
    give(&*job, replies(&*job, params)?);
    Ok(())
}

/// The answers of `inputResponses` to questions that are open; all must be readable.
fn replies(job: &dyn Job, params: &Map<String, Value>) -> Result<Vec<(String, Reply)>, Fault> {
    let Some(responses) = params.get("inputResponses") else { return Ok(Vec::new()) };
    let responses = responses.as_object().ok_or_else(|| Fault::params("`inputResponses` must be an object"))?;
    let open = job.sheet().questions;
    let known = responses.iter().filter(|(key, _)| open.iter().any(|question| question.key == **key));
    known.map(|(key, answer)| wire::reply(answer).map(|reply| (key.clone(), reply))).collect()
}

fn give(job: &dyn Job, replies: Vec<(String, Reply)>) {
    for (key, reply) in replies {
        job.answer(&key, reply);
    }
}

pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
