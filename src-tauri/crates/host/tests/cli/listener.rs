//! The listener against peers that are rude: raw bytes in, statuses and closed connections out.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::home::{Core, Home};

/// Longest wait for something that happens at once.
const LIMIT: Duration = Duration::from_secs(20);

struct ServedCore {
    home: Home,
    _core: Core,
    port: u16,
    token: String,
    /// What the core said of itself when it began to listen.
    said: serde_json::Value,
}

impl ServedCore {
    fn open(settings: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let mut command = home.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
        command.envs(settings.iter().copied());
        let (core, said) = home.listening(command);
        let url = said["url"].as_str().expect("an address");
        let port = url.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let token = home.ok(&["agents", "add", "claude"]).out.trim().to_owned();
        Self { home, _core: core, port, token, said }
    }

    fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream
    }

    /// Sends bytes and reads what comes until the end, which these requests ask for.
    fn say(&self, bytes: &str) -> String {
        let mut stream = self.dial();
        stream.write_all(bytes.as_bytes()).expect("it is sent");
        read_all(&mut stream)
    }

    /// A request with the token, a body and further headers.
    fn post(&self, path: &str, headers: &str, body: &str) -> String {
        self.say(&self.request(path, headers, body))
    }

    fn request(&self, path: &str, headers: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n{headers}\r\n{body}",
            self.port,
            self.token,
            body.len()
        )
    }
}

fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer is an end as well.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn status(reply: &str) -> u16 {
    reply.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("a status, not `{reply}`"))
}

fn hello() -> String {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

#[test]
fn the_token_is_asked_for_before_the_body_and_strangers_before_the_token() {
    let listener = ServedCore::open(&[]);
    let host = format!("Host: 127.0.0.1:{}\r\n", listener.port);
    // Ten megabytes are announced and none is sent: whoever waits for them never answers.
    let announced = "Content-Length: 10000000\r\n\r\n";
    let bare = listener.say(&format!("POST /mcp HTTP/1.1\r\n{host}Connection: close\r\n{announced}"));
    assert_eq!(status(&bare), 401, "{bare}");
    assert!(bare.contains("www-authenticate: Bearer"), "it says what is missing: {bare}");
    let guess =
        format!("POST /mcp HTTP/1.1\r\n{host}Authorization: Bearer twa_guess\r\nConnection: close\r\n{announced}");
    let guess = listener.say(&guess);
    assert!(status(&guess) == 401 && guess.contains("invalid_token") && !guess.contains("twa_guess"), "{guess}");
    for path in ["/mcp/nowhere", "/mcp/demo"] {
        let bare = listener.say(&format!("POST {path} HTTP/1.1\r\n{host}Connection: close\r\n{announced}"));
        assert_eq!(status(&bare), 401, "without a token nobody learns which servers exist: {bare}");
    }
    assert_eq!(
        status(&listener.post("/mcp/nowhere", "", &hello())),
        404,
        "with one, an unknown server is said to be so"
    );
    assert_eq!(
        status(&listener.post("/mcp", "Origin: http://evil.example\r\n", &hello())),
        403,
        "a page of another place"
    );
    assert_eq!(status(&listener.post("/mcp", "Sec-Fetch-Site: cross-site\r\n", &hello())), 403);
    let rebound = format!(
        "POST /mcp HTTP/1.1\r\nHost: evil.example:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{announced}",
        listener.port, listener.token
    );
    assert_eq!(status(&listener.say(&rebound)), 403, "another name for this machine");
    let welcome = listener.post("/mcp", "", &hello());
    assert!(status(&welcome) == 200 && welcome.contains("mcp-session-id"), "the agent itself is let in: {welcome}");
}

#[test]
fn a_token_opens_mcp_alone_and_a_browser_does_not() {
    let listener = ServedCore::open(&[]);
    for (path, body) in [
        ("/ui/call/servers.list", "{}"),
        ("/ui/call/agents.add", r#"{"name":"mine"}"#),
        ("/ui/feed", r#"{"query":null,"ids":[],"task":null,"visible":true}"#),
    ] {
        let reply = listener.post(path, "X-Taskwarden: 1\r\n", body);
        assert_eq!(status(&reply), 401, "`{path}` wants a browser's session: {reply}");
    }
    let cookie = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{0}\r\nCookie: taskwarden-{0}=x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}",
        listener.port
    );
    assert_eq!(status(&listener.say(&cookie)), 401, "a cookie is no token");
    for method in ["servers.add", "servers/add", "agents.add", "rules.put", "settings.change", "tasks.answer"] {
        let session = listener.post("/mcp", "", &hello());
        let id = session.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session").to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"name": "x"}}).to_string();
        let reply =
            listener.post("/mcp", &format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"), &body);
        assert!(reply.contains("-32601"), "`{method}` is no method of the gateway: {reply}");
    }
    let servers = listener.home.ok(&["servers", "list", "--json"]).json();
    assert_eq!(servers["servers"], json!([]), "nothing was configured");
}

#[test]
fn bytes_that_can_be_read_in_two_ways_are_refused() {
    let listener = ServedCore::open(&[]);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n",
        listener.port, listener.token
    );
    let smuggled = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", listener.port);
    for (what, rest) in [
        ("two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        ("a length with a sign", "Content-Length: +2\r\n\r\n{}"),
        ("an unknown coding", "Transfer-Encoding: xchunked\r\n\r\n{}"),
        ("two codings", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ("codings on two lines", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("two hosts", "Host: evil.example\r\nContent-Length: 0\r\n\r\n"),
        ("a folded line", "X-A: 1\r\n  b\r\nContent-Length: 0\r\n\r\n"),
        ("a space before the colon", "Content-Length : 0\r\n\r\n"),
    ] {
        let reply = listener.say(&format!("{head}{rest}"));
        assert_eq!(status(&reply), 400, "{what}: {reply}");
    }
    // Both a length and a coding: the coding counts, and nothing after it is read as a request.
    for order in
        ["Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"]
    {
        let reply = listener.say(&format!("{head}{order}\r\n0\r\n\r\n{smuggled}"));
        assert_eq!(reply.matches("HTTP/1.1 ").count(), 1, "one answer, then the end: {reply}");
    }
    let contradicting = format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", listener.port);
    assert_eq!(status(&listener.say(&contradicting)), 400, "an address that contradicts its host");
    let old = format!(
        "POST /mcp HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        listener.port
    );
    assert_eq!(status(&listener.say(&old)), 400, "HTTP/1.0 has no codings");
}

#[test]
fn large_heads_and_fast_agents_are_refused() {
    let settings =
        [("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1"), ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_BURST", "2")];
    let listener = ServedCore::open(&settings);
    let large = "x".repeat(40 * 1_024);
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    assert_eq!(status(&listener.post("/mcp", &format!("X-Large: {large}\r\n"), "{}")), 431, "one large line");
    assert_eq!(status(&listener.post("/mcp", &many, "{}")), 431, "many lines");
    // All are sent before one is answered: one after the other could be as slow as is allowed.
    let mut all: Vec<TcpStream> = (0..20).map(|_| listener.dial()).collect();
    for stream in &mut all {
        stream.write_all(listener.request("/mcp", "", &hello()).as_bytes()).expect("it is sent");
    }
    let replies: Vec<String> = all.iter_mut().map(read_all).collect();
    assert!(replies.iter().any(|reply| status(reply) == 200), "the first is answered: {replies:?}");
    let late = replies.iter().find(|reply| status(reply) == 429).expect("the burst ends");
    assert!(late.contains("retry-after: 1"), "it says when to come again: {late}");
}

#[test]
fn slow_heads_and_bodies_are_cut_off() {
    let listener = ServedCore::open(&[("TASKWARDEN_POLICY_GATEWAY_HEADER_LIMIT", "200ms")]);
    let mut stream = listener.dial();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost:").expect("half a head");
    assert_eq!(read_all(&mut stream), "", "the rest is not waited for");
    // Heads have their time here: on a busy machine a whole one may come late.
    let listener = ServedCore::open(&[("TASKWARDEN_POLICY_GATEWAY_BODY_LIMIT", "200ms")]);
    let mut stream = listener.dial();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 50\r\n\r\n{{",
        listener.port, listener.token
    );
    stream.write_all(head.as_bytes()).expect("a head and one byte");
    let reply = read_all(&mut stream);
    assert!((400..500).contains(&status(&reply)), "the body did not arrive: {reply}");
}

#[test]
fn idle_connections_are_bounded_and_the_oldest_go() {
    let listener = ServedCore::open(&[("TASKWARDEN_POLICY_GATEWAY_CONNECTIONS_MAX", "20")]);
    let mut idle: Vec<TcpStream> = (0..60).map(|_| listener.dial()).collect();
    let reply = listener.post("/mcp", "", &hello());
    assert_eq!(status(&reply), 200, "who comes later is served: {reply}");
    // The first forty had to go for the others; the end of their streams can be read.
    for (number, stream) in idle.iter_mut().take(40).enumerate() {
        assert_eq!(read_all(stream), "", "connection {number} is closed");
    }
    let last = idle.last_mut().expect("the newest");
    let host = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", listener.port);
    last.write_all(host.as_bytes()).expect("it is open");
    assert_eq!(status(&read_all(last)), 200, "the newest idle one still is");
}

/// Memory of a process in use now, in KiB.
fn resident_kib(core: &serde_json::Value) -> u64 {
    let process = &core["process"];
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the core runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|figure| figure.parse().ok()).expect("a figure")
}

#[test]
fn unfinished_bodies_of_one_agent_take_its_share_of_memory_and_nobody_elses() {
    const BODIES: usize = 100;
    let settings = [("TASKWARDEN_POLICY_SHARES_BODY_BYTES_MAX", "16MiB")];
    let listener = ServedCore::open(&settings);
    let other = listener.home.ok(&["agents", "add", "other"]).out.trim().to_owned();
    assert_eq!(status(&listener.post("/mcp", "", &hello())), 200, "the agent is served");
    let before = resident_kib(&listener.said);
    let mebibyte = vec![b' '; 1_024 * 1_024];
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 4000000\r\n\r\n",
        listener.port, listener.token
    );
    let mut refused = 0;
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..BODIES {
        let mut stream = listener.dial();
        stream.write_all(head.as_bytes()).expect("a head");
        // A body beyond the share is refused while it is being sent.
        match stream.write_all(&mebibyte) {
            Ok(()) => open.push(stream),
            Err(_) => refused += 1,
        }
    }
    // Whoever was refused after the last byte has its answer by now, or in a moment.
    let within = 4;
    let mut waiting = 0;
    for stream in &mut open {
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
        match stream.read(&mut [0; 1]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => waiting += 1,
            Ok(_) | Err(_) => refused += 1,
        }
    }
    assert!(waiting <= within, "a quarter of 16 MiB holds {within} of these bodies, not {waiting}");
    assert_eq!(waiting + refused, BODIES, "the others are refused");
    let grown = resident_kib(&listener.said).saturating_sub(before);
    assert!(grown < 64 * 1_024, "the core grew by {grown} KiB for {BODIES} MiB of bodies");
    let theirs = listener.request("/mcp", "", &hello()).replace(&listener.token, &other);
    assert_eq!(status(&listener.say(&theirs)), 200, "another agent is served");
}

#[test]
fn an_agent_with_its_share_of_connections_gets_no_more_and_another_one_does() {
    let listener = ServedCore::open(&[("TASKWARDEN_POLICY_GATEWAY_CONNECTIONS_MAX", "40")]);
    let other = listener.home.ok(&["agents", "add", "other"]).out.trim().to_owned();
    let lasting = listener.request("/mcp", "", &hello()).replace("Connection: close\r\n", "");
    let mut kept = Vec::new();
    let mut said = String::new();
    for _ in 0..11 {
        let mut stream = listener.dial();
        stream.write_all(lasting.as_bytes()).expect("it is sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        said = String::from_utf8_lossy(&answer).into_owned();
        kept.push(stream);
    }
    assert_eq!(status(&said), 429, "ten connections are a quarter of forty");
    let theirs = listener.request("/mcp", "", &hello()).replace(&listener.token, &other);
    assert_eq!(status(&listener.say(&theirs)), 200, "another agent is served");
}

#[test]
fn half_sent_requests_at_the_socket_are_bounded_and_commands_go_on() {
    let listener = ServedCore::open(&[]);
    let socket = listener.home.data().join("core.sock");
    let mut open = Vec::new();
    for _ in 0..3_000 {
        // The core lets the oldest go; a queue that is full for a moment is no matter.
        if let Ok(mut stream) = std::os::unix::net::UnixStream::connect(&socket) {
            let _ = stream.write_all(b"POST /call/servers.list HTTP/1.1\r\nhost: core\r\ncontent-length: 9\r\n");
            open.push(stream);
        }
    }
    listener.home.ok(&["servers", "list"]);
    let folder = format!("/proc/{}/fd", listener.said["process"]);
    let files = std::fs::read_dir(folder).expect("its files").count();
    assert!(files < 1_500, "the core holds {files} files for 3,000 half-sent requests");
}
