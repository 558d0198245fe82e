//! A loopback server that answers every request with bytes of the test's choice, or not at all.
//!
//! It knows nothing of HTTP beyond where a request ends, so it can break every rule of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::Value;

/// What to do with a request.
pub enum Deed {
    /// Send these bytes and close.
    Say(Vec<u8>),
    /// Send these bytes and leave the connection open without another word.
    SayAndHang(Vec<u8>),
    /// Talk over the connection for as long as the test wants, then close.
    Talk(Box<dyn FnOnce(&mut TcpStream) + Send>),
}

/// A request as the test sees it.
pub struct Asked {
    /// HTTP method.
    pub verb: String,
    /// Header fields as they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The JSON body, when there is one.
    pub body: Value,
}

impl Asked {
    /// The first header of this name, given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.body.get("method").and_then(Value::as_str).unwrap_or_default()
    }

    /// The JSON-RPC id as text.
    #[must_use]
    pub fn id(&self) -> String {
        self.body.get("id").map(ToString::to_string).unwrap_or_else(|| "null".into())
    }
}

/// A running hostile server; stops accepting when dropped.
pub struct Hostile {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicU32>,
}

impl Hostile {
    /// Starts one that answers with `deed`.
    #[must_use]
    pub fn start(deed: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopping, counting, deed) = (Arc::clone(&stop), Arc::clone(&served), Arc::new(deed));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let (deed, counting) = (Arc::clone(&deed), Arc::clone(&counting));
                std::thread::spawn(move || converse(stream, deed.as_ref(), &counting));
            }
        });
        Self { address, stop, served }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How many requests it got.
    #[must_use]
    pub fn served(&self) -> u32 {
        self.served.load(Ordering::Relaxed)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(mut stream: TcpStream, deed: &(dyn Fn(&Asked) -> Deed + Send + Sync), served: &AtomicU32) {
    let Some(asked) = read_request(&mut stream) else { return };
    served.fetch_add(1, Ordering::Relaxed);
    match deed(&asked) {
        Deed::Say(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Deed::SayAndHang(bytes) => {
            let _ = stream.write_all(&bytes);
            // Until the client gives up: a read ends when it closes.
            let _ = stream.read(&mut [0_u8; 1]);
        }
        Deed::Talk(talk) => talk(&mut stream),
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut raw = Vec::new();
    let mut piece = [0_u8; 4_096];
    loop {
        let head_end = raw.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = head_end {
            let head = String::from_utf8_lossy(raw.get(..end)?).into_owned();
            let headers: Vec<(String, String)> = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers
                .iter()
                .find(|(name, _)| name == "content-length")
                .and_then(|(_, value)| value.parse::<usize>().ok())
                .unwrap_or(0);
            if raw.len() >= end + 4 + length {
                let verb = head.split_whitespace().next().unwrap_or_default().to_owned();
                let body = serde_json::from_slice(raw.get(end + 4..)?).unwrap_or(Value::Null);
                return Some(Asked { verb, headers, body });
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => raw.extend_from_slice(piece.get(..read)?),
        }
    }
}

/// An HTTP answer with a JSON body.
#[must_use]
pub fn json(status: &str, body: &str) -> Vec<u8> {
    with_type(status, "application/json", body.as_bytes())
}

/// An HTTP answer with any body.
#[must_use]
pub fn with_type(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A correct `server/discover` answer of a modern server with tasks.
#[must_use]
pub fn discover(id: &str) -> Vec<u8> {
    result(
        id,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#,
    )
}

/// A correct list of one tool, `job`.
#[must_use]
pub fn tools(id: &str) -> Vec<u8> {
    result(
        id,
        r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"job","inputSchema":{"type":"object"}}]}"#,
    )
}

/// A JSON-RPC result.
#[must_use]
pub fn result(id: &str, result: &str) -> Vec<u8> {
    json("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// A created task.
#[must_use]
pub fn created(id: &str, task: &str) -> Vec<u8> {
    let task = Value::String(task.to_owned());
    result(
        id,
        &format!(
            r#"{{"resultType":"task","taskId":{task},"status":"working","createdAt":"2026-11-21T00:00:00Z","lastUpdatedAt":"2026-11-21T00:00:00Z","ttlMs":null,"pollIntervalMs":100}}"#
        ),
    )
}
