//! Servers that die while agents only listen: the core stays responsive, whatever the number of idle sessions. One that
//! only agents use is told as down when it died, and as up when it is back.
//!
//! The cores of these tests run on two workers of the multi-thread runtime, with more listening sessions than workers:
//! a loop that never yields is invisible to a paused clock and to a machine with many cores.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::by_hand::{Agent, Reply};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::peers::free_port;
use tests::quiet_server::{QUIET_SERVER, children};

use crate::PROGRAM;

/// More than the two workers of the core.
const SESSIONS: usize = 8;
/// How often each server is killed. The loop of the finding took both workers at the first kill.
const KILLS: usize = 3;
/// The longest an answer may take. A frozen core never answers; a busy machine has this long.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// A core on two workers with one stdio server of the 2025 dialect.
fn small_core() -> Gate {
    let mut gate = Gate::open(PROGRAM);
    gate.kill();
    gate.start_with(&[("TOKIO_WORKER_THREADS", "2")]);
    gate.add_server("quiet", &["--", "bash", "-c", QUIET_SERVER]);
    gate
}

/// Asserts that the listener answers. Any status is an answer.
fn assert_answers(address: SocketAddr, log: impl Fn() -> String) {
    let asked = || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        write!(stream, "GET /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        stream.read(&mut [0; 64])
    };
    let answer = asked();
    assert!(matches!(answer, Ok(1..)), "the core answers: {answer:?}; core: {}", log());
}

/// Kills every child of the server again and again, and asserts that the core answers until all of them are back.
fn kill_children(gate: &Gate, expected: usize) {
    let home = gate.home();
    let state = || format!("{:?}\ncore: {}", children(home), home.core_log());
    for _ in 0..KILLS {
        let before = wait_for(
            "every session has its child",
            || Some(children(home)).filter(|children| children.len() == expected),
            state,
        );
        for pid in before.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            kill_process(pid, Signal::KILL).expect("the child is ours");
        }
        wait_for(
            "new children took the place of the killed ones",
            || {
                assert_answers(gate.address(), || home.core_log());
                let now = children(home);
                (now.len() == expected && now.iter().all(|pid| !before.contains(pid))).then_some(())
            },
            state,
        );
    }
}

#[test]
fn the_core_answers_while_eight_idle_sessions_of_one_agent_lose_their_server() {
    let gate = small_core();
    let agent = Agent::new(&gate.url("quiet"), &gate.add_agent("listener"));
    let sessions: Vec<String> = (0..SESSIONS).map(|_| agent.open("2025-11-25").0).collect();
    kill_children(&gate, 2);
    for session in &sessions {
        let pong = agent.in_session(session, "ping", &json!({}));
        assert_eq!(pong.result(), json!({}), "the session goes on: {pong:?}");
    }
    assert_eq!(gate.home().run(["tasks", "list"]).code, 0, "and so does the command line");
}

#[test]
fn the_core_answers_while_the_servers_of_eight_agents_die_at_once() {
    let gate = small_core();
    let agents: Vec<_> = (0..SESSIONS)
        .map(|nth| {
            let agent = Agent::new(&gate.url("quiet"), &gate.add_agent(&format!("listener-{nth}")));
            let (session, _) = agent.open("2025-11-25");
            (agent, session)
        })
        .collect();
    kill_children(&gate, 1 + SESSIONS);
    for (agent, session) in &agents {
        let listed = agent.in_session(session, "tools/list", &json!({})).result();
        assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "its server is back: {listed}");
    }
}

/// A server over HTTP, killed when it goes.
struct Loopback(Child);

impl Loopback {
    fn start(port: u16, more: &[&str]) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/dead_servers/loopback.py");
        let mut command = Command::new("python3");
        let child = command.args([script, &port.to_string()]).args(more).spawn().expect("python3 starts");
        wait_for(
            "it listens",
            || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok(),
            || format!("nobody listens on {port}"),
        );
        Self(child)
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the health of the server is told as this.
fn told_as(gate: &Gate, kind: &str) -> Value {
    let health = || gate.home().json(["servers", "show", "plain", "--json"])["health"].clone();
    wait_for(
        &format!("it is told as {kind}"),
        || Some(health()).filter(|health| health["kind"] == kind),
        || format!("{}\ncore: {}", health(), gate.home().core_log()),
    )
}

#[test]
fn a_server_that_only_agents_use_is_told_as_down_when_it_dies_and_as_up_when_it_is_back() {
    let (gate, port) = (Gate::open(PROGRAM), free_port());
    let server = Loopback::start(port, &[]);
    gate.add_server("plain", &["--url", &format!("http://127.0.0.1:{port}/mcp")]);
    let agent = Agent::new(&gate.url("plain"), &gate.add_agent("bee"));
    let (session, _) = agent.open("2025-11-25");
    let call = || -> Reply { agent.in_session(&session, "tools/call", &json!({"name": "hello", "arguments": {}})) };
    assert!(call().text.contains("hello"), "it works");
    drop(server);
    let failed = call().json();
    assert!(failed.pointer("/result/isError") == Some(&Value::Bool(true)) || failed.get("error").is_some(), "{failed}");
    let down = told_as(&gate, "down");
    assert!(down["why"].as_str().is_some_and(|why| !why.is_empty()), "and why: {down}");
    let listed = gate.home().run(["servers", "list"]);
    assert!(listed.out.contains("down"), "the list says so too: {}", listed.out);
    let _again = Loopback::start(port, &[]);
    wait_for("a call gets through", || call().text.contains("hello").then_some(()), || gate.home().core_log());
    told_as(&gate, "up");
}

#[test]
fn a_server_whose_stream_broke_is_told_as_down_though_nobody_calls_it() {
    let (gate, port) = (Gate::open(PROGRAM), free_port());
    let opened = gate.home().path().join("opened");
    let with_stream = [opened.to_str().expect("a path")];
    let server = Loopback::start(port, &with_stream);
    gate.add_server("plain", &["--url", &format!("http://127.0.0.1:{port}/mcp")]);
    wait_for("its stream is open", || opened.exists().then_some(()), || gate.home().core_log());
    drop(server);
    told_as(&gate, "down");
    let _again = Loopback::start(port, &with_stream);
    told_as(&gate, "up");
}
