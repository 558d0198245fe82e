//! A collector as an anchor, from outside: it has every newest checkpoint, also after it was busy and the core was killed; what
//! it took proves the log; and the value of a header shows nowhere.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::collector::{Collector, CollectorAnswer, attribute};
use tests::home::{Core, Home, wait_for};

use crate::PROGRAM;

/// Copies and tries follow each other at once.
const AT_ONCE: [(&str, &str); 3] = [
    ("TASKWARDEN_POLICY_AUDIT_ANCHOR_GAP", "10ms"),
    ("TASKWARDEN_POLICY_AUDIT_ANCHOR_AGAIN", "100ms"),
    ("TASKWARDEN_POLICY_AUDIT_CHECKPOINT_GAP", "10ms"),
];

fn serve(home: &Home) -> Core {
    home.serve_with(&AT_ONCE)
}

fn listed(home: &Home) -> String {
    home.run(["audit", "anchors", "list"]).out
}

fn size(record: &Value) -> u64 {
    attribute(record, "taskwarden.audit.checkpoint.size").and_then(|size| size.parse().ok()).expect("a size")
}

/// Signs the log and waits until the collector took that.
fn wait_signed(home: &Home, collector: &Collector) -> Vec<Value> {
    let signed = home.json(["audit", "checkpoint", "--json"])["size"].as_u64().expect("a size");
    wait_for(
        &format!("the checkpoint of row {signed} is taken"),
        || Some(collector.taken()).filter(|taken| taken.iter().any(|record| size(record) >= signed)),
        || format!("{}\n{:?}\n{}", listed(home), collector.requests(), home.core_log()),
    )
}

#[test]
fn a_collector_that_was_busy_while_the_core_was_killed_has_checkpoints_that_prove_the_log() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let core = serve(&home);
    collector.answer(std::iter::repeat_n(CollectorAnswer::status(503), 400));
    let added = home.run(["audit", "anchors", "add", "otlp", &collector.url()]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.out.contains("(otlp) answered 503") && added.err.contains("anchors list"), "{added:?}");
    assert_eq!(home.run(["agents", "add", "ant"]).code, 0);
    wait_for("it is tried again", || (collector.requests().len() > 2).then_some(()), || listed(&home));
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.out.contains("answered 503"), "a note, and nothing is broken: {doctor:?}");
    core.kill();

    let core = serve(&home);
    let asked = collector.requests().len();
    wait_for("a new run tries, too", || (collector.requests().len() > asked).then_some(()), || listed(&home));
    assert!(collector.taken().is_empty() && listed(&home).contains("answered 503"), "{}", listed(&home));
    collector.take_all();
    wait_signed(&home, &collector);
    assert!(listed(&home).contains("(otlp) took the checkpoint of row"), "{}", listed(&home));
    core.kill();
    let _core = serve(&home);
    assert_eq!(home.run(["agents", "add", "bee"]).code, 0);
    let taken = wait_signed(&home, &collector);

    let mut by_uid: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for record in &taken {
        assert_eq!(record["eventName"], "taskwarden.audit.checkpoint", "{record}");
        by_uid.entry(attribute(record, "log.record.uid").expect("a uid")).or_default().push(record);
    }
    assert!(by_uid.values().all(|same| same.windows(2).all(|pair| pair[0] == pair[1])), "one record for each uid");
    let notes: String = taken.iter().filter_map(|record| record["body"]["stringValue"].as_str()).collect();
    let file = home.path().join("checkpoints.notes").display().to_string();
    std::fs::write(&file, notes).expect("a file");
    let verified = home.run(["audit", "verify", "--anchor", &file]);
    assert!(verified.code == 0 && verified.out.contains("agrees: "), "{verified:?}");
    let export = home.path().join("rows.jsonl").display().to_string();
    assert_eq!(home.run(["audit", "export", "-o", &export]).code, 0);
    let verified = home.run(["audit", "verify", &export, "--anchor", &file]);
    assert!(verified.code == 0 && verified.out.contains("agrees with the rows"), "{verified:?}");
    let refused = home.run(["audit", "checkpoint", "--new-epoch", "--yes"]);
    assert!(refused.code == 5 && refused.err.contains("no anchor contradicts it"), "it never contradicts: {refused:?}");
}

#[test]
fn a_refusal_is_told_until_the_anchor_is_added_with_the_right_header_whose_value_shows_nowhere() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    let url = format!("{}/tenant-hush/v1/logs", collector.url());
    collector.answer([CollectorAnswer::with(401, &json!({"code": 16, "message": "Bearer hush"}))]);
    let added = home.run_with(
        &[("TOKEN", "Bearer hush")],
        &["audit", "anchors", "add", "otlp", &collector.url(), "--header", "Authorization=TOKEN"],
    );
    assert!(added.code == 0 && added.out.contains("answered 401"), "{added:?}");
    let asked = collector.requests().len();
    assert_eq!(home.run(["agents", "add", "ant"]).code, 0);
    home.json(["audit", "checkpoint", "--json"]);
    assert_eq!(collector.requests().len(), asked, "it is not asked again");
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("answered 401") && doctor.out.contains("anchors remove ID"), "{doctor:?}");
    assert_eq!(home.run(["audit", "anchors", "remove", "1"]).code, 0);

    let wrong_path = home.run(["audit", "anchors", "add", "otlp", &url]);
    assert!(wrong_path.code == 0 && wrong_path.out.contains("answered 404"), "{wrong_path:?}");
    let added = home.run_with(
        &[("TOKEN", "Bearer hush")],
        &["audit", "anchors", "add", "otlp", &collector.url(), "--header", "Authorization=TOKEN"],
    );
    assert!(added.code == 0 && added.out.contains("took the checkpoint of row"), "{added:?}");
    let last = collector.requests().pop().expect("a request");
    assert_eq!(last.headers.get("authorization").map(String::as_str), Some("Bearer hush"));
    let rows = home.json(["audit", "list", "--verb", "anchorAdded", "--json"]);
    assert_eq!(rows["rows"][0]["note"], format!("{} (otlp, headers Authorization)", collector.url()), "{rows}");
    let shown = [listed(&home), home.run(["doctor"]).out, rows.to_string(), added.out, wrong_path.out, home.core_log()];
    assert!(!shown.concat().contains("hush"), "neither a value nor a path shows: {shown:?}");

    let twice = home.run(["audit", "anchors", "add", "otlp", &collector.url()]);
    assert!(twice.code == 5 && twice.err.contains("already"), "{twice:?}");
    let plain = home.run(["audit", "anchors", "add", "otlp", "http://collector.example"]);
    assert!(plain.code == 2 && plain.err.contains("not encrypted"), "{plain:?}");
}
