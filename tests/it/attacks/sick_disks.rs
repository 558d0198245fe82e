//! A registry that cannot be written, that is damaged, and one whose disk is slow: what the core, `doctor` and reading
//! commands say, with which code, and that nothing is overwritten. A full disk is in `disk_full.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::{Home, Ran, wait_for};
use tests::server::{Manner, Recorder};
use tests::slow_disk::SlowDisk;
use tests::small_disk::SmallDisk;

use super::at_once;
use crate::PROGRAM;

/// This file's test with a mount, as it is started again on its small disk.
const READ_ONLY: &str =
    "attacks::sick_disks::where_nothing_can_be_written_the_core_does_not_start_and_what_is_on_record_is_read";

/// `doctor` waits for one commit, at most the 5 s of `retention.slow_commit`; the rest is for a busy machine. One that waits
/// for the disk gives up after the 30 s of `reply_limit`.
const DOCTOR_LIMIT: Duration = Duration::from_secs(25);

/// A data directory whose core ran and was stopped, and a task in it.
fn home_with_task() -> (Home, String) {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(home.run(["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]).code, 0, "it is added");
    let task = home.call("demo", "tool_error", &json!({}));
    home.wait_phase(&task, "doneWithError");
    assert_eq!(core.stop(), Some(0), "{}", home.core_log());
    (home, task)
}

/// Every file that records something, with its bytes.
fn records(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(home.data()).expect("the data directory").flatten().map(|entry| entry.path());
    let is_record = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // A log that holds nothing comes and goes with whoever reads.
        let is_empty_log = name.ends_with("-wal") && path.metadata().is_ok_and(|facts| facts.len() == 0);
        path.is_file() && !name.ends_with("-shm") && !name.ends_with(".lock") && !is_empty_log
    };
    files.filter(is_record).map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// Asserts that every file that was there is as it was.
fn assert_kept(before: &BTreeMap<PathBuf, Vec<u8>>, home: &Home, after: &str) {
    let now = records(home);
    for (path, bytes) in before {
        let (was, is) = (bytes.len(), now.get(path).map(Vec::len));
        assert!(now.get(path) == Some(bytes), "`{}` is as it was after {after}: {was}, {is:?} bytes", path.display());
    }
}

/// Asserts that a command failed as it should, and what it says; by its name, its error and its hint.
fn assert_says(ran: &Ran, what: &str, says: &[&str]) {
    assert_eq!(ran.code, 1, "{what}: {}{}", ran.out, ran.err);
    let told = format!("{}{}", ran.out, ran.err).replace('\n', " ");
    assert!(!told.contains("panicked"), "{what}: {told}");
    for word in says {
        assert!(told.contains(word), "{what} says `{word}`: {told}");
    }
}

/// The finding of `doctor` about this area that is broken.
fn broken(home: &Home, area: &str) -> Value {
    let ran = home.run(["doctor", "--json"]);
    assert_eq!(ran.code, 1, "doctor finds something: {}{}", ran.out, ran.err);
    let findings = ran.json()["findings"].as_array().cloned().unwrap_or_default();
    let found = findings.iter().find(|one| one["area"] == area && one["grade"] == "broken");
    found.cloned().unwrap_or_else(|| panic!("doctor names `{area}`: {findings:#?}"))
}

#[test]
fn where_nothing_can_be_written_the_core_does_not_start_and_what_is_on_record_is_read() {
    let Some(disk) = SmallDisk::enter(READ_ONLY) else { return };
    let (home, task) = home_with_task();
    let before = records(&home);
    let guard = disk.read_only(&home.data());
    assert!(fs::write(home.data().join("proof"), "x").is_err(), "nothing can be written");

    assert_says(&home.run(["serve"]), "`serve`", &["hint:"]);
    let listed = home.run(["tasks", "list", "--json"]);
    assert_eq!(listed.code, 0, "what is on record is read: {}", listed.err);
    assert_eq!(listed.json()["tasks"][0]["id"], json!(task), "all of it: {}", listed.out);
    let refused = home.run(["tasks", "cancel", &task, "--yes"]);
    assert_eq!(refused.code, 3, "and there is no core to decide anything: {}{}", refused.out, refused.err);
    let found = broken(&home, "data");
    assert!(found["message"].to_string().contains("cannot be written"), "{found}");
    assert!(found["cure"].to_string().contains("read-only"), "with the cure for a disk that is read-only: {found}");
    assert_kept(&before, &home, "that");

    drop(guard);
    let _core = home.serve();
    assert_eq!(home.task(&task)["id"], json!(task), "when it can be written, the core has everything");
}

/// What happens to the bytes of a registry.
type Damage = fn(&mut Vec<u8>);

/// Numbers for damage; always the same.
fn noise(at: usize) -> u8 {
    u8::try_from(at.wrapping_mul(2_654_435_761) >> 13 & 0xff).unwrap_or_default()
}

#[test]
fn a_damaged_registry_is_named_with_its_cure_and_nothing_is_overwritten() {
    let (home, task) = home_with_task();
    let registry = home.data().join("registry.db");
    let whole = fs::read(&registry).expect("the registry");
    let damages: [(&str, Damage); 4] = [
        ("random bytes in the middle", |bytes| {
            let third = bytes.len() / 3;
            bytes.iter_mut().enumerate().skip(third).take(third).for_each(|(at, byte)| *byte = noise(at));
        }),
        ("a destroyed header", |bytes| bytes.iter_mut().enumerate().take(100).for_each(|(at, byte)| *byte = noise(at))),
        ("a file cut in the middle of a page", |bytes| bytes.truncate(bytes.len() / 2 + 100)),
        ("zero bytes", Vec::clear),
    ];
    for (what, damage) in damages {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&registry, bytes).expect("it is damaged");
        let before = records(&home);
        let name = registry.display().to_string();
        assert_says(&home.run(["serve"]), what, &["damaged", &name, "backups", "begins anew"]);
        assert_kept(&before, &home, &format!("`serve` with {what}"));
        let found = broken(&home, "registry");
        assert!(found["cure"].to_string().contains("backups"), "{what}: doctor has the cure: {found}");
        assert_kept(&before, &home, "`doctor`");
        let listed = home.run(["tasks", "list", "--json"]);
        // A part that is whole may be read; what is not is said.
        let is_read = listed.code == 0 && listed.json()["tasks"][0]["id"] == json!(task);
        assert!(
            is_read || (listed.code == 1 && listed.err.contains("damaged")),
            "{what}: {}{}",
            listed.out,
            listed.err
        );
        assert_kept(&before, &home, "`tasks list`");
    }
    fs::write(&registry, &whole).expect("a backup is put in its place");
    let core = home.serve();
    assert_eq!(home.task(&task)["id"], json!(task), "with a backup everything is there");
    core.stop();
    aside(&registry);
    assert_says(&home.run(["serve"]), "gone", &["is gone", "intents.sqlite"]);
    aside(&home.data().join("intents.sqlite"));
    let _core = home.serve();
    let listed = home.json(["tasks", "list", "--json"]);
    assert_eq!(listed["tasks"], json!([]), "without one the next start begins anew, as the cure says");
}

/// Does what the cure says.
fn aside(registry: &Path) {
    fs::rename(registry, registry.with_added_extension("aside")).expect("it is moved");
}

#[test]
fn on_a_disk_that_takes_seconds_for_each_commit_agents_are_refused_and_reading_and_doctor_answer() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let mut agent = Agent::over_http(&gate.url("recorder"), &gate.add_agent("bee"));
    gate.kill();
    let disk = SlowDisk::new(gate.home().path());
    gate.start_with(&disk.env());
    let home = gate.home();
    let task = home.call("recorder", "hold", &json!({"nonce": "before"}));
    home.wait_taken(&task);

    disk.set(Duration::from_secs(30));
    // Whatever has to be recorded is stuck from now on.
    let mut cancel = home.command();
    let mut cancel = cancel.args(["tasks", "cancel", &task, "--yes"]).spawn().expect("it starts");
    let found = wait_for(
        "doctor says that the disk is slow",
        || {
            let begun = Instant::now();
            let told = home.run(["doctor", "--json"]);
            println!("`doctor`: {:?}", begun.elapsed());
            assert!(begun.elapsed() < DOCTOR_LIMIT, "`doctor` waits for the disk: {:?}", begun.elapsed());
            let report: Value = serde_json::from_str(&told.out).ok()?;
            let findings = report["findings"].as_array().cloned().unwrap_or_default();
            findings.into_iter().find(|one| one["area"] == "recording" && one["grade"] == "broken")
        },
        || home.core_log(),
    );
    assert!(found["message"].to_string().contains("takes seconds for each commit"), "{found}");
    assert!(found["cure"].to_string().contains("keeps the disk busy"), "{found}");
    let listed = at_once("`tasks list`", || home.run(["tasks", "list"]));
    assert_eq!(listed.code, 0, "{}", listed.err);
    assert!(listed.err.contains("takes seconds for each commit"), "people are told: {}", listed.err);
    let params = json!({"name": "quick", "arguments": {"nonce": "while slow"}});
    let answer = at_once("the refusal", || agent.ask("tools/call", params)).expect("an answer").to_string();
    assert!(answer.contains("can record nothing") && answer.contains("takes seconds"), "it is refused: {answer}");
    assert!(!server.seen().calls.contains_key("while slow"), "before it leaves");

    disk.set(Duration::ZERO);
    assert_eq!(cancel.wait().expect("it ends").code(), Some(0), "the cancel was not lost");
    home.wait_phase(&task, "cancelled");
    wait_for(
        "agents are served again",
        || {
            let params = json!({"name": "quick", "arguments": {"nonce": "later"}});
            agent
                .ask("tools/call", params)
                .ok()
                .filter(|answer| answer["result"]["content"][0]["text"] == "quick and done")
        },
        || home.core_log(),
    );
}
