//! Servers that we did not write, started for a test and ended with it.
//!
//! `cargo xtask test` installs them (npm and Python packages); a test that needs one and does not find it fails and says
//! so. Which dialect each speaks stands at its function.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;

use crate::home::wait_for;

/// A peer that runs as a process of its own and listens on loopback.
pub struct HttpPeer {
    child: Child,
    url: String,
}

impl HttpPeer {
    /// Its endpoint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn installed(path: PathBuf) -> String {
    assert!(path.exists(), "`{}` is missing: run `cargo xtask test` once, it installs the peers", path.display());
    path.display().to_string()
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The lowest port that [`free_port`] gives, and how many pairs it has. Linux itself gives out ports from 32768 on, other
/// systems from 49152 on: no connection and no listener on port 0 gets one of these.
const PORTS: (u16, u16) = (20_000, 6_000);

/// Who listens on the second port of a pair has the first one.
static HELD: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());

/// A loopback port on which nobody listens, for servers that are ended and come back. It is this process's until it ends:
/// no other test gets it meanwhile.
#[must_use]
pub fn free_port() -> u16 {
    let (lowest, pairs) = PORTS;
    // Tests that run side by side begin to look at different places.
    let begin = u16::try_from(std::process::id() % u32::from(pairs)).unwrap_or_default();
    let mut ports = (0..pairs).map(|nth| lowest + 2 * ((begin + nth) % pairs));
    let port = ports.find(|port| {
        let Ok(holder) = TcpListener::bind((Ipv4Addr::LOCALHOST, port + 1)) else { return false };
        let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        HELD.lock().push(holder);
        is_free
    });
    port.expect("a free loopback port")
}

/// `@modelcontextprotocol/server-everything` 2026.1.26 over stdio: `initialize`, 2025-11-25 tasks.
#[must_use]
pub fn everything_command() -> Vec<String> {
    let script = workspace().join("tests/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    vec!["node".into(), installed(script)]
}

/// The same over Streamable HTTP (`streamableHttp`, path `/mcp`) or HTTP+SSE (`sse`, path `/sse`).
#[must_use]
pub fn everything_http(transport: &str) -> HttpPeer {
    let port = free_port();
    everything_http_at(transport, port)
}

/// The same on a port of the caller's choice, for servers that come back.
#[must_use]
pub fn everything_http_at(transport: &str, port: u16) -> HttpPeer {
    let mut command = Command::new("node");
    command.args(everything_command().into_iter().skip(1)).arg(transport).env("PORT", port.to_string());
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("node is installed");
    wait_for(
        "server-everything listens",
        || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok(),
        || format!("port {port}"),
    );
    let path = if transport == "sse" { "sse" } else { "mcp" };
    HttpPeer { child, url: format!("http://127.0.0.1:{port}/{path}") }
}

/// rmcp 3.9 with its `TaskManager` over Streamable HTTP: 2026-07-28 tasks.
#[must_use]
pub fn rmcp_http(program: &str) -> HttpPeer {
    rmcp_http_at(program, 0)
}

/// The same on a port of the caller's choice, for servers that come back; 0 is any.
#[must_use]
pub fn rmcp_http_at(program: &str, port: u16) -> HttpPeer {
    let mut child = Command::new(program)
        .args(["http", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rmcp-peer starts");
    let url = first_line(&mut child);
    HttpPeer { child, url }
}

/// The built-in demo server over HTTP: both dialects by how the client opens.
#[must_use]
pub fn demo_http(program: &str) -> HttpPeer {
    let mut child = Command::new(program)
        .args(["demo-server", "--http", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo server starts");
    let line = first_line(&mut child);
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default().to_owned();
    assert!(!url.is_empty(), "the demo server prints its address first, not `{line}`");
    HttpPeer { child, url }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).expect("the peer prints where it listens");
    }
    line.trim().to_owned()
}

/// MemoryGraph over stdio: a Python server without tasks.
#[must_use]
pub fn memorygraph_command() -> Vec<String> {
    vec![installed(workspace().join("target/peers/venv/bin/memorygraph"))]
}
