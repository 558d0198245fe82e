//! What is taken out of the audit log, from outside: rows that retention removes leave proofs behind, and the text of a row
//! that was erased is gone from the disk. What was exported before verifies as it did.

use std::path::Path;
use std::process::Command;

use futures::StreamExt as _;
use serde_json::{Value, json};
use testkit::not_run::not_run;
use tests::bench::{attach, start};
use tests::faketime::{FakeClock, MISSING};
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::PROGRAM;

const DAY: i64 = 24 * 60 * 60;
/// Longer ago than anything is kept.
const LONG_AGO: i64 = -500 * DAY;
/// Rows of a segment: the smallest that there may be.
const SEGMENT: u64 = 256;
/// Of so many rows or more, all segments but the newest are more than nine tenths.
const ROWS: u64 = 24 * SEGMENT;
/// Tasks that are started before the rows are counted again, and at once.
const TASKS: u64 = 200;
const AT_ONCE: usize = 32;
/// Words that stand in one row of the log and nowhere else.
const WORDS: &str = "zebra crossing 4711";

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// The first and the last row that are there.
fn ends(home: &Home) -> (u64, u64) {
    let listed = home.json(["audit", "list", "--limit", "1", "--json"]);
    let number = |name: &str| listed[name].as_u64().expect("a number");
    (number("first"), number("last"))
}

/// Rows of tasks that are over, until there are so many.
fn fill(runtime: &Runtime, home: &Home) {
    let core = attach(home);
    let mut begun = 0;
    while ends(home).1 < ROWS {
        runtime.block_on(async {
            let starting = (begun..begun + TASKS).map(|number| {
                let core = &core;
                async move { start(core, "recorder", "quick", &number.to_string()).await }
            });
            futures::stream::iter(starting).buffer_unordered(AT_ONCE).for_each(|_| async {}).await;
        });
        begun += TASKS;
    }
    let is_over = || {
        let open = home.json(["tasks", "list", "--open", "--limit", "1", "--json"]);
        open["tasks"].as_array().expect("tasks").is_empty().then_some(())
    };
    wait_for("all tasks are over", is_over, || home.core_log());
}

fn export(home: &Home, name: &str, filter: &[&str]) -> String {
    let file = home.path().join(name).display().to_string();
    let mut args = vec!["audit", "export", "-o", file.as_str()];
    args.extend_from_slice(filter);
    let exported = home.run(args);
    assert_eq!(exported.code, 0, "{exported:?}");
    file
}

/// Checks an export, with a checkpoint that was kept elsewhere.
fn check(home: &Home, file: &str, anchor: &str) {
    let checked = home.run(["audit", "verify", file, "--anchor", anchor]);
    assert_eq!(checked.code, 0, "{file}: {checked:?}");
}

fn verified(home: &Home, anchor: &str) -> String {
    let verified = home.run(["audit", "verify", "--anchor", anchor]);
    assert_eq!(verified.code, 0, "{verified:?}");
    verified.out
}

/// The signed head of the log as it is now, in a file.
fn anchor(home: &Home) -> String {
    let signed = home.run(["audit", "checkpoint"]);
    assert_eq!(signed.code, 0, "{signed:?}");
    let file = home.path().join("kept.notes");
    std::fs::write(&file, signed.out).expect("a file");
    file.display().to_string()
}

/// A row of an export that has it.
fn exported_row(file: &str, number: u64) -> Value {
    let text = std::fs::read_to_string(file).expect("an export");
    let row = |line: &str| -> Option<Value> {
        let line: Value = serde_json::from_str(line).ok()?;
        line.get("row").filter(|row| row["number"] == number).cloned()
    };
    text.lines().find_map(row).expect("the row")
}

/// First and last row, and last hash, of a tombstone's note: `rows A to B, last hash H, seal S`.
fn tombstone(note: &str) -> Option<(u64, u64, String)> {
    let mut words = note.strip_prefix("rows ")?.split([' ', ',']).filter(|word| !word.is_empty());
    let first = words.next()?.parse().ok()?;
    let last = words.nth(1)?.parse().ok()?;
    Some((first, last, words.nth(2)?.to_owned()))
}

#[test]
fn what_was_exported_and_signed_before_retention_verifies_when_nine_tenths_of_the_log_are_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(clock) = FakeClock::new(folder.path()) else {
        not_run(MISSING);
        return;
    };
    let runtime = runtime();
    let manner = Manner { poll_interval: std::time::Duration::from_millis(100), ..Manner::default() };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let home = &Home::new(PROGRAM);
    clock.set(LONG_AGO);
    let core = home.serve_with(&clock.env());
    let added = home.run(["servers", "add", "recorder", "--yes", "--url", &server.url()]);
    assert_eq!(added.code, 0, "{added:?}");
    fill(&runtime, home);
    let kept = anchor(home);
    let before = export(home, "before.jsonl", &[]);
    let some_before = export(home, "some-before.jsonl", &["--verb", "admitted", "--gaps", "hashes"]);
    let rows_before = ends(home).1;
    assert_eq!(core.stop(), Some(0), "the core is shut down");

    // Today: everything of then is past its age.
    let segment = SEGMENT.to_string();
    let _core = home.serve_with(&[("TASKWARDEN_POLICY_RETENTION_SEGMENT_ROWS", &segment)]);
    let cleaned = home.run(["storage", "clean", "--yes"]);
    assert_eq!(cleaned.code, 0, "{cleaned:?}");
    let is_gone = || Some(ends(home).0).filter(|first| (first - 1) * 10 >= rows_before * 9);
    let first = wait_for("nine tenths are gone", is_gone, || format!("{:?}\n{}", ends(home), home.core_log()));

    for file in [&before, &some_before] {
        check(home, file, &kept);
    }
    let told = verified(home, &kept);
    assert!(told.contains(&format!("Rows before {first} were removed by retention")), "{told}");
    assert!(told.contains("agrees: 1 checkpoint"), "the tree still has what was removed: {told}");
    for gaps in ["stubs", "hashes"] {
        check(home, &export(home, &format!("{gaps}.jsonl"), &["--gaps", gaps]), &kept);
    }

    let listed = home.json(["audit", "list", "--verb", "segmentRemoved", "--limit", "1000", "--json"]);
    let notes = listed["rows"].as_array().expect("rows").iter().filter_map(|row| row["note"].as_str());
    let mut stones: Vec<_> = notes.map(|note| tombstone(note).unwrap_or_else(|| panic!("`{note}`"))).collect();
    stones.sort();
    let mut next = 1;
    for (begins, ends, hash) in &stones {
        assert_eq!(*begins, next, "tombstones name every row that is gone: {stones:?}");
        assert_eq!(exported_row(&before, *ends)["hash"], hash.as_str(), "with the hash that it had");
        next = ends + 1;
    }
    assert_eq!(next, first, "and none that is there");
    let shown = home.json(["audit", "show", &first.to_string(), "--json"]);
    assert_eq!(shown["previous"], stones.last().expect("some").2.as_str(), "the first row goes on from there");
}

/// Statements of `docs/audit.md` on the registry of a core that has ended.
fn erase(registry: &Path, number: u64) {
    let script =
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as registry:\n    registry.execute(sys.argv[2])\n";
    let page = include_str!("../../src-tauri/docs/audit.md");
    let (_, sql) = page.split_once("UPDATE audit SET").expect("the page has the statement");
    let (sql, _) = sql.split_once('"').expect("it ends");
    let sql = format!("UPDATE audit SET{sql}").replace("NUMBER", &number.to_string());
    let done = Command::new("python3").args(["-c", script]).arg(registry).arg(&sql).status().expect("python");
    assert!(done.success(), "`{sql}` is done");
}

/// Files of the data folder that have these bytes.
fn files_with(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(words.len()).any(|part| part == words.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn the_text_of_an_erased_row_is_in_no_file_and_chain_tree_and_exports_verify() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(home.run(["agents", "add", "ant"]).code, 0);
    let begun = home.run(["audit", "checkpoint", "--new-epoch", "--force", "--yes", "--reason", WORDS]);
    assert_eq!(begun.code, 0, "{begun:?}");
    let row = home.json(["audit", "list", "--text", WORDS, "--json"])["rows"][0].clone();
    let number = row["number"].as_u64().expect("a row with the words");
    let kept = anchor(&home);
    let before = export(&home, "before.jsonl", &[]);
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    let registry = home.data().join("registry.db");
    let places = files_with(&home.data(), WORDS);
    assert!(places.contains(&registry.display().to_string()), "they are found where they are: {places:?}");

    erase(&registry, number);
    let core = home.serve();
    let cleaned = home.run(["storage", "clean", "--compact", "--yes"]);
    assert_eq!(cleaned.code, 0, "{cleaned:?}");
    // Also while the core runs, in the registry and in its write-ahead log.
    let is_gone = || files_with(&home.data(), WORDS).is_empty().then_some(());
    wait_for("no file has the words", is_gone, || format!("{:?}", files_with(&home.data(), WORDS)));
    let shown = home.json(["audit", "show", &number.to_string(), "--json"]);
    assert_eq!((&shown["row"]["note"], &shown["row"]["fits"]), (&Value::Null, &json!(true)), "{shown}");
    assert_eq!((&shown["row"]["hash"], &shown["isLinked"]), (&row["hash"], &json!(true)), "{shown}");
    let told = verified(&home, &kept);
    assert!(told.contains("is intact"), "{told}");
    assert!(told.contains(&format!("The text of row {number} was erased")), "and what is missing is said: {told}");
    for gaps in ["stubs", "hashes"] {
        let after = export(&home, &format!("{gaps}.jsonl"), &["--gaps", gaps]);
        check(&home, &after, &kept);
        assert!(!std::fs::read_to_string(&after).expect("an export").contains(WORDS), "it is in no later export");
    }
    check(&home, &before, &kept);
    assert!(std::fs::read_to_string(&before).expect("an export").contains(WORDS), "copies from before keep it");
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    let places = files_with(&home.data(), WORDS);
    assert!(places.is_empty(), "and afterwards: {places:?}");
}
