//! A server of the 2025 dialect that says `failed` and hands over a tool's error (finding B1, ruling 45).

use serde_json::json;
use tests::home::Home;

use crate::PROGRAM;
use crate::statements::legacy::{all_tasks, legacy, no_stream, tool};
use crate::statements::{Log, add_url, result, task_2025};

#[test]
fn what_a_server_calls_failed_is_nowhere_said_to_be_completed() {
    let home = Home::new(PROGRAM);
    let core = home.serve_with(&[("TASKWARDEN_LOG", "debug")]);
    let log = Log::default();
    let server = log.serve(|asked| {
        legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => {
                result(asked, &task_2025("3", "failed", &json!({"statusMessage": "the bees would not fly"})))
            }
            "tasks/result" => {
                result(asked, &json!({"isError": true, "content": [{"type": "text", "text": "no honey today"}]}))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "old", &server.url(), "up");
    let id = home.call("old", "job", &json!({}));
    let task = home.wait_phase(&id, "doneWithError");
    assert_eq!(task["status"], "failed", "the server's own word is kept: {task}");

    let mut said = vec![("the log of the core".to_owned(), home.core_log())];
    let ways: [&[&str]; 9] = [
        &["tasks", "show", &id],
        &["tasks", "show", &id, "--json"],
        &["tasks", "list"],
        &["tasks", "list", "--json"],
        &["tasks", "result", &id],
        &["tasks", "result", &id, "--json"],
        &["tasks", "watch", &id],
        &["audit", "list", "--task", &id, "--json"],
        &["servers", "show", "old", "--json"],
    ];
    for way in ways {
        let ran = home.run(way);
        said.push((way.join(" "), format!("{}{}", ran.out, ran.err)));
    }
    core.stop();
    said.push(("the log file".into(), log_files(&home)));
    for (place, words) in &said {
        assert!(!words.to_lowercase().contains("completed"), "{place} says what the server did not: {words}");
    }
    for place in ["tasks show", "tasks result"] {
        let words: String = said.iter().filter(|(way, _)| way.starts_with(place)).map(|(_, words)| &**words).collect();
        assert!(words.contains("no honey today") || words.contains("failed"), "{place} tells of the error: {words}");
    }
    let shown = &said.iter().find(|(way, _)| *way == format!("tasks show {id}")).expect("it was shown").1;
    assert!(shown.contains("old says `failed`"), "the word stands as the server's: {shown}");
}

/// Everything in the folder of logs.
fn log_files(home: &Home) -> String {
    let files = std::fs::read_dir(home.data().join("logs")).expect("logs").flatten();
    files.map(|file| std::fs::read_to_string(file.path()).expect("a log")).collect()
}
