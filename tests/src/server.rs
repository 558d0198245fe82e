//! A real MCP server on loopback that remembers every request it got (2026-07-28 dialect).
//!
//! It is written by hand against the protocol, not against our client: what it records is what a strict server would
//! hold against a client. Tools: `quick`, `slow`, `work`, `ask`, `hold`, `load`. It also serves as the load for the
//! benchmarks. It never forgets, so it is only for tests.

mod listen;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use domain::ports::Clock as _;
use domain::time::Timestamp;
use engine::SystemClock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use listen::Listener;

/// What the server saw, for assertions.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// `tools/call` by the nonce in its arguments.
    pub calls: BTreeMap<String, u32>,
    /// When the last of them arrived.
    pub last_call: Option<Timestamp>,
    /// Answers by task and key, in order of arrival.
    pub answers: BTreeMap<String, Vec<(String, Value)>>,
    /// `tasks/cancel` by task.
    pub cancels: BTreeMap<String, u32>,
    /// When each of them arrived.
    pub cancelled_at: Vec<Instant>,
    /// `tasks/get` in all.
    pub polls: u64,
    /// `tasks/get` that came sooner than the interval this server asked for.
    pub early: u64,
    /// Requests that carried credentials, which this server gave nobody.
    pub credentials: u64,
    /// Things a client must not do, in words.
    pub violations: Vec<String>,
    /// Time between two looks at one `load` task, in milliseconds.
    pub gaps_ms: Vec<u64>,
}

struct Task {
    tool: String,
    nonce: String,
    polls: u32,
    status: &'static str,
    message: Option<String>,
    answer: Option<Value>,
    last_look: Option<Instant>,
}

/// How the server behaves.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// `pollIntervalMs` of its tasks.
    pub poll_interval: Duration,
    /// How long `slow` takes.
    pub slow: Duration,
    /// Whether it offers `subscriptions/listen`; without it, everything is polled.
    pub pushes: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(200), pushes: true }
    }
}

struct Room {
    manner: Manner,
    started: Instant,
    seen: Mutex<Seen>,
    tasks: Mutex<HashMap<String, Task>>,
    next: Mutex<u64>,
    listeners: Mutex<Vec<Listener>>,
}

/// A running server; stops when dropped.
pub struct Recorder {
    room: Arc<Room>,
    address: SocketAddr,
    stop: tokio::task::AbortHandle,
}

impl Recorder {
    /// Starts on a free port.
    #[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
    pub async fn start(manner: Manner) -> std::io::Result<Self> {
        let room = Arc::new(Room {
            manner,
            started: Instant::now(),
            seen: Mutex::default(),
            tasks: Mutex::default(),
            next: Mutex::new(0),
            listeners: Mutex::default(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&room));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { room, address, stop: serving.abort_handle() })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it saw so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.room.seen.lock().clone()
    }

    /// Forgets the gaps measured so far.
    pub fn forget_gaps(&self) {
        self.room.seen.lock().gaps_ms.clear();
    }

    /// Status of the task that a nonce created.
    #[must_use]
    pub fn status_of(&self, nonce: &str) -> Option<&'static str> {
        self.room.tasks.lock().values().find(|task| task.nonce == nonce).map(|task| task.status)
    }

    /// The server's id of the task that a nonce created; of one of them, if the call was made again.
    #[must_use]
    pub fn task_of(&self, nonce: &str) -> Option<String> {
        self.tasks_of(nonce).into_iter().next()
    }

    /// The server's ids of all tasks that a nonce created: one for each time that the call was made.
    #[must_use]
    pub fn tasks_of(&self, nonce: &str) -> Vec<String> {
        let tasks = self.room.tasks.lock();
        tasks.iter().filter(|(_, task)| task.nonce == nonce).map(|(id, _)| id.clone()).collect()
    }

    /// Changes what a task says and tells whoever listens.
    pub fn say(&self, id: &str, message: &str) {
        let shown = {
            let mut tasks = self.room.tasks.lock();
            let Some(task) = tasks.get_mut(id) else { return };
            task.message = Some(message.to_owned());
            show(&self.room, id, task)
        };
        self.room.listeners.lock().retain(|listener| listener.tell(id, &shown));
    }

    /// Whether somebody listens to a task.
    #[must_use]
    pub fn is_heard(&self, id: &str) -> bool {
        self.room.listeners.lock().iter().any(|listener| listener.covers(id))
    }

    /// Forgets a task, as a server does that lost its memory.
    pub fn forget_task(&self, id: &str) {
        self.room.tasks.lock().remove(id);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.abort();
    }
}

fn reply(status: StatusCode, body: &Value) -> Response {
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

async fn answer(State(room): State<Arc<Room>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        room.seen.lock().violations.push("a body that is not JSON".into());
        return StatusCode::BAD_REQUEST.into_response();
    };
    let id = message.get("id").cloned().unwrap_or(Value::Null);
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    let params = message.get("params").cloned().unwrap_or(Value::Null);
    if method == "initialize" {
        let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
        let error = json!({"code": -32022, "message": "unsupported version", "data": data});
        return reply(StatusCode::BAD_REQUEST, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
    if headers.contains_key("authorization") || headers.contains_key("cookie") {
        room.seen.lock().credentials += 1;
    }
    check(&room, &headers, &method, &params);
    if method == "subscriptions/listen" && room.manner.pushes {
        let (listener, stream) = Listener::open(&id, &params);
        room.listeners.lock().push(listener);
        return stream;
    }
    if method == "tools/call" && params.get("name").and_then(Value::as_str) == Some("slow") {
        note_call(&room, &params);
        tokio::time::sleep(room.manner.slow).await;
        let result = json!({"resultType": "complete", "content": [{"type": "text", "text": "slow and done"}]});
        return reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    match result(&room, &method, &params) {
        Ok(result) => reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err((code, words)) => {
            let error = json!({"code": code, "message": words});
            reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
    }
}

/// What a strict server holds against a client: headers and metadata of every modern request.
fn check(room: &Room, headers: &HeaderMap, method: &str, params: &Value) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut wrong = Vec::new();
    if header("mcp-protocol-version") != "2026-07-28" {
        wrong.push(format!("{method}: MCP-Protocol-Version is `{}`", header("mcp-protocol-version")));
    }
    if header("mcp-method") != method {
        wrong.push(format!("{method}: Mcp-Method is `{}`", header("mcp-method")));
    }
    let name = match method {
        "tools/call" => params.get("name"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.get("taskId"),
        _ => None,
    };
    if let Some(name) = name.and_then(Value::as_str)
        && header("mcp-name") != name
    {
        wrong.push(format!("{method}: Mcp-Name does not match"));
    }
    if headers.contains_key("mcp-session-id") {
        wrong.push(format!("{method}: a modern request carries a session"));
    }
    let meta = params.get("_meta");
    for key in ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"] {
        if meta.and_then(|meta| meta.get(key)).is_none() {
            wrong.push(format!("{method}: _meta lacks {key}"));
        }
    }
    let extension = meta.and_then(|meta| {
        meta.pointer("/io.modelcontextprotocol~1clientCapabilities/extensions/io.modelcontextprotocol~1tasks")
    });
    if (method.starts_with("tasks/") || method == "tools/call") && extension.is_none() {
        wrong.push(format!("{method}: the tasks extension is not declared"));
    }
    if !wrong.is_empty() {
        room.seen.lock().violations.append(&mut wrong);
    }
}

fn note_call(room: &Room, params: &Value) -> String {
    let nonce = params.pointer("/arguments/nonce").and_then(Value::as_str).unwrap_or("none").to_owned();
    let mut seen = room.seen.lock();
    *seen.calls.entry(nonce.clone()).or_default() += 1;
    seen.last_call = Some(SystemClock.now());
    drop(seen);
    nonce
}

fn result(room: &Room, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
    match method {
        "server/discover" => Ok(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "recorder", "version": "1"}},
        })),
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {"nonce": {"type": "string"}}}});
            let tools = ["quick", "slow", "work", "ask", "hold", "load"].map(tool);
            Ok(json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}))
        }
        "tools/call" => Ok(call(room, params)),
        "tasks/get" => look(room, params),
        "tasks/update" => update(room, params),
        "tasks/cancel" => cancel(room, params),
        _ => Err((-32601, "no such method")),
    }
}

fn stamp(room: &Room) -> String {
    let millis = u64::try_from(room.started.elapsed().as_millis()).unwrap_or(0);
    format!(
        "2026-11-21T{:02}:{:02}:{:02}.{:03}Z",
        millis / 3_600_000 % 24,
        millis / 60_000 % 60,
        millis / 1_000 % 60,
        millis % 1_000
    )
}

fn call(room: &Room, params: &Value) -> Value {
    let nonce = note_call(room, params);
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if tool == "quick" {
        return json!({"resultType": "complete", "content": [{"type": "text", "text": "quick and done"}]});
    }
    let id = {
        let mut next = room.next.lock();
        *next += 1;
        format!("task-{next}")
    };
    let task = Task { tool, nonce, polls: 0, status: "working", message: None, answer: None, last_look: None };
    room.tasks.lock().insert(id.clone(), task);
    let interval = u64::try_from(room.manner.poll_interval.as_millis()).unwrap_or(0);
    json!({
        "resultType": "task", "taskId": id, "status": "working", "createdAt": "2026-11-21T00:00:00.000Z",
        "lastUpdatedAt": stamp(room), "ttlMs": null, "pollIntervalMs": interval,
    })
}

fn task_id(params: &Value) -> Result<&str, (i64, &'static str)> {
    params.get("taskId").and_then(Value::as_str).ok_or((-32602, "no taskId"))
}

fn look(room: &Room, params: &Value) -> Result<Value, (i64, &'static str)> {
    let id = task_id(params)?;
    let mut tasks = room.tasks.lock();
    let mut seen = room.seen.lock();
    seen.polls += 1;
    let task = tasks.get_mut(id).ok_or((-32602, "unknown task"))?;
    let now = Instant::now();
    if let Some(last) = task.last_look.replace(now) {
        let gap = now - last;
        if task.tool == "load" {
            seen.gaps_ms.push(u64::try_from(gap.as_millis()).unwrap_or(u64::MAX));
        }
        // Clocks of two processes and the way there: one millisecond is not a violation.
        if gap + Duration::from_millis(1) < room.manner.poll_interval {
            seen.early += 1;
        }
    }
    task.polls += 1;
    if task.tool == "work" && task.polls >= 3 && task.status == "working" {
        task.status = "completed";
    }
    if task.tool == "ask" && task.status == "working" && task.answer.is_none() {
        task.status = "input_required";
    }
    Ok(show(room, id, task))
}

/// A task as `tasks/get` and the notification show it.
fn show(room: &Room, id: &str, task: &Task) -> Value {
    let interval = u64::try_from(room.manner.poll_interval.as_millis()).unwrap_or(0);
    let mut shown = json!({
        "resultType": "complete", "taskId": id, "status": task.status, "createdAt": "2026-11-21T00:00:00.000Z",
        "lastUpdatedAt": stamp(room), "ttlMs": null, "pollIntervalMs": interval,
    });
    if let (Some(message), Some(shown)) = (&task.message, shown.as_object_mut()) {
        shown.insert("statusMessage".into(), json!(message));
    }
    let extra = match task.status {
        "input_required" => Some((
            "inputRequests",
            json!({"go": {"method": "elicitation/create", "params": {
                "mode": "form", "message": format!("May {} go on?", task.nonce),
                "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            }}}),
        )),
        "completed" => {
            let text = task.answer.as_ref().map_or_else(|| "worked".to_owned(), ToString::to_string);
            Some(("result", json!({"content": [{"type": "text", "text": text}]})))
        }
        _ => None,
    };
    if let (Some((key, value)), Some(shown)) = (extra, shown.as_object_mut()) {
        shown.insert(key.to_owned(), value);
    }
    shown
}

fn update(room: &Room, params: &Value) -> Result<Value, (i64, &'static str)> {
    let id = task_id(params)?;
    let mut tasks = room.tasks.lock();
    let task = tasks.get_mut(id).ok_or((-32602, "unknown task"))?;
    for (key, value) in params.get("inputResponses").and_then(Value::as_object).into_iter().flatten() {
        room.seen.lock().answers.entry(id.to_owned()).or_default().push((key.clone(), value.clone()));
        if task.answer.is_none() {
            task.answer = Some(value.clone());
            task.status = "completed";
        }
    }
    Ok(json!({"resultType": "complete"}))
}

fn cancel(room: &Room, params: &Value) -> Result<Value, (i64, &'static str)> {
    let id = task_id(params)?;
    let mut tasks = room.tasks.lock();
    let task = tasks.get_mut(id).ok_or((-32602, "unknown task"))?;
    {
        let mut seen = room.seen.lock();
        *seen.cancels.entry(id.to_owned()).or_default() += 1;
        seen.cancelled_at.push(Instant::now());
    }
    if task.status == "working" || task.status == "input_required" {
        task.status = "cancelled";
    }
    Ok(json!({"resultType": "complete"}))
}
