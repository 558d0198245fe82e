//! A call that its agent gave up and makes again, with the core killed in between: one task, and the result of the first
//! call (ruling 24, decision 0020).

use std::time::Duration;

use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

fn recorder() -> (tokio::runtime::Runtime, Recorder) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_millis(100), ..Manner::default() };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    (runtime, server)
}

fn is_waiting(task: &Value) -> bool {
    task["tool"] == "ask" && task["phase"] == "waiting"
}

#[test]
fn a_call_that_timed_out_before_the_core_was_killed_is_joined_by_its_repeat() {
    let (_runtime, server) = recorder();
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("worker");
    let call = json!({"name": "ask", "arguments": {"nonce": "once"}});

    let agent = Agent::new(&gate.url("recorder"), &token);
    let (session, _) = agent.open("2025-11-25");
    agent.time_out(&session, "tools/call", &call, || {
        gate.wait_task("the call asks a person", is_waiting);
    });
    gate.kill();
    gate.start();

    let agent = Agent::new(&gate.url("recorder"), &token);
    let (session, _) = agent.open("2025-11-25");
    let task = gate.wait_task("the task is known to the new core", is_waiting);
    let id = task["id"].as_str().expect("an id");
    let result = std::thread::scope(|scope| {
        let repeats = scope.spawn(|| agent.in_session(&session, "tools/call", &call).result());
        let answered = gate.home().run(["tasks", "answer", id, "--accept", r#"{"word":"bees"}"#]);
        assert_eq!(answered.code, 0, "the person's answer is taken: {}", answered.err);
        repeats.join().expect("the repeated call is answered")
    });
    assert!(result.to_string().contains("bees"), "the repeated call brings the result of the first: {result}");
    assert_eq!(server.seen().calls.get("once"), Some(&1), "its server saw one call");
    assert_eq!(gate.tasks().len(), 1, "there is one task: {:#?}", gate.tasks());
}
