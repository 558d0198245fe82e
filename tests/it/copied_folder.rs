//! A copy of the data folder at another path: its core knows that the processes of the folder may go on, says so of their
//! tasks, and ends none of them. The folder that was copied goes on as if nothing had happened.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tests::home::{Home, wait_for};
use tests::quiet_server::children;

use crate::PROGRAM;

fn lives(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[test]
fn a_copy_of_the_data_folder_takes_no_process_that_it_does_not_reach_for_one_that_ended() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let added = home.run(["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
    assert_eq!(added.code, 0, "{}{}", added.out, added.err);
    let task = home.call("demo", "stubborn", &json!({"seconds": 3_000}));
    home.wait_taken(&task);
    let running = children(&home);
    assert!(!running.is_empty(), "a keeper has its process");
    core.kill();

    let other = Home::new(PROGRAM);
    let copied = Command::new("cp").arg("-a").arg(home.data()).arg(other.path()).status();
    assert!(copied.is_ok_and(|status| status.success()), "the data folder is copied");
    let core_of_copy = other.serve();
    let lost = other.wait_phase(&task, "lost");
    let words = lost.to_string();
    assert!(
        words.contains("may go on out of reach") && words.contains("is a copy of"),
        "it says what it knows: {lost:#}"
    );
    assert!(!words.contains("the process that ran it ended"), "nothing says that it ended: {lost:#}");
    let rows = other.json(["audit", "list", "--verb", "processEnded", "--json"]);
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(0), "no process was ended: {rows}");
    let report = other.run(["doctor", "--json"]).out;
    assert!(report.contains("is a copy of"), "doctor says it: {report}");
    assert!(running.iter().all(|pid| lives(*pid)), "the processes of the folder go on");

    // A second start of the copy knows it as well, and the folder has its processes again.
    core_of_copy.kill();
    let _core_of_copy = other.serve();
    assert!(other.run(["doctor", "--json"]).out.contains("is a copy of"), "it is remembered");
    let _core = home.serve();
    wait_for(
        "the task goes on in the folder that was copied",
        || (home.task(&task)["phase"] == "running").then_some(()),
        || format!("{:#}\n{}", home.task(&task), home.core_log()),
    );
    assert_eq!(children(&home), running, "with the process that it had");
    assert!(!home.run(["doctor", "--json"]).out.contains("is a copy of"), "it is no copy");
}
