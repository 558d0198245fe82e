//! Paused agents and frozen servers, from outside: what a server gets and when, and what is left of its processes.
//!
//! The server writes each call into a file, so that what it got is known without asking the core. Processes are read from
//! `/proc`.

mod inbox_item;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::{Ran, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// The exit code of what was refused (product.md).
const REFUSED: i32 = 5;
/// Whoever ends a pause must choose after a moment here, so that nobody waits a quarter of an hour.
const CHOOSES_AT_ONCE: &[(&str, &str)] = &[("TASKWARDEN_POLICY_PAUSES_CHOICE_AFTER", "1ms")];
/// Calls that wait.
const TEN: usize = 10;

/// A core with a local server that writes down its calls, and one agent.
struct Paused {
    gate: Gate,
    token: String,
    file: PathBuf,
}

impl Paused {
    fn open() -> Self {
        let gate = Gate::open(PROGRAM);
        let file = gate.home().path().join("calls");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/pauses/recorder.py");
        gate.add_server("notes", &["--", "python3", script, file.to_str().expect("a path")]);
        let token = gate.add_agent("order-bot");
        Self { gate, token, file }
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.gate.home().run(args)
    }

    fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "`{args:?}`: {}{}", ran.out, ran.err);
        ran
    }

    fn agent(&self) -> Agent {
        Agent::new(&self.gate.url("notes"), &self.token)
    }

    /// Makes calls that wait; gives their handles here, the first made first.
    fn calls_that_wait(&self, words: &[String]) -> Vec<String> {
        let agent = self.agent();
        words.iter().for_each(|word| drop(agent.start("note", &json!({"word": word}))));
        let list = self.pauses();
        let calls = list[0]["calls"].as_array().expect("calls").clone();
        assert_eq!(calls.len(), words.len(), "each waits: {list:?}");
        calls.iter().map(|call| call["id"].as_str().expect("an id").to_owned()).collect()
    }

    fn pauses(&self) -> Vec<Value> {
        let list = self.gate.home().json(["pauses", "list", "--json"]);
        list["pauses"].as_array().expect("pauses").clone()
    }

    /// The words of the calls that the server got, in their order.
    fn got(&self) -> Vec<String> {
        fs::read_to_string(&self.file).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Whether each of these calls is done, or its reply is known to be lost. A core that dies under the question answers
    /// neither.
    fn are_over(&self, ids: &[String]) -> bool {
        ids.iter().all(|id| {
            let shown = self.run(&["tasks", "show", id, "--json"]);
            shown.code == 0 && ["done", "unconfirmed"].iter().any(|phase| shown.json()["phase"] == *phase)
        })
    }

    fn until_got(&self, wanted: &[String]) {
        wait_for(
            "the server got the calls",
            || (self.got().len() >= wanted.len()).then_some(()),
            || format!("{:?}\n{:#?}\n{}", self.got(), self.gate.tasks(), self.gate.home().core_log()),
        );
        assert_eq!(self.got(), wanted, "each once, in the order in which they were made");
    }
}

fn words(many: usize) -> Vec<String> {
    (0..many).map(|number| format!("call-{number:02}")).collect()
}

#[test]
fn ten_calls_of_a_paused_agent_wait_over_a_kill_and_leave_in_order_and_another_agent_is_not_delayed() {
    let mut paused = Paused::open();
    let said = paused.ok(&["pause", "order-bot", "--reason", "wrong month"]);
    assert!(said.out.contains("New calls of order-bot wait"), "{}", said.out);
    let ids = paused.calls_that_wait(&words(TEN));
    let shown = paused.gate.home().task(&ids[0]);
    assert_eq!(
        (&shown["phase"], &shown["view"], &shown["paused"]["kind"], &shown["group"]),
        (&json!("waiting"), &json!("gated"), &json!("agentPaused"), &json!("moving")),
        "{shown}"
    );
    let inbox = paused.gate.home().json(["inbox", "--json"]);
    assert_eq!(inbox["items"], json!([]), "nothing is asked of anybody: {inbox}");

    paused.gate.kill();
    paused.gate.start();
    assert_eq!(paused.pauses()[0]["waiting"], json!(TEN), "all of them wait still");
    let other = paused.gate.add_agent("other");
    let other = Agent::new(&paused.gate.url("notes"), &other);
    let answer = other.ask("tools/call", &json!({"name": "note", "arguments": {"word": "other"}})).result();
    assert!(answer.to_string().contains("noted other"), "another agent is served: {answer}");
    assert_eq!(paused.got(), ["other"], "the server heard of nothing else");

    let over = paused.ok(&["unpause", "order-bot"]);
    assert!(over.out.contains("10 waiting calls are sent"), "{}", over.out);
    let wanted: Vec<String> = std::iter::once("other".to_owned()).chain(words(TEN)).collect();
    paused.until_got(&wanted);
    for id in &ids {
        paused.gate.home().wait_phase(id, "done");
    }
    assert_eq!(paused.pauses(), Vec::<Value>::new(), "nothing is paused any more");
    let answer = paused.agent().ask("tools/call", &json!({"name": "note", "arguments": {"word": "new"}})).result();
    assert!(answer.to_string().contains("noted new"), "a new call does not wait: {answer}");
    let audit = paused.ok(&["audit", "list", "--json"]).out;
    assert!(audit.contains("pauseBegun") && audit.contains("pauseEnded"), "both are in the audit log");
}

#[test]
fn a_core_that_dies_around_the_end_of_a_pause_sends_each_waiting_call_once_and_in_order() {
    for point in ["registry.put_pause:before:1", "registry.put_pause:after:1"] {
        let mut paused = Paused::open();
        paused.ok(&["pause", "order-bot"]);
        paused.calls_that_wait(&words(TEN));
        paused.gate.kill();
        paused.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
        let cut = paused.run(&["unpause", "order-bot", "--all"]);
        assert_ne!(cut.code, 0, "{point}: the core died under the command");
        paused.gate.start();
        match paused.pauses().len() {
            0 => {}
            _ => {
                assert_eq!(paused.got(), Vec::<String>::new(), "{point}: the pause is in force and nothing left");
                paused.ok(&["unpause", "order-bot", "--all"]);
            }
        }
        paused.until_got(&words(TEN));
    }
}

#[test]
fn a_core_that_dies_while_waiting_calls_leave_sends_none_of_them_twice() {
    for number in 1..=4 {
        let mut paused = Paused::open();
        paused.ok(&["pause", "order-bot"]);
        let ids = paused.calls_that_wait(&words(3));
        paused.gate.kill();
        let point = format!("registry.commit:after:{number}");
        paused.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", &point)]);
        paused.run(&["unpause", "order-bot", "--all"]);
        // A call that the server got is not over yet: the core may still die before it commits the outcome.
        wait_for(
            "the core dies, or every call is over",
            || (paused.gate.has_ended() || paused.are_over(&ids)).then_some(()),
            || point.clone(),
        );
        if paused.gate.has_ended() {
            paused.gate.start();
        }
        if !paused.pauses().is_empty() {
            paused.ok(&["unpause", "order-bot", "--all"]);
        }
        wait_for(
            "each call is done, or its reply is known to be lost",
            || paused.are_over(&ids).then_some(()),
            || format!("{point}: {:#?}\n{}", paused.gate.tasks(), paused.gate.home().core_log()),
        );
        let got = paused.got();
        let distinct: BTreeSet<&String> = got.iter().collect();
        assert_eq!(distinct.len(), got.len(), "{point}: no call twice: {got:?}");
        assert!(got.is_sorted(), "{point}: in order: {got:?}");
    }
}

#[test]
fn after_a_while_a_person_chooses_which_waiting_calls_are_sent_and_the_others_are_cancelled() {
    let mut paused = Paused::open();
    paused.gate.kill();
    paused.gate.start_with(CHOOSES_AT_ONCE);
    paused.ok(&["pause", "order-bot"]);
    let ids = paused.calls_that_wait(&words(4));
    let refused = paused.run(&["unpause", "order-bot"]);
    assert_eq!(refused.code, REFUSED, "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("4 calls wait") && refused.err.contains("--all"), "{}", refused.err);
    let stranger = paused.run(&["unpause", "order-bot", "--send", "hdl_00000000"]);
    assert_ne!(stranger.code, 0, "what does not wait cannot be sent: {}", stranger.err);

    // One is cancelled while it waits, by itself.
    paused.ok(&["tasks", "cancel", &ids[3], "--yes"]);
    let cancelled = paused.gate.home().wait_phase(&ids[3], "cancelled");
    assert_eq!(cancelled["intent"]["state"], "endedHere", "without its server: {cancelled}");
    let said = paused.ok(&["tasks", "show", &ids[3]]).out;
    assert!(said.contains("cancelled here; notes was not asked"), "{said}");
    assert!(said.contains("cancelled before the call was sent") && !said.contains("confirmed by"), "{said}");
    let over = paused.ok(&["unpause", "order-bot", "--send", &ids[0], "--send", &ids[2]]);
    assert!(over.out.contains("2 waiting calls are sent") && over.out.contains("1 cancelled"), "{}", over.out);
    paused.gate.home().wait_phase(&ids[2], "done");
    let left_out = paused.gate.home().wait_phase(&ids[1], "cancelled");
    assert!(left_out["intent"]["reason"].as_str().is_some_and(|why| why.contains("left out")), "{left_out}");
    assert_eq!(paused.got(), ["call-00", "call-02"], "the server never heard of the others");
    let server = paused.gate.home().json(["servers", "show", "notes", "--json"]);
    assert_eq!((&server["cancels"]["asked"], &server["cancels"]["stopped"]), (&json!(0), &json!(0)), "{server}");
}

#[test]
fn the_end_of_one_of_two_pauses_counts_what_it_sent_and_names_what_the_other_still_holds() {
    let paused = Paused::open();
    paused.ok(&["pause", "order-bot"]);
    paused.calls_that_wait(&words(2));
    paused.ok(&["pause", "notes", "--freeze"]);
    let over = paused.ok(&["unpause", "order-bot"]).out;
    assert!(over.contains("2 calls still wait: another pause holds them.") && !over.contains("sent"), "{over}");
    let audit = paused.ok(&["audit", "list", "--json"]).out;
    assert!(audit.contains("0 sent, 0 cancelled, 2 held by another pause"), "{audit}");
    assert_eq!(paused.got(), Vec::<String>::new(), "the server is frozen and heard of neither");
    let over = paused.ok(&["unpause", "notes"]).out;
    assert!(over.contains("2 waiting calls are sent"), "{over}");
    paused.until_got(&words(2));
}

#[test]
fn a_paused_agent_that_is_revoked_sends_nothing_and_what_cannot_be_paused_is_said() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let paused = Paused::open();
    paused.gate.add_server("elsewhere", &["--url", &server.url()]);
    let far = paused.run(&["pause", "elsewhere", "--freeze"]);
    assert_eq!(far.code, REFUSED, "{}", far.err);
    assert!(far.err.contains("does not run on this machine"), "{}", far.err);
    let unknown = paused.run(&["pause", "nobody"]);
    assert_eq!(unknown.code, 4, "{}", unknown.err);
    assert!(
        unknown.err.contains("no agent `nobody`") && unknown.err.contains("pause SERVER --freeze"),
        "{}",
        unknown.err
    );
    for (args, kind) in [
        (&["pause", "notes"][..], "`notes` is a server, not an agent"),
        (&["pause", "order-bot", "--freeze"], "`order-bot` is an agent, not a server"),
    ] {
        let other = paused.run(args);
        assert_eq!(other.code, 4, "{}", other.err);
        assert!(other.err.contains(kind), "{}", other.err);
    }
    let nothing = paused.run(&["unpause", "order-bot"]);
    assert_eq!(nothing.code, REFUSED, "{}", nothing.err);

    paused.ok(&["pause", "order-bot"]);
    let twice = paused.run(&["pause", "order-bot"]);
    assert_eq!(twice.code, REFUSED, "{}", twice.err);
    assert!(twice.err.contains("paused already, since"), "{}", twice.err);
    let ids = paused.calls_that_wait(&words(2));
    let said = paused.ok(&["agents", "revoke", "order-bot", "--yes"]).out;
    assert!(said.contains("(cancelled before the call was sent)") && !said.contains("confirmed by"), "{said}");
    for id in &ids {
        let task = paused.gate.home().wait_phase(id, "cancelled");
        assert_eq!(task["view"], "notSent", "{task}");
    }
    assert_eq!(paused.pauses(), Vec::<Value>::new(), "its pause ended with its access");
    let audit = paused.ok(&["audit", "list", "--json"]).out;
    assert!(audit.contains("its agent was revoked; 0 sent, 2 cancelled"), "{audit}");
    let again = paused.run(&["pause", "order-bot"]);
    assert_eq!(again.code, REFUSED, "{}", again.err);
    assert!(again.err.contains("has no access any more"), "{}", again.err);
    assert_eq!(paused.got(), Vec::<String>::new(), "the server heard of neither");
}

#[test]
fn a_result_that_a_pause_holds_is_no_plain_done_in_the_list() {
    let gate = Gate::open(PROGRAM);
    gate.add_server("demo", &["--", PROGRAM, "demo-server"]);
    let token = gate.add_agent("order-bot");
    let folder = gate.home().path().join("large");
    large_folder(&folder);
    let agent = Agent::new(&gate.url("demo"), &token);
    let id = agent.start("hash_tree", &json!({"path": folder}));
    let paused = gate.home().run(["pause", "order-bot", "--hold-results"]);
    assert_eq!(paused.code, 0, "{}", paused.err);
    let list = || gate.home().run(["tasks", "list"]).out;
    assert!(list().contains("Working, result will be held"), "{}", list());
    gate.home().wait_phase(&id, "done");
    assert!(list().contains("Done, result held"), "{}", list());
    let shown = gate.home().run(["tasks", "show", &id]).out;
    assert!(shown.contains("Done, result held"), "{shown}");
}

#[test]
fn a_hundred_calls_that_are_cancelled_at_once_leave_a_core_that_answers() {
    let paused = Paused::open();
    for _ in 0..4 {
        paused.ok(&["pause", "order-bot"]);
        paused.calls_that_wait(&words(100));
        paused.ok(&["unpause", "order-bot", "--none"]);
        paused.ok(&["tasks", "list", "--limit", "1"]);
    }
    assert_eq!(paused.got(), Vec::<String>::new(), "the server heard of none");
}

#[test]
fn a_frozen_server_that_is_removed_leaves_no_pause_behind_and_its_waiting_calls_are_not_lost_but_never_sent() {
    let paused = Paused::open();
    paused.ok(&["pause", "notes", "--freeze"]);
    let id = paused.gate.home().call("notes", "note", &json!({"word": "late"}));
    let unwanted = paused.gate.home().call("notes", "note", &json!({"word": "unwanted"}));
    let said = paused.ok(&["tasks", "cancel", &unwanted]).out;
    assert!(said.contains("cancelled here; notes was not asked"), "it ends without its server: {said}");
    paused.ok(&["servers", "remove", "notes", "--yes"]);
    assert_eq!(paused.pauses(), Vec::<Value>::new(), "nobody could name it to end it");
    let task = paused.gate.home().wait_phase(&id, "failed");
    assert_eq!((&task["view"], &task["contact"]["kind"]), (&json!("notSent"), &json!("fresh")), "{task}");
    let shown = paused.ok(&["tasks", "show", &id]).out;
    assert!(shown.contains("its server was removed before the call was sent"), "{shown}");
    assert_eq!(paused.got(), Vec::<String>::new(), "the server never heard of it");
}

/// Processes whose group this is, with the ticks that they used so far.
fn group(leader: u64) -> Vec<(u32, u64)> {
    let pids = fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let (state, pgrp) = (*fields.first()?, fields.get(2)?.parse::<u64>().ok()?);
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        (pgrp == leader && state != "Z").then_some((pid, ticks))
    })
    .collect()
}

/// The record of the keeper of the one process that is kept.
fn kept(gate: &Gate) -> Value {
    let folders = fs::read_dir(gate.home().data().join("keep")).into_iter().flatten().filter_map(Result::ok);
    let mut records = folders.filter_map(|folder| fs::read(folder.path().join("who")).ok());
    let only = records.next().expect("a process is kept");
    serde_json::from_slice(&only).expect("a record")
}

/// A folder that takes a while to hash: sparse files cost no disk.
fn large_folder(at: &Path) {
    fs::create_dir_all(at).expect("a folder");
    for number in 0..40 {
        let file = fs::File::create(at.join(format!("file-{number:02}"))).expect("a file");
        file.set_len(64 << 20).expect("its length");
    }
}

/// What `sha256sum` says of every file.
fn sha256sums(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|entry| entry.path());
    let ran = std::process::Command::new("sha256sum").args(files).output().expect("sha256sum");
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines().filter_map(|line| line.split_once(' ').map(|(digest, _)| digest.to_owned())).collect()
}

#[test]
fn a_frozen_server_uses_no_processor_keeps_its_work_over_a_kill_and_brings_the_right_digests_when_thawed() {
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("demo", &["--", PROGRAM, "demo-server"]);
    let folder = gate.home().path().join("large");
    large_folder(&folder);
    let task = gate.home().call("demo", "hash_tree", &json!({"path": folder}));
    gate.home().wait_taken(&task);
    let said = gate.home().run(["pause", "demo", "--freeze"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("of demo is frozen. It keeps its memory."), "{}", said.out);
    let leader = kept(&gate)["child"]["pid"].as_u64().expect("a process");
    let frozen = group(leader);
    assert!(!frozen.is_empty(), "it is there");
    stands_still(leader, &frozen);
    let shown = gate.home().task(&task);
    assert_eq!((&shown["phase"], &shown["paused"]["kind"]), (&json!("running"), &json!("frozen")), "{shown}");

    let waits = gate.home().call("demo", "hash_tree", &json!({"path": folder}));
    assert_eq!(gate.home().task(&waits)["paused"]["kind"], "serverFrozen", "a new call waits");
    gate.kill();
    gate.start();
    wait_for(
        "the new core confirms it",
        || {
            let server = gate.home().json(["servers", "show", "demo", "--json"]);
            (server["frozen"]["processes"]["stopped"] == json!(frozen.len())).then_some(())
        },
        || gate.home().core_log(),
    );
    stands_still(leader, &frozen);
    assert_eq!(gate.home().task(&task)["phase"], "running", "and it is not silent");

    let over = gate.home().run(["unpause", "demo"]);
    assert_eq!(over.code, 0, "{}", over.err);
    for id in [&task, &waits] {
        let done = gate.home().wait_phase(id, "done");
        assert!(done.get("paused").is_none(), "{done}");
        let result = gate.home().run(["tasks", "result", id, "--json"]).out;
        for digest in sha256sums(&folder) {
            assert!(result.contains(&digest), "{id} has `{digest}`");
        }
    }
}

/// The minute of stop.md §7, check 9; `cargo xtask torture` waits for it.
const WHOLE: Duration = Duration::from_secs(60);

/// The processes are the same, and used no processor, over several looks that are ticks apart.
fn stands_still(leader: u64, frozen: &[(u32, u64)]) {
    let clock = || fs::read_to_string("/proc/uptime").expect("uptime");
    let is_whole = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    let (begun, least) = (Instant::now(), if is_whole { WHOLE } else { Duration::ZERO });
    let mut looks = 0;
    let mut last = clock();
    wait_for(
        "the time passed over them",
        || {
            assert_eq!(group(leader), frozen, "no tick was used");
            let now = clock();
            looks += usize::from(now != last);
            last = now;
            (looks >= 25 && begun.elapsed() >= least).then_some(())
        },
        || format!("{:?}", group(leader)),
    );
}

#[test]
fn a_frozen_server_that_another_program_continues_is_frozen_again_and_says_so() {
    let gate = Gate::open(PROGRAM);
    gate.add_server("demo", &["--", PROGRAM, "demo-server"]);
    assert_eq!(gate.home().run(["pause", "demo", "--freeze", "--reason", "it loops"]).code, 0);
    let show = || gate.home().run(["servers", "show", "demo"]).out;
    assert!(show().contains(": it loops.") && !show().contains("Another program"), "{}", show());
    let leader = kept(&gate)["child"]["pid"].as_u64().expect("a process");
    let group_of = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process_group(group_of, rustix::process::Signal::CONT).expect("it is continued");
    wait_for(
        "the core noticed",
        || show().contains("Another program let it run").then_some(()),
        || format!("{}\n{}", show(), gate.home().core_log()),
    );
    stands_still(leader, &group(leader));
    let list = gate.home().run(["pauses", "list"]).out;
    assert!(list.contains("1 process of demo is frozen") && list.contains("Another program let it run"), "{list}");
    assert!(list.contains("Paused by") && list.contains(": it loops."), "what a list says is its output: {list}");
}

#[test]
fn when_the_keeper_of_a_frozen_server_is_killed_no_process_of_it_remains() {
    for core_dies_too in [false, true] {
        let mut gate = Gate::open(PROGRAM);
        gate.add_server("demo", &["--", PROGRAM, "demo-server"]);
        assert_eq!(gate.home().run(["pause", "demo", "--freeze"]).code, 0);
        let record = kept(&gate);
        let leader = record["child"]["pid"].as_u64().expect("a process");
        let keeper = record["keeper"]["pid"].as_i64().expect("a keeper");
        let before: BTreeSet<u32> = group(leader).into_iter().map(|(pid, _)| pid).collect();
        assert!(!before.is_empty(), "it is there");
        if core_dies_too {
            gate.kill();
        }
        let keeper = i32::try_from(keeper).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("it is killed");
        if core_dies_too {
            gate.start();
        }
        wait_for(
            "no process of the group remains",
            || group(leader).is_empty().then_some(()),
            || format!("{:?}\n{}", group(leader), gate.home().core_log()),
        );
        let pauses = gate.home().json(["pauses", "list", "--json"]);
        assert_eq!(pauses["pauses"][0]["server"], "demo", "the pause stays until a person ends it: {pauses}");
        assert_eq!(gate.home().run(["unpause", "demo"]).code, 0);
    }
}
