//! An agent by hand: requests of either era as bytes, replies as they came.
//!
//! It knows only what a test says, so that a test can also say what no client would. Clients that we did not write are
//! started by `clients.rs`.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::home::wait_for;

/// The capability of the extension.
pub const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const VERSION: &str = "2026-07-28";

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body as it came; the message itself when it came as an event.
    pub text: String,
}

impl Reply {
    /// The message; null when there is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The result; fails the test when there is none.
    #[must_use]
    pub fn result(&self) -> Value {
        self.json().get("result").cloned().unwrap_or_else(|| panic!("a result, not {self:?}"))
    }

    /// HTTP status and code of the error.
    #[must_use]
    pub fn refusal(&self) -> (u16, i64) {
        (self.status, self.json().pointer("/error/code").and_then(Value::as_i64).unwrap_or(0))
    }

    /// A header's text.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// An agent on one endpoint.
pub struct Agent {
    runtime: Runtime,
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Agent {
    /// At this endpoint with this token.
    #[must_use]
    pub fn new(url: &str, token: &str) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        Self { runtime, client: reqwest::Client::new(), url: url.to_owned(), token: token.to_owned() }
    }

    /// A body with these headers, which replace the usual ones; an empty value takes one away.
    fn request(&self, headers: &[(&str, &str)], body: &str) -> reqwest::RequestBuilder {
        let bearer = format!("Bearer {}", self.token);
        let usual = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let mut all = HeaderMap::new();
        for (name, value) in usual.iter().chain(headers) {
            let name: HeaderName = name.parse().expect("a header name");
            if value.is_empty() {
                all.remove(name);
            } else {
                all.insert(name, HeaderValue::from_str(value).expect("a header value"));
            }
        }
        self.client.post(&self.url).headers(all).body(body.to_owned())
    }

    /// Sends a body with these headers, which replace the usual ones; an empty value takes one away.
    pub fn post(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        self.try_post(headers, body).expect("the gateway answers with a whole body")
    }

    /// The same where the core may end before it has answered.
    pub fn try_post(&self, headers: &[(&str, &str)], body: &str) -> Option<Reply> {
        self.reply(self.request(headers, body))
    }

    /// Reads the endpoint with its token.
    pub fn get(&self) -> Reply {
        self.reply(self.client.get(&self.url).bearer_auth(&self.token)).expect("the core answers with a whole body")
    }

    fn reply(&self, asking: reqwest::RequestBuilder) -> Option<Reply> {
        self.runtime.block_on(async {
            let response = asking.send().await.ok()?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let text = response.text().await.ok()?;
            Some(Reply { status, headers, text: message(&text) })
        })
    }

    /// A modern request with a sound head; `abilities` is the JSON of the client's capabilities.
    pub fn ask_with(&self, abilities: &str, method: &str, params: &Value) -> Reply {
        let named = params.get("name").or_else(|| params.get("taskId")).or_else(|| params.get("uri"));
        let name = named.and_then(Value::as_str).unwrap_or_default();
        let headers = [("mcp-protocol-version", VERSION), ("mcp-method", method), ("mcp-name", name)];
        self.post(&headers, &modern(json!(1), method, params, abilities))
    }

    /// The same from a client that declares tasks.
    pub fn ask(&self, method: &str, params: &Value) -> Reply {
        self.ask_with(TASKS, method, params)
    }

    /// Calls a tool and gives the handle of its task.
    pub fn start(&self, tool: &str, arguments: &Value) -> String {
        let reply = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = reply.result();
        assert_eq!(result.get("resultType"), Some(&json!("task")), "`{tool}` becomes a task: {reply:?}");
        result.get("taskId").and_then(Value::as_str).expect("an id").to_owned()
    }

    /// Looks at a task until it has this status.
    pub fn wait_status(&self, task: &str, status: &str) -> Value {
        let look = || self.ask("tasks/get", &json!({"taskId": task}));
        wait_for(
            &format!("{task} is {status} to its agent"),
            || {
                look()
                    .json()
                    .get("result")
                    .filter(|seen| seen.get("status").is_some_and(|word| word == status))
                    .cloned()
            },
            || look().text,
        )
    }

    /// Opens a session of this version; gives its id and the reply.
    pub fn open(&self, version: &str) -> (String, Reply) {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        let reply =
            self.post(&[], &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string());
        let session = reply.header("mcp-session-id").to_owned();
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
        self.post(&headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        (session, reply)
    }

    /// A request in a session of 2025-11-25.
    pub fn in_session(&self, session: &str, method: &str, params: &Value) -> Reply {
        let headers = [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).to_string())
    }

    /// A request in a session of 2025-11-25 that its client gives up when `until` returns: it says that it ran out of time,
    /// as the TypeScript SDK does, and closes the stream.
    pub fn time_out(&self, session: &str, method: &str, params: &Value, until: impl FnOnce()) {
        let headers = [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).to_string();
        let asking = self.request(&headers, &body);
        let asking = self.runtime.spawn(async move { asking.send().await?.text().await });
        until();
        let reason = json!({"requestId": 2, "reason": "McpError: MCP error -32001: Request timed out"});
        let gives_up = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason});
        self.post(&headers, &gives_up.to_string());
        asking.abort();
    }
}

/// A modern request as text.
#[must_use]
pub fn modern(id: Value, method: &str, params: &Value, abilities: &str) -> String {
    let mut params = params.clone();
    let abilities: Value = serde_json::from_str(abilities).expect("JSON");
    if let Some(params) = params.as_object_mut() {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": abilities,
        });
        // What a test says beside these.
        if let (Some(Value::Object(more)), Some(meta)) = (params.remove("_meta"), meta.as_object_mut()) {
            meta.extend(more);
        }
        params.insert("_meta".into(), meta);
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The last event that answers, where the body is a stream of events.
fn message(body: &str) -> String {
    if !body.contains("data:") || body.starts_with('{') {
        return body.to_owned();
    }
    let events = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let mut answers = events.rev().filter(|event| {
        let said: Value = serde_json::from_str(event).unwrap_or_default();
        said.get("result").is_some() || said.get("error").is_some()
    });
    answers.next().unwrap_or_default().to_owned()
}
