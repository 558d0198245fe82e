//! The smallest useful MCP server of 2026-07-28, over HTTP and stdio: what the bench puts behind every proxy.
//!
//! It answers at once and from memory, so that what is measured is what stands in front of it. Tools: `small` (200 B),
//! `middle` (50 KB), `big` (1 MB) and `task`, which creates a task that stays working. Over HTTP it speaks 2025-11-25
//! with sessions as well, at `/session`. It checks nothing and forgets nothing: `server.rs` is the strict one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

/// How long after a look at a task the next may come: longer than any measurement.
const POLL_MS: u64 = 3_600_000;
/// Characters of the three results.
const SIZES: [usize; 3] = [120, 50_000, 1 << 20];

/// The server's memory.
pub struct Tiny {
    small: String,
    middle: String,
    big: String,
    tasks: AtomicU64,
    looks: AtomicU64,
    sessions: AtomicU64,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: &'a str,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(default)]
    name: &'a str,
    #[serde(default, rename = "taskId")]
    task: &'a str,
}

impl Default for Tiny {
    fn default() -> Self {
        let [small, middle, big] = SIZES.map(|size| text(&"done and dusted ".repeat(size / 16)));
        Self { small, middle, big, tasks: AtomicU64::new(0), looks: AtomicU64::new(0), sessions: AtomicU64::new(0) }
    }
}

fn text(text: &str) -> String {
    format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

fn task(kind: &str, id: &str) -> String {
    format!(
        r#"{{"resultType":"{kind}","taskId":"{id}","status":"working","createdAt":"2026-11-21T00:00:00.000Z","lastUpdatedAt":"2026-11-21T00:00:00.000Z","ttlMs":null,"pollIntervalMs":{POLL_MS}}}"#
    )
}

impl Tiny {
    /// The reply to one message, nothing for a notification.
    fn reply(&self, message: &[u8]) -> Option<String> {
        let asked: Asked<'_> = serde_json::from_slice(message).ok()?;
        let id = asked.id?.get();
        let params = asked.params.as_ref();
        let name = params.map_or("", |params| params.name);
        let outcome = match (asked.method, name) {
            ("server/discover", _) => r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tiny","version":"1"}}}"#.to_owned(),
            ("tools/list", _) => {
                let tool = |name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
                let tools = ["small", "middle", "big", "task"].map(tool).join(",");
                format!(r#"{{"resultType":"complete","tools":[{tools}],"ttlMs":0,"cacheScope":"private"}}"#)
            }
            ("tools/call", "small") => self.small.clone(),
            ("tools/call", "middle") => self.middle.clone(),
            ("tools/call", "big") => self.big.clone(),
            ("tools/call", "task") => task("task", &format!("t-{}", self.tasks.fetch_add(1, Ordering::Relaxed))),
            ("tasks/get", _) => {
                self.looks.fetch_add(1, Ordering::Relaxed);
                task("complete", params.map_or("", |params| params.task))
            }
            ("tasks/cancel", _) => r#"{"resultType":"complete"}"#.to_owned(),
            _ => return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no such method"}}}}"#)),
        };
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{outcome}}}"#))
    }
}

async fn answer(State(tiny): State<Arc<Tiny>>, body: Bytes) -> impl IntoResponse {
    let headers = [("content-type", "application/json")];
    match tiny.reply(&body) {
        Some(reply) => (StatusCode::OK, headers, reply),
        None => (StatusCode::ACCEPTED, headers, String::new()),
    }
}

/// The same server in the words of 2025-11-25: a session, and no `server/discover`.
async fn answer_in_session(State(tiny): State<Arc<Tiny>>, body: Bytes) -> Response {
    let asked = serde_json::from_slice::<Asked<'_>>(&body).ok();
    let (id, method) = asked.map_or((None, ""), |asked| (asked.id, asked.method));
    let id = id.map_or("null", RawValue::get);
    match method {
        "initialize" => {
            let session = format!("s-{}", tiny.sessions.fetch_add(1, Ordering::Relaxed));
            let reply = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"tiny","version":"1"}}}}}}"#
            );
            ([("content-type", "application/json"), ("mcp-session-id", session.as_str())], reply).into_response()
        }
        "server/discover" => {
            let reply =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"not initialized"}}}}"#);
            (StatusCode::BAD_REQUEST, [("content-type", "application/json")], reply).into_response()
        }
        _ => answer(State(tiny), body).await.into_response(),
    }
}

async fn looks(State(tiny): State<Arc<Tiny>>) -> String {
    tiny.looks.load(Ordering::Relaxed).to_string()
}

/// Serves `/mcp` and `/session` on a free port for ever, after telling where. `/looks` says how often a task was looked
/// at.
pub async fn over_http(tell: impl FnOnce(SocketAddr)) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    tell(listener.local_addr()?);
    let router = Router::new()
        .route("/mcp", post(answer))
        // The same under many names: servers of one address are told apart by it.
        .route("/mcp/{name}", post(answer))
        .route("/session", post(answer_in_session))
        .route("/looks", get(looks))
        .with_state(Arc::<Tiny>::default());
    axum::serve(axum::serve::ListenerExt::tap_io(listener, |socket| drop(socket.set_nodelay(true))), router).await
}

/// Answers lines on standard input until it ends.
pub fn over_stdio() -> std::io::Result<()> {
    let tiny = Tiny::default();
    let mut lines = BufReader::with_capacity(1 << 16, std::io::stdin());
    let mut out = std::io::stdout().lock();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(mut reply) = tiny.reply(&line) {
            reply.push('\n');
            out.write_all(reply.as_bytes())?;
            out.flush()?;
        }
        line.clear();
    }
    Ok(())
}
