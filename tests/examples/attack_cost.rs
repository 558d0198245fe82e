//! What peers that overdo it cost: memory of the core, and time of those who did nothing (issue 11).
//!
//! Each attack has a core of its own. Where others are measured, the reference is the same in the same core before the
//! attack; where they are not, the figures are absolute.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made should fail loudly")]

use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tests::bench::{Row, median, program, resident_kib, row};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::{pause_for, wait_for};
use tests::hostile::{Asked, Deed, Hostile, created, discover, json as answer, result, tools};
use tests::quiet_server::{QUIET_SERVER, children};
use tests::torture::Pulse;

const QUESTIONS: usize = 1_000;
const BODIES: usize = 1_000;
const BODY_BYTES: usize = 4 * 1_024 * 1_024;
const SESSIONS: usize = 200;
/// Each has a child of its own, and sessions that share it.
const LISTENERS: usize = 4;
const PATTERNS: usize = 5_000;
/// Calls of somebody else while an attack goes on, and before it.
const CALLS: usize = 300;

fn main() {
    let program = program().display().to_string();
    questions(&program);
    bodies(&program);
    dead_servers(&program);
    patterns(&program);
}

fn hostile(reply: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Hostile {
    Hostile::start(move |asked| {
        Deed::Say(match asked.method() {
            "server/discover" => discover(&asked.id()),
            "" => answer("405 Method Not Allowed", "{}"),
            _ => reply(asked),
        })
    })
}

fn mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1_024.0
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

/// One task that asks a thousand questions at each look.
fn questions(program: &str) {
    let gate = Gate::open(program);
    let form = |number: usize| {
        json!({"method": "elicitation/create", "params": {"mode": "form", "message": format!("Line {number}?"),
            "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}})
    };
    let asks: Map<String, Value> = (0..QUESTIONS).map(|number| (format!("q-{number}"), form(number))).collect();
    let task = json!({
        "resultType": "complete", "taskId": "many", "status": "input_required", "ttlMs": null, "pollIntervalMs": 100,
        "createdAt": "2026-11-21T00:00:00Z", "lastUpdatedAt": "2026-11-21T00:00:00Z", "inputRequests": asks,
    });
    let task = task.to_string();
    let server = hostile(move |asked| match asked.method() {
        "tools/list" => tools(&asked.id()),
        "tools/call" => created(&asked.id(), "many"),
        _ => result(&asked.id(), &task),
    });
    gate.add_server("curious", &["--url", &server.url()]);
    let home = gate.home();
    let before = resident_kib(gate.pid());
    let id = home.call("curious", "job", &json!({}));
    let is_asked = || home.task(&id).get("moreQuestions").and_then(Value::as_u64).filter(|more| *more > 0);
    wait_for("the questions are there", is_asked, || home.core_log());
    let looks = server.served();
    wait_for("it was asked again", || (server.served() > looks + 20).then_some(()), || home.core_log());
    let took: Vec<f64> = (0..9)
        .map(|_| {
            let began = Instant::now();
            home.json(["inbox", "--json"]);
            millis(began)
        })
        .collect();
    let grown = resident_kib(gate.pid()).saturating_sub(before);
    row("1,000 questions of a server: growth of the core", None, mib(grown), "MiB", "< 16");
    row("1,000 questions of a server: `inbox`, median", None, median(&took), "ms", "< 200");
}

/// Bodies that are sent but for their last byte. What the core does not take waits here.
fn bodies(program: &str) {
    let gate = Gate::open(program);
    let server = hostile(|asked| match asked.method() {
        "tools/list" => tools(&asked.id()),
        _ => result(&asked.id(), r#"{"resultType":"complete","content":[]}"#),
    });
    gate.add_server("plain", &["--url", &server.url()]);
    let (bad, good) = (gate.add_agent("bad"), Agent::new(&gate.url("plain"), &gate.add_agent("good")));
    let before = resident_kib(gate.pid());
    let alone = calls(&good);
    let is_over = Arc::new(AtomicBool::new(false));
    let (over, address) = (Arc::clone(&is_over), gate.address());
    let sender = std::thread::spawn(move || send_unfinished(address, &bad, &over));
    // What the core holds grows until its budget is used up, and then no more.
    let mut most = 0;
    wait_for(
        "the core holds what it will hold",
        || {
            pause_for(Duration::from_millis(200));
            let grown = resident_kib(gate.pid()).saturating_sub(before);
            let is_full = grown <= most && grown > 0;
            most = most.max(grown);
            is_full.then_some(())
        },
        || gate.home().core_log(),
    );
    let meanwhile = calls(&good);
    most = most.max(resident_kib(gate.pid()).saturating_sub(before));
    is_over.store(true, Ordering::Relaxed);
    let sent = sender.join().expect("the sender ends");
    row("1,000 unfinished bodies of 4 MiB: growth of the core", None, mib(most), "MiB", "< 128");
    Row {
        metric: "1,000 unfinished bodies of 4 MiB: call of another agent, median".to_owned(),
        reference: Some(alone),
        ours: Some(meanwhile),
        unit: "ms",
        aim: "ratio < 1.2".to_owned(),
        note: format!("reference: before; {} MiB of bodies were taken from the sender", sent >> 20),
        ..Row::default()
    }
    .print();
}

/// The median time of a call.
fn calls(agent: &Agent) -> f64 {
    let call = json!({"name": "job", "arguments": {}});
    let took: Vec<f64> = (0..CALLS)
        .map(|_| {
            let began = Instant::now();
            drop(agent.ask("tools/call", &call).result());
            millis(began)
        })
        .collect();
    median(&took)
}

/// Sends on every connection as much as is taken, until it is over or all but the last byte of each is sent; gives the
/// bytes that were taken.
fn send_unfinished(address: SocketAddr, token: &str, is_over: &AtomicBool) -> usize {
    let head = format!(
        "POST /mcp/plain HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {BODY_BYTES}\r\n\r\n"
    );
    let open = || -> std::io::Result<(TcpStream, usize)> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(head.as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok((stream, 0))
    };
    let mut open: Vec<(TcpStream, usize)> = (0..BODIES).filter_map(|_| open().ok()).collect();
    let piece = [b' '; 65_536];
    let mut taken = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut is_stuck = true;
        open.retain_mut(|(stream, sent)| {
            let left = (BODY_BYTES - 1).saturating_sub(*sent).min(piece.len());
            match stream.write(piece.get(..left).unwrap_or_default()) {
                Ok(bytes) => {
                    (*sent, taken, is_stuck) = (*sent + bytes, taken + bytes, is_stuck && bytes == 0);
                    true
                }
                // Not taken now. Any other error is a refusal.
                Err(why) => why.kind() == ErrorKind::WouldBlock,
            }
        });
        if is_stuck {
            pause_for(Duration::from_millis(50));
        }
    }
    taken
}

/// Idle 2025 sessions whose servers are all killed at once.
fn dead_servers(program: &str) {
    let gate = Gate::open(program);
    gate.add_server("quiet", &["--", "bash", "-c", QUIET_SERVER]);
    let home = gate.home();
    let open = |nth: usize| {
        let agent = Agent::new(&gate.url("quiet"), &gate.add_agent(&format!("listener-{nth}")));
        let sessions: Vec<String> = (0..SESSIONS / LISTENERS).map(|_| agent.open("2025-11-25").0).collect();
        (agent, sessions)
    };
    let listeners: Vec<(Agent, Vec<String>)> = (0..LISTENERS).map(open).collect();
    // One more for people.
    let all = || Some(children(home)).filter(|pids| pids.len() == LISTENERS + 1);
    let before = wait_for("every agent has a child", all, || home.core_log());
    let pulse = Pulse::start(home.data().join("core.sock"));
    for pid in before.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        kill_process(pid, Signal::KILL).expect("the child is ours");
    }
    let is_back = || all().filter(|pids| pids.iter().all(|pid| !before.contains(pid)));
    wait_for("every child is back", is_back, || home.core_log());
    for (agent, sessions) in &listeners {
        for session in sessions {
            drop(agent.in_session(session, "ping", &json!({})).result());
        }
    }
    let gap = pulse.stop().as_secs_f64() * 1_000.0;
    row("200 sessions, all servers killed: longest time without an answer", None, gap, "ms", "< 100");
}

/// A tool with thousands of costly patterns that one agent calls, while another one pings.
fn patterns(program: &str) {
    let gate = Gate::open(program);
    let field = |number: usize| (format!("f{number}"), json!({"type": "string", "pattern": r"^\p{L}{60}$"}));
    let schema = json!({"type": "object", "properties": (0..PATTERNS).map(field).collect::<Map<_, _>>()});
    let tools = json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [{"name": "job", "inputSchema": schema}],
    });
    let tools = tools.to_string();
    let server = hostile(move |asked| match asked.method() {
        "tools/list" => result(&asked.id(), &tools),
        _ => result(&asked.id(), r#"{"resultType":"complete","content":[]}"#),
    });
    gate.add_server("patterned", &["--url", &server.url()]);
    let bad = Agent::new(&gate.url("patterned"), &gate.add_agent("bad"));
    let good = Agent::new(&gate.url("*"), &gate.add_agent("good"));
    let session = good.open("2025-11-25").0;
    let longest = |is_over: &dyn Fn() -> bool| {
        let (mut longest, mut pings) = (0.0_f64, 0);
        while !is_over() || pings < CALLS {
            let began = Instant::now();
            drop(good.in_session(&session, "ping", &json!({})).result());
            (longest, pings) = (longest.max(millis(began)), pings + 1);
        }
        longest
    };
    let alone = longest(&|| true);
    let caller = std::thread::spawn(move || {
        let arguments: Map<String, Value> = (0..64).map(|number| (format!("f{number}"), json!("a"))).collect();
        for _ in 0..20 {
            // Refused or done: what counts is what it costs the other.
            bad.ask("tools/call", &json!({"name": "job", "arguments": arguments}));
        }
    });
    let meanwhile = longest(&|| caller.is_finished());
    caller.join().expect("the calls were answered");
    Row {
        metric: "a tool with 5,000 patterns: longest ping of another agent".to_owned(),
        reference: Some(alone),
        ours: Some(meanwhile),
        unit: "ms",
        aim: "< 20".to_owned(),
        note: "reference: before".to_owned(),
        ..Row::default()
    }
    .print();
}
