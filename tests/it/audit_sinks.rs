//! Sinks of the audit log, from outside: every row reaches a collector, also one that was down, busy or refused, and over a
//! kill; what is sent twice has one uid; and the value of a header shows nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde_json::{Value, json};
use tests::collector::{self, Collector, CollectorAnswer, attribute};
use tests::home::{Core, Home, wait_for};
use tests::peers::free_port;

use crate::PROGRAM;

/// Requests and tries follow each other at once.
const AT_ONCE: [(&str, &str); 4] = [
    ("TASKWARDEN_POLICY_AUDIT_SINK_GAP", "20ms"),
    ("TASKWARDEN_POLICY_BACKOFF_FIRST", "50ms"),
    ("TASKWARDEN_POLICY_BACKOFF_LAST", "200ms"),
    ("TASKWARDEN_POLICY_AUDIT_CHECKPOINT_GAP", "20ms"),
];

fn serve(home: &Home) -> Core {
    home.serve_with(&AT_ONCE)
}

fn add(home: &Home, collector: &Collector, first: &str) -> Value {
    home.json(["audit", "sinks", "add", "otlp", &collector.url(), "--first", first, "--json"])["signals"][0].clone()
}

/// How far the first signal of the first sink came.
fn sink(home: &Home) -> Value {
    home.json(["audit", "sinks", "list", "--json"])["sinks"][0]["signals"][0].clone()
}

fn last(home: &Home) -> u64 {
    home.json(["audit", "list", "--limit", "1", "--json"])["last"].as_u64().expect("a number")
}

fn number(record: &Value) -> u64 {
    attribute(record, "taskwarden.audit.number").and_then(|number| number.parse().ok()).expect("a number")
}

fn numbers(records: &[Value]) -> Vec<u64> {
    records.iter().map(number).collect()
}

/// Waits until a collector has every row that is there now.
fn wait_all(home: &Home, collector: &Collector) -> Vec<Value> {
    let last = last(home);
    wait_for(
        &format!("row {last} is taken"),
        || Some(collector.taken()).filter(|taken| numbers(taken).contains(&last)),
        || format!("{}\n{:?}\n{}", sink(home), numbers(&collector.taken()), home.core_log()),
    )
}

fn add_agents(home: &Home, names: &[&str]) {
    for name in names {
        assert_eq!(home.run(["agents", "add", name]).code, 0, "`{name}` is added");
    }
}

fn said(home: &Home) -> String {
    home.run(["audit", "sinks", "list"]).out
}

#[test]
fn a_collector_gets_each_row_once_and_in_order_with_what_the_row_says() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    add_agents(&home, &["ant"]);
    let added = add(&home, &collector, "1");
    assert_eq!((&added["trouble"], &added["paused"]), (&Value::Null, &json!(false)), "{added}");
    add_agents(&home, &["bee", "cat"]);
    let taken = wait_all(&home, &collector);
    let every: Vec<u64> = (1..=number(taken.last().expect("records"))).collect();
    assert_eq!(numbers(&taken), every, "none is missing and none comes twice");

    let request = collector.requests().into_iter().next().expect("a request");
    assert_eq!(request.headers.get("content-type").map(String::as_str), Some("application/json"));
    assert_eq!(
        request.body.pointer("/resourceLogs/0/resource/attributes/0/value/stringValue"),
        Some(&json!("taskwarden"))
    );
    let rows = home.json(["audit", "list", "--verb", "agentAdded", "--json"]);
    let row = &rows["rows"][0];
    let of_row = row["number"].as_u64().expect("a number");
    let record = taken.iter().find(|record| number(record) == of_row).expect("its record");
    let shown = home.json(["audit", "show", &of_row.to_string(), "--json"]);
    assert_eq!(attribute(record, "taskwarden.audit.hash").as_deref(), shown["row"]["hash"].as_str(), "{shown}");
    assert_eq!(record["body"]["stringValue"], row["note"], "its text is the note");
    assert_eq!(record["eventName"], "taskwarden.audit.agentAdded");
    assert_eq!(attribute(record, "taskwarden.decision.door").as_deref(), Some("terminal"));
    let uids: BTreeSet<_> = taken.iter().filter_map(|record| attribute(record, "log.record.uid")).collect();
    assert_eq!(uids.len(), taken.len(), "each has a uid of its own");
    wait_for("the list says so", || said(&home).contains("has every row up to").then_some(()), || said(&home));
    let recorded = home.json(["audit", "list", "--verb", "sinkAdded", "--json"]);
    let note = recorded["rows"][0]["note"].as_str().expect("a note");
    assert_eq!(note, format!("sink 1, {}, logs from row 1", collector.url()), "who named it is on record");

    let file = home.path().join("rows.otlp");
    let path = file.display().to_string();
    let exported = home.json(["audit", "export", "--format", "otlp", "--verb", "agentAdded", "-o", &path, "--json"]);
    assert!(exported["proves"].as_str().is_some_and(|proves| proves.contains("proves nothing")), "{exported}");
    let lines = std::fs::read_to_string(&file).expect("the file is there");
    let requests = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<Value> = requests.flat_map(|request| collector::records(&request)).collect();
    let sent = taken.iter().filter(|record| record["eventName"] == "taskwarden.audit.agentAdded");
    assert!(
        records.iter().eq(sent) && records.len() == 3,
        "a file has the records that the collector has: {records:?}"
    );
    let gaps = home.run(["audit", "export", "--format", "otlp", "--gaps", "stubs", "-o", &path]);
    assert!(gaps.code == 2 && gaps.err.contains("`--gaps`: a file in this format"), "{gaps:?}");

    let removed = home.run(["audit", "sinks", "remove", "1"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(said(&home).contains("Nothing is sent anywhere"));
    let unknown = home.run(["audit", "sinks", "remove", "1"]);
    assert!(unknown.code == 4 && unknown.err.contains("`id`: there is no sink 1"), "{unknown:?}");
    assert!(unknown.err.contains("sinks list"), "{unknown:?}");
    let word = home.run(["audit", "sinks", "remove", "abc"]);
    assert!(word.code == 2 && word.err.contains("has a number, such as 1; `taskwarden audit sinks list`"), "{word:?}");
}

#[test]
fn without_a_first_row_sending_begins_with_the_row_that_records_the_sink() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    add_agents(&home, &["ant"]);
    let before = last(&home);
    home.json(["audit", "sinks", "add", "otlp", &collector.url(), "--json"]);
    let taken = wait_all(&home, &collector);
    assert_eq!(number(&taken[0]), before + 1);
    assert_eq!(taken[0]["eventName"], "taskwarden.audit.sinkAdded");
    let beyond = home.run(["audit", "sinks", "add", "otlp", &format!("{}/x", collector.url()), "--first", "9999"]);
    assert!(beyond.code == 2 && beyond.err.contains("`first`: row 9999 is not written yet"), "{beyond:?}");
    let zero = home.run(["audit", "sinks", "add", "otlp", &format!("{}/x", collector.url()), "--first", "0"]);
    assert!(zero.code == 2 && zero.err.contains("`first`: rows are numbered from 1"), "{zero:?}");
    let same = home.run(["audit", "sinks", "add", "otlp", &collector.url()]);
    assert!(same.code == 5 && same.err.contains("`url`: sink 1 sends logs to this address already"), "{same:?}");
}

#[test]
fn a_collector_that_is_busy_gets_every_row_after_the_time_that_it_asked_for() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    let busy = CollectorAnswer::with(503, &json!({"code": 14, "message": "queue `full`\n"})).header("retry-after", "3");
    collector.answer([busy, CollectorAnswer::status(429), CollectorAnswer::status(502), CollectorAnswer::status(504)]);
    let begun = std::time::Instant::now();
    let added = add(&home, &collector, "1");
    let trouble = "answered 503: it is not available now (gRPC code 14, unavailable, JSON of 38 bytes from 127.0.0.1:";
    assert!(added["trouble"].as_str().is_some_and(|why| why.starts_with(trouble)), "{added}");
    assert_eq!(added["paused"], false);
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("answered 503") && doctor.out.contains("audit sinks resume 1"), "{doctor:?}");
    let taken = wait_all(&home, &collector);
    assert!(begun.elapsed() >= std::time::Duration::from_secs(3), "it is left alone as long as it asked");
    assert_eq!(numbers(&taken).first(), Some(&1), "the first row came, too");
    let statuses: Vec<u16> = collector.requests().iter().take(5).map(|request| request.status).collect();
    assert_eq!(statuses, [503, 429, 502, 504, 200], "the same rows again and again");
    wait_for("the list says so", || said(&home).contains("has every row up to").then_some(()), || said(&home));
}

#[test]
fn a_collector_that_refuses_is_paused_until_a_person_resumes_it_and_its_token_shows_nowhere() {
    const WRONG: &str = "Bearer hush-hush-wrong";
    const RIGHT: &str = "Bearer hush-hush-right";
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    // A collector that repeats what it was sent.
    let echo = json!({"message": format!("no such token: {WRONG} (hush-hush-wrong)")});
    collector.answer([CollectorAnswer::with(401, &echo)]);
    let args = ["audit", "sinks", "add", "otlp", &collector.url(), "--header", "Authorization=TOKEN", "--json"];
    let added = home.run_with(&[("TOKEN", WRONG)], &args);
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(added.json()["signals"][0]["paused"], true, "{added:?}");
    assert_eq!(added.json()["headers"], json!(["Authorization"]), "{added:?}");
    add_agents(&home, &["ant"]);
    let doctor = home.run(["doctor"]);
    assert_eq!(doctor.code, 1, "doctor says that something is broken: {doctor:?}");
    assert!(doctor.out.contains("answered 401") && doctor.out.contains("audit sinks resume 1"), "{doctor:?}");
    assert_eq!(collector.requests().len(), 1, "a refused request is not sent again");

    let args = ["audit", "sinks", "resume", "1", "--header", "Authorization=TOKEN"];
    let resumed = home.run_with(&[("TOKEN", RIGHT)], &args);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    wait_all(&home, &collector);
    let sent: Vec<Option<String>> =
        collector.requests().iter().map(|request| request.headers.get("authorization").cloned()).collect();
    assert_eq!(sent.first().and_then(Option::as_deref), Some(WRONG));
    assert!(sent.iter().skip(1).all(|value| value.as_deref() == Some(RIGHT)), "{sent:?}");
    let verbs = home.json(["audit", "list", "--verb", "sinkResumed", "--json"]);
    assert_eq!(verbs["rows"].as_array().map(Vec::len), Some(1), "who resumed it is on record: {verbs}");

    let rows = home.run(["audit", "list", "--limit", "1000", "--json"]);
    let logs: String = std::fs::read_dir(home.data().join("logs"))
        .expect("logs")
        .flatten()
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect();
    let records = collector.requests().iter().map(|request| request.body.to_string()).collect();
    let shown = home.run(["audit", "sinks", "list", "--json"]).out + &said(&home);
    for (place, text) in [
        ("rows", rows.out),
        ("the log", logs + &home.core_log()),
        ("records", records),
        ("lists", shown),
        ("doctor", doctor.out + &added.out + &added.err + &resumed.out + &resumed.err),
    ] {
        assert!(!text.contains("hush-hush"), "{place} have no token: {text}");
    }
    for file in ["registry.db", "registry.db-wal"] {
        let bytes = std::fs::read(home.data().join(file)).expect("the registry");
        assert!(!String::from_utf8_lossy(&bytes).contains("hush-hush"), "nor has `{file}`");
    }
}

/// Each run of so many characters of a text, in lower case.
fn runs(text: &str, chars: usize) -> impl Iterator<Item = String> {
    (chars..=text.len()).map(move |end| text[end - chars..end].to_ascii_lowercase())
}

#[test]
fn a_collector_that_repeats_a_header_in_any_spelling_leaves_nothing_of_it_in_lists_logs_and_files() {
    // No run of four characters of it stands in an id or a sentence by chance.
    const VALUE: &str = "k#7Q!z-9+W~x";
    const BASE64: &str = "ayM3USF6LTkrV354";
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let core = serve(&home);
    let spelled = format!("k#7Q | !z-9 | +W~x | K#7Q!Z-9+W~X | {BASE64} | k%237Q%21z%2D9%2BW%7Ex | Q!z-");
    let rejects = json!({"partialSuccess": {"rejectedLogRecords": 1, "errorMessage": spelled}});
    collector.answer([
        CollectorAnswer::with(503, &json!({"code": 14, "message": spelled})).header("retry-after", "0"),
        CollectorAnswer::of(429, "text/plain", spelled.clone()).header("x-said", "k#7Q!z-9"),
        CollectorAnswer::with(200, &rejects),
        CollectorAnswer::of(401, "text/k#7Q!z-9", spelled),
    ]);
    let args = ["audit", "sinks", "add", "otlp", &collector.url(), "--header", "X-Key=KEY", "--first", "1"];
    let added = home.run_with(&[("KEY", VALUE)], &args);
    assert_eq!(added.code, 0, "{added:?}");
    wait_for("it rejects", || (sink(&home)["rejected"] == 1).then_some(()), || said(&home));
    add_agents(&home, &["ant"]);
    wait_for("it is paused", || (sink(&home)["paused"] == true).then_some(()), || said(&home));
    assert!(said(&home).contains("answered 401: credentials are missing or wrong"), "{}", said(&home));
    assert!(collector.requests().iter().all(|request| request.headers["x-key"] == VALUE), "it got the value");
    let mut shown = format!("{added:?}") + &said(&home) + &sink(&home).to_string() + &home.run(["doctor"]).out;
    assert_eq!(home.run(["audit", "sinks", "remove", "1"]).code, 0);
    shown += &home.run(["audit", "list", "--limit", "1000", "--json"]).out;
    assert_eq!(core.stop(), Some(0), "it ends in order");
    for file in std::fs::read_dir(home.data().join("logs")).expect("logs").flatten() {
        shown += &std::fs::read_to_string(file.path()).expect("a log");
    }
    let shown = (shown + &home.core_log()).to_ascii_lowercase();
    for part in runs(VALUE, 4).chain(runs(BASE64, 8)) {
        assert!(!shown.contains(&part), "`{part}` of the value is shown: {shown}");
    }
    for file in std::fs::read_dir(home.data()).expect("the data").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.starts_with("registry") && file.path().is_file() {
            let bytes = std::fs::read(file.path()).expect("a file of the registry");
            let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            for part in runs(VALUE, 6).chain(runs(BASE64, 8)) {
                assert!(!text.contains(&part), "`{part}` is in `{name}`");
            }
        }
    }
}

#[test]
fn a_success_that_is_no_answer_of_a_collector_pauses_the_sink_and_loses_no_row() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    collector.answer([
        CollectorAnswer::of(200, "text/html", "<html>sign in</html>"),
        CollectorAnswer::of(200, "text/plain", "ok"),
        CollectorAnswer::with(200, &json!({"status": "ok"})),
        CollectorAnswer::of(200, "application/x-protobuf", "ok"),
    ]);
    let added = add(&home, &collector, "1");
    let told = |kind: &str| format!("answered 200, but not as a collector does: it sent {kind} from 127.0.0.1:");
    let mut tried = added;
    for kind in ["HTML of 20 bytes", "plain text of 2 bytes", "JSON of 15 bytes", "protobuf of 2 bytes"] {
        assert!(tried["trouble"].as_str().is_some_and(|why| why.starts_with(&told(kind))), "{kind}: {tried}");
        let state = (&tried["paused"], &tried["next"], &tried["taken"]);
        assert_eq!(state, (&json!(true), &json!(1), &Value::Null), "the rows wait: {tried}");
        let doctor = home.run(["doctor"]);
        assert!(doctor.code == 1 && doctor.out.contains("not as a collector does"), "{doctor:?}");
        tried = home.json(["audit", "sinks", "resume", "1", "--json"])["signals"][0].clone();
    }
    assert_eq!((&tried["trouble"], &tried["paused"]), (&Value::Null, &json!(false)), "{tried}");
    wait_all(&home, &collector);
    let sent: Vec<u64> = collector.requests().iter().skip(4).flat_map(|request| numbers(&request.records())).collect();
    let newest = sent.last().copied().expect("records");
    assert_eq!(sent, (1..=newest).collect::<Vec<u64>>(), "each row came to the collector in the end");
}

#[test]
fn a_core_that_is_killed_after_the_collector_took_rows_sends_them_again_with_the_same_uids() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let core = serve(&home);
    add(&home, &collector, "1");
    add_agents(&home, &["ant"]);
    wait_all(&home, &collector);
    core.kill();
    // The second time that rows were taken is never stored.
    let fatal = [AT_ONCE.as_slice(), &[("CORE_UNDER_TEST_ABORT_AT", "registry.note_sink:before:2")]].concat();
    let mut core = home.serve_with(&fatal);
    let mut added = 0;
    wait_for(
        "the core is killed at its point",
        || {
            // Rows to send; the core may be gone at any moment.
            added += 1;
            home.run(["agents", "add", &format!("bee-{added}")]);
            core.ended().then_some(())
        },
        || home.core_log(),
    );
    let before = collector.taken();
    let _core = serve(&home);
    add_agents(&home, &["cat"]);
    let taken = wait_all(&home, &collector);
    let mut by_uid: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for record in &taken {
        by_uid.entry(attribute(record, "log.record.uid").expect("a uid")).or_default().push(record);
    }
    let twice = by_uid.values().filter(|same| same.len() > 1).count();
    assert!(twice > 0 && taken.len() > before.len(), "what was not stored as taken comes again");
    for (uid, same) in &by_uid {
        assert!(same.windows(2).all(|pair| pair[0] == pair[1]), "{uid} is the same record each time");
    }
    let found: BTreeSet<u64> = numbers(&taken).into_iter().collect();
    let newest = found.last().copied().expect("records");
    assert!(found.iter().copied().eq(1..=newest), "no row is missing: {found:?}");
}

#[test]
fn while_a_collector_is_down_the_core_works_and_each_row_is_there_when_it_is_back() {
    let home = Home::new(PROGRAM);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let core = serve(&home);
    let added = home.json(["audit", "sinks", "add", "otlp", &format!("http://{address}"), "--first", "1", "--json"]);
    let added = &added["signals"][0];
    assert!(added["trouble"].as_str().is_some_and(|why| why.contains("cannot be reached")), "{added}");
    add_agents(&home, &["ant", "bee"]);
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.out.contains("cannot be reached"), "a note, and nothing is broken: {doctor:?}");
    let since = sink(&home)["since"].clone();
    assert_eq!(core.stop(), Some(0), "it ends in order");
    let waiting = said(&home);
    assert!(waiting.contains("rows wait since"), "also without a core: {waiting}");

    let core = serve(&home);
    add_agents(&home, &["cat"]);
    assert_eq!(sink(&home)["since"], since, "it has failed since then");
    core.kill();
    let collector = Collector::at(address);
    let _core = serve(&home);
    let taken = wait_all(&home, &collector);
    let every: Vec<u64> = (1..=number(taken.last().expect("records"))).collect();
    assert_eq!(numbers(&taken), every, "everything that happened meanwhile, in order");
}

#[test]
fn records_that_a_collector_rejects_are_told_and_a_request_that_is_too_large_is_made_smaller() {
    let (home, collector) = (Home::new(PROGRAM), Collector::start());
    let _core = serve(&home);
    add_agents(&home, &["ant", "bee", "cow", "dog"]);
    let partial = json!({"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}});
    collector.answer([CollectorAnswer::status(413), CollectorAnswer::with(200, &partial)]);
    add(&home, &collector, "1");
    let taken = wait_all(&home, &collector);
    let every: Vec<u64> = (1..=number(taken.last().expect("records"))).collect();
    assert_eq!(numbers(&taken), every, "the rest goes on");
    let requests = collector.requests();
    let (first, second) = (requests[0].records().len(), requests[1].records().len());
    assert!(second <= first / 2 && second >= 2, "{first} records, then {second}");
    let list = said(&home);
    assert!(list.contains("was sent rows up to") && !list.contains("has every row"), "{list}");
    assert!(list.contains("it rejected 2 rows since") && list.contains("which are not there"), "{list}");
    let doctor = home.run(["doctor"]);
    let line = doctor.out.lines().find(|line| line.contains("rejected 2 rows since")).unwrap_or_default();
    assert!(doctor.code == 0 && line.starts_with("note") && doctor.out.contains("--first NUMBER"), "{doctor:?}");
    let told = sink(&home);
    assert_eq!(told["rejected"], 2, "{told}");
    assert!(told["rejectedSince"].as_str().is_some_and(|since| since.ends_with('Z')), "{told}");

    let refused = json!({"partialSuccess": {"rejectedLogRecords": 1, "errorMessage": "bad record"}});
    collector.answer([CollectorAnswer::with(400, &refused)]);
    add_agents(&home, &["cat"]);
    let paused = || {
        let list = said(&home);
        list.contains("answered 400: it does not accept the request (JSON of") && list.contains("; paused since")
    };
    wait_for("a refusal is told", || paused().then_some(()), || said(&home));
}

#[test]
fn an_address_that_cannot_be_a_collector_is_refused_and_not_on_record() {
    let home = Home::new(PROGRAM);
    let _core = serve(&home);
    for (url, code, word) in [
        ("collector.example", 2, "not a URL"),
        ("https://ann:hush@collector.example", 2, "user name or password"),
        ("https://collector.example/?key=hush", 2, "behind `?`"),
        ("http://collector.example", 2, "not encrypted"),
    ] {
        let refused = home.run(["audit", "sinks", "add", "otlp", url]);
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.err.contains(word) && !refused.err.contains("hush"), "{word}: {refused:?}");
    }
    let url = "https://collector.example";
    for (headers, word) in [
        (&["Host=HUSH"][..], "`headers`: the header `Host` belongs to the request"),
        (&["Bad Header=HUSH"], "`Bad Header` is not the name of a secret"),
        (&["Authorization: hush"], "begins with `Authorization`"),
        (&["X-Key=hush"], "secret `X-Key`"),
        (&["X-Key=HUSH", "X-Key=HUSH"], "secret `X-Key` is given twice"),
        (&["X-Key=HUSH", "x-key=HUSH"], "given twice; upper and lower case are the same"),
        (&["X-Key=BLANK"], "`headers`: the header `X-Key` has no value"),
        (&["X-Key=NONE"], "secret `X-Key`"),
    ] {
        let mut args = vec!["audit", "sinks", "add", "otlp", url];
        args.extend(headers.iter().flat_map(|header| ["--header", header]));
        let refused = home.run_with(&[("HUSH", "hush"), ("BLANK", "  "), ("NONE", "")], &args);
        assert!(refused.code == 2 && refused.err.contains(word), "{word}: {refused:?}");
        assert!(!refused.err.contains("hush") && refused.err.contains("hint:"), "{word}: {refused:?}");
    }
    let rows = home.json(["audit", "list", "--verb", "sinkAdded", "--json"]);
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(0), "{rows}");
}
