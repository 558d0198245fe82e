//! Questions about a task that nobody knows: each is shown to a person or refused with a reason, never lost.

use serde_json::{Value, json};
use tests::home::{Home, wait_for};

use crate::PROGRAM;

/// A core with a server that asks about a task which it never created.
fn asked() -> (Home, tests::home::Core) {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/unknown_tasks/asker.py");
    let added = home.run(["servers", "add", "asker", "--yes", "--", "python3", script]);
    assert_eq!(added.code, 0, "{}", added.err);
    (home, core)
}

#[test]
fn a_question_that_names_an_unknown_task_during_a_call_is_shown_as_the_calls_question_and_answered() {
    let (home, _core) = asked();
    let id = home.call("asker", "ask", &json!({}));
    home.wait_phase(&id, "waiting");
    let ran = home.run(["tasks", "answer", &id, "--accept", r#"{"word":"bees"}"#]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    home.wait_phase(&id, "done");
    let result = home.run(["tasks", "result", &id]).out;
    assert!(result.contains("bees"), "the server has the answer: {result}");
    assert!(result.contains("never-created"), "for the task that it named: {result}");
}

#[test]
fn a_question_that_names_an_unknown_task_outside_of_any_call_is_refused_and_the_log_of_the_server_says_so() {
    let (home, _core) = asked();
    let id = home.call("asker", "later", &json!({}));
    home.wait_phase(&id, "done");
    let log = || home.run(["servers", "log", "asker"]).out;
    let told = wait_for(
        "the server has its answer",
        || Some(log()).filter(|log| log.contains("answered: ")),
        || format!("{}\ncore: {}", log(), home.core_log()),
    );
    assert!(told.contains("-32602") && told.contains("no task with the related task id is open"), "{told}");
    assert!(told.contains("its question was refused: it named a task that is not open here"), "{told}");
    let inbox: Value = home.json(["inbox", "--json"]);
    assert!(inbox["items"].as_array().is_some_and(Vec::is_empty), "and nobody is asked: {inbox}");
}
