//! A disk that is full again and again: what cannot be recorded is refused before it leaves, what people decide is kept.
//!
//! The disk is a real file system of its own (`small_disk.rs`), filled to the last kilobyte while agents call and people
//! answer and cancel. What the registry does at each single write is tested in its crate.

use std::time::Duration;

use serde_json::json;
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::server::{Manner, Recorder};
use tests::small_disk::SmallDisk;
use tests::torture::{Campaign, Pulse};

use crate::PROGRAM;

/// This test, as it is started again on its small disk.
const TEST: &str = "torture_disk::torture_nothing_is_lost_or_done_unseen_while_the_disk_is_full";
/// Calls of the agent while the disk is full; each of them is made twice, as an agent does that got an error.
const CALLS: u32 = 8;

/// Calls a tool; whether it was taken (a result or a handle) or refused.
fn is_taken(agent: &mut Agent, tool: &str, nonce: &str) -> bool {
    let answer = agent.ask("tools/call", json!({"name": tool, "arguments": {"nonce": nonce}}));
    answer.is_ok_and(|answer| answer["error"].is_null() && answer["result"]["isError"] != true)
}

#[test]
fn torture_nothing_is_lost_or_done_unseen_while_the_disk_is_full() {
    let Some(disk) = SmallDisk::enter(TEST) else { return };
    Campaign::new("full disks", 1).run(|_, round| {
        disk.free();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let manner = Manner { poll_interval: Duration::from_millis(100), ..Manner::default() };
        let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
        let gate = Gate::open(PROGRAM);
        gate.add_server("recorder", &["--url", &server.url()]);
        let mut agent = Agent::over_http(&gate.url("recorder"), &gate.add_agent("worker"));
        let home = gate.home();
        let pulse = Pulse::start(home.data().join("core.sock"));
        let ask = home.call("recorder", "ask", &json!({"nonce": "ask"}));
        let hold = home.call("recorder", "hold", &json!({"nonce": "hold"}));
        home.wait_phase(&ask, "waiting");
        home.wait_taken(&hold);

        disk.fill();
        let mut refused = 0;
        for nth in 0..CALLS {
            let nonce = format!("full-{nth}");
            let taken = (0..2).filter(|_| is_taken(&mut agent, "quick", &nonce)).count();
            let made = usize::try_from(server.seen().calls.get(&nonce).copied().unwrap_or(0)).expect("a small number");
            assert!(made <= taken.max(1), "a refused call did not leave: {made} calls for {taken} that were taken");
            refused += usize::from(taken == 0);
        }
        assert!(refused > 0, "a full disk refuses calls of agents; core: {}", home.core_log());
        let listed = home.json(["tasks", "list", "--json"]);
        assert!(listed["tasks"].as_array().is_some_and(|tasks| tasks.len() >= 2), "people see what there is: {listed}");
        let answered = home.run(["tasks", "answer", &ask, "--accept", r#"{"word":"bees"}"#]);
        assert_eq!(answered.code, 0, "an answer of a person is recorded from the reserve: {}", answered.err);
        let cancelled = home.run(["tasks", "cancel", &hold, "--yes"]);
        assert_eq!(cancelled.code, 0, "and so is a cancel: {}", cancelled.err);
        let state = || format!("{:?}; core: {}", server.seen(), home.core_log());
        wait_for("the answer arrives", || (!server.seen().answers.is_empty()).then_some(()), state);
        wait_for("the cancel arrives", || (!server.seen().cancels.is_empty()).then_some(()), state);
        let doctor = home.run(["doctor"]).out;
        assert!(doctor.contains("too little free space"), "`doctor` names the trouble: {doctor}");

        disk.free();
        let is_served = looks().any(|()| is_taken(&mut agent, "quick", "again"));
        assert!(is_served, "agents are served again when there is room; {}", state());
        home.wait_phase(&ask, "done");
        home.wait_phase(&hold, "cancelled");
        assert_eq!(server.seen().violations, Vec::<String>::new(), "the client keeps to the protocol");
        let known = home.json(["tasks", "list", "--json"])["tasks"].as_array().map_or(0, Vec::len);
        (round.handles, round.answers, round.gap) = (known, server.seen().answers.len(), pulse.stop());
    });
}
