//! What stopping costs (issue 16): a halt among calls, a plan of all tasks there may be in one, cancels of half of them, reads
//! of the control API beside them, and the shutdown of a server whose 200 descendants ignore every signal that asks.
//!
//! Where something is sent or stored, the reference is the same without us, in the same run. `TASKWARDEN_BENCH_TASKS`
//! (20,000) changes the size.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made should fail loudly")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use host::app::socket_client::SocketClient;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tests::bench::{Row, attach, call, median, program, quantile, start};
use tests::by_hand::{Agent, modern};
use tests::gate::Gate;
use tests::home::{Home, wait_for};
use tests::quiet_server::QUIET_SERVER;
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

const TASKS: usize = 20_000;
/// Requests at once, ours and those of the reference.
const AT_ONCE: usize = 64;
const HALTS: usize = 15;
/// Agents that call without a pause while work is halted.
const AGENTS: usize = 4;
const READS: usize = 2_000;
const DESCENDANTS: usize = 200;
/// What the keeper waits at each of two steps before it takes the next one.
const GRACE: Duration = Duration::from_secs(6);

/// What a client declares that knows tasks.
const TASKS_DECLARED: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// Before a quiet server: 200 processes that do not end when they are asked, half of them in sessions of their own.
const STUBBORN: &str = r"
trap '' TERM
for n in $(seq 100); do sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 & done
";

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let program = program().display().to_string();
    halts(&runtime, &program);
    many_tasks(&runtime, &program);
    descendants(&program);
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// A core without the limits that agents and persons have, because the measurement exceeds them.
fn open(program: &str) -> Gate {
    let mut gate = Gate::open(program);
    gate.kill();
    let calm = "[policy.gateway]\nrequests_per_second = 1000000\nrequests_burst = 1000000\n";
    std::fs::write(gate.home().data().join("config.toml"), calm).expect("the configuration can be written");
    gate.start_with(&[("TASKWARDEN_POLICY_OPEN_CALLS_PER_SERVER", "100000")]);
    gate
}

fn recorder(runtime: &Runtime) -> Recorder {
    let manner = Manner { poll_interval: Duration::from_secs(600), slow: Duration::ZERO, pushes: false };
    runtime.block_on(Recorder::start(manner)).expect("a loopback server")
}

/// From the order of a halt, with its commit, to the moment after which no call leaves, while agents call.
fn halts(runtime: &Runtime, program: &str) {
    let (gate, server) = (open(program), recorder(runtime));
    gate.add_server("quick", &["--url", &server.url()]);
    let tokens: Vec<String> = (0..AGENTS).map(|nth| gate.add_agent(&format!("agent-{nth}"))).collect();
    let (url, core) = (gate.url("quick"), attach(gate.home()));
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut closed, mut committed) = (Vec::new(), Vec::new());
    std::thread::scope(|threads| {
        for token in &tokens {
            threads.spawn(|| {
                let agent = Agent::new(&url, token);
                while !is_over.load(Ordering::Relaxed) {
                    drop(agent.ask("tools/call", &json!({"name": "quick", "arguments": {"nonce": "one"}})));
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..HALTS {
            let before = asked.load(Ordering::Relaxed);
            let called = || (asked.load(Ordering::Relaxed) > before + 50).then_some(());
            wait_for("agents call", called, || gate.home().core_log());
            let halted = runtime.block_on(call(&core, "halts.start", &json!({"reason": "bench", "scope": ["calls"]})));
            closed.push(millis(gate_closed_after(&halted)));
            for stage in ["acknowledged", "requests", "readOnly", "calls"] {
                let began = Instant::now();
                runtime.block_on(call(&core, "halts.resume", &json!({"stage": stage, "withOpen": true})));
                committed.push(millis(began.elapsed()));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let reference = Some(median(&committed));
    closed.sort_by(f64::total_cmp);
    for (share, name) in [(0.5, "median"), (1.0, "longest")] {
        Row {
            metric: format!("halt among calls: order to gate closed, {name}"),
            reference,
            ours: Some(quantile(&closed, share)),
            unit: "ms",
            aim: "<= 10".to_owned(),
            note: format!("of {HALTS}; reference: a call that commits a stage of the way back, median"),
            ..Row::default()
        }
        .print();
    }
}

fn gate_closed_after(halted: &Value) -> Duration {
    let moment = |place: &str| halted.pointer(place).and_then(Value::as_str).and_then(api::dto::moment);
    let (ordered, closed) = (moment("/halt/orders/0/at"), moment("/halt/closedAt"));
    closed.expect("the gate is closed").since(ordered.expect("an order"))
}

/// A plan of every open task, cancels of one half of them, and reads of the control API.
fn many_tasks(runtime: &Runtime, program: &str) {
    let tasks = std::env::var("TASKWARDEN_BENCH_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(TASKS);
    let (gate, servers) = (open(program), [recorder(runtime), recorder(runtime)]);
    for (nth, server) in servers.iter().enumerate() {
        gate.add_server(&format!("s{nth}"), &["--url", &server.url()]);
    }
    let core = attach(gate.home());
    runtime.block_on(async {
        let starting = (0..tasks).map(|number| {
            let core = &core;
            async move { start(core, &format!("s{}", number % 2), "load", &number.to_string()).await }
        });
        futures::stream::iter(starting).buffer_unordered(AT_ONCE).for_each(|_| async {}).await;
    });
    control_reads(runtime, &gate);
    plan(runtime, &core, tasks);
    cancels(runtime, &gate, &core, &servers, tasks / 2);
}

fn plan(runtime: &Runtime, core: &SocketClient, tasks: usize) {
    let took: Vec<f64> = (0..5)
        .map(|_| {
            let began = Instant::now();
            let made = runtime.block_on(call(core, "plans.make", &json!({"kind": "cancel", "filter": {}})));
            let took = began.elapsed().as_secs_f64();
            assert_eq!(made.get("count").and_then(Value::as_u64), u64::try_from(tasks).ok(), "all tasks are in it");
            took
        })
        .collect();
    Row {
        metric: format!("plan of {tasks} tasks is made"),
        ours: Some(median(&took)),
        unit: "s",
        aim: "<= 1".to_owned(),
        note: "median of 5, over the core's socket".to_owned(),
        ..Row::default()
    }
    .print();
}

/// From running a plan to the last cancel that arrives at the server, beside as many bare requests.
fn cancels(runtime: &Runtime, gate: &Gate, core: &SocketClient, servers: &[Recorder; 2], tasks: usize) {
    let [ours, bare] = servers;
    let made = runtime.block_on(call(core, "plans.make", &json!({"kind": "cancel", "filter": {"server": "s0"}})));
    let began = Instant::now();
    runtime.block_on(call(core, "plans.run", &json!({"planId": made.get("planId"), "reason": "bench"})));
    let arrived = || Some(ours.seen()).filter(|seen| seen.cancelled_at.len() >= tasks);
    let seen = wait_for("all cancels arrive", arrived, || gate.home().core_log());
    let last = seen.cancelled_at.iter().max().expect("a last one").duration_since(began).as_secs_f64();

    let began = Instant::now();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let ids: Vec<String> = (1..=tasks).map(|number| format!("task-{number}")).collect();
    runtime.block_on(async {
        let (client, url) = (&client, &bare.url());
        let asking = ids.iter().map(|id| async move {
            let body = modern(json!(id), "tasks/cancel", &json!({"taskId": id}), TASKS_DECLARED);
            let asked = client
                .post(url)
                .header("content-type", "application/json")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "tasks/cancel")
                .header("mcp-name", id)
                .body(body);
            let reply = asked.send().await.expect("the server answers");
            assert_eq!(reply.status(), StatusCode::OK, "a cancel is taken");
        });
        futures::stream::iter(asking).buffer_unordered(AT_ONCE).for_each(|()| async {}).await;
    });
    let reference = began.elapsed().as_secs_f64();
    Row {
        metric: format!("{tasks} tasks asked to cancel, first to last"),
        reference: Some(reference),
        ours: Some(last),
        unit: "s",
        aim: "<= 8".to_owned(),
        note: format!("from running the plan; reference: bare requests, {AT_ONCE} at once"),
        ..Row::default()
    }
    .print();
}

/// Calls of a supervisor program over one connection, one after the other.
fn control_reads(runtime: &Runtime, gate: &Gate) {
    let added = gate.home().run(["control", "add", "reader", "--scope", "read", "--all"]);
    assert_eq!(added.code, 0, "{}", added.err);
    let token = added.out.trim().to_owned();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let ask = |name: &'static str, body: Value, wanted: StatusCode| {
        let (client, token, address) = (&client, &token, gate.address());
        async move {
            let asked =
                client.post(format!("http://{address}/api/v1/{name}")).bearer_auth(token).body(body.to_string());
            let reply = asked.send().await.expect("the core answers");
            assert_eq!(reply.status(), wanted, "`{name}`");
            reply.text().await.expect("an answer")
        }
    };
    let list = runtime.block_on(ask("tasks.list", json!({}), StatusCode::OK));
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let id = list.pointer("/tasks/0/id").cloned().expect("a task");
    let p99 = |name: &'static str, body: Value, wanted: StatusCode| {
        let mut took: Vec<f64> = (0..READS)
            .map(|_| {
                let began = Instant::now();
                runtime.block_on(ask(name, body.clone(), wanted));
                millis(began.elapsed())
            })
            .collect();
        took.sort_by(f64::total_cmp);
        quantile(&took, 0.99)
    };
    let reference = p99("no.such", json!({}), StatusCode::NOT_FOUND);
    for (name, body) in [("tasks.show", json!({"id": id})), ("tasks.list", json!({"open": true, "limit": 20}))] {
        Row {
            metric: format!("control API: `{name}`, p99"),
            reference: Some(reference),
            ours: Some(p99(name, body, StatusCode::OK)),
            unit: "ms",
            aim: "<= 5".to_owned(),
            note: format!("{READS} over one connection; reference: a call that does not exist"),
            ..Row::default()
        }
        .print();
    }
}

/// From the order to shut a server down until none of its processes is left.
fn descendants(program: &str) {
    let home = Home::new(program);
    let _core = home.serve();
    let mark = format!("BENCH_MARK={}", home.path().display());
    let script = format!("{STUBBORN}{QUIET_SERVER}while :; do sleep 1000; done");
    let added = home.run(["servers", "add", "stubborn", "--yes", "--", "/usr/bin/env", &mark, "bash", "-c", &script]);
    assert_eq!(added.code, 0, "{}", added.err);
    let running = || marked(&mark);
    wait_for("all of them run", || (running() > DESCENDANTS).then_some(()), || home.core_log());
    let began = Instant::now();
    let ended = home.run(["servers", "end", "stubborn", "--yes"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    wait_for("none is left", || (running() == 0).then_some(()), || home.core_log());
    Row {
        metric: format!("{DESCENDANTS} descendants that ignore signals: until none is left"),
        reference: Some(GRACE.as_secs_f64()),
        ours: Some(began.elapsed().as_secs_f64()),
        unit: "s",
        aim: "<= 7".to_owned(),
        note: "reference: the two waits of the keeper".to_owned(),
        ..Row::default()
    }
    .print();
}

/// Processes whose environment has this entry.
fn marked(entry: &str) -> usize {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|known| known == entry.as_bytes())
    };
    pids.filter(has_mark).count()
}
