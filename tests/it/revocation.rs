//! An agent that is revoked while calls of it are held: each gets the words, over HTTP and over the bridge, and whoever
//! comes later gets 403 (decision 0021).

use std::sync::Barrier;
use std::time::Duration;

use serde_json::{Value, json};
use tests::agent::Agent as Client;
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

const CALLS: usize = 8;
const ROUNDS: usize = 20;
const VERSION: &str = "2025-06-18";
const WORDS: &str = "A person revoked this agent's access to its tools in Taskwarden at ";

fn call(n: usize) -> Value {
    json!({"name": "hold", "arguments": {"nonce": format!("call {n}")}})
}

fn is_told(answer: &Value) -> bool {
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
    answer.pointer("/result/isError") == Some(&json!(false)) && text.starts_with(WORDS) && text.contains("\"enough\"")
}

fn revoke(gate: &Gate, name: &str) {
    let ran = gate.home().run(["agents", "revoke", name, "--reason", "enough", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// Waits until so many calls of the agent are open.
fn wait_open(gate: &Gate, name: &str, calls: usize) {
    let open = || gate.tasks().iter().filter(|task| task["agent"] == name && task["over"] != true).count();
    wait_for("the calls are held", || (open() == calls).then_some(()), || format!("{:?}", gate.tasks()));
}

#[test]
fn every_held_call_of_a_revoked_agent_is_told_over_http_and_later_requests_get_403() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(300), pushes: false };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("rec", &["--url", &server.url()]);
    for round in 0..ROUNDS {
        let name = format!("bee{round}");
        let (url, token) = (gate.url("rec"), gate.add_agent(&name));
        let (session, _) = Agent::new(&url, &token).open(VERSION);
        let begun = Barrier::new(CALLS + 1);
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..CALLS)
                .map(|n| {
                    let (url, token, session, begun) = (&url, &token, &session, &begun);
                    scope.spawn(move || {
                        let agent = Agent::new(url, token);
                        begun.wait();
                        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", VERSION)];
                        let body = json!({"jsonrpc": "2.0", "id": n + 10, "method": "tools/call", "params": call(n)});
                        agent.post(&headers, &body.to_string())
                    })
                })
                .collect();
            begun.wait();
            wait_open(&gate, &name, CALLS);
            revoke(&gate, &name);
            for call in calls {
                let reply = call.join().expect("the call is answered");
                assert!(reply.status == 200 && is_told(&reply.json()), "round {round}: {reply:?}");
            }
        });
        let late = Agent::new(&url, &token).in_session(&session, "tools/list", &json!({}));
        assert_eq!((late.status, late.header("www-authenticate")), (403, ""), "no challenge to sign in: {late:?}");
        assert_eq!(late.json()["id"], 2, "rmcp waits for an answer with its own id: {late:?}");
        assert!(late.json()["error"]["message"].as_str().is_some_and(|said| said.starts_with(WORDS)), "{late:?}");
    }
}

#[test]
fn a_bridge_tells_the_held_calls_of_a_revoked_agent_and_ends() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(300), pushes: false };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("rec", &["--url", &server.url()]);
    let token = gate.add_agent("bee");
    let mut bridge = Client::over_bridge(&gate.connect("rec", "bee", &token)).without_capabilities();
    std::thread::scope(|scope| {
        let held = scope.spawn(move || {
            let params = json!({"name": "hold", "arguments": {"nonce": "held"}});
            (bridge.ask("tools/call", params), bridge)
        });
        wait_open(&gate, "bee", 1);
        revoke(&gate, "bee");
        let (answer, mut bridge) = held.join().expect("the call is answered");
        let answer = answer.unwrap_or_else(|_| panic!("the bridge answers before it ends"));
        assert!(is_told(&answer), "{answer}");
        // What it still reads before it ends gets the same words.
        wait_for("the bridge ends", || bridge.ask("tools/list", json!({})).is_err().then_some(()), String::new);
    });
}

#[test]
fn a_revocation_whose_core_was_killed_goes_on_with_the_next_one() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("rec", &["--url", &server.url()]);
    let agent = Agent::new(&gate.url("rec"), &gate.add_agent("bee"));
    (0..3).for_each(|n| drop(agent.start("hold", &json!({"nonce": format!("call {n}")}))));
    gate.kill();
    // The agent has no access any more, and no task was taken from it.
    gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", "registry.put_agent:after:1")]);
    let cut = gate.home().run(["agents", "revoke", "bee", "--reason", "enough", "--yes"]);
    assert_ne!(cut.code, 0, "the core died under the command");
    assert!(looks().any(|()| gate.has_ended()), "it ends");
    gate.start();
    wait_for(
        "its tasks are taken and cancelled",
        || {
            let tasks = gate.tasks();
            let is_over = |task: &Value| task["over"] == true && task["intent"]["kind"] == "revoked";
            (tasks.len() == 3 && tasks.iter().all(is_over)).then_some(())
        },
        || format!("{:#?}\n{}", gate.tasks(), gate.home().core_log()),
    );
    assert_eq!(server.seen().cancels.len(), 3, "the server was asked to cancel each");
    let intent = gate.tasks()[0]["intent"].clone();
    assert_eq!(intent["reason"], "enough", "for the reason that the person gave: {intent}");
}
