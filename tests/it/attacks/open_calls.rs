//! An agent that opens as many calls on one server as it can (finding A8).

use std::time::Duration;

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::gate::Gate;
use tests::server::{Manner, Recorder};

use super::at_once;
use crate::PROGRAM;

/// Open calls of one server; `open_calls_per_server` of the policy.
const MOST: usize = 1_000;

/// Calls a tool; the result, or what the refusal says.
fn call(agent: &mut Agent, tool: &str, nonce: &str) -> Result<Value, String> {
    let params = json!({"name": tool, "arguments": {"nonce": nonce}});
    let answer = agent.ask("tools/call", params).expect("the gateway answers");
    let result = &answer["result"];
    if result["isError"] == true {
        return Err(result["content"][0]["text"].as_str().unwrap_or_default().to_owned());
    }
    if result.is_object() { Ok(result.clone()) } else { Err(answer["error"]["message"].to_string()) }
}

#[test]
fn an_agent_with_all_the_calls_it_can_open_keeps_nobody_else_from_calling_and_cancelling() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_secs(30), ..Manner::default() };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let mut greedy = Agent::over_http(&gate.url("recorder"), &gate.add_agent("greedy"));
    let mut modest = Agent::over_http(&gate.url("recorder"), &gate.add_agent("modest"));

    let mut open = 0;
    let refusal = loop {
        assert!(open < MOST, "one agent has every call that the server may have open");
        match call(&mut greedy, "hold", &format!("greedy-{open}")) {
            Ok(task) => assert_eq!(task["resultType"], "task", "it stays open: {task}"),
            Err(why) => break why,
        }
        open += 1;
    };
    assert_eq!(open, MOST / 4, "one agent has a quarter: {refusal}");
    for said in ["not sent", "250 calls of this agent", "Wait until", "call again"] {
        assert!(refusal.contains(said), "the refusal says why and what to do: {refusal}");
    }
    let never_left = format!("greedy-{open}");
    assert!(!server.seen().calls.contains_key(&never_left), "what was refused did not leave");

    let quick = at_once("another agent's call", || call(&mut modest, "quick", "modest"));
    assert_eq!(quick.expect("it is made")["resultType"], "complete");
    let held = at_once("another agent's task", || call(&mut modest, "hold", "modest task"));
    assert_eq!(held.expect("it is made")["resultType"], "task");
    let home = gate.home();
    let of_person = at_once("a person's call", || home.call("recorder", "hold", &json!({"nonce": "person"})));
    let listed = at_once("`tasks list`", || home.json(["tasks", "list", "--limit", "1000", "--json"]));
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(open + 2), "all of them are listed");
    let theirs = gate.wait_task("a task of the greedy agent", |task| task["agent"] == "greedy");
    for id in [of_person.as_str(), theirs["id"].as_str().expect("an id")] {
        let ran = at_once("a person's cancel", || home.run(["tasks", "cancel", id, "--yes"]));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        home.wait_phase(id, "cancelled");
    }
    let again = at_once("the greedy agent's next call", || call(&mut greedy, "hold", "again"));
    assert_eq!(again.expect("one of its calls has ended")["resultType"], "task");
}
