//! A question that is frozen by a halt keeps the time that it has left (check 7.5 of the design of stop).
//!
//! Nothing can make the monotonic clock of the core go faster from outside, so CI waits seconds. `cargo xtask torture`
//! waits the ten minutes of the check.

use std::time::{Duration, Instant};

use domain::ports::Clock as _;
use domain::time::Timestamp;
use engine::SystemClock;
use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::pause_for;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// The time for which only the agent is asked, and for which the question is frozen.
struct Times {
    until_people: &'static str,
    frozen: Duration,
}

const SAMPLE: Times = Times { until_people: "5min", frozen: Duration::from_secs(8) };
const WHOLE: Times = Times { until_people: "5min", frozen: Duration::from_secs(600) };
/// An agent that takes questions of its tasks.
const ASKABLE: &str = r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
/// Between a look at the clock and the answer of a command, on a busy machine.
const LOOK: Duration = Duration::from_secs(3);

/// How much is left until people are asked.
fn left(task: &Value) -> Duration {
    let people_at = task["peopleAt"].as_str().and_then(|text| text.parse::<Timestamp>().ok()).expect("a time");
    people_at.since(SystemClock.now())
}

#[test]
fn a_question_that_was_frozen_has_the_time_left_that_it_had() {
    let is_whole = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    let Times { until_people, frozen } = if is_whole { WHOLE } else { SAMPLE };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("order-bot");
    let rule = ["rules", "set", "--agent", "order-bot", "--ask", "agent-then-people", "--people-after", until_people];
    let set = gate.home().run(rule);
    assert_eq!(set.code, 0, "{}", set.err);
    let agent = Agent::new(&gate.url("recorder"), &token);
    let call = json!({"name": "ask", "arguments": {"nonce": "asked"}});
    assert!(agent.ask_with(ASKABLE, "tools/call", &call).result()["taskId"].is_string(), "it becomes a task");
    let asked = gate.wait_task("the agent is asked", |task| task["peopleAt"].is_string());
    let id = asked["id"].as_str().expect("an id");

    let halted = gate.home().run(["halt", "--scope", "requests", "--reason", "wrong month", "--yes"]);
    assert_eq!(halted.code, 0, "{}", halted.err);
    let (before, begun) = (left(&gate.home().task(id)), Instant::now());
    pause_for(frozen);
    for stage in ["acknowledged", "requests"] {
        let ran = gate.home().run(["resume", stage, "--json"]);
        assert_eq!(ran.code, 0, "{stage}: {}", ran.err);
    }
    let stood_still = begun.elapsed();
    let after = left(&gate.home().task(id));
    println!("{before:?} were left, and {after:?} after {stood_still:?}");
    assert!(after + LOOK > before, "nothing of it is used up by {stood_still:?}: {before:?}, then {after:?}");
    assert!(after < before + LOOK, "and nothing is added: {before:?}, then {after:?}");
}
