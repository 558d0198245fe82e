//! kill -9 of the core while a server over standard input and output works: the server and its tasks live on, and the
//! next core takes them up (ruling 16). The servers are ones that we did not write, in both dialects.

use serde_json::{Value, json};
use tests::home::{Core, Home, wait_for};
use tests::peers;

use crate::{PROGRAM, RMCP_PEER};

/// A home with one stdio server that is up.
fn with_server(name: &str, command: &[String]) -> (Home, Core) {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let mut args = vec!["servers".into(), "add".into(), name.to_owned(), "--yes".into(), "--".into()];
    args.extend(command.iter().cloned());
    let ran = home.run(&args);
    assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
    until_up(&home, name);
    (home, core)
}

fn until_up(home: &Home, name: &str) {
    let show = || home.json(["servers", "show", name, "--json"]);
    wait_for(
        &format!("server {name} is up"),
        || (show()["health"]["kind"] == "up").then_some(()),
        || format!("{}\ncore: {}", show(), home.core_log()),
    );
}

fn everything() -> (Home, Core) {
    with_server("everything", &peers::everything_command())
}

fn rmcp() -> (Home, Core) {
    with_server("rmcp", &[RMCP_PEER.to_owned(), "stdio".into()])
}

/// The processes that are kept, by the records of their keepers.
fn kept(home: &Home) -> Vec<Value> {
    let folders = std::fs::read_dir(home.data().join("keep")).into_iter().flatten().filter_map(Result::ok);
    folders
        .filter_map(|folder| std::fs::read(folder.path().join("who")).ok())
        .filter_map(|text| serde_json::from_slice(&text).ok())
        .collect()
}

fn child(home: &Home) -> u64 {
    let kept = kept(home);
    assert_eq!(kept.len(), 1, "one child is kept: {kept:?}");
    kept[0]["child"]["pid"].as_u64().expect("a process")
}

fn result_text(home: &Home, id: &str) -> String {
    let ran = home.run(["tasks", "result", id]);
    assert_eq!(ran.code, 0, "the result of {id} can be read: {}", ran.err);
    ran.out
}

#[test]
fn a_2025_task_over_stdio_survives_the_core_and_asks_its_question_to_the_next_one() {
    let (home, core) = everything();
    let process = child(&home);
    let id = home.call("everything", "simulate-research-query", &json!({"topic": "bees", "ambiguous": true}));
    home.wait_taken(&id);
    core.kill();
    let _core = home.serve();
    home.wait_phase(&id, "waiting");
    assert_eq!(child(&home), process, "it is the same process");
    let answered = home.run(["tasks", "answer", &id, "--accept", r#"{"interpretation":"technical"}"#]);
    assert_eq!(answered.code, 0, "the answer is taken: {}", answered.err);
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("technical"), "the server got the answer");
}

#[test]
fn a_question_that_was_open_when_the_core_died_is_answered_in_the_next_one() {
    let (home, core) = everything();
    let id = home.call("everything", "simulate-research-query", &json!({"topic": "bees", "ambiguous": true}));
    home.wait_phase(&id, "waiting");
    core.kill();
    let _core = home.serve();
    until_up(&home, "everything");
    home.wait_phase(&id, "waiting");
    let inbox = home.json(["inbox", "--json"]);
    assert_eq!(inbox["items"].as_array().map(Vec::len), Some(1), "it is asked once: {inbox}");
    let answered = home.run(["tasks", "answer", &id, "--accept", r#"{"interpretation":"technical"}"#]);
    assert_eq!(answered.code, 0, "the answer is taken: {}", answered.err);
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("technical"), "the server got the answer");
}

#[test]
fn a_plain_call_over_stdio_brings_its_reply_to_the_next_core() {
    let (home, core) = everything();
    let id = home.call("everything", "trigger-long-running-operation", &json!({"duration": 6, "steps": 3}));
    home.wait_phase(&id, "running");
    core.kill();
    let _core = home.serve();
    let task = home.wait_phase(&id, "done");
    assert_eq!(task["error"], Value::Null, "{task}");
    assert!(result_text(&home, &id).contains("Long running operation completed"), "the reply came late, and came");
}

#[test]
fn a_modern_task_over_stdio_survives_several_cores() {
    let (home, mut core) = rmcp();
    let process = child(&home);
    let slow = home.call("rmcp", "slow_sum", &json!({"a": 20, "b": 22, "millis": 8_000}));
    let asks = home.call("rmcp", "ask_name", &json!({}));
    for _ in 0..3 {
        home.wait_phase(&asks, "waiting");
        core.kill();
        core = home.serve();
        until_up(&home, "rmcp");
    }
    assert_eq!(child(&home), process, "it is the same process");
    let answered = home.run(["tasks", "answer", &asks, "--accept", r#"{"name":"Ada"}"#]);
    assert_eq!(answered.code, 0, "the answer is taken: {}", answered.err);
    home.wait_phase(&asks, "done");
    home.wait_phase(&slow, "done");
    assert!(result_text(&home, &slow).contains("42"), "the result is the task's");
    drop(core);
}

#[test]
fn an_ordered_stop_leaves_a_child_with_work_running_and_ends_an_idle_one() {
    let (home, core) = rmcp();
    let process = child(&home);
    let id = home.call("rmcp", "forever", &json!({}));
    home.wait_phase(&id, "running");
    assert_eq!(core.stop(), Some(0), "an ordered end");
    assert_eq!(child(&home), process, "its task goes on");
    let core = home.serve();
    until_up(&home, "rmcp");
    home.wait_phase(&id, "running");
    assert_eq!(child(&home), process, "and the next core has it");
    let cancelled = home.run(["tasks", "cancel", &id, "--yes", "--wait"]);
    assert_eq!(cancelled.code, 0, "it was cancelled: {}", cancelled.err);
    home.wait_phase(&id, "cancelled");
    assert_eq!(core.stop(), Some(0), "an ordered end");
    wait_for("the idle child is ended", || kept(&home).is_empty().then_some(()), || format!("{:?}", kept(&home)));
}

#[test]
fn a_child_whose_core_does_not_return_in_time_is_ended_with_everything_it_started() {
    let home = Home::new(PROGRAM);
    let core = home.serve_with(&[("TASKWARDEN_POLICY_KEEPING_ALONE_LIMIT", "500ms")]);
    let added = home.run(["servers", "add", "rmcp", "--yes", "--", RMCP_PEER, "stdio"]);
    assert_eq!(added.code, 0, "it is added: {}", added.err);
    until_up(&home, "rmcp");
    let id = home.call("rmcp", "forever", &json!({}));
    home.wait_phase(&id, "running");
    let process = child(&home);
    core.kill();
    wait_for("the child is ended", || kept(&home).is_empty().then_some(()), || format!("{:?}", kept(&home)));
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists(), "its process is gone");
    let _core = home.serve();
    let task = home.wait_phase(&id, "lost");
    assert_eq!(task["error"], Value::Null, "lost with its child, not failed: {task}");
}

#[test]
fn removing_a_server_ends_its_child_although_it_works() {
    let (home, _core) = rmcp();
    let id = home.call("rmcp", "forever", &json!({}));
    home.wait_phase(&id, "running");
    let removed = home.run(["servers", "remove", "rmcp", "--yes"]);
    assert_eq!(removed.code, 0, "it is removed: {}", removed.err);
    wait_for("its child is ended", || kept(&home).is_empty().then_some(()), || format!("{:?}", kept(&home)));
}

#[test]
fn what_a_server_starts_decides_nothing_after_its_core_was_replaced() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let script = format!(
        r#"while [ ! -e {go} ]; do sleep 0.05; done; TASKWARDEN_HOME={data} {program} servers remove self --yes > {out} 2>&1; echo "code $?" >> {out}; exec {program} demo-server"#,
        go = home.path().join("go").display(),
        data = home.data().display(),
        out = home.path().join("out").display(),
        program = PROGRAM,
    );
    // The server proper answers first; its helper waits for the second core.
    let script = format!("({script}) < /dev/null & exec {PROGRAM} demo-server");
    let added = home.run(["servers", "add", "self", "--yes", "--", "/bin/sh", "-c", &script]);
    assert_eq!(added.code, 0, "it is added: {}", added.err);
    until_up(&home, "self");
    core.kill();
    let _core = home.serve();
    until_up(&home, "self");
    std::fs::write(home.path().join("go"), "").expect("written");
    let out = || std::fs::read_to_string(home.path().join("out")).unwrap_or_default();
    wait_for("the helper tried", || out().contains("code").then_some(()), out);
    assert!(!out().contains("code 0"), "it is refused: {}", out());
    assert_eq!(home.run(["servers", "show", "self", "--json"]).code, 0, "the server is still there");
}
