//! A scripted HTTP peer: it reads real requests and writes whatever bytes a test gives it.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::{Secret, SendPermit};
use domain::server::Era;
use engine::runtime::supervisor::Supervisor;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::upstream::transport::http::{Target, open};
use crate::upstream::transport::link::{Answer, LinkError, OpenedLink, OutgoingRequest, RequestTag};
use crate::upstream::transport::{OpenContext, OpenError};

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method, or the HTTP one without a body.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }

    pub(crate) fn id(&self) -> Value {
        self.body["id"].clone()
    }
}

/// What the peer does with a request: bytes in order, with waits, then the end of the connection or its next request.
pub(crate) enum Step {
    Bytes(Vec<u8>),
    /// Waits for a level of the test.
    Until(BoxFuture<'static, ()>),
    /// Bytes that are known only when it is their turn.
    Lazy(Box<dyn FnOnce() -> Vec<u8> + Send>),
    /// Reads the next request on this connection.
    Next,
    /// Keeps the connection open and silent until the other side closes it, then notes that.
    Hang,
}

pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Vec<Step> {
    vec![Step::Bytes(bytes.into())]
}

/// A whole response with a body.
pub(crate) fn reply(status: u16, kind: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
    vec![Step::Bytes(head.into_bytes()), Step::Next]
}

pub(crate) fn status(status: u16) -> Vec<Step> {
    reply(status, "text/plain", "", "")
}

/// A JSON-RPC result for the request.
pub(crate) fn result(seen: &Seen, result: Value) -> Vec<Step> {
    reply(200, "application/json", "", &json!({"jsonrpc":"2.0","id":seen.id(),"result":result}).to_string())
}

/// A JSON-RPC error for the request.
pub(crate) fn error(seen: &Seen, http: u16, error: Value) -> Vec<Step> {
    reply(http, "application/json", "", &json!({"jsonrpc":"2.0","id":seen.id(),"error":error}).to_string())
}

/// The head of a stream that ends with its connection.
pub(crate) fn stream(text: impl Into<String>) -> Vec<Step> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_owned();
    raw(head + &text.into())
}

pub(crate) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

pub(crate) fn discover_result(seen: &Seen) -> Vec<Step> {
    result(seen, json!({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}))
}

pub(crate) fn initialize_result(seen: &Seen, session: Option<&str>, version: &str) -> Vec<Step> {
    let headers = session.map_or_else(String::new, |session| format!("Mcp-Session-Id: {session}\r\n"));
    let body = json!({"jsonrpc":"2.0","id":seen.id(),"result":{"protocolVersion":version,"capabilities":{}}});
    reply(200, "application/json", &headers, &body.to_string())
}

pub(crate) fn no_method(seen: &Seen) -> Vec<Step> {
    error(seen, 200, json!({"code":-32601,"message":"Method not found"}))
}

type Script = dyn Fn(&Seen) -> Vec<Step> + Send + Sync;

/// The peer.
pub(crate) struct Peer {
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<Mutex<usize>>,
    pub(crate) ctx: OpenContext,
}

/// Times that only pass when something is wrong; tests of silence shorten them.
pub(crate) fn quick() -> Policy {
    Policy {
        probe_first_output: Duration::from_secs(10),
        initialize_limit: Duration::from_secs(10),
        child_close_wait: Duration::from_secs(10),
        reply_limit: Duration::from_secs(10),
        body_idle_limit: Duration::from_secs(1),
        backoff_first: Duration::from_millis(20),
        hint_floor: Duration::from_millis(1),
        ..Policy::default()
    }
}

impl Peer {
    pub(crate) async fn new(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::with(quick(), script).await
    }

    pub(crate) async fn with(policy: Policy, script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let supervisor = Supervisor::new();
        let (seen, closed) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<Mutex<usize>>::default());
        let script: Arc<Script> = Arc::new(script);
        let scope = supervisor.scope();
        let inner = scope.clone();
        let (noted, gone) = (seen.clone(), closed.clone());
        scope.spawn("peer", async move {
            while let Ok((socket, _)) = listener.accept().await {
                inner.spawn("peer connection", serve(socket, script.clone(), noted.clone(), gone.clone()));
            }
        });
        let ctx = OpenContext::new(Arc::new(policy), supervisor, Arc::new(|| 42), "/nowhere".into());
        Self { origin, seen, closed, ctx }
    }

    pub(crate) async fn open(&self) -> Result<OpenedLink, OpenError> {
        self.open_known(None, None).await
    }

    pub(crate) async fn open_known(&self, known: Option<Era>, resume: Option<&str>) -> Result<OpenedLink, OpenError> {
        let headers = vec![("Authorization".to_owned(), Secret::new("Bearer t0ken"))];
        let target = Target { url: format!("{}/mcp", self.origin), headers };
        let opening = open(target, known, resume.map(ToOwned::to_owned), &self.ctx);
        timeout(LIMIT, opening).await.expect("opening ends in time")
    }

    /// What was asked, in order, by JSON-RPC or HTTP method.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen.lock().iter().map(|seen| seen.rpc().to_owned()).collect()
    }

    pub(crate) fn seen(&self, rpc: &str) -> Vec<Seen> {
        self.seen.lock().iter().filter(|seen| seen.rpc() == rpc).cloned().collect()
    }

    /// How many hanging connections the other side has closed.
    pub(crate) fn closed(&self) -> usize {
        *self.closed.lock()
    }

    /// Waits for a level of what was asked.
    pub(crate) async fn until(&self, what: &str, level: impl Fn(&Self) -> bool) {
        let reached = timeout(LIMIT, async {
            while !level(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(reached.await.is_ok(), "{what} did not happen; asked: {:?}", self.asked());
    }
}

async fn serve(mut socket: TcpStream, script: Arc<Script>, seen: Arc<Mutex<Vec<Seen>>>, closed: Arc<Mutex<usize>>) {
    let (from, mut to) = socket.split();
    let mut from = BufReader::new(from);
    'requests: while let Some(request) = read(&mut from).await {
        seen.lock().push(request.clone());
        for step in script(&request) {
            match step {
                Step::Bytes(bytes) => {
                    if to.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Lazy(bytes) => {
                    if to.write_all(&bytes()).await.is_err() {
                        return;
                    }
                }
                Step::Until(level) => level.await,
                Step::Next => continue 'requests,
                Step::Hang => {
                    let _ = from.read_to_end(&mut Vec::new()).await;
                    *closed.lock() += 1;
                }
            }
        }
        return;
    }
}

async fn read(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Seen> {
    let mut line = String::new();
    from.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).await.ok()?;
    Some(Seen { method, path, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

pub(crate) fn ask(method: &'static str, tag: u64, limit: Option<Duration>) -> OutgoingRequest {
    OutgoingRequest {
        method: method.into(),
        params: json!({}),
        verbatim: Vec::new(),
        tag: RequestTag(tag),
        limit,
        param_headers: Vec::new(),
        agent_params: None,
        permit: SendPermit::default(),
    }
}

pub(crate) fn text(answer: Result<Answer, LinkError>) -> String {
    match answer {
        Ok(Answer::Result(raw) | Answer::Error(raw)) => raw.get().to_owned(),
        Err(error) => panic!("an answer was expected: {error:?}"),
    }
}
