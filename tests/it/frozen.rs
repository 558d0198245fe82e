//! A core whose runtime does not turn any more: it ends by itself, with the code that asks for a restart.
//!
//! The worker is held by the program under test, at a kill point; the program that ships has no way to freeze.

use serde_json::json;
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// `EX_TEMPFAIL`: whoever started the core starts it again.
const RESTART: i32 = 75;

#[test]
fn a_core_that_is_held_ends_with_75_and_the_next_one_has_everything() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(home.run(["servers", "add", "recorder", "--yes", "--url", &server.url()]).code, 0, "it is added");
    let task = home.call("recorder", "hold", &json!({"nonce": "held"}));
    home.wait_taken(&task);
    core.stop();
    // The only worker is held at the first commit after the start.
    let held = [("TOKIO_WORKER_THREADS", "1"), ("CORE_UNDER_TEST_HOLD_AT", "registry.commit:before:1")];
    let mut core = home.serve_with(&held);
    // Any change commits; its command gets no answer.
    drop(home.command().args(["tasks", "cancel", &task]).spawn().expect("a command"));
    wait_for("the held core ends", || core.ended().then_some(()), || home.core_log());
    assert_eq!(core.stop(), Some(RESTART), "{}", home.core_log());
    let _next = home.serve();
    assert_eq!(home.task(&task)["id"], json!(task), "nothing is lost");
}

#[test]
fn a_bridge_carries_the_call_of_its_agent_on_in_the_core_after_one_that_ended_with_75() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("bee");
    gate.kill();
    // The only worker is held when the first cancel leaves.
    gate.start_with(&[("TOKIO_WORKER_THREADS", "1"), ("CORE_UNDER_TEST_HOLD_AT", "upstream.cancel:before:1")]);
    let (home, first) = (gate.home(), gate.pid());
    let mut agent = Agent::over_bridge(&gate.connect("recorder", "bee", &token)).without_capabilities();
    let calling = std::thread::spawn(move || {
        let answer = agent.ask("tools/call", json!({"name": "ask", "arguments": {"nonce": "asked"}}));
        (agent, answer)
    });
    let asked =
        gate.wait_task("the call of the agent asks", |task| task["tool"] == "ask" && task["phase"] == "waiting");
    let asked = asked["id"].as_str().expect("an id").to_owned();
    let other = home.call("recorder", "hold", &json!({"nonce": "other"}));
    home.wait_taken(&other);
    drop(home.command().args(["tasks", "cancel", &other, "--yes"]).spawn().expect("a command"));

    wait_for(
        "the bridge has another core",
        || {
            let pid = std::fs::read_to_string(home.data().join("core.lock")).ok()?.trim().parse::<u32>().ok()?;
            (pid != first && home.run(["tasks", "list"]).code == 0).then_some(())
        },
        || home.core_log(),
    );
    assert!(!calling.is_finished(), "the call is open over the restart");
    let ran = home.run(["tasks", "answer", &asked, "--accept", r#"{"word":"bees"}"#]);
    assert_eq!(ran.code, 0, "a person answers in the next core: {}{}", ran.out, ran.err);
    let (_agent, answer) = calling.join().expect("the agent's thread");
    let answer = answer.expect("the bridge stayed");
    assert!(answer["result"].to_string().contains("bees"), "the call has its own result: {answer}");
    assert_eq!(server.seen().calls.get("asked"), Some(&1), "and was made once");
    assert_eq!(gate.exit_code(), Some(RESTART), "the first core ended with the code that asks for a restart");
}
