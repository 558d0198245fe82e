//! A core that is stopped as it stands (SIGSTOP): its socket takes connections and nothing comes through them.
//!
//! Every command says so in time instead of waiting for ever. The page's part is a journey in `tests/e2e`.

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
