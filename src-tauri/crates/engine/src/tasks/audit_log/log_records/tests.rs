//! Bodies hold what the published protobuf definitions allow and nothing else.

use std::collections::BTreeMap;

use domain::time::Timestamp;

use super::*;
use crate::tasks::audit_log::otlp_json::schema::check;

fn row(number: u64) -> AuditRow {
    AuditRow {
        number,
        layout: 2,
        at: Timestamp::from_millis(1_700_000_000_123),
        actor: "person:ada".into(),
        verb: "stopBegun".into(),
        subject: "handle:hdl_1".into(),
        server: "srv_1".into(),
        agent: "agt_1".into(),
        note: Some("too slow \"really\"\u{1f980}".into()),
        origin: None,
        detail: Some(r#"{"door":"terminal","executable":"/usr/bin/taskwarden","process":"7@99"}"#.into()),
        salt: Some(vec![1; 16]),
        commitment: Some([2; 32]),
        previous: [3; 32],
        hash: [4; 32],
        fits: true,
    }
}

fn records(body: &str) -> Vec<Value> {
    let body: Value = serde_json::from_str(body).expect("JSON");
    check("ExportLogsServiceRequest", &body);
    let records = body.pointer("/resourceLogs/0/scopeLogs/0/logRecords").and_then(Value::as_array);
    records.expect("records").clone()
}

fn only(row: &AuditRow) -> (Value, BTreeMap<String, String>) {
    let request = request("taskwarden/l0g", std::slice::from_ref(row), usize::MAX);
    let record = records(&request.body).pop().expect("a record");
    let all = record["attributes"].as_array().expect("attributes").clone();
    let read = |one: &Value| {
        let value = one["value"].as_object().and_then(|kinds| kinds.values().next().cloned()).unwrap_or_default();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (one["key"].as_str().unwrap_or_default().to_owned(), value)
    };
    (record, all.iter().map(read).collect())
}

#[test]
fn a_record_says_who_did_what_to_what_by_which_door_and_where_its_row_stands_in_the_chain() {
    let (record, found) = only(&row(12));
    assert_eq!(record["timeUnixNano"], "1700000000123000000");
    assert_eq!((&record["severityNumber"], &record["severityText"]), (&json!(9), &json!("INFO")));
    assert_eq!(record["eventName"], "taskwarden.audit.stopBegun");
    assert_eq!(record["body"]["stringValue"], "too slow \"really\"\u{1f980}");
    for (key, value) in [
        ("log.record.uid", "l0g/12"),
        ("taskwarden.audit.number", "12"),
        ("taskwarden.audit.layout", "2"),
        ("taskwarden.audit.actor", "person:ada"),
        ("taskwarden.audit.verb", "stopBegun"),
        ("taskwarden.audit.subject", "handle:hdl_1"),
        ("taskwarden.audit.hash", &"04".repeat(32)),
        ("taskwarden.audit.previous", &"03".repeat(32)),
        ("taskwarden.task.id", "hdl_1"),
        ("taskwarden.server.id", "srv_1"),
        ("gen_ai.agent.id", "agt_1"),
        ("user.name", "ada"),
        ("taskwarden.decision.door", "terminal"),
        ("process.pid", "7"),
        ("process.executable.path", "/usr/bin/taskwarden"),
    ] {
        assert_eq!(found.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(found.len(), 15, "and nothing else: {found:?}");
}

#[test]
fn a_row_whose_text_was_erased_that_was_changed_or_that_a_newer_version_wrote_is_a_record_too() {
    let erased = AuditRow { note: None, detail: None, salt: None, ..row(1) };
    let (record, found) = only(&erased);
    assert!(record.get("body").is_none() && !found.contains_key("process.pid"), "{record}");
    let changed = AuditRow { fits: false, ..row(2) };
    let (record, found) = only(&changed);
    assert_eq!((&record["severityNumber"], found["taskwarden.audit.broken"].as_str()), (&json!(17), "true"));
    let newer = AuditRow { actor: "robot:r2".into(), verb: "teleported".into(), subject: "plan:p1".into(), ..row(3) };
    let (record, found) = only(&newer);
    assert_eq!(record["eventName"], "taskwarden.audit.teleported");
    assert_eq!(found["taskwarden.audit.actor"], "robot:r2");
    let odd = AuditRow { at: Timestamp::from_millis(-5), detail: Some("no JSON".into()), ..row(4) };
    assert_eq!(only(&odd).0["timeUnixNano"], "0", "a time before 1970 is unknown");
}

#[test]
fn a_row_of_layout_1_names_the_server_and_agent_of_its_subject_and_actor() {
    let of = |actor: &str, subject: &str| {
        let (server, agent) = (String::new(), String::new());
        let row = AuditRow { actor: actor.into(), subject: subject.into(), server, agent, ..row(1) };
        let found = only(&row).1;
        ["taskwarden.server.id", "gen_ai.agent.id", "taskwarden.task.id"].map(|key| found.get(key).cloned())
    };
    let some = |id: &str| Some(id.to_owned());
    assert_eq!(of("agent:agt_9", "server:srv_9"), [some("srv_9"), some("agt_9"), None]);
    assert_eq!(of("system:sweep", "request:hdl_9:k"), [None, None, some("hdl_9")]);
    assert_eq!(of("system:sweep", "store"), [None, None, None]);
}

#[test]
fn trouble_stands_out() {
    let of = |verb: &str| Severity::of(&AuditRow { verb: verb.into(), ..row(1) }).text();
    assert_eq!(["lost", "halted", "alarmRaised"].map(of), ["WARN"; 3]);
    assert_eq!(["receiptsMissing", "signingKeyReplaced"].map(of), ["ERROR"; 2]);
    assert_eq!(["admitted", "sinkAdded", "unknown"].map(of), ["INFO"; 3]);
}

#[test]
fn a_request_ends_before_it_has_too_many_bytes_and_is_never_empty() {
    let rows: Vec<AuditRow> = (1..=20).map(row).collect();
    let whole = request("taskwarden/l0g", &rows, usize::MAX);
    assert_eq!((whole.rows, records(&whole.body).len()), (20, 20));
    let half = request("taskwarden/l0g", &rows, whole.body.len() / 2);
    assert!((2..20).contains(&half.rows) && half.body.len() <= whole.body.len() / 2 + 10, "{} rows", half.rows);
    assert_eq!(records(&half.body).len(), half.rows, "what is counted is what is there");
    assert_eq!(request("taskwarden/l0g", &rows, 1).rows, 1, "a row is sent however long it is");
}

#[test]
fn a_file_for_a_collector_has_every_row_once_in_lines_that_are_requests() {
    let rows: Vec<AuditRow> = (1..=20).map(row).collect();
    let whole = request("taskwarden/l0g", &rows, usize::MAX).body.len();
    let text = otlp_lines("taskwarden/l0g", &rows, whole / 3);
    let uids: Vec<String> = text
        .lines()
        .flat_map(records)
        .filter_map(|record| record["attributes"][0]["value"]["stringValue"].as_str().map(str::to_owned))
        .collect();
    assert!(text.lines().count() > 2 && text.ends_with('\n'), "{} lines", text.lines().count());
    assert_eq!(uids, (1..=20).map(|number| format!("l0g/{number}")).collect::<Vec<_>>());
    assert_eq!(otlp_lines("taskwarden/l0g", &rows, 1).lines().count(), 20, "a row has a line however long it is");
    assert!(otlp_lines("taskwarden/l0g", &[], 1).is_empty());
}
