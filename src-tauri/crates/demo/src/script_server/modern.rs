//! The methods of 2026-07-28: requests are self-contained, and the server decides what becomes a task.
//!
//! A long call becomes a task when its request declares the extension. Without it the call blocks, and a question is
//! returned as `input_required` (`blocking_call.rs`). No client state is kept here.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::dialect_json::object;
use super::state::{ScriptState, progress_token, task_id};
use super::{blocking_call, dialect_json, subscription};
use crate::script_server::script::{
    CallOrder, ElicitationReply, JobOwner, JobRetention, ScriptJob, ToolCard, ToolLength, ToolNeeds,
};
use mcp::server::ResponseStream;
use mcp::server::rpc_error::{RequestError, TASKS_EXTENSION};
use mcp::server::version;
use mcp::server::{ModernClient, Request};

/// Answers one request.
pub(super) async fn answer(
    state: &Arc<ScriptState>,
    client: &ModernClient,
    request: Request,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let params = request.params.map();
    let card = state.script.card();
    let complete = |members| Ok(dialect_json::modern_result("complete", members, &card));
    match request.method.as_str() {
        "server/discover" => complete(discover(state)),
        "tools/list" => complete(tools(state, &params)?),
        "tools/call" => call(state, client, &params, stream).await,
        "tasks/get" => {
            let job = job(state, client, &params)?;
            complete(dialect_json::modern_task(job.id(), &job.snapshot(), &card))
        }
        "tasks/update" => {
            update(state, client, &params)?;
            complete(Map::new())
        }
        "tasks/cancel" => {
            job(state, client, &params)?.request_cancel();
            complete(Map::new())
        }
        "subscriptions/listen" => subscription::listen(state, client, &request, stream).await,
        _ => Err(RequestError::no_method()),
    }
}

fn discover(state: &ScriptState) -> Map<String, Value> {
    let card = state.script.card();
    object(json!({
        "supportedVersions": version::MODERN,
        "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
        "instructions": card.instructions,
        "ttlMs": fresh_ms(state),
        "cacheScope": "private",
    }))
}

fn tools(state: &ScriptState, params: &Map<String, Value>) -> Result<Map<String, Value>, RequestError> {
    if params.contains_key("cursor") {
        return Err(RequestError::params("this `cursor` is not known here"));
    }
    let tools: Vec<Value> = state.script.tools().iter().map(|tool| dialect_json::tool(tool, false)).collect();
    Ok(object(json!({"tools": tools, "ttlMs": fresh_ms(state), "cacheScope": "private"})))
}

fn fresh_ms(state: &ScriptState) -> u64 {
    u64::try_from(state.limits.list_fresh.as_millis()).unwrap_or(u64::MAX)
}

async fn call(
    state: &Arc<ScriptState>,
    client: &ModernClient,
    params: &Map<String, Value>,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let (tool, arguments) = state.tool_call(params)?;
    check_can_ask(client, tool)?;
    if let Some(request_state) = params.get("requestState") {
        let request_state =
            request_state.as_str().ok_or_else(|| RequestError::params("`requestState` must be a string"))?;
        // What cannot be read leaves the call parked, for a better retry.
        let replies = replies(&*state.parked.find(request_state, tool.name, &arguments)?, params)?;
        let job = state.parked.resume(request_state)?;
        give(&*job, replies);
        return blocking_call::modern(state, job, tool.name, arguments, progress_token(params), stream).await;
    }
    if tool.length == ToolLength::Endless && !client.has_tasks() {
        return Err(RequestError::needs_tasks());
    }
    let order = |kept| CallOrder { tool: tool.name, arguments: arguments.clone(), owner: JobOwner::Bearer, kept };
    if tool.length != ToolLength::Short && client.has_tasks() {
        let job = state.script.begin(order(JobRetention::For(None)))?;
        return Ok(dialect_json::modern_result(
            "task",
            dialect_json::modern_seed(job.id(), &job.snapshot()),
            &state.script.card(),
        ));
    }
    let job = state.script.begin(order(JobRetention::WhileHeld))?;
    blocking_call::modern(state, job, tool.name, arguments, progress_token(params), stream).await
}

/// Refuses a tool whose questions the client cannot show, before anything starts.
fn check_can_ask(client: &ModernClient, tool: &ToolCard) -> Result<(), RequestError> {
    let declared = client.capabilities.get("elicitation").and_then(Value::as_object);
    let (has, mode) = match tool.needs {
        ToolNeeds::Nobody => return Ok(()),
        // An empty object means forms (protocol.md §2.8).
        ToolNeeds::Forms => (declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form")), "form"),
        ToolNeeds::Visits => (declared.is_some_and(|modes| modes.contains_key("url")), "url"),
    };
    if has {
        return Ok(());
    }
    Err(RequestError::needs(
        json!({"elicitation": {mode: {}}}),
        "this tool asks a person, which the client must declare",
    ))
}

/// The job of a `tasks/*` request from a client that declares the extension.
fn job(
    state: &ScriptState,
    client: &ModernClient,
    params: &Map<String, Value>,
) -> Result<Arc<dyn ScriptJob>, RequestError> {
    if !client.has_tasks() {
        return Err(RequestError::needs_tasks());
    }
    state.script.job(&JobOwner::Bearer, task_id(params)?).ok_or_else(RequestError::unknown_task)
}

fn update(state: &ScriptState, client: &ModernClient, params: &Map<String, Value>) -> Result<(), RequestError> {
    let job = job(state, client, params)?;
    if !params.get("inputResponses").is_some_and(Value::is_object) {
        return Err(RequestError::params("`inputResponses` must be an object"));
    }
    give(&*job, replies(&*job, params)?);
    Ok(())
}

/// The answers of `inputResponses` to questions that are open; all must be readable.
fn replies(job: &dyn ScriptJob, params: &Map<String, Value>) -> Result<Vec<(String, ElicitationReply)>, RequestError> {
    let Some(responses) = params.get("inputResponses") else { return Ok(Vec::new()) };
    let responses = responses.as_object().ok_or_else(|| RequestError::params("`inputResponses` must be an object"))?;
    let open = job.snapshot().questions;
    let known = responses.iter().filter(|(key, _)| open.iter().any(|question| question.key == **key));
    known.map(|(key, answer)| dialect_json::reply(answer).map(|reply| (key.clone(), reply))).collect()
}

fn give(job: &dyn ScriptJob, replies: Vec<(String, ElicitationReply)>) {
    for (key, reply) in replies {
        job.answer(&key, reply);
    }
}
