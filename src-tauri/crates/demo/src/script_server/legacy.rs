//! The methods of sessions that begin with `initialize`; tasks only for 2025-11-25.
//!
//! The client decides what becomes a task (`params.task`), questions are requests to the client, and tasks belong to
//! their session. Sessions of older versions get blocking calls with progress.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::dialect_json::object;
use super::job_watch::JobWatch;
use super::state::{ScriptState, progress_token, task_id};
use super::{blocking_call, dialect_json, elicitation, session_updates};
use crate::script_server::script::{CallOrder, JobOwner, JobRetention, ScriptJob, ToolCard, ToolLength, ToolNeeds};
use mcp::server::Request;
use mcp::server::ResponseStream;
use mcp::server::Session;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};

/// Answers one request.
pub(super) async fn answer(
    state: &Arc<ScriptState>,
    session: &Arc<Session>,
    request: Request,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let params = &request.params.map();
    match request.method.as_str() {
        "initialize" => Ok(initialize(state, session)),
        "ping" => Ok(json!({})),
        "tools/list" => {
            if params.contains_key("cursor") {
                return Err(RequestError::params("this `cursor` is not known here"));
            }
            let tool = |tool| dialect_json::tool(tool, session.has_tasks());
            Ok(json!({"tools": state.script.tools().iter().map(tool).collect::<Vec<_>>()}))
        }
        "tools/call" => call(state, session, params, stream).await,
        "tasks/get" if session.has_tasks() => {
            let job = job(state, session, params)?;
            Ok(Value::Object(dialect_json::legacy_task(job.id(), &job.snapshot())))
        }
        "tasks/result" if session.has_tasks() => result(state, session, params, stream).await,
        "tasks/list" if session.has_tasks() => list(state, session, params),
        "tasks/cancel" if session.has_tasks() => cancel(state, session, params),
        _ => Err(RequestError::no_method()),
    }
}

fn initialize(state: &ScriptState, session: &Session) -> Value {
    let card = state.script.card();
    let mut capabilities = object(json!({"tools": {}}));
    if session.has_tasks() {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), tasks);
    }
    json!({
        "protocolVersion": session.version(),
        "capabilities": capabilities,
        "serverInfo": dialect_json::server_info(&card),
        "instructions": card.instructions,
    })
}

fn owner(session: &Session) -> JobOwner {
    JobOwner::Session(session.id().to_owned())
}

async fn call(
    state: &Arc<ScriptState>,
    session: &Arc<Session>,
    params: &Map<String, Value>,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let (tool, arguments) = state.tool_call(params)?;
    // Versions without tasks ignore the member (protocol.md §1.1).
    let augmented = params.get("task").filter(|_| session.has_tasks());
    match (tool.length, augmented) {
        (ToolLength::Short, Some(_)) => {
            return Err(RequestError::new(RequestErrorKind::MethodNotFound, "this tool does not run as a task"));
        }
        (ToolLength::Endless, None) => {
            return Err(RequestError::new(RequestErrorKind::MethodNotFound, "this tool only runs as a task"));
        }
        (ToolLength::Short | ToolLength::Long, None) | (ToolLength::Long | ToolLength::Endless, Some(_)) => {}
    }
    if let Some(refusal) = cannot_ask(session, tool) {
        return Ok(refusal);
    }
    let order = |kept| CallOrder { tool: tool.name, arguments, owner: owner(session), kept };
    let Some(augmented) = augmented else {
        let job = state.script.begin(order(JobRetention::WhileHeld))?;
        return blocking_call::legacy(state, session, job, progress_token(params), stream).await;
    };
    let ttl = match augmented.get("ttl") {
        None | Some(Value::Null) => None,
        Some(ttl) => {
            let ttl = ttl.as_f64().filter(|ttl| ttl.is_finite() && *ttl >= 0.0);
            let ttl = ttl.ok_or_else(|| RequestError::params("`task.ttl` must be a number of milliseconds"))?;
            Some(Duration::from_millis(ttl as u64))
        }
    };
    let job = state.script.begin(order(JobRetention::For(ttl)))?;
    let task = dialect_json::legacy_task(job.id(), &job.snapshot());
    session_updates::send(state, session, job, progress_token(params));
    Ok(json!({"task": task}))
}

/// The tool result that tells why the tool cannot ask this client, if so.
fn cannot_ask(session: &Session, tool: &ToolCard) -> Option<Value> {
    let declared = session.capabilities().get("elicitation").and_then(Value::as_object);
    let (has, what) = match tool.needs {
        ToolNeeds::Nobody => return None,
        ToolNeeds::Forms => (declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form")), "forms"),
        ToolNeeds::Visits => (declared.is_some_and(|modes| modes.contains_key("url")), "links"),
    };
    if has {
        return None;
    }
    let text = format!("This tool asks a person by {what}, and this client did not declare that it shows {what}.");
    Some(json!({"content": [{"type": "text", "text": text}], "isError": true}))
}

fn job(
    state: &ScriptState,
    session: &Session,
    params: &Map<String, Value>,
) -> Result<Arc<dyn ScriptJob>, RequestError> {
    state.script.job(&owner(session), task_id(params)?).ok_or_else(RequestError::unknown_task)
}

/// `tasks/result`: waits for the end of the job and asks its questions on this stream.
async fn result(
    state: &ScriptState,
    session: &Session,
    params: &Map<String, Value>,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let job = job(state, session, params)?;
    let mut watch = JobWatch::of(&*job, state.limits.push_rest);
    loop {
        let freed = state.claims.freed();
        let snapshot = job.snapshot();
        if let Some(ended) = blocking_call::outcome(&snapshot.stage) {
            let mut result = object(ended?);
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.extend(object(dialect_json::related(job.id())));
            }
            return Ok(Value::Object(result));
        }
        let claimed = snapshot.questions.iter().find_map(|question| {
            let claim = state.claims.take(job.id(), &question.key)?;
            Some((claim, question))
        });
        if let Some((_claim, question)) = claimed {
            let params = dialect_json::legacy_elicitation(job.id(), question, session.version(), Some(job.id()));
            if elicitation::settle(&*job, &question.key, stream.ask("elicitation/create", &params)).await {
                continue;
            }
            // This stream is gone, so nobody waits for the result here; the question is free for another one.
            return Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone"));
        }
        tokio::select! {
            alive = watch.changed() => if !alive {
                return Err(RequestError::unknown_task());
            },
            () = freed => {}
        }
    }
}

fn list(state: &ScriptState, session: &Session, params: &Map<String, Value>) -> Result<Value, RequestError> {
    let after = match params.get("cursor") {
        None | Some(Value::Null) => None,
        Some(cursor) => Some(cursor.as_str().ok_or_else(|| RequestError::params("`cursor` must be a string"))?),
    };
    let most = state.limits.tasks_per_page;
    let page = state.script.jobs(&owner(session), after, most + 1);
    let mut page = page.ok_or_else(|| RequestError::params("this `cursor` is not known here"))?;
    let more = page.len() > most;
    page.truncate(most);
    let tasks: Vec<_> =
        page.iter().map(|job| Value::Object(dialect_json::legacy_task(job.id(), &job.snapshot()))).collect();
    let mut list = object(json!({"tasks": tasks}));
    if let (true, Some(last)) = (more, page.last()) {
        list.insert("nextCursor".to_owned(), last.id().into());
    }
    Ok(Value::Object(list))
}

fn cancel(state: &ScriptState, session: &Session, params: &Map<String, Value>) -> Result<Value, RequestError> {
    let job = job(state, session, params)?;
    if job.snapshot().stage.is_over() {
        return Err(RequestError::params("the task is over already"));
    }
    job.declare_cancelled();
    Ok(Value::Object(dialect_json::legacy_task(job.id(), &job.snapshot())))
}
