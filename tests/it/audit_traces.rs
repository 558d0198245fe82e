//! Traces of tasks, from outside: each task that ended reaches a collector as one span with its outcome and decisions, also
//! a collector that was busy, and over a kill; what is sent twice has the same ids; and nothing that a server or a person
//! said is in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::collector::{Collector, CollectorAnswer, attribute};
use tests::gate::Gate;
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::PROGRAM;

/// Requests and tries follow each other at once.
const AT_ONCE: [(&str, &str); 4] = [
    ("TASKWARDEN_POLICY_AUDIT_SINK_GAP", "20ms"),
    ("TASKWARDEN_POLICY_BACKOFF_FIRST", "50ms"),
    ("TASKWARDEN_POLICY_BACKOFF_LAST", "200ms"),
    ("TASKWARDEN_POLICY_AUDIT_CHECKPOINT_GAP", "20ms"),
];

/// A core with a server, and a collector that it does not know yet.
struct Scene {
    gate: Gate,
    server: Recorder,
    collector: Collector,
    _runtime: Runtime,
}

impl Scene {
    fn open() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
        let mut gate = Gate::open(PROGRAM);
        gate.kill();
        gate.start_with(&AT_ONCE);
        gate.add_server("recorder", &["--url", &server.url()]);
        Self { gate, server, collector: Collector::start(), _runtime: runtime }
    }

    fn home(&self) -> &Home {
        self.gate.home()
    }

    fn add(&self, signals: &str) -> Value {
        let url = self.collector.url();
        self.home().json(["audit", "sinks", "add", "otlp", &url, "--signals", signals, "--json"])
    }

    /// Calls a tool as a person, and gives the task when it is over.
    fn work(&self, nonce: &str) -> String {
        let id = self.home().call("recorder", "work", &json!({"nonce": nonce}));
        self.home().wait_phase(&id, "done");
        id
    }

    fn said(&self) -> String {
        self.home().run(["audit", "sinks", "list"]).out
    }

    /// Waits until the collector has the span of this task, and gives it as it came last.
    fn span(&self, task: &str) -> Value {
        let found = || self.collector.taken_spans().into_iter().rfind(|span| task_of(span) == task);
        wait_for(&format!("the span of {task} comes"), found, || {
            format!("{}\n{:?}\n{}", self.said(), self.collector.taken_spans(), self.home().core_log())
        })
    }
}

fn task_of(span: &Value) -> String {
    attribute(span, "taskwarden.task.id").unwrap_or_default()
}

fn events(span: &Value) -> Vec<(String, &Value)> {
    let all = span["events"].as_array().expect("events");
    all.iter().map(|event| (event["name"].as_str().unwrap_or_default().to_owned(), event)).collect()
}

#[test]
fn a_task_that_ended_is_one_span_with_its_outcome_and_who_decided() {
    let scene = Scene::open();
    let home = scene.home();
    let added = scene.add("traces");
    assert_eq!(added["signals"][0]["signal"], "traces", "{added}");
    assert_eq!(added["signals"].as_array().map(Vec::len), Some(1), "{added}");
    let asked = home.call("recorder", "ask", &json!({"nonce": "hush-nonce"}));
    home.wait_phase(&asked, "waiting");
    let answered = home.run(["tasks", "answer", &asked, "--accept", r#"{"word":"hush-word"}"#]);
    assert_eq!(answered.code, 0, "{answered:?}");
    home.wait_phase(&asked, "done");
    let held = home.call("recorder", "hold", &json!({"nonce": "held"}));
    home.wait_taken(&held);
    let cancelled = home.run(["tasks", "cancel", &held, "--yes", "--reason", "hush-reason"]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    home.wait_phase(&held, "cancelled");

    let span = scene.span(&asked);
    assert_eq!((&span["name"], &span["kind"]), (&json!("tools/call ask"), &json!(3)), "{span}");
    assert_eq!(span["status"], json!({"code": 1}), "{span}");
    for (key, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "ask"),
        ("taskwarden.server.name", "recorder"),
        ("taskwarden.task.phase", "done"),
        ("taskwarden.task.origin", "started"),
        ("taskwarden.task.attempt", "1"),
    ] {
        assert_eq!(attribute(&span, key).as_deref(), Some(value), "{key}: {span}");
    }
    let nanos = |key: &str| span[key].as_str().and_then(|nanos| nanos.parse::<u64>().ok()).expect("a time");
    assert!(nanos("startTimeUnixNano") > 0 && nanos("endTimeUnixNano") >= nanos("startTimeUnixNano"), "{span}");
    let events = events(&span);
    let answer = events.iter().find(|(name, _)| name == "taskwarden.audit.answerBegun").expect("who answered").1;
    assert_eq!(attribute(answer, "taskwarden.decision.door").as_deref(), Some("terminal"), "{answer}");
    assert_eq!(attribute(answer, "taskwarden.question.number").as_deref(), Some("1"), "{answer}");
    assert!(attribute(answer, "user.name").is_some(), "{answer}");
    for name in ["admitted", "asked", "answerEnded", "ended"] {
        assert!(events.iter().any(|(event, _)| *event == format!("taskwarden.audit.{name}")), "{name}: {events:?}");
    }

    let cancelled = scene.span(&held);
    assert_eq!(cancelled["status"], json!({"code": 0}), "people ended it: {cancelled}");
    assert_eq!(attribute(&cancelled, "taskwarden.task.phase").as_deref(), Some("cancelled"), "{cancelled}");
    let requests = scene.collector.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/traces"), "no log records were asked for");
    let sent: String = requests.iter().map(|request| request.body.to_string()).collect();
    assert!(!sent.contains("hush"), "no argument, answer, question or reason is sent: {sent}");
    assert!(!sent.contains("May "), "nor what the server said: {sent}");
    let uids: BTreeSet<_> = scene.collector.taken_spans().iter().map(task_of).collect();
    assert_eq!(uids.len(), scene.collector.taken_spans().len(), "each task comes once");
    let told = |words: &str| scene.said().contains(words).then_some(());
    wait_for("the list says so", || told("/v1/traces` has every task that ended up to row"), || scene.said());
    let recorded = home.json(["audit", "list", "--verb", "sinkAdded", "--json"]);
    let note = recorded["rows"][0]["note"].as_str().expect("a note");
    assert!(note.contains(", traces from row "), "what is sent is on record: {note}");
}

#[test]
fn spans_of_agents_stand_in_the_trace_that_their_calls_carried() {
    let scene = Scene::open();
    scene.add("traces");
    let token = scene.gate.add_agent("bee");
    let agent = Agent::new(&scene.gate.url("recorder"), &token);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let params = json!({
        "name": "work", "arguments": {"nonce": "traced"},
        "_meta": {"traceparent": format!("00-{trace}-b7ad6b7169203331-01")},
    });
    let reply = agent.ask("tools/call", &params);
    let task = reply.result()["taskId"].as_str().expect("it becomes a task").to_owned();
    scene.home().wait_phase(&task, "done");
    let span = scene.span(&task);
    assert_eq!(span["traceId"], trace, "{span}");
    assert_eq!(attribute(&span, "gen_ai.agent.name").as_deref(), Some("bee"), "{span}");
    let alone = || {
        let task = agent.start("work", &json!({"nonce": "alone"}));
        scene.home().wait_phase(&task, "done");
        scene.span(&task)
    };
    let (alone, again) = (alone(), alone());
    assert_ne!(alone["traceId"], trace, "a call without a trace has one of its own");
    let link = &again["links"][0];
    assert_eq!((&link["traceId"], &link["spanId"]), (&alone["traceId"], &alone["spanId"]), "{again}");
    assert_eq!(attribute(link, "taskwarden.link.reason").as_deref(), Some("attempt_before"), "{again}");
}

#[test]
fn each_signal_has_a_cursor_of_its_own_and_waits_and_is_told_by_itself() {
    let scene = Scene::open();
    let home = scene.home();
    let busy = CollectorAnswer::status(503).header("retry-after", "2");
    let partial = json!({"partialSuccess": {"rejectedSpans": 1, "errorMessage": "too old"}});
    scene.collector.answer_spans([busy, CollectorAnswer::with(200, &partial), CollectorAnswer::status(404)]);
    scene.add("logs,traces");
    let first = scene.work("first");
    wait_for("traces wait", || scene.said().contains("answered 503").then_some(()), || scene.said());
    wait_for("log records do not", || scene.said().contains("/v1/logs` has every row").then_some(()), || scene.said());
    scene.span(&first);
    let told = |words: &str| scene.said().contains(words).then_some(());
    wait_for("the rejection is told", || told("it rejected 1 task since"), || scene.said());
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.out.contains("it rejected 1 task since"), "{doctor:?}");

    let second = scene.work("second");
    wait_for("traces are paused", || told("answered 404: no collector is at this path"), || scene.said());
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("/v1/traces` answered 404"), "{doctor:?}");
    wait_for("log records go on", || told("/v1/logs` has every row"), || scene.said());
    let resumed = home.json(["audit", "sinks", "resume", "1", "--json"]);
    assert_eq!(resumed["signals"][1]["trouble"], Value::Null, "{resumed}");
    scene.span(&second);
    let same = home.run(["audit", "sinks", "add", "otlp", &scene.collector.url(), "--signals", "traces"]);
    assert!(same.code == 5 && same.err.contains("sink 1 sends traces to this address already"), "{same:?}");
    let none = home.run(["audit", "sinks", "add", "otlp", &scene.collector.url(), "--signals", "metrics"]);
    assert!(none.code == 2 && none.err.contains("possible values: logs, traces"), "{none:?}");
}

#[test]
fn a_core_that_is_killed_after_the_collector_took_spans_sends_them_again_with_the_same_ids() {
    let mut scene = Scene::open();
    let tasks = [scene.work("one"), scene.work("two")];
    scene.gate.kill();
    // The collector takes spans, and that is never stored.
    scene
        .gate
        .start_with(&[AT_ONCE.as_slice(), &[("CORE_UNDER_TEST_ABORT_AT", "registry.note_sink:before:1")]].concat());
    let url = scene.collector.url();
    let added =
        scene.home().run(["audit", "sinks", "add", "otlp", &url, "--signals", "traces", "--first", "1", "--json"]);
    let gate = &mut scene.gate;
    wait_for("the core is killed at its point", || gate.has_ended().then_some(()), || format!("{added:?}"));
    let before = scene.collector.taken_spans();
    assert_eq!(before.len(), 2, "the collector has both: {before:?}");
    scene.gate.start_with(&AT_ONCE);
    let last = scene.work("last");
    scene.span(&last);
    let mut by_task: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for span in scene.collector.taken_spans() {
        by_task.entry(task_of(&span)).or_default().push(span);
    }
    for task in &tasks {
        let same = &by_task[task];
        assert!(same.len() == 2 && same[0] == same[1], "{task} is the same span each time: {same:?}");
    }
    assert_eq!((by_task[&last].len(), by_task.len()), (1, 3), "{by_task:?}");
    assert_eq!(scene.server.seen().calls.get("one"), Some(&1), "and nothing was called again");
}
