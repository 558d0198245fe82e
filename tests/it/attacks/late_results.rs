//! A task that is done and whose result is still on its way (finding B10).

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tests::home::{Home, wait_for};
use tests::hostile::Deed;

use crate::PROGRAM;
use crate::statements::legacy::{all_tasks, begin_stream, event, legacy, no_stream, tool};
use crate::statements::{Log, add_url, result, task_2025};

/// Whether a process holds an open socket: a command that does has reached its core.
fn has_socket(pid: u32) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    targets.any(|target| target.to_string_lossy().starts_with("socket:"))
}

#[test]
fn the_result_of_a_task_that_is_done_is_waited_for_while_it_is_fetched() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let may_come = Arc::new(AtomicBool::new(false));
    let comes = Arc::clone(&may_come);
    let server = log.serve(move |asked| {
        let comes = Arc::clone(&comes);
        legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => result(asked, &task_2025("3", "completed", &json!({}))),
            "tasks/result" => {
                let id = asked.body["id"].clone();
                let outcome = json!({"content": [{"type": "text", "text": "honey at last"}]});
                Deed::Talk(Box::new(move |stream| {
                    begin_stream(stream);
                    wait_for("the result may come", || comes.load(Ordering::Relaxed).then_some(()), String::new);
                    event(stream, &json!({"jsonrpc": "2.0", "id": id, "result": outcome}));
                }))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "slow", &server.url(), "up");
    let id = home.call("slow", "job", &json!({}));
    let task = home.wait_phase(&id, "done");
    assert_eq!(task["result"]["state"], "notFetched", "it is done, and its result is not here: {task}");

    let mut asking = home.command();
    asking.args(["tasks", "result", &id]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut asking = asking.spawn().expect("the command starts");
    let is_waiting = wait_for(
        "the command has reached the core or ended",
        || match asking.try_wait().expect("it is ours") {
            Some(_) => Some(false),
            None => has_socket(asking.id()).then_some(true),
        },
        || home.core_log(),
    );
    assert!(is_waiting, "it does not end while the result is on its way: {:?}", asking.wait_with_output());
    may_come.store(true, Ordering::Relaxed);
    let ran = asking.wait_with_output().expect("the command ends");
    let (said, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "the task did not fail: {said}{err}; core: {}", home.core_log());
    assert!(said.contains("honey at last"), "and this is its result: {said}{err}");
}
