//! What a collector gets is OpenTelemetry by its published definitions: the package `opentelemetry-proto` decodes every body.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::clients::python;
use tests::collector::{Collector, attribute};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// Requests follow each other at once.
const AT_ONCE: [(&str, &str); 2] =
    [("TASKWARDEN_POLICY_AUDIT_SINK_GAP", "20ms"), ("TASKWARDEN_POLICY_AUDIT_CHECKPOINT_GAP", "20ms")];

/// What the decoder finds in these bodies, each with its path; or how it failed.
fn decoded(gate: &Gate, bodies: &[(String, Value)]) -> Result<Vec<Value>, String> {
    let file = gate.home().path().join("bodies.jsonl");
    let mut lines = String::new();
    for (path, body) in bodies {
        writeln!(lines, "{}", json!({"path": path, "body": body})).expect("a line");
    }
    std::fs::write(&file, lines).expect("a file");
    let ran = python("clients", "otlp_decode.py").arg(&file).output().expect("python starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    if !ran.status.success() {
        return Err(text(ran.stderr));
    }
    Ok(text(ran.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// All values of a member, in the order of the requests.
fn all<'v>(found: &'v [Value], path: &str, member: &str) -> Vec<&'v str> {
    let of_path = found.iter().filter(|one| one["path"] == path);
    of_path.flat_map(|one| one[member].as_array().expect("a list").iter().filter_map(Value::as_str)).collect()
}

#[test]
fn every_body_that_a_collector_gets_is_decoded_by_the_published_definitions() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let collector = Collector::start();
    let mut gate = Gate::open(PROGRAM);
    gate.kill();
    gate.start_with(&AT_ONCE);
    let home = gate.home();
    gate.add_server("recorder", &["--url", &server.url()]);
    home.json([
        "audit",
        "sinks",
        "add",
        "otlp",
        &collector.url(),
        "--signals",
        "logs,traces",
        "--first",
        "1",
        "--json",
    ]);
    let asked = home.call("recorder", "ask", &json!({"nonce": "a"}));
    home.wait_phase(&asked, "waiting");
    assert_eq!(home.run(["tasks", "answer", &asked, "--accept", r#"{"word":"bees"}"#]).code, 0, "it is answered");
    home.wait_phase(&asked, "done");
    let held = home.call("recorder", "hold", &json!({"nonce": "b"}));
    home.wait_taken(&held);
    assert_eq!(home.run(["tasks", "cancel", &held, "--yes"]).code, 0, "it is asked to cancel");
    home.wait_phase(&held, "cancelled");
    let last =
        home.json(["audit", "list", "--verb", "ended", "--limit", "1", "--json"])["rows"][0]["number"].to_string();
    let has_all = || {
        let has_row = |record: &Value| attribute(record, "taskwarden.audit.number").as_deref() == Some(last.as_str());
        (collector.taken_spans().len() >= 2 && collector.taken().iter().any(has_row)).then_some(())
    };
    wait_for("both tasks and their rows are sent", has_all, || home.core_log());

    let bodies: Vec<(String, Value)> =
        collector.requests().into_iter().map(|request| (request.path, request.body)).collect();
    let found = decoded(&gate, &bodies).expect("each body is decoded");
    let sent: Vec<Value> = bodies.iter().flat_map(|(_, body)| tests::collector::records(body)).collect();
    let uids: Vec<String> = sent.iter().filter_map(|record| attribute(record, "log.record.uid")).collect();
    assert_eq!(all(&found, "/v1/logs", "ids"), uids, "each record is one by the definitions, too");
    assert!(all(&found, "/v1/logs", "names").contains(&"taskwarden.audit.answerBegun"), "{found:?}");
    let names = all(&found, "/v1/traces", "names");
    assert!(names.contains(&"tools/call ask") && names.contains(&"tools/call hold"), "{found:?}");

    let (path, body) = bodies.first().expect("a request").clone();
    let other = body.to_string().replacen("timeUnixNano", "timeUnixNanos", 1);
    let other = serde_json::from_str(&other).expect("JSON");
    let refused = decoded(&gate, &[(path, other)]).expect_err("a field of another name is none");
    assert!(refused.contains("timeUnixNanos"), "{refused}");
}
