//! An agent that knows modern tasks, written by hand against the protocol: over HTTP, or through `taskwarden connect`.
//!
//! It sees exactly what the wire brings, and an end of the core as what it is: no answer. It repeats nothing by
//! itself. Clients that we did not write are in `clients.rs`.

#![expect(clippy::indexing_slicing, reason = "members of our own messages, and of answers where null is an answer")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::clients::in_its_own_session;

/// No answer: the core went away, or cannot be reached.
#[derive(Debug)]
pub struct Gone(pub String);

/// How it reaches the gateway.
enum Way {
    Http { runtime: tokio::runtime::Runtime, client: reqwest::Client, url: String, token: String },
    Bridge { child: Child, to: ChildStdin, from: BufReader<ChildStdout> },
}

/// One agent.
pub struct Agent {
    way: Way,
    next: u64,
    capabilities: Value,
}

impl Agent {
    /// Over HTTP.
    #[must_use]
    pub fn over_http(url: &str, token: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().expect("a client");
        Self {
            way: Way::Http { runtime, client, url: url.into(), token: token.into() },
            next: 0,
            capabilities: with_tasks(),
        }
    }

    /// Through a bridge in a session of its own: `Gate::connect` makes the command.
    #[must_use]
    pub fn over_bridge(command: &Command) -> Self {
        let mut command = in_its_own_session(command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a bridge");
        let (to, from) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        Self { way: Way::Bridge { child, to, from: BufReader::new(from) }, next: 0, capabilities: with_tasks() }
    }

    /// The same program without any capability: its calls are held until they end.
    #[must_use]
    pub fn without_capabilities(mut self) -> Self {
        self.capabilities = json!({});
        self
    }

    /// Asks, and gives the whole JSON-RPC answer.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        self.next += 1;
        let name = params.get("taskId").or_else(|| params.get("name")).or_else(|| params.get("uri"));
        let name = name.and_then(Value::as_str).map(str::to_owned);
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "hand-written", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        match &mut self.way {
            Way::Http { runtime, client, url, token } => {
                let mut request = client
                    .post(url.as_str())
                    .bearer_auth(token.as_str())
                    .header("accept", "application/json, text/event-stream")
                    .header("content-type", "application/json")
                    .header("mcp-protocol-version", "2026-07-28")
                    .header("mcp-method", method)
                    .body(message.to_string());
                if let Some(name) = name {
                    request = request.header("mcp-name", name);
                }
                let text = runtime.block_on(async { request.send().await?.text().await });
                read_http(&text.map_err(|error| Gone(error.to_string()))?, self.next)
            }
            Way::Bridge { to, from, .. } => {
                writeln!(to, "{message}").and_then(|()| to.flush()).map_err(|error| Gone(error.to_string()))?;
                loop {
                    let mut line = String::new();
                    let read = from.read_line(&mut line).map_err(|error| Gone(error.to_string()))?;
                    if read == 0 {
                        return Err(Gone("the bridge ended".into()));
                    }
                    if let Ok(answer) = serde_json::from_str::<Value>(&line)
                        && answer["id"] == self.next
                    {
                        return Ok(answer);
                    }
                }
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Way::Bridge { child, .. } = &mut self.way {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a client declares that takes tasks and shows questions.
fn with_tasks() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// The answer in a body: JSON, or a stream of events that ends with it.
fn read_http(body: &str, id: u64) -> Result<Value, Gone> {
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let texts = std::iter::once(body).chain(events);
    let mut answers = texts.filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
    let answer = answers.find(|answer| answer["id"] == id || (answer["id"].is_null() && answer["error"].is_object()));
    answer.ok_or_else(|| Gone(format!("the answer was cut: `{body}`")))
}
