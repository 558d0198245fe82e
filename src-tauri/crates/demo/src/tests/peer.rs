//! A client that writes and reads raw messages, and the server it talks to.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use engine::SystemClock;
use engine::runtime::supervisor::Supervisor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::{Parts, serve_http, serve_on};

/// How long a test waits for anything.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

pub(super) fn parts(policy: Policy) -> Parts {
    Parts {
        clock: Arc::new(SystemClock),
        draw: Arc::new(|| {
            let mut bytes = [0_u8; 16];
            getrandom::fill(&mut bytes).expect("the system has random bits");
            u128::from_le_bytes(bytes)
        }),
        policy,
        supervisor: Supervisor::new(),
    }
}

/// The numbers with a fast tick, so that tests do not wait seconds.
pub(super) fn quick() -> Policy {
    let mut policy = Policy::default();
    policy.serving.tick = Duration::from_millis(50);
    policy.serving.question_patience = Duration::from_millis(200);
    policy
}

/// A client on a pair of pipes.
pub(super) struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    last: u64,
    /// What came while something else was awaited.
    pub(super) aside: Vec<Value>,
    pub(super) ended: tokio::sync::oneshot::Receiver<bool>,
}

impl Peer {
    pub(super) fn start(policy: Policy) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1_024);
        let (input, output) = tokio::io::split(theirs);
        let (tell, ended) = tokio::sync::oneshot::channel();
        let parts = parts(policy);
        parts.supervisor.clone().spawn_draining("demo server", async move {
            let served = Box::pin(serve_on(parts, input, output)).await;
            tell.send(served.is_ok()).ok();
        });
        let (input, output) = tokio::io::split(ours);
        Self { lines: BufReader::new(input).lines(), output, last: 0, aside: Vec::new(), ended }
    }

    pub(super) async fn write(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.expect("the server reads");
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.write(&message.to_string()).await;
    }

    pub(super) async fn next(&mut self) -> Value {
        let line =
            tokio::time::timeout(LIMIT, self.lines.next_line()).await.expect("the server says something in time");
        let line = line.expect("the pipe is whole").expect("the server is there");
        serde_json::from_str(&line).expect("each line is JSON")
    }

    /// The next message for which `wanted` holds; others are put aside.
    pub(super) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    pub(super) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    pub(super) async fn answer_to(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The whole response.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer_to(id).await
    }

    /// The result; fails on an error.
    pub(super) async fn result(&mut self, method: &str, params: Value) -> Value {
        let response = self.call(method, params).await;
        assert!(response.get("error").is_none(), "`{method}` must succeed: {response}");
        response["result"].clone()
    }

    /// Closes the input and waits for the server's end.
    pub(super) async fn close(mut self) -> bool {
        self.output.shutdown().await.expect("closing works");
        tokio::time::timeout(LIMIT, self.ended).await.expect("the server ends").expect("it tells how")
    }

    /// Opens a session of an older era.
    pub(super) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let hello = json!({"protocolVersion": version, "capabilities": capabilities,
                           "clientInfo": {"name": "test", "version": "1"}});
        let result = self.result("initialize", hello).await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        result
    }
}

/// `params` of a modern request by a client that declares everything.
pub(super) fn modern(params: Value) -> Value {
    let all = json!({"elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    declaring(params, all)
}

/// `params` of a modern request with these capabilities.
pub(super) fn declaring(mut params: Value, capabilities: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

/// The text of a tool result.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a tool result has text")
}

/// A server over HTTP.
pub(super) struct Site {
    pub(super) url: String,
    pub(super) http: reqwest::Client,
    pub(super) supervisor: Supervisor,
}

impl Site {
    pub(super) async fn start(policy: Policy) -> Self {
        let (tell, told) = tokio::sync::oneshot::channel();
        let parts = parts(policy);
        let supervisor = parts.supervisor.clone();
        supervisor.spawn_draining("demo site", async move {
            let announce = |url: &str| drop(tell.send(url.to_owned()));
            serve_http(parts, ([127, 0, 0, 1], 0).into(), announce).await.expect("loopback can be served");
        });
        let url = tokio::time::timeout(LIMIT, told).await.expect("the site opens").expect("it tells where");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { url, http, supervisor }
    }

    /// A POST with the headers that go with a modern request.
    pub(super) fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        let post = self
            .http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.to_string());
        let Some(version) = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() else {
            return post;
        };
        let method = message["method"].as_str().unwrap_or_default();
        let post = post.header("mcp-protocol-version", version).header("mcp-method", method);
        let params = &message["params"];
        match params["name"].as_str().or(params["taskId"].as_str()) {
            Some(name) => post.header("mcp-name", name),
            None => post,
        }
    }

    /// The status and the JSON of a modern request that is answered at once.
    pub(super) async fn call(&self, method: &str, params: Value) -> (u16, Value) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.post(&message).send().await.expect("the site answers");
        let status = response.status().as_u16();
        (status, body(response).await.pop().expect("an answer"))
    }
}

/// All messages of a response, JSON or events.
pub(super) async fn body(response: reqwest::Response) -> Vec<Value> {
    let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
    let text = tokio::time::timeout(LIMIT, response.text()).await.expect("it ends").expect("it is whole");
    if kind == "application/json" {
        return vec![serde_json::from_str(&text).expect("JSON")];
    }
    assert_eq!(kind, "text/event-stream", "the other kind there is");
    events(&text)
}

/// The messages in a piece of an event stream.
pub(super) fn events(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).expect("JSON"))
        .collect()
}

/// An event stream read message by message.
pub(super) struct Stream {
    response: reqwest::Response,
    kept: String,
}

impl Stream {
    pub(super) fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream", "the response is a stream");
        Self { response, kept: String::new() }
    }

    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(at) = self.kept.find("\n\n") {
                let event: String = self.kept.drain(..at + 2).collect();
                match events(&event).pop() {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let piece = tokio::time::timeout(LIMIT, self.response.chunk()).await.expect("the stream goes on in time");
            let piece = piece.ok()??;
            self.kept.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    pub(super) async fn until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the stream is open");
            if wanted(&message) {
                return message;
            }
        }
    }
}
