//! A core that is stopped as it stands (SIGSTOP): its socket takes connections and nothing comes through them.
//!
//! Every command says so in time instead of waiting for ever. The page's part is a journey in `tests/e2e`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::home::Home;

use crate::PROGRAM;

/// Issue 11: within 10 s people are told; the rest is for a busy machine.
const TOLD_WITHIN: Duration = Duration::from_secs(10 + 15);

#[test]
fn commands_say_within_seconds_that_a_stopped_core_does_not_answer() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let pid = i32::try_from(core.pid()).ok().and_then(Pid::from_raw).expect("the process of the core");
    kill_process(pid, Signal::STOP).expect("the core is ours");

    let begun = Instant::now();
    let commands =
        [vec!["tasks", "list", "--json"], vec!["inbox", "--json"], vec!["tasks", "cancel", "--all", "--yes", "--json"]];
    let asked: Vec<_> = commands.iter().map(|args| home.command().args(args).output()).collect();
    for (args, ran) in commands.iter().zip(asked) {
        let ran = ran.expect("the program starts");
        assert_eq!(ran.status.code(), Some(3), "`{args:?}` says that no core answers");
        let error: serde_json::Value = serde_json::from_slice(&ran.stderr).expect("one JSON object");
        assert_eq!(error["message"], json!("the core does not answer"), "`{args:?}`: {error}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("doctor")), "with the way out: {error}");
    }
    let each = begun.elapsed() / u32::try_from(commands.len()).expect("a few");
    assert!(each < TOLD_WITHIN, "each command took {each:?}");
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("does not answer") && doctor.out.contains("kill -9"), "with its cure: {}", doctor.out);

    kill_process(pid, Signal::CONT).expect("the core is ours");
    assert_eq!(home.run(["tasks", "list"]).code, 0, "and it goes on as if nothing was");
}

#[test]
fn watching_says_within_seconds_that_a_stopped_core_does_not_answer_and_goes_on_with_it() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let added = home.run(["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
    assert_eq!(added.code, 0, "{}", added.err);
    let pid = i32::try_from(core.pid()).ok().and_then(Pid::from_raw).expect("the process of the core");
    let watch = || home.command().args(["tasks", "watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut watching = watch().expect("the program starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("its output")).lines();
    let folder = home.path().join("folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    // Calls until the feed is open: what happened before is no news.
    let (heard, first) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            if heard.send(line).is_err() {
                return;
            }
        }
    });
    tests::home::wait_for(
        "the feed is open",
        || {
            home.call("demo", "hash_tree", &json!({"path": folder}));
            first.recv_timeout(Duration::from_secs(1)).ok()
        },
        || home.core_log(),
    );

    kill_process(pid, Signal::STOP).expect("the core is ours");
    let begun = Instant::now();
    let mut said = BufReader::new(watching.stderr.take().expect("its notes")).lines();
    let note = said.next().expect("it says something").expect("text");
    let told = begun.elapsed();
    assert!(note.contains("does not answer") && note.contains("taskwarden doctor"), "with the way out: {note}");
    assert!(told < TOLD_WITHIN, "after {told:?}");
    let late = watch().and_then(std::process::Child::wait_with_output).expect("the program starts");
    assert_eq!(late.status.code(), Some(3), "one that begins now ends: {}", String::from_utf8_lossy(&late.stderr));

    kill_process(pid, Signal::CONT).expect("the core is ours");
    assert!(said.next().expect("it goes on").expect("text").contains("is back"), "and says so");
    watching.kill().expect("it is ours");
    watching.wait().expect("it ends");
    drop(first);
    reading.join().expect("its output ends with it");
}
