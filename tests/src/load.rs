//! Callers that wait for each reply before the next call: latencies of a fixed span, over HTTP and over pipes.
//!
//! The HTTP side is written by hand over TCP, so that the client costs next to nothing and every target gets the same
//! bytes. It speaks 2026-07-28 or opens a session of 2025-11-25. It judges nothing; a reply that is not a result ends the
//! measurement loudly.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{Notify, mpsc};

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

/// The same call in a session of 2025-11-25, where the client said at the beginning who it is.
#[must_use]
pub fn session_call(id: u64, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{id}}}}}}}"#
    )
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// 2026-07-28: every request says everything.
    Modern,
    /// 2025-11-25: a session for each connection.
    Session,
}

impl Speech {
    /// A call of a tool without a task.
    #[must_use]
    pub fn tools_call(self, id: u64, tool: &str) -> String {
        match self {
            Self::Modern => tools_call(id, tool, false),
            Self::Session => session_call(id, tool),
        }
    }
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
    /// How callers speak to it.
    pub speech: Speech,
}

/// One HTTP connection that is kept.
pub struct Caller {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    head: String,
    speech: Speech,
    session: Option<String>,
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
            "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n",
            target.path, target.address
        );
        let read = BufReader::with_capacity(1 << 16, read);
        let mut caller = Self { read, write, head, speech: target.speech, session: None, body: Vec::new() };
        match target.speech {
            Speech::Modern => caller.head.push_str("mcp-protocol-version: 2026-07-28\r\n"),
            Speech::Session => caller.open_session().await?,
        }
        Ok(caller)
    }

    async fn open_session(&mut self) -> std::io::Result<()> {
        self.ask("initialize", "", INITIALIZE).await?;
        let session = self.session.take().ok_or_else(|| std::io::Error::other("no session was opened"))?;
        self.head.push_str(&format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n"));
        self.ask("notifications/initialized", "", INITIALIZED).await.map(drop)
    }

    /// Sends one request and reads its whole reply, which stays in [`Caller::body`].
    pub async fn ask(&mut self, method: &str, name: &str, body: &str) -> std::io::Result<u16> {
        let (head, length) = (&self.head, body.len());
        let message = match self.speech {
            Speech::Modern => {
                format!("{head}mcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length: {length}\r\n\r\n{body}")
            }
            Speech::Session => format!("{head}content-length: {length}\r\n\r\n{body}"),
        };
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
            if let Some(text) = field.strip_prefix("mcp-session-id:") {
                // Ids keep their letters: the line, not its lower-case copy.
                let from = line.trim_end().len() - text.trim_start().len();
                self.session = line.trim_end().get(from..).map(str::to_owned);
            }
        }
        // A reply without a body says its length, unless it is one that never has any.
        let length = if matches!(status, 202 | 204) { length.or(Some(0)) } else { length };
        if let Some(length) = length {
            // Replies of the same size are written over each other: zeros for a megabyte take as long as reading it.
            self.body.resize(length, 0);
            self.read.read_exact(&mut self.body).await?;
            return Ok(status);
        }
        self.body.clear();
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

/// Connections to one target that are kept between measurements.
pub struct Callers {
    target: Target,
    connected: Vec<Caller>,
}

impl Callers {
    /// None yet; they connect when they are needed.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self { target, connected: Vec::new() }
    }

    /// How they speak.
    #[must_use]
    pub fn speech(&self) -> Speech {
        self.target.speech
    }

    /// So many callers whose connections work: those that the other side has closed meanwhile are replaced.
    async fn ready(&mut self, count: usize) -> &mut [Caller] {
        let probe = self.target.speech.tools_call(0, "small");
        for (nth, caller) in self.connected.iter_mut().take(count).enumerate() {
            if caller.ask("tools/call", "small", &probe).await.is_err() {
                *caller = Caller::connect(&self.target, nth).await.expect("the target accepts a caller again");
            }
        }
        let missing = (self.connected.len()..count).map(|nth| Caller::connect(&self.target, nth));
        let connected = futures::future::try_join_all(missing).await.expect("the target accepts every caller");
        self.connected.extend(connected);
        self.connected.get_mut(..count).unwrap_or_default()
    }

    /// So many connections that call for `span`.
    pub async fn measure(&mut self, callers: usize, span: Duration, work: &Work<'_>) -> Measured {
        let ready = self.ready(callers).await;
        let begun = Instant::now();
        let calling = ready.iter_mut().enumerate().map(|(nth, caller)| async move {
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
}

/// `callers` new connections that call for `span`.
pub async fn over_http(target: &Target, callers: usize, span: Duration, work: &Work<'_>) -> Measured {
    Callers::new(target.clone()).measure(callers, span, work).await
}

/// A program that answers lines, its ends held by us.
pub struct Piped {
    child: Child,
    read: BufReader<ChildStdout>,
    write: ChildStdin,
    next: u64,
}

impl Piped {
    /// Starts it; needs a runtime around it.
    #[must_use]
    pub fn start(command: Command) -> Self {
        let mut command = tokio::process::Command::from(command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("it starts");
        let read = BufReader::with_capacity(1 << 16, child.stdout.take().expect("its output"));
        let write = child.stdin.take().expect("its input");
        Self { child, read, write, next: 1 }
    }

    /// Its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// So many calls in flight for `span`.
    pub async fn measure(&mut self, callers: usize, span: Duration, tool: &str) -> Measured {
        let Self { read, write, next, .. } = self;
        let begun = Instant::now();
        let sent: Mutex<HashMap<u64, Instant>> = Mutex::default();
        // A reply frees its caller for the next call; written and read side by side, or full pipes would wait for each
        // other.
        let (free, mut freed) = mpsc::channel(callers);
        for _ in 0..callers {
            free.try_send(()).expect("there is room for every caller");
        }
        let written_all = Notify::new();
        let writing = async {
            while freed.recv().await.is_some() && begun.elapsed() < span {
                let line = format!("{}\n", tools_call(*next, tool, false));
                sent.lock().insert(*next, Instant::now());
                *next += 1;
                write.write_all(line.as_bytes()).await.expect("the pipe is open");
                write.flush().await.expect("the pipe is open");
            }
            written_all.notify_one();
        };
        let reading = async {
            let (mut micros, mut line) = (Vec::new(), Vec::new());
            let mut is_over = false;
            while !is_over || !sent.lock().is_empty() {
                // The last reply may come just before the span is over, and nothing is written after it. What a read has
                // got when it is given up stays in the line.
                tokio::select! {
                    read = read.read_until(b'\n', &mut line) => { read.expect("the pipe is open"); }
                    () = written_all.notified(), if !is_over => {
                        is_over = true;
                        continue;
                    }
                }
                assert!(line.ends_with(b"\n"), "the program behind the pipe ended");
                // Whole messages are not parsed: the id stands at the front or, from other writers, at the end.
                if let Some(at) = id_of(&line).and_then(|id| sent.lock().remove(&id)) {
                    micros.push(at.elapsed().as_secs_f64() * 1e6);
                    let is_result = line.windows(9).any(|part| part == b"\"result\":");
                    assert!(is_result, "not a result: {}", String::from_utf8_lossy(&line));
                    let _ = free.try_send(());
                }
                line.clear();
            }
            micros
        };
        let ((), micros) = tokio::join!(writing, reading);
        Measured::of(vec![Measured { micros, span: begun.elapsed() }])
    }
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
