//! Agents' own processes of a local server after kill -9 of the core: the next core has them at once, whether or not a
//! task needs them, so that a person can freeze and end them. Processes are read from `/proc`.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::wait_for;

use crate::PROGRAM;

const BEE: &str = "bee";

/// A core with a local server of the older dialect, which has one process for people and one for each agent that called.
struct Bench {
    gate: Gate,
    token: String,
    /// The process that people share.
    shared: u64,
    /// The process of the agent.
    own: u64,
}

impl Bench {
    /// One agent has a process of its own; another agent never called.
    fn open() -> Self {
        let gate = Gate::open(PROGRAM);
        let file = gate.home().path().join("calls");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/pauses/recorder.py");
        gate.add_server("notes", &["--", "python3", script, file.to_str().expect("a path")]);
        gate.add_agent("idle");
        let token = gate.add_agent(BEE);
        let mut bench = Self { gate, token, shared: 0, own: 0 };
        bench.shared = bench.processes().into_iter().next().expect("it runs for people");
        bench.call("before");
        let shared = bench.shared;
        bench.own = bench.processes().into_iter().find(|pid| *pid != shared).expect("the agent has its own");
        bench
    }

    fn call(&self, word: &str) {
        let agent = Agent::new(&self.gate.url("notes"), &self.token);
        let answer = agent.ask("tools/call", &json!({"name": "note", "arguments": {"word": word}})).result();
        assert!(answer.to_string().contains(&format!("noted {word}")), "{answer}");
    }

    fn ok(&self, args: &[&str]) {
        let ran = self.gate.home().run(args);
        assert_eq!(ran.code, 0, "`{args:?}`: {}{}\n{}", ran.out, ran.err, self.gate.home().core_log());
    }

    /// What the records of keepers say.
    fn records(&self) -> Vec<Value> {
        let folders = fs::read_dir(self.gate.home().data().join("keep")).into_iter().flatten().filter_map(Result::ok);
        let records = folders.filter_map(|folder| fs::read(folder.path().join("who")).ok());
        records.filter_map(|text| serde_json::from_slice(&text).ok()).collect()
    }

    /// The processes of the server that are kept.
    fn processes(&self) -> BTreeSet<u64> {
        self.records().iter().filter_map(|record| record["child"]["pid"].as_u64()).collect()
    }

    fn both(&self) -> [u64; 2] {
        [self.shared, self.own]
    }

    /// Kills the core and starts the next one, which starts no process.
    fn next_core(&mut self) {
        self.gate.kill();
        self.gate.start();
        assert_eq!(self.processes(), BTreeSet::from(self.both()), "what was kept, and no other");
    }

    /// Whether the core says of both processes that they are frozen.
    fn says_frozen(&self) -> bool {
        let shown = self.gate.home().json(["servers", "show", "notes", "--json"]);
        shown["frozen"]["processes"]["stopped"] == json!(2)
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        wait_for(what, || is_so().then_some(()), || format!("{:?}\n{}", self.processes(), self.gate.home().core_log()));
    }

    fn audit(&self) -> String {
        self.gate.home().run(["audit", "list", "--json"]).out
    }
}

/// The state of a process as the system tells it: `T` is stopped. `None` once it is gone.
fn state(pid: u64) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next().filter(|state| *state != 'Z')
}

#[test]
fn after_a_kill_the_process_of_an_agent_is_frozen_and_continued_with_its_server_and_serves_its_agent() {
    let mut bench = Bench::open();
    bench.next_core();
    bench.ok(&["pause", "notes", "--freeze"]);
    bench.until("the core has frozen both", || bench.says_frozen());
    assert_eq!(bench.both().map(state), [Some('T'); 2]);
    bench.next_core();
    bench.until("the next core confirms both", || bench.says_frozen());
    bench.ok(&["unpause", "notes"]);
    for pid in bench.both() {
        bench.until("it continues", || state(pid).is_some_and(|state| state != 'T'));
    }
    bench.call("after");
    assert_eq!(bench.processes(), BTreeSet::from(bench.both()), "by the process that it had");
}

#[test]
fn after_a_kill_removing_the_server_ends_the_process_of_an_agent_also_a_frozen_one() {
    for is_frozen in [false, true] {
        let mut bench = Bench::open();
        if is_frozen {
            bench.ok(&["pause", "notes", "--freeze"]);
        }
        bench.next_core();
        bench.ok(&["servers", "remove", "notes", "--yes"]);
        bench.until("both are gone", || bench.both().map(state) == [None, None]);
    }
}

#[test]
fn after_a_kill_revoking_the_agent_ends_its_process_also_a_frozen_one_and_no_other() {
    for is_frozen in [false, true] {
        let mut bench = Bench::open();
        if is_frozen {
            bench.ok(&["pause", "notes", "--freeze"]);
        }
        bench.next_core();
        bench.ok(&["agents", "revoke", BEE, "--yes"]);
        bench.until("its process is gone", || state(bench.own).is_none());
        assert_eq!(state(bench.shared).map(|state| state == 'T'), Some(is_frozen), "the one for people is as it was");
    }
}

#[test]
fn a_process_whose_keeper_does_not_answer_is_ended_and_the_audit_log_says_so() {
    let mut bench = Bench::open();
    let record = bench.records().into_iter().find(|record| record["child"]["pid"] == json!(bench.own)).expect("kept");
    let keeper = record["keeper"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let keeper = keeper.expect("a keeper");
    bench.gate.kill();
    kill_process(keeper, Signal::STOP).expect("it stands still");
    bench.gate.start_with(&[("TASKWARDEN_POLICY_KEEPING_GREETING_LIMIT", "300ms")]);
    let gave_up = || bench.gate.home().core_log().contains("could not be taken over");
    bench.until("the core gave up on it", gave_up);
    // The order to end waits for the keeper.
    kill_process(keeper, Signal::CONT).expect("it goes on");
    bench.until("its process is gone", || state(bench.own).is_none());
    let said = format!("process {} of an earlier run could not be taken over", bench.own);
    bench.until("it is on record", || bench.audit().contains(&said));
    bench.call("again");
}

#[test]
fn the_start_of_a_process_and_its_taking_over_are_on_record_with_its_number() {
    let mut bench = Bench::open();
    let on_record = |bench: &Bench, note: &str| bench.until(note, || bench.audit().contains(&format!("\"{note}\"")));
    for pid in bench.both() {
        on_record(&bench, &format!("process {pid}"));
    }
    bench.next_core();
    for pid in bench.both() {
        on_record(&bench, &format!("process {pid} of an earlier run was taken over"));
    }
}
