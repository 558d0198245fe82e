//! The whole story on servers that we did not write: connect, call, ask, answer, cancel, result.

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::peers;

use crate::{PROGRAM, RMCP_PEER};

/// Adds a stdio server and waits until it is up.
fn add_command(home: &Home, name: &str, command: &[String]) -> Value {
    let mut args = vec!["servers".into(), "add".into(), name.to_owned(), "--yes".into(), "--".into()];
    args.extend(command.iter().cloned());
    let ran = home.run(&args);
    assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
    server_up(home, name)
}

/// Adds an HTTP server and waits until it is up.
fn add_url(home: &Home, name: &str, url: &str) -> Value {
    let ran = home.run(["servers", "add", name, "--yes", "--url", url]);
    assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
    server_up(home, name)
}

fn server_up(home: &Home, name: &str) -> Value {
    let show = || home.json(["servers", "show", name, "--json"]);
    wait_for(
        &format!("server {name} is up"),
        || Some(show()).filter(|server| server["health"]["kind"] == "up"),
        || format!("{}\ncore: {}", show(), home.core_log()),
    )
}

/// The one open question of a task, as the inbox shows it.
fn question(home: &Home, id: &str) -> Value {
    home.wait_phase(id, "waiting");
    let inbox = home.json(["inbox", "--json"]);
    let mine: Vec<&Value> = inbox["items"].as_array().into_iter().flatten().filter(|item| item["task"] == id).collect();
    assert_eq!(mine.len(), 1, "the question of {id} is in the inbox once: {inbox}");
    mine[0].clone()
}

fn result_text(home: &Home, id: &str) -> String {
    let ran = home.run(["tasks", "result", id]);
    assert_eq!(ran.code, 0, "the result of {id} can be read: {}", ran.err);
    ran.out
}

#[test]
fn a_2025_task_of_server_everything_asks_is_answered_and_finishes_over_stdio() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let server = add_command(&home, "everything", &peers::everything_command());
    assert_eq!((&server["era"], &server["dialect"]), (&json!("legacy"), &json!("2025-11-25")), "{server}");

    for (answer, expect) in [
        (vec!["--accept", r#"{"interpretation":"technical"}"#], "technical"),
        (vec!["--decline"], "declined"),
        (vec!["--dismiss"], "cancelled"),
    ] {
        let id = home.call("everything", "simulate-research-query", &json!({"topic": "bees", "ambiguous": true}));
        let asked = question(&home, &id);
        assert!(asked["message"].as_str().is_some_and(|text| text.contains("bees")), "{asked}");
        let answered = home.run([["tasks", "answer", &id].as_slice(), &answer].concat());
        assert_eq!(answered.code, 0, "the answer is taken: {}", answered.err);
        let again = home.run(["tasks", "answer", &id, "--decline"]);
        assert_eq!(again.code, 5, "a second answer is refused: {}", again.err);
        home.wait_phase(&id, "done");
        let text = result_text(&home, &id);
        assert!(text.contains(expect), "the server got `{expect}`: {text}");
    }
}

#[test]
fn a_2025_task_of_server_everything_runs_over_http_and_its_sse_transport_connects() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let http = peers::everything_http("streamableHttp");
    let server = add_url(&home, "web", http.url());
    assert_eq!((&server["era"], &server["dialect"]), (&json!("legacy"), &json!("2025-11-25")), "{server}");
    let id = home.call("web", "simulate-research-query", &json!({"topic": "ants"}));
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("ants"));

    let sse = peers::everything_http("sse");
    let server = add_url(&home, "old", sse.url());
    assert_eq!(server["era"], "legacySse", "{server}");
    let id = home.call("old", "get-sum", &json!({"a": 20, "b": 22}));
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("42"));
}

#[test]
fn a_plain_call_of_server_everything_shows_progress_and_asks_without_a_task() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    add_command(&home, "everything", &peers::everything_command());
    let id = home.call("everything", "trigger-long-running-operation", &json!({"duration": 4, "steps": 8}));
    wait_for(
        "progress is shown",
        || Some(home.task(&id)).filter(|task| task["progress"]["total"] == 8.0),
        || home.task(&id).to_string(),
    );
    home.wait_phase(&id, "done");

    let id = home.call("everything", "trigger-elicitation-request", &json!({}));
    let asked = question(&home, &id);
    assert!(asked["schema"]["properties"]["email"].is_object(), "the schema is passed on whole: {asked}");
    let refused = home.run(["tasks", "answer", &id, "--accept", r#"{"check": "yes"}"#]);
    assert_eq!(refused.code, 5, "content that breaks the schema is refused");
    assert!(refused.err.contains("check") || refused.err.contains("name"), "and the field is named: {}", refused.err);
    let done = home.run(["tasks", "answer", &id, "--accept", r#"{"name": "Ada", "check": true}"#]);
    assert_eq!(done.code, 0, "{}", done.err);
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("Ada"));
}

#[test]
fn a_2025_task_that_is_cancelled_is_shown_as_stopped() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    add_command(&home, "everything", &peers::everything_command());
    // One that asks has no end of its own that could be faster than the cancel.
    let id = home.call("everything", "simulate-research-query", &json!({"topic": "wasps", "ambiguous": true}));
    home.wait_phase(&id, "waiting");
    let ran = home.run(["tasks", "cancel", &id, "--reason", "not needed", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let task = home.wait_phase(&id, "cancelled");
    assert_eq!((&task["intent"]["kind"], &task["intent"]["state"]), (&json!("cancel"), &json!("stopped")), "{task}");
}

#[test]
fn tasks_of_rmcp_run_ask_and_are_answered_declined_and_dismissed() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    let server = add_url(&home, "rmcp", peer.url());
    assert_eq!((&server["era"], &server["dialect"]), (&json!("modern"), &json!("2026-07-28")), "{server}");

    let id = home.call("rmcp", "slow_sum", &json!({"a": 40, "b": 2}));
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("42"));

    for (answer, expect) in [
        (vec!["--accept", r#"{"name":"Ada"}"#], "accept: Ada"),
        (vec!["--decline"], "decline: nobody"),
        (vec!["--dismiss"], "cancel: nobody"),
    ] {
        let id = home.call("rmcp", "ask_name", &json!({}));
        assert_eq!(question(&home, &id)["key"], "name");
        let answered = home.run([["tasks", "answer", &id].as_slice(), &answer].concat());
        assert_eq!(answered.code, 0, "the answer is taken: {}", answered.err);
        home.wait_phase(&id, "done");
        let text = result_text(&home, &id);
        assert!(text.contains(expect), "the server got `{expect}`: {text}");
    }
}

#[test]
fn a_question_of_rmcp_before_any_task_is_answered_without_running_the_tool_twice() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    add_url(&home, "rmcp", peer.url());
    let id = home.call("rmcp", "ask_before", &json!({}));
    question(&home, &id);
    let answered = home.run(["tasks", "answer", &id, "--accept", r#"{"go":true}"#]);
    assert_eq!(answered.code, 0, "{}", answered.err);
    home.wait_phase(&id, "done");
    let text = result_text(&home, &id);
    assert!(text.contains("state-of-the-peer") && text.contains("accept"), "state and answer came back: {text}");
}

#[test]
fn cancels_of_rmcp_tasks_are_told_truthfully() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    add_url(&home, "rmcp", peer.url());

    let obeyed = home.call("rmcp", "forever", &json!({}));
    home.wait_taken(&obeyed);
    let ran = home.run(["tasks", "cancel", &obeyed, "--yes", "--wait"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let task = home.wait_phase(&obeyed, "cancelled");
    assert_eq!(task["intent"]["state"], "stopped", "{task}");

    let finish = home.path().join("finish");
    let unmoved = home.call("rmcp", "unmoved", &json!({"until": finish}));
    home.wait_taken(&unmoved);
    assert_eq!(home.run(["tasks", "cancel", &unmoved, "--yes"]).code, 0);
    let task = home.task(&unmoved);
    assert_eq!((&task["phase"], &task["intent"]["state"]), (&json!("cancelling"), &json!("acknowledged")), "{task}");
    std::fs::write(finish, "").expect("a file");
    let task = home.wait_phase(&unmoved, "done");
    assert_eq!(task["intent"]["state"], "finishedAnyway", "{task}");

    let broken = home.call("rmcp", "breaks", &json!({}));
    let task = home.wait_phase(&broken, "failed");
    assert!(task["error"]["message"].as_str().is_some_and(|text| text.contains("broke")), "{task}");
    let late = home.run(["tasks", "cancel", &broken, "--yes"]);
    assert_eq!(late.code, 5, "a task that is over cannot be cancelled: {}", late.err);
}

#[test]
fn a_python_server_without_tasks_is_listed_and_its_calls_are_tasks_of_our_own() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let database = home.path().join("memory.db").display().to_string();
    let command = peers::memorygraph_command();
    let mut args = ["servers", "add", "memory", "--yes", "--env"].map(str::to_owned).to_vec();
    args.push(format!("MEMORY_SQLITE_PATH={database}"));
    args.push("--".into());
    args.extend(command);
    let ran = home.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let server = server_up(&home, "memory");
    assert_eq!(server["dialect"], "none", "{server}");
    let arguments = json!({"type": "solution", "title": "bees", "content": "bees dance"});
    let id = home.call("memory", "store_memory", &arguments);
    home.wait_phase(&id, "done");
    let id = home.call("memory", "recall_memories", &json!({"query": "bees"}));
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("bees"));
}
