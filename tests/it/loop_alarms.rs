//! An agent that makes the same call again and again, as a person hears of it: one alarm for each episode, which neither a
//! kill nor a restart loses.

use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// An episode is over after seconds here, so that nobody waits ten minutes.
const BRIEF: &[(&str, &str)] = &[("TASKWARDEN_POLICY_ALARMS_QUIET", "4s")];

fn alarms(gate: &Gate) -> Vec<Value> {
    let listed = gate.home().run(["alarms", "list", "--all", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    let list: Value = serde_json::from_str(&listed.out).expect("JSON");
    list["alarms"].as_array().expect("alarms").clone()
}

/// Waits until the alarms are in these states, the newest first.
fn until(gate: &Gate, what: &str, states: &[&str]) -> Vec<Value> {
    let look = || {
        let all = alarms(gate);
        let found: Vec<&str> = all.iter().filter_map(|alarm| alarm["state"].as_str()).collect();
        (found == states).then_some(all.clone())
    };
    wait_for(what, look, || format!("{:#?}\n{}", alarms(gate), gate.home().core_log()))
}

fn same_calls(agent: &Agent, many: usize) {
    for _ in 0..many {
        let call = json!({"name": "quick", "arguments": {"nonce": "again"}});
        let result = agent.ask("tools/call", &call).result();
        assert!(result.to_string().contains("quick"), "it is answered: {result}");
    }
}

#[test]
fn a_loop_of_twelve_equal_calls_is_one_alarm_also_over_a_kill_and_the_next_loop_is_another() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("order-bot");
    gate.kill();
    gate.start_with(BRIEF);

    let agent = Agent::new(&gate.url("recorder"), &token);
    same_calls(&agent, 12);
    let raised = until(&gate, "the loop is told", &["open"]);
    let alarm = &raised[0];
    assert_eq!(
        [&alarm["agent"], &alarm["kind"], &alarm["server"], &alarm["tool"]],
        ["order-bot", "sameCall", "recorder", "quick"]
    );
    gate.kill();
    gate.start_with(BRIEF);
    let known = alarms(&gate);
    assert_eq!((known.len(), &known[0]["id"]), (1, &alarm["id"]), "a kill loses no alarm: {known:#?}");
    let agent = Agent::new(&gate.url("recorder"), &token);
    same_calls(&agent, 12);
    let ended = until(&gate, "the episode went on and is over", &["ended"]);
    assert_eq!(ended[0]["id"], alarm["id"], "calls after the kill are the same episode");

    same_calls(&agent, 12);
    let second = until(&gate, "a second episode is a second alarm", &["open", "ended"]);
    let inbox = gate.home().run(["inbox"]);
    assert!(inbox.out.contains("order-bot made the same call"), "it waits in the inbox: {}", inbox.out);
    let id = second[0]["id"].as_str().expect("an id");
    let dismissed = gate.home().run(["alarms", "dismiss", &id[..12]]);
    assert_eq!(dismissed.code, 0, "{}", dismissed.err);
    let left = gate.home().run(["alarms", "list", "--json"]);
    let left: Value = serde_json::from_str(&left.out).expect("JSON");
    assert_eq!(left["alarms"].as_array().map(Vec::len), Some(1), "what was dismissed is no more listed: {left:#}");
    let unknown = gate.home().run(["alarms", "dismiss", "alm_0000"]);
    assert_eq!(unknown.code, 4, "there is no such alarm: {}", unknown.err);
    let log = gate.home().core_log();
    assert!(!log.contains("again\""), "no argument is logged");
}

#[test]
fn a_rule_turns_the_alarm_of_a_tool_off() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("order-bot");
    let rule = ["rules", "set", "--server", "recorder", "--tool", "quick", "--same-calls", "off"];
    let set = gate.home().run(rule);
    assert_eq!(set.code, 0, "{}", set.err);
    assert!(set.out.contains("no alarm for equal calls"), "{}", set.out);
    let agent = Agent::new(&gate.url("recorder"), &token);
    same_calls(&agent, 12);
    let other = gate.home().run(["rules", "set", "--agent", "order-bot", "--calls-per-minute", "5"]);
    assert_eq!(other.code, 0, "{}", other.err);
    same_calls(&agent, 1);
    let raised = until(&gate, "the other number still counts", &["open"]);
    assert_eq!(raised[0]["kind"], "callRate", "and equal calls of this tool do not: {raised:#?}");
}

#[test]
fn further_calls_of_a_loop_wait_where_a_rule_says_so_until_a_person_sends_or_cancels_them() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("order-bot");
    let set = gate.home().run(["rules", "set", "--server", "recorder", "--tool", "quick", "--alarm", "ask"]);
    assert_eq!(set.code, 0, "{}", set.err);
    // Equal results count twice: six are enough, and none before the sixth.
    same_calls(&Agent::new(&gate.url("recorder"), &token), 6);
    let raised = until(&gate, "the loop is told", &["open"]);
    assert_eq!((&raised[0]["asks"], &raised[0]["action"]), (&json!(true), &json!("ask")), "{raised:#?}");
    let id = raised[0]["id"].as_str().expect("an id");
    let inbox = gate.home().run(["inbox"]);
    assert!(inbox.out.contains("taskwarden alarms send"), "the inbox has the way on: {}", inbox.out);
    let dismissed = gate.home().run(["alarms", "dismiss", id]);
    assert_eq!(dismissed.code, 5, "calls wait because of it: {}", dismissed.err);

    let made = gate.home().run(["control", "add", "night-watch", "--scope", "read", "--all"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let file = gate.home().path().join("night-watch.token");
    let program = Agent::new(&format!("http://{}/api/v1/mcp", gate.address()), made.out.trim());
    std::fs::write(&file, made.out).expect("a file");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("permissions");
    let file = file.to_str().expect("a path of letters");
    let seen = gate.home().run(["alarms", "list", "--token-file", file, "--json"]);
    let seen: Value = serde_json::from_str(&seen.out).expect("JSON");
    assert_eq!(seen["alarms"][0]["id"], json!(id), "a program reads it: {seen:#}");
    let tasks = program.ask("tools/call", &json!({"name": "list_tasks", "arguments": {}})).result();
    let told: Value = serde_json::from_str(tasks["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    let told = &told["alarms"][0];
    assert_eq!(
        (&told["agent"], &told["asks"]),
        (&json!("order-bot"), &json!(true)),
        "an agent that supervises: {tasks}"
    );
    let decides = gate.home().run(["alarms", "send", id, "--token-file", file]);
    assert_eq!(decides.code, 2, "and decides nothing: {}", decides.err);

    let agent = Agent::new(&gate.url("recorder"), &token);
    let call = json!({"name": "quick", "arguments": {"nonce": "again"}});
    let waits = agent.ask("tools/call", &call).result();
    assert!(waits["taskId"].is_string(), "the agent is told that the call waits: {waits}");
    let listed = gate.home().run(["tasks", "list"]).out;
    assert!(listed.contains("Waiting: alarm"), "and people see why: {listed}");
    let sent = gate.home().run(["alarms", "send", id]);
    assert_eq!(sent.code, 0, "{}", sent.err);
    wait_for(
        "the call that waited is answered",
        || {
            let shown = agent.ask("tasks/get", &json!({"taskId": waits["taskId"]})).result();
            (shown["status"] == "completed").then_some(())
        },
        || gate.home().core_log(),
    );
    let decided = &alarms(&gate)[0];
    assert_eq!((&decided["state"], &decided["decision"]), (&json!("dismissed"), &json!("send")), "{decided:#}");
}

#[test]
fn a_call_that_an_alarm_lets_go_and_a_pause_holds_says_for_what_it_waits() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let agent = Agent::new(&gate.url("recorder"), &gate.add_agent("order-bot"));
    let run = |args: &[&str]| {
        let ran = gate.home().run(args);
        assert_eq!(ran.code, 0, "`{args:?}`: {}{}", ran.out, ran.err);
        ran
    };
    run(&["rules", "set", "--server", "recorder", "--tool", "quick", "--alarm", "ask"]);
    same_calls(&agent, 6);
    let raised = until(&gate, "the loop is told", &["open"]);
    let alarm = raised[0]["id"].as_str().expect("an id");
    let call = json!({"name": "quick", "arguments": {"nonce": "again"}});
    let told = agent.ask("tools/call", &call).result()["taskId"].as_str().expect("an id").to_owned();
    let waiting = gate.wait_task("the call waits", |task| task["paused"]["kind"] == "alarm");
    let task = waiting["id"].as_str().expect("an id");
    let shown = run(&["tasks", "show", task]).out;
    assert!(shown.contains("it waits until a person decides about an alarm"), "{shown}");

    run(&["pause", "order-bot"]);
    let sent = run(&["alarms", "send", alarm]);
    assert!(sent.err.contains("order-bot is paused: its calls wait"), "it is not sent yet: {}{}", sent.out, sent.err);
    gate.wait_task("it waits for the pause", |task| task["paused"]["kind"] == "agentPaused");
    let shown = run(&["tasks", "show", task]).out;
    assert!(shown.contains("it waits until a person ends a pause"), "{shown}");
    let over = run(&["unpause", "order-bot"]).out;
    assert!(over.contains("1 waiting call is sent"), "{over}");
    agent.wait_status(&told, "completed");
    let emptied = run(&["alarms", "list"]).out;
    assert!(emptied.contains("Every alarm was dismissed"), "{emptied}");
}
