//! Callers that wait for each reply before the next call: latencies of a fixed span, over HTTP and over pipes.
//!
//! The HTTP side is written by hand over TCP, so that the client costs next to nothing and every target gets the same
//! bytes. It judges nothing; a reply that is not a result ends the measurement loudly.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use crate::bench::quantile;

/// What a span of calls came to.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Microseconds of every call, in order of size.
    pub micros: Vec<f64>,
    /// How long all of it took.
    pub span: Duration,
}

impl Measured {
    /// Joins rounds of the same measurement.
    #[must_use]
    pub fn of(rounds: Vec<Self>) -> Self {
        let span = rounds.iter().map(|round| round.span).sum();
        let mut micros: Vec<f64> = rounds.into_iter().flat_map(|round| round.micros).collect();
        micros.sort_by(f64::total_cmp);
        Self { micros, span }
    }

    /// The value below which this share of the calls lie, in microseconds.
    #[must_use]
    pub fn at(&self, share: f64) -> f64 {
        quantile(&self.micros, share)
    }

    /// Calls in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.span.as_secs_f64()
    }
}

/// One call as JSON: `tools/call` of a modern agent, which declares tasks or not.
#[must_use]
pub fn tools_call(id: u64, tool: &str, with_tasks: bool) -> String {
    let abilities = if with_tasks { r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"# } else { "{}" };
    let params = format!(r#""name":"{tool}","arguments":{{"n":{id}}}"#);
    request(id, "tools/call", &params, abilities)
}

/// A look at a task.
#[must_use]
pub fn tasks_get(id: u64, task: &str) -> String {
    let abilities = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    request(id, "tasks/get", &format!(r#""taskId":"{task}""#), abilities)
}

fn request(id: u64, method: &str, params: &str, abilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{abilities}}}}}}}"#
    )
}

/// Where HTTP calls go.
#[derive(Debug, Clone)]
pub struct Target {
    /// The address to connect to.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
    /// The agent's token, one for each caller in turn.
    pub tokens: Vec<String>,
}

/// One HTTP connection that is kept.
pub struct Caller {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    head: String,
    body: Vec<u8>,
}

impl Caller {
    /// Connects; `nth` chooses the token.
    pub async fn connect(target: &Target, nth: usize) -> std::io::Result<Self> {
        let socket = TcpStream::connect(target.address).await?;
        socket.set_nodelay(true)?;
        let (read, write) = socket.into_split();
        let token = match target.tokens.len() {
            0 => "none",
            count => target.tokens.get(nth % count).map_or("none", String::as_str),
        };
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n",
            target.path, target.address
        );
        Ok(Self { read: BufReader::with_capacity(1 << 16, read), write, head, body: Vec::new() })
    }

    /// Sends one request and reads its whole reply, which stays in [`Caller::body`].
    pub async fn ask(&mut self, method: &str, name: &str, body: &str) -> std::io::Result<u16> {
        let head = &self.head;
        let message =
            format!("{head}mcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.write.write_all(message.as_bytes()).await?;
        self.reply().await
    }

    /// The body of the last reply.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    async fn reply(&mut self) -> std::io::Result<u16> {
        let mut line = String::new();
        self.read.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut length = None;
        loop {
            line.clear();
            self.read.read_line(&mut line).await?;
            let field = line.trim_end().to_ascii_lowercase();
            if field.is_empty() {
                break;
            }
            if let Some(text) = field.strip_prefix("content-length:") {
                length = text.trim().parse::<usize>().ok();
            }
        }
        self.body.clear();
        if let Some(length) = length {
            self.body.resize(length, 0);
            self.read.read_exact(&mut self.body).await?;
            return Ok(status);
        }
        loop {
            line.clear();
            self.read.read_line(&mut line).await?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
            let from = self.body.len();
            self.body.resize(from + size + 2, 0);
            self.read.read_exact(self.body.get_mut(from..).unwrap_or_default()).await?;
            self.body.truncate(from + size);
            if size == 0 {
                return Ok(status);
            }
        }
    }
}

/// A call that a measurement makes: method, name for the header, body by number.
pub struct Work<'a> {
    /// JSON-RPC method.
    pub method: &'a str,
    /// Tool or task, as the header wants it.
    pub name: &'a str,
    /// The body of the call with this number.
    pub body: &'a (dyn Fn(u64) -> String + Sync),
}

/// `callers` connections that call for `span`.
pub async fn over_http(target: &Target, callers: usize, span: Duration, work: &Work<'_>) -> Measured {
    let connecting = (0..callers).map(|nth| Caller::connect(target, nth));
    let connections = futures::future::try_join_all(connecting).await.expect("the target accepts every caller");
    let begun = Instant::now();
    let calling = connections.into_iter().enumerate().map(|(nth, mut caller)| async move {
        let mut micros = Vec::new();
        let mut number = nth as u64;
        while begun.elapsed() < span {
            let body = (work.body)(number);
            number += callers as u64;
            let sent = Instant::now();
            let status = caller.ask(work.method, work.name, &body).await.expect("a whole reply");
            micros.push(sent.elapsed().as_secs_f64() * 1e6);
            let is_result = status == 200 && caller.body().windows(9).take(512).any(|part| part == b"\"result\":");
            assert!(is_result, "not a result: {status} {}", String::from_utf8_lossy(caller.body()));
        }
        micros
    });
    let micros = futures::future::join_all(calling).await.concat();
    Measured::of(vec![Measured { micros, span: begun.elapsed() }])
}

/// `callers` calls in flight on one pair of pipes for `span`; ids count from `first`.
pub async fn over_pipes<R, W>(
    (read, write): (&mut BufReader<R>, &mut W),
    callers: usize,
    span: Duration,
    tool: &str,
    first: u64,
) -> Measured
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let begun = Instant::now();
    let sent: Mutex<HashMap<u64, Instant>> = Mutex::default();
    // A reply frees its caller for the next call; written and read side by side, or full pipes would wait for each other.
    let (free, mut freed) = mpsc::channel(callers);
    for _ in 0..callers {
        free.try_send(()).expect("there is room for every caller");
    }
    let writing = async {
        let mut next = first;
        while freed.recv().await.is_some() && begun.elapsed() < span {
            let line = format!("{}\n", tools_call(next, tool, false));
            sent.lock().insert(next, Instant::now());
            next += 1;
            write.write_all(line.as_bytes()).await.expect("the pipe is open");
            write.flush().await.expect("the pipe is open");
        }
    };
    let reading = async {
        let (mut micros, mut line) = (Vec::new(), Vec::new());
        while begun.elapsed() < span || !sent.lock().is_empty() {
            line.clear();
            read.read_until(b'\n', &mut line).await.expect("the pipe is open");
            assert!(!line.is_empty(), "the program behind the pipe ended");
            // Whole messages are not parsed: the id stands at the front or, from other writers, at the end.
            let Some(at) = id_of(&line).and_then(|id| sent.lock().remove(&id)) else { continue };
            micros.push(at.elapsed().as_secs_f64() * 1e6);
            let is_result = line.windows(9).any(|part| part == b"\"result\":");
            assert!(is_result, "not a result: {}", String::from_utf8_lossy(&line));
            let _ = free.try_send(());
        }
        micros
    };
    let ((), micros) = tokio::join!(writing, reading);
    Measured::of(vec![Measured { micros, span: begun.elapsed() }])
}

fn id_of(line: &[u8]) -> Option<u64> {
    let near = |part: &[u8]| {
        let text = String::from_utf8_lossy(part).into_owned();
        let (_, after) = text.split_once("\"id\":")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    near(line.get(..line.len().min(64))?).or_else(|| near(line.get(line.len().saturating_sub(64)..)?))
}
