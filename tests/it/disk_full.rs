//! A data directory on a real file system without room: agents are refused before their calls leave, what is in flight
//! is seen and joined, people go on deciding, and `doctor` says what is wrong.
//!
//! The file system is a small tmpfs, which only root may mount; elsewhere the story says that it is not run. That the
//! registry itself keeps its promises there is in `registry/tests/sqlite/storage.rs`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::not_run::not_run;
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// The data directory on a small file system.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Moves what is there onto it; `None` where this user may not mount one.
    fn under(data: &Path) -> Option<Self> {
        let aside = data.with_extension("aside");
        fs::rename(data, &aside).expect("the data directory moves");
        fs::create_dir(data).expect("its place");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs"]).arg(data).output();
        if !mount.is_ok_and(|done| done.status.success()) {
            fs::remove_dir(data).expect("its place");
            fs::rename(&aside, data).expect("back");
            return None;
        }
        let copied = Command::new("cp").arg("-a").arg(aside.join(".")).arg(data).status().expect("cp runs");
        assert!(copied.success(), "the data directory is copied");
        Some(Self(data.into()))
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).expect("a file");
        let piece = [7_u8; 4_096];
        while file.write_all(&piece).is_ok() {}
    }

    /// Leaves so many bytes free, or somewhat fewer.
    fn leave(&self, bytes: u64) {
        let mut file = fs::File::create(self.0.join("filler")).expect("a file");
        let free = || {
            let disk = rustix::fs::statvfs(&self.0).expect("its free space is known");
            disk.f_bavail * disk.f_frsize
        };
        while free() > bytes {
            file.write_all(&[7_u8; 65_536]).expect("there is room");
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).expect("room");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// An agent with one call, on a thread of its own; ends with its answer.
fn call(gate: &Gate, token: &str, tool: &str, nonce: &str) -> std::thread::JoinHandle<Option<Value>> {
    let mut agent = Agent::over_http(&gate.url("recorder"), token);
    let params = json!({"name": tool, "arguments": {"nonce": nonce}});
    std::thread::spawn(move || agent.ask("tools/call", params).ok())
}

/// A slow call that left while there was room and that has no row, because the disk was full when it should have got
/// one, and its nonce. When the log of the registry had room for the row, the next call tries.
fn call_while_the_disk_fills(
    gate: &Gate,
    disk: &SmallDisk,
    server: &Recorder,
    token: &str,
) -> (std::thread::JoinHandle<Option<Value>>, String) {
    for (round, ()) in looks().enumerate() {
        let nonce = format!("wanted-{round}");
        let rows = slow_rows(gate);
        let answer = call(gate, token, "slow", &nonce);
        wait_for(
            "the call is at the server",
            || server.seen().calls.contains_key(&nonce).then_some(()),
            || gate.home().core_log(),
        );
        disk.fill();
        let is_without_row = wait_for(
            "the call has a row or cannot have one",
            || is_unrecorded(gate).then_some(true).or_else(|| (slow_rows(gate) > rows).then_some(false)),
            || gate.home().core_log(),
        );
        if is_without_row {
            return (answer, nonce);
        }
        make_room(gate, disk);
    }
    panic!("every call got a row; last state: {}", gate.home().core_log());
}

/// Tasks of slow calls that have a row.
fn slow_rows(gate: &Gate) -> usize {
    gate.home().run(["tasks", "list"]).out.matches(" slow ").count()
}

fn is_unrecorded(gate: &Gate) -> bool {
    recording(gate).to_string().contains("1 call not recorded")
}

/// Makes room and waits until the core records again.
fn make_room(gate: &Gate, disk: &SmallDisk) {
    disk.make_room();
    wait_for(
        "with room everything goes on",
        || Some(recording(gate)).filter(|finding| finding["grade"] == "fine"),
        || gate.home().core_log(),
    );
}

fn recording(gate: &Gate) -> Value {
    let report = gate.home().run(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&report.out).expect("a report");
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    findings.into_iter().find(|finding| finding["area"] == "recording").unwrap_or_default()
}

#[test]
fn on_a_full_disk_a_repeated_call_does_not_run_again_and_people_go_on_deciding() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let manner = Manner { slow: Duration::from_secs(20), ..Manner::default() };
    let server = runtime.block_on(Recorder::start(manner)).expect("a server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let (token, other) = (gate.add_agent("bee"), gate.add_agent("wasp"));
    gate.kill();
    let Some(disk) = SmallDisk::under(&gate.home().data()) else {
        not_run("this user may not mount a file system");
        return;
    };
    // The disk can be filled before a call in flight gets its row.
    gate.start_with(&[("TASKWARDEN_POLICY_GATEWAY_SHOWN_AFTER", "1s")]);
    assert_eq!(recording(&gate)["grade"], "fine", "at first everything is recorded");
    let asking = gate.home().call("recorder", "ask", &json!({"nonce": "asked"}));
    wait_for(
        "the server asks",
        || Some(gate.home().run(["tasks", "show", &asking]).out).filter(|shown| shown.contains("May asked go on?")),
        || gate.home().core_log(),
    );
    let task = gate.home().call("recorder", "hold", &json!({"nonce": "open"}));

    // A call is in flight when the disk fills up.
    let calls = |nonce: &str| server.seen().calls.get(nonce).copied().unwrap_or(0);
    let (first, wanted) = call_while_the_disk_fills(&gate, &disk, &server, &token);
    let seen = wait_for(
        "the core knows that it cannot record",
        || Some(recording(&gate)).filter(|finding| finding.to_string().contains("1 call not recorded")),
        || gate.home().core_log(),
    );
    let told = seen.to_string();
    assert!(told.contains("disk") && seen["grade"] == "broken", "doctor says it: {told}");
    assert!(seen["cure"].as_str().is_some_and(|cure| cure.contains("Free some space")), "and its cure: {told}");
    let listed = gate.home().run(["tasks", "list"]);
    assert!(listed.err.contains("Running, and not recorded"), "people see the call: {}{}", listed.out, listed.err);

    // New calls do not leave; the first one's reply comes back without a row.
    let refused = call(&gate, &token, "slow", "another").join().expect("ends").expect("an answer");
    assert!(
        refused["error"]["message"].as_str().is_some_and(|why| why.contains("too little free space")),
        "it is refused: {refused}"
    );
    assert_eq!(calls("another"), 0, "and never left");
    let ran = gate.home().run(["tasks", "cancel", &task]);
    assert_eq!(ran.code, 0, "a person's cancel is recorded from the reserve: {}{}", ran.out, ran.err);
    let answer = first.join().expect("ends").expect("an answer");
    assert!(answer["result"].is_object(), "the reply that is here goes to its agent: {answer}");
    assert_eq!(calls(&wanted), 1, "the tool ran once");

    make_room(&gate, &disk);
    let later = call(&gate, &token, "quick", "later").join().expect("ends").expect("an answer");
    assert!(later["result"].is_object(), "agents are served again: {later}");

    // An agent whose call has no row loses its access without waiting for one.
    let (lost, _) = call_while_the_disk_fills(&gate, &disk, &server, &other);
    wait_for(
        "its call is in flight without a row",
        || Some(recording(&gate)).filter(|finding| finding.to_string().contains("1 call not recorded")),
        || gate.home().core_log(),
    );
    let begun = std::time::Instant::now();
    let ran = gate.home().run(["agents", "revoke", "wasp", "--yes"]);
    assert_eq!(ran.code, 0, "it is revoked: {}{}", ran.out, ran.err);
    assert!(begun.elapsed() < Duration::from_secs(15), "at once: {:?}", begun.elapsed());

    // Its server ends the task at once, and that end has to wait for room; the person does not.
    let begun = std::time::Instant::now();
    let ran = gate.home().run(["tasks", "answer", &asking, "--accept", r#"{"word":"yes"}"#]);
    assert_eq!(ran.code, 0, "a person's answer is recorded from the reserve: {}{}", ran.out, ran.err);
    assert!(begun.elapsed() < Duration::from_secs(10), "without waiting for room: {:?}", begun.elapsed());
    wait_for(
        "the answer reaches its server",
        || server.seen().answers.values().flatten().any(|(key, _)| key == "go").then_some(()),
        || gate.home().core_log(),
    );
    drop(lost.join());
    gate.kill();
    drop(disk);
}

#[test]
fn agents_are_refused_before_the_disk_is_full_and_people_go_on() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("bee");
    gate.kill();
    let Some(disk) = SmallDisk::under(&gate.home().data()) else {
        not_run("this user may not mount a file system");
        return;
    };
    gate.start();
    wait_for(
        "at first there is room",
        || (recording(&gate)["grade"] == "fine").then_some(()),
        || gate.home().core_log(),
    );
    let task = gate.home().call("recorder", "hold", &json!({"nonce": "open"}));
    gate.home().wait_taken(&task);
    disk.leave(6 << 20);
    let seen = wait_for(
        "the core knows that little room is left",
        || Some(recording(&gate)).filter(|finding| finding["grade"] == "broken"),
        || gate.home().core_log(),
    );
    assert!(seen.to_string().contains("too little free space"), "{seen}");

    let refused = call(&gate, &token, "quick", "first").join().expect("ends").expect("an answer");
    assert!(
        refused["error"]["message"].as_str().is_some_and(|why| why.contains("too little free space")),
        "the first call is refused already: {refused}"
    );
    assert_eq!(server.seen().calls.get("first"), None, "and never left");
    assert!(gate.home().core_log().contains("little room left"), "the log says why");
    let reserve = fs::metadata(gate.home().data().join("reserve")).expect("a reserve").len();
    assert_eq!(reserve, 4 << 20, "the reserve is not in use yet");
    let ran = gate.home().run(["tasks", "cancel", &task, "--yes"]);
    assert_eq!(ran.code, 0, "a person's cancel is recorded: {}{}", ran.out, ran.err);
    gate.home().wait_phase(&task, "cancelled");

    make_room(&gate, &disk);
    let later = call(&gate, &token, "quick", "later").join().expect("ends").expect("an answer");
    assert!(later["result"].is_object(), "agents are served again: {later}");
    gate.kill();
    drop(disk);
}
