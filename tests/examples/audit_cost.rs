//! What the audit log costs when it is long (audit.md §9): a page of it, a filter that matches nothing, the check of all
//! rows, an export with its check, and the report of a month.
//!
//! The rows are written by the registry itself, a third of them in the month that is reported; everything else is the
//! program, from outside. `TASKWARDEN_BENCH_ROWS` (1,000,000) is how many there are; aims are for 10,000,000.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made should fail loudly")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::audit::report::ReportMonth;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, PersonId, RequestKey, ServerId};
use domain::policy::Policy;
use domain::ports::Registry as _;
use domain::time::Timestamp;
use futures::future::join_all;
use registry::{RegistryOptions, SealKey, SqliteRegistry};
use serde_json::{Value, json};
use tests::bench::{attach, call, median, program, resident_kib, row};
use tests::home::{Home, pause_for};
use tokio::runtime::Runtime;

const ROWS: u64 = 1_000_000;
/// Rows of one commit, and commits on their way at the same time while filling.
const ROWS_AT_ONCE: u64 = 500;
const COMMITS_AT_ONCE: u64 = 8;
/// Days that the rows are spread over: the month in the middle has a third of them.
const DAYS: i64 = 90;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The most rows that an export with stubs has: `AuditPolicy::export_stubs_max`.
const EXPORT_ROWS: u64 = 1_000_000;
/// Rows of an export with hashes.
const HASHED_ROWS: u64 = 100_000;
const PAGES: usize = 20;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let rows = std::env::var("TASKWARDEN_BENCH_ROWS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROWS);
    let home = Home::new(&program().display().to_string());
    assert_eq!(home.serve().stop(), Some(0), "the registry and its key are made");
    let begin = now_ms() - DAYS * DAY_MS;
    fill(&runtime, &home, rows, begin);
    let core = home.serve();
    timed(rows, "audit: the tree over them and a checkpoint", "", || succeed(&home, &["audit", "checkpoint"]));
    pages(&runtime, &home);
    filter(&home, rows);
    let month = ReportMonth::of(Timestamp::from_millis(begin + DAYS * DAY_MS / 2)).expect("a month").to_string();
    report(&home, &month, "not verified before");
    timed(rows, "audit verify, all rows", "", || succeed(&home, &["audit", "verify"]));
    report(&home, &month, "verified before");
    export(&home, rows);
    assert_eq!(core.stop(), Some(0), "the core is shut down");
}

/// Rows as tasks leave them: five each, and one of them a decision of a person.
fn event(number: u64, at: i64) -> AuditEvent {
    let task = HandleId::from_random(u128::from(number / 5));
    let (agent, server) =
        (AgentId::from_random(u128::from(number / 5 % 20)), ServerId::from_random(u128::from(number / 5 % 7)));
    let (actor, verb, subject, note) = match number % 5 {
        0 => (Actor::Agent(agent), Verb::Admitted, Subject::Handle(task), "of a tool, by its agent"),
        1 => (Actor::Server(server), Verb::Accepted, Subject::Handle(task), "as a task of its own"),
        2 => (Actor::Server(server), Verb::Asked, Subject::Request(task, RequestKey::new("name")), "form"),
        3 => {
            let subject = Subject::Request(task, RequestKey::new("name"));
            (Actor::Person(PersonId::new("ada")), Verb::AnswerBegun, subject, "accept")
        }
        _ => (Actor::Server(server), Verb::Ended, Subject::Handle(task), "running -> done"),
    };
    AuditEvent { at: Timestamp::from_millis(at), actor, verb, subject, note: note.into() }
}

/// The key of the registry, from the file of secrets of this home.
fn key(home: &Home) -> SealKey {
    let text = std::fs::read_to_string(home.data().join("secrets.json")).expect("the file of secrets");
    let secrets: Value = serde_json::from_str(&text).expect("JSON");
    let digits = secrets.get("registry-seal-key").and_then(Value::as_str).expect("a key");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("a byte");
    let bytes: Vec<u8> = digits.as_bytes().chunks(2).map(byte).collect();
    SealKey::from_bytes(bytes.try_into().expect("32 bytes"))
}

fn fill(runtime: &Runtime, home: &Home, rows: u64, begin: i64) {
    let path = home.data().join("registry.db");
    let policy = Policy::default();
    let opening = RegistryOptions { path: &path, key: key(home), policy: &policy, now: Timestamp::from_millis(begin) };
    let at = |number: u64| {
        let share = i128::from(DAYS * DAY_MS) * i128::from(number) / i128::from(rows.max(1));
        begin + i64::try_from(share).expect("a part of the days")
    };
    let begun = Instant::now();
    runtime.block_on(async {
        let registry = SqliteRegistry::open(opening, |work| drop(tokio::runtime::Handle::current().spawn(work)));
        let registry = registry.await.expect("the registry opens");
        let mut next = 0;
        while next < rows {
            let firsts = (0..COMMITS_AT_ONCE).map(|commit| next + commit * ROWS_AT_ONCE).filter(|first| *first < rows);
            let commits = firsts.map(|first| {
                let events = (first..(first + ROWS_AT_ONCE).min(rows)).map(|number| event(number, at(number)));
                registry.record(events.collect())
            });
            for stored in join_all(commits).await {
                stored.expect("rows are stored");
            }
            next += COMMITS_AT_ONCE * ROWS_AT_ONCE;
        }
        registry.close().await;
    });
    rate(rows, "audit: rows are written", begun.elapsed(), "");
}

fn succeed(home: &Home, args: &[&str]) {
    let ran = home.run(args);
    assert_eq!(ran.code, 0, "`{args:?}`: {}", ran.err);
}

fn rate(rows: u64, metric: &str, took: Duration, aim: &str) {
    #[expect(clippy::cast_precision_loss, reason = "some millions")]
    let each_second = rows as f64 / took.as_secs_f64();
    row(metric, None, each_second, "rows/s", aim);
}

fn timed(rows: u64, metric: &str, aim: &str, work: impl FnOnce()) {
    let begun = Instant::now();
    work();
    rate(rows, metric, begun.elapsed(), aim);
}

/// Pages as the window asks for them.
fn pages(runtime: &Runtime, home: &Home) {
    let core = attach(home);
    let filters = [
        ("all", json!({})),
        ("one verb", json!({"verbs": ["answerBegun"]})),
        ("one actor", json!({"actor": "person:ada"})),
        ("words that stand in no note", json!({"text": "zebra"})),
    ];
    for (name, filter) in filters {
        let took: Vec<f64> = (0..PAGES)
            .map(|_| {
                let begun = Instant::now();
                runtime.block_on(call(&core, "audit.list", &json!({"filter": filter.clone()})));
                begun.elapsed().as_secs_f64() * 1_000.0
            })
            .collect();
        row(&format!("audit: a page, {name}"), None, median(&took), "ms", "<= 100");
    }
}

/// A filter that matches nothing looks at every row.
fn filter(home: &Home, rows: u64) {
    timed(rows, "audit list, words that stand in no note", "", || {
        let listed = home.json(["audit", "list", "--text", "zebra", "--json"]);
        assert!(listed.get("rows").and_then(Value::as_array).is_some_and(Vec::is_empty), "none matches");
    });
}

fn report(home: &Home, month: &str, what: &str) {
    let begun = Instant::now();
    let report = home.json(["audit", "report", "--month", month, "--json"]);
    let took = begun.elapsed().as_secs_f64();
    let rows = report.get("rows").and_then(Value::as_u64).expect("rows");
    row(&format!("audit report of a month, {what}"), None, took, "s", "<= 3");
    #[expect(clippy::cast_precision_loss, reason = "some millions")]
    let each_second = rows as f64 / took;
    row(&format!("audit report of a month, {what}: rows of the month"), None, each_second, "rows/s", "");
}

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the rows of a report end with the day of the machine")]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_millis()).expect("a date of our time")
}

/// The newest rows with stubs, and the check of the file.
fn export(home: &Home, rows: u64) {
    let file = home.path().join("rows.jsonl").display().to_string();
    let last = home.json(["audit", "list", "--limit", "1", "--json"]).get("last").and_then(Value::as_u64);
    let count = rows.min(EXPORT_ROWS);
    let first = (last.expect("a number") + 1 - count).to_string();
    timed(count, "audit export with stubs", ">= 100000", || {
        succeed(home, &["audit", "export", "--verb", "answerBegun", "--first", &first, "-o", &file]);
    });
    timed(count, "audit verify of that export", ">= 166667", || succeed(home, &["audit", "verify", &file]));
    // A proof has a hash for each level of the tree, so rows with hashes take three times the room.
    let last = (last.expect("a number") + 1 - count + count.min(HASHED_ROWS) - 1).to_string();
    let hashed = ["audit", "export", "--gaps", "hashes", "--first", &first, "--last", &last, "-o", &file];
    timed(count.min(HASHED_ROWS), "audit export with hashes", "", || succeed(home, &hashed));
    verifier(home, rows);
}

/// All rows with their texts, in files of as many as one may have, and the program that checks them on another machine. 60 s
/// and 64 MiB for 10,000,000 rows (audit.md §7, check 5).
fn verifier(home: &Home, rows: u64) {
    let verifier = program().with_file_name("taskwarden-verify");
    let file = home.path().join("part.jsonl");
    let path = file.display().to_string();
    let (mut took, mut memory) = (Duration::ZERO, 0);
    for first in (1..=rows).step_by(usize::try_from(EXPORT_ROWS).expect("some million")) {
        let last = (first + EXPORT_ROWS - 1).min(rows);
        let (first, last) = (first.to_string(), last.to_string());
        succeed(home, &["audit", "export", "--first", &first, "--last", &last, "-o", &path]);
        let begun = Instant::now();
        let mut running =
            Command::new(&verifier).arg(&path).stdout(Stdio::null()).spawn().expect("the verifier starts");
        let ended = loop {
            memory = memory.max(resident_kib(running.id()));
            match running.try_wait().expect("it runs or ended") {
                Some(status) => break status,
                None => pause_for(Duration::from_millis(20)),
            }
        };
        took += begun.elapsed();
        assert!(ended.success(), "rows {first} to {last} verify");
    }
    rate(rows, "taskwarden-verify, all rows", took, ">= 166667");
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let mib = memory as f64 / 1_024.0;
    row("taskwarden-verify: memory", None, mib, "MiB", "<= 64");
}
