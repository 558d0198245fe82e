//! A small MCP server of 2025-11-25 over Streamable HTTP with tasks, for the place behind the checks.
//!
//! Tools: `quick` answers at once, `work` completes after three polls, `hold` works until it is cancelled; the last two
//! may be tasks and `hold` must be one. It keeps sessions, answers GET with 405 and sends nothing on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::oauth::wire::{json_reply, random};

const VERSION: &str = "2025-11-25";
const STAMP: &str = "2026-11-21T00:00:00.000Z";
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// Polls until `work` is done.
const POLLS: u32 = 3;

struct Task {
    tool: String,
    polls: u32,
    status: &'static str,
}

#[derive(Default)]
struct Memory {
    sessions: BTreeSet<String>,
    tasks: BTreeMap<String, Task>,
    violations: Vec<String>,
}

struct Room {
    poll_interval: Duration,
    memory: Mutex<Memory>,
    changed: Notify,
}

/// A running server; stops accepting when dropped.
pub(super) struct LegacyServer {
    room: Arc<Room>,
    address: SocketAddr,
    serving: tokio::task::AbortHandle,
}

impl LegacyServer {
    #[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
    pub(super) async fn start(poll_interval: Duration) -> std::io::Result<Self> {
        let room = Arc::new(Room { poll_interval, memory: Mutex::default(), changed: Notify::new() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().route("/mcp", post(answer).delete(end_session)).with_state(Arc::clone(&room));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { room, address, serving: serving.abort_handle() })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.room.memory.lock().violations.clone()
    }
}

impl Drop for LegacyServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Outcome = Result<Value, (i64, &'static str)>;

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").and_then(|value| value.to_str().ok())
}

async fn end_session(State(room): State<Arc<Room>>, headers: HeaderMap) -> StatusCode {
    let was_there = session_of(&headers).is_some_and(|session| room.memory.lock().sessions.remove(session));
    if was_there { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

async fn answer(State(room): State<Arc<Room>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        room.memory.lock().violations.push("a body that is not JSON".into());
        return StatusCode::BAD_REQUEST.into_response();
    };
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    let params = message.get("params").unwrap_or(&Value::Null);
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    if method == "initialize" {
        return initialize(&room, id);
    }
    match session_of(&headers) {
        None => {
            let error = json!({"code": -32000, "message": "not initialized"});
            return json_reply(StatusCode::BAD_REQUEST, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        Some(session) if !room.memory.lock().sessions.contains(session) => {
            let error = json!({"code": -32001, "message": "no such session"});
            return json_reply(StatusCode::NOT_FOUND, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        Some(_) => {}
    }
    let version = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if version != VERSION {
        room.memory.lock().violations.push(format!("{method}: MCP-Protocol-Version is `{version}`"));
    }
    let outcome = match method {
        "tasks/result" => wait_for_result(&room, params).await,
        _ => result(&room, method, params),
    };
    let reply = match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, words)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}}),
    };
    json_reply(StatusCode::OK, &reply)
}

fn initialize(room: &Room, id: &Value) -> Response {
    let session = random("session");
    let result = json!({
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
        "serverInfo": {"name": "protected-2025", "version": "1"},
    });
    let mut reply = json_reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
    if let Ok(value) = HeaderValue::from_str(&session) {
        reply.headers_mut().insert("mcp-session-id", value);
    }
    room.memory.lock().sessions.insert(session);
    reply
}

fn text(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

fn result(room: &Room, method: &str, params: &Value) -> Outcome {
    match method {
        "ping" => Ok(json!({})),
        "tools/list" => {
            let tool = |name: &str, support: &str| {
                let schema = json!({"type": "object", "properties": {"nonce": {"type": "string"}}});
                json!({"name": name, "inputSchema": schema, "execution": {"taskSupport": support}})
            };
            Ok(json!({"tools": [tool("quick", "forbidden"), tool("work", "optional"), tool("hold", "required")]}))
        }
        "tools/call" => call(room, params),
        "tasks/get" => poll(room, params),
        "tasks/list" => {
            let memory = room.memory.lock();
            let tasks: Vec<Value> = memory.tasks.iter().map(|(id, task)| show(room, id, task)).collect();
            Ok(json!({"tasks": tasks}))
        }
        "tasks/cancel" => cancel(room, params),
        _ => Err((-32601, "no such method")),
    }
}

fn call(room: &Room, params: &Value) -> Outcome {
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_task = params.get("task").is_some();
    match (tool, is_task) {
        ("quick", false) => Ok(text("quick and done")),
        ("work", false) => Ok(text("worked")),
        ("work" | "hold", true) => {
            let id = random("task");
            let task = Task { tool: tool.to_owned(), polls: 0, status: "working" };
            let shown = show(room, &id, &task);
            room.memory.lock().tasks.insert(id, task);
            Ok(json!({"task": shown}))
        }
        ("quick", true) => Err((-32601, "this tool is no task")),
        ("hold", false) => Err((-32601, "this tool must be a task")),
        _ => Err((-32602, "no such tool")),
    }
}

fn show(room: &Room, id: &str, task: &Task) -> Value {
    let interval = u64::try_from(room.poll_interval.as_millis()).unwrap_or(0);
    json!({"taskId": id, "status": task.status, "createdAt": STAMP, "lastUpdatedAt": STAMP, "ttl": null, "pollInterval": interval})
}

fn task_id(params: &Value) -> Result<&str, (i64, &'static str)> {
    params.get("taskId").and_then(Value::as_str).ok_or((-32602, "no taskId"))
}

fn poll(room: &Room, params: &Value) -> Outcome {
    let id = task_id(params)?;
    let mut memory = room.memory.lock();
    let task = memory.tasks.get_mut(id).ok_or((-32602, "unknown task"))?;
    task.polls += 1;
    if task.tool == "work" && task.polls >= POLLS && task.status == "working" {
        task.status = "completed";
        room.changed.notify_waiters();
    }
    Ok(show(room, id, task))
}

fn cancel(room: &Room, params: &Value) -> Outcome {
    let id = task_id(params)?;
    let mut memory = room.memory.lock();
    let task = memory.tasks.get_mut(id).ok_or((-32602, "unknown task"))?;
    if task.status != "working" {
        return Err((-32602, "the task is over"));
    }
    task.status = "cancelled";
    room.changed.notify_waiters();
    Ok(show(room, id, task))
}

/// Blocks until the task is over.
async fn wait_for_result(room: &Room, params: &Value) -> Outcome {
    let id = task_id(params)?;
    loop {
        let changed = room.changed.notified();
        tokio::pin!(changed);
        // Counts as waiting from here on: a change between the check and the wait is not lost.
        changed.as_mut().enable();
        match room.memory.lock().tasks.get(id).map(|task| task.status) {
            None => return Err((-32602, "unknown task")),
            Some("completed") => {
                let mut result = text("worked");
                if let Some(fields) = result.as_object_mut() {
                    fields.insert("_meta".into(), json!({RELATED: {"taskId": id}}));
                }
                return Ok(result);
            }
            Some("cancelled") => return Err((-32000, "the task was cancelled")),
            Some(_) => {}
        }
        changed.await;
    }
}
