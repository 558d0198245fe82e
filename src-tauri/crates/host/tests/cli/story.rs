//! From the first server to the last result, on the built-in demo server.

use serde_json::json;

use crate::home::{Home, PROGRAM};

#[test]
fn a_task_asks_is_answered_from_the_inbox_and_gives_its_result() {
    let (home, _core) = Home::with_demo();
    let downloads = home.folder("downloads", &["a.jpg", "b.pdf"]);
    let id = home.call("tidy_downloads", &json!({ "folder": downloads }).to_string());
    assert!(id.starts_with("hdl_"), "the handle is printed and nothing else: `{id}`");
    assert_eq!(home.watch(&id), Some(6), "it asks, and nobody can be asked here");

    let inbox = home.ok(&["inbox", "--json"]).json();
    let item = &inbox["items"][0];
    assert_eq!((&item["task"], &item["server"], &item["kind"]), (&json!(id), &json!("demo"), &json!("form")));
    assert_eq!(inbox["items"].as_array().map(Vec::len), Some(1), "once: {inbox}");
    let shown = home.ok(&["inbox"]).out;
    assert!(shown.contains("taskwarden tasks answer"), "the way to answer is told: {shown}");

    let wrong = home.run(&["tasks", "answer", &id, "--accept", r#"{"go":"yes"}"#]);
    assert_eq!(wrong.code, Some(5), "{wrong:?}");
    assert!(wrong.err.contains("field `go` must be `true` or `false`"), "field and rule are named: {}", wrong.err);

    home.ok(&["tasks", "answer", &id, "--accept", r#"{"go":true,"dry_run":false}"#]);
    assert_eq!(home.watch(&id), Some(0), "then it finishes");
    assert!(downloads.join("Images/a.jpg").exists(), "the tool did what it said");
    let told = home.ok(&["tasks", "show", &id]).out;
    let (_, decided) = told.split_once("What people decided:").expect("what people decided");
    assert!(
        decided.contains("answered `question-1` by ") && decided.contains("in a terminal (process "),
        "by which door: {told}"
    );
    assert!(decided.contains(PROGRAM), "and by which program: {told}");
    let shown = home.ok(&["tasks", "show", &id, "--json"]).json();
    assert_eq!(shown["decisions"][1]["origin"]["door"], "terminal", "{shown}");
    let result = home.ok(&["tasks", "result", &id]);
    assert!(result.out.contains("a.jpg"), "text is printed as text: {}", result.out);
    let raw = home.ok(&["tasks", "result", &id, "--json"]).json();
    assert!(raw["content"][0]["text"].is_string(), "`--json` prints the raw result: {raw}");
    let again = home.run(&["tasks", "answer", &id, "--decline"]);
    assert_eq!(again.code, Some(5), "the first answer counts: {again:?}");
    assert!(again.err.contains("already accepted by "), "what was decided is said: {again:?}");
    assert!(again.err.contains("your answer was not recorded"), "and what became of this one: {again:?}");
    assert_eq!(home.ok(&["inbox", "--json"]).json()["items"], json!([]));
}

#[test]
fn declining_and_dismissing_are_told_apart() {
    let (home, _core) = Home::with_demo();
    let downloads = home.folder("downloads", &["a.jpg"]);
    let mut results = Vec::new();
    for (flag, action) in [("--decline", "decline"), ("--dismiss", "dismiss")] {
        let id = home.call("tidy_downloads", &json!({ "folder": downloads }).to_string());
        assert_eq!(home.watch(&id), Some(6));
        home.ok(&["tasks", "answer", &id, flag]);
        home.watch(&id);
        assert_eq!(home.task(&id)["requests"][0]["answer"]["action"], action);
        results.push(home.run(&["tasks", "result", &id]).out);
    }
    assert!(downloads.join("a.jpg").exists(), "nothing was touched");
    assert_ne!(results[0], results[1], "the server heard two different things");
}

#[test]
fn a_task_that_obeys_is_stopped_and_one_that_does_not_is_told_to_go_on() {
    let (home, _core) = Home::with_demo();
    let runaway = home.call_taken("runaway", "{}");
    let stopped = home.ok(&["tasks", "cancel", &runaway, "--reason", "enough", "--wait"]);
    assert!(stopped.out.contains("cancelled, confirmed by demo"), "{}", stopped.out);
    let task = home.task(&runaway);
    assert_eq!((&task["phase"], &task["intent"]["state"]), (&json!("cancelled"), &json!("stopped")));
    assert_eq!(task["intent"]["reason"], "enough");
    assert_eq!(home.run(&["tasks", "cancel", &runaway]).code, Some(5), "it is over");
    assert_eq!(home.run(&["tasks", "result", &runaway]).code, Some(1), "it left nothing");

    let stubborn = home.call_taken("stubborn", r#"{"seconds": 2}"#);
    let asked = home.ok(&["tasks", "cancel", &stubborn]);
    assert!(asked.out.contains("acknowledged by demo, which has not reported the end yet"), "{}", asked.out);
    assert_eq!(home.watch(&stubborn), Some(0));
    assert_eq!(home.task(&stubborn)["intent"]["state"], "finishedAnyway");
}

#[test]
fn many_tasks_are_cancelled_only_after_a_count_was_confirmed() {
    let (home, _core) = Home::with_demo();
    let ids: Vec<String> = (0..3).map(|_| home.call_taken("runaway", "{}")).collect();
    let refused = home.run(&["tasks", "cancel", "--all"]);
    assert_eq!(refused.code, Some(5));
    assert!(refused.err.contains("3 tasks"), "the count is told: {}", refused.err);
    let list = home.ok(&["tasks", "cancel", "--server", "demo", "--yes", "--wait", "--json"]).json();
    let states: Vec<_> = list["stops"].as_array().expect("a list").iter().map(|stop| stop["state"].clone()).collect();
    assert_eq!(states, vec![json!("stopped"); ids.len()], "each has its own state: {list}");
    let none = home.run(&["tasks", "cancel", "--all", "--yes"]);
    assert_eq!(none.code, Some(5), "nothing is open: {}", none.err);
    assert!(none.err.contains("no open task matches") && none.err.contains("Nothing was asked"), "{}", none.err);
}

#[test]
fn with_json_an_error_is_one_object_alone_also_where_tasks_are_left_out() {
    let (home, _core) = Home::with_demo();
    let ignores = home.call_taken("stubborn", "{}");
    home.ok(&["tasks", "cancel", &ignores]);
    home.call_taken("runaway", "{}");
    let left_out = home.run(&["tasks", "cancel", "--server", "demo"]);
    assert!(left_out.err.contains("because they were asked before: 1 task."), "people are told: {left_out:?}");
    let refused = home.run(&["tasks", "cancel", "--server", "demo", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (Some(5), &json!("refused")), "nobody confirmed: {refused:?}");
}

#[test]
fn waiting_for_a_call_ends_with_the_code_of_its_end() {
    let (home, _core) = Home::with_demo();
    let report = home.ok(&["call", "demo", "huge_report", "--args", r#"{"tokens": 100}"#, "--wait"]);
    assert!(report.err.starts_with("hdl_") && !report.out.contains("hdl_"), "standard output is the result alone");
    assert_eq!(home.run(&["call", "demo", "tool_error", "--wait"]).code, Some(1));
    let flaky = home.run(&["call", "demo", "flaky", "--wait"]);
    assert_eq!(flaky.code, Some(1));
    assert!(flaky.err.contains("error -32010"), "the server's error is told: {}", flaky.err);
    let told = home.run(&["call", "demo", "flaky", "--wait", "--json"]);
    let error: serde_json::Value = serde_json::from_str(told.err.trim()).expect("one object on standard error");
    assert!(error["code"].is_string() && error["message"].is_string() && error["hint"].is_string(), "{error:#}");
    assert_eq!((told.code, told.json()["phase"].as_str()), (Some(1), Some("failed")), "the task is the document");
    let late = home.run(&["call", "demo", "runaway", "--wait", "--timeout", "0.5"]);
    assert_eq!(late.code, Some(7));
    assert!(late.err.contains("It continues"), "a timeout cancels nothing: {}", late.err);
    let folder = home.folder("downloads", &["a.jpg"]);
    let args = json!({ "folder": folder }).to_string();
    let asks = home.run(&["call", "demo", "tidy_downloads", "--args", &args, "--wait", "--json"]);
    assert_eq!((asks.code, &asks.error()["code"]), (Some(6), &json!("needsInput")));
    assert!(asks.error()["hint"].as_str().is_some_and(|hint| hint.contains("tasks answer")), "{}", asks.err);
}

#[test]
fn arguments_come_from_the_line_a_file_or_standard_input() {
    use std::io::Write as _;
    let (home, _core) = Home::with_demo();
    let folder = home.folder("tree", &["a.txt"]);
    let args = json!({ "path": folder }).to_string();
    let file = home.folder("args", &[]).join("args.json");
    std::fs::write(&file, &args).expect("a file");
    let from_file = home.ok(&["call", "demo", "hash_tree", "--args", &format!("@{}", file.display()), "--wait"]).out;
    let mut command = home.command(&["call", "demo", "hash_tree", "--args", "-", "--wait"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("it starts");
    child.stdin.take().expect("its input").write_all(args.as_bytes()).expect("it reads");
    let from_input = child.wait_with_output().expect("it ends");
    assert_eq!(from_file, String::from_utf8_lossy(&from_input.stdout), "the same call, the same hashes");
    assert!(from_file.contains("a.txt"), "{from_file}");
}

#[test]
fn a_large_result_is_piped_whole_and_a_reader_may_leave_early() {
    let (home, _core) = Home::with_demo();
    let id = home.call("huge_report", r#"{"tokens": 300000}"#);
    assert_eq!(home.watch(&id), Some(0));
    let whole = home.ok(&["tasks", "result", &id]).out;
    assert!(whole.len() > 500_000, "nothing is cut: {} bytes", whole.len());
    let line = format!("'{PROGRAM}' tasks result {id} | head -c 10; echo \" ${{PIPESTATUS[0]}}\"");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &line]).env("TASKWARDEN_HOME", home.data());
    let ran = shell.output().expect("a shell");
    assert!(String::from_utf8_lossy(&ran.stdout).trim_end().ends_with(" 0"), "{ran:?}");
    assert!(ran.stderr.is_empty(), "and says nothing about it: {ran:?}");
}

#[test]
fn a_watch_goes_on_over_a_core_that_is_killed_and_started_again() {
    let (home, core) = Home::with_demo();
    let url = demo_over_http(&home);
    home.ok(&["servers", "add", "web", "--yes", "--url", &url.1]);
    let id = home.ok(&["call", "web", "stubborn", "--args", r#"{"seconds": 4}"#]).out.trim().to_owned();
    let mut watch = home.command(&["tasks", "watch", &id, "--timeout", "60"]);
    let watch = watch.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut watch = watch.spawn().expect("it starts");
    // Its first line says that it follows the first core.
    let mut first = String::new();
    let mut said = std::io::BufReader::new(watch.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut said, &mut first).expect("a line");
    // Killed before the server's reply, the call would be one whose reply is lost.
    let begun = std::time::Instant::now();
    while home.task(&id)["view"] != "task" {
        assert!(begun.elapsed() < crate::home::PATIENCE, "the server takes it: {}", home.task(&id));
    }
    core.kill();
    let _core = home.serve();
    let ran = watch.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "the task finished under the second core: {said}");
    assert!(said.contains("core is back") || !said.contains("went away"), "what happened is told: {said}");
    assert_eq!(home.task(&id)["phase"], "done");
}

/// The demo server over HTTP, which outlives a core.
fn demo_over_http(home: &Home) -> (KillOnDrop, String) {
    use std::io::{BufRead as _, BufReader};
    let mut command = home.command(&["demo-server", "--http", "0"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut url).expect("its address");
    (KillOnDrop(child), url.trim().to_owned())
}

struct KillOnDrop(std::process::Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
