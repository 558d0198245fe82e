//! A halt as a person gives it in a terminal or by the file, over kills of the core, and the way back.

use std::fs;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, PATIENCE};

fn halt(home: &Home) -> Value {
    home.ok(&["halt", "--json"]).json()
}

/// Waits until what is halted is as wanted.
fn until(home: &Home, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let shown = halt(home);
        if holds(&shown["halt"]) {
            return shown;
        }
        assert!(begun.elapsed() < PATIENCE, "never {what}: {shown}");
    }
}

#[test]
fn a_halt_refuses_calls_cancels_tasks_and_is_lifted_stage_by_stage() {
    let (home, core) = Home::with_demo();
    assert_eq!(halt(&home)["halt"], Value::Null, "nothing is halted");
    assert!(home.ok(&["halt"]).out.contains("Nothing is halted"));
    assert_eq!(home.run(&["halt", "--retry"]).code, Some(5), "there is nothing to ask again");
    let task = home.call_taken("runaway", "{}");
    let unsure = home.run(&["halt", "--reason", "wrong month", "--json"]);
    assert_eq!((unsure.code, &unsure.error()["code"]), (Some(5), &"refused".into()), "nobody confirmed: {unsure:?}");
    let given = home.ok(&["halt", "--reason", "wrong month", "--yes", "--json"]).json();
    assert_eq!(given["halt"]["orders"][0]["reason"], "wrong month", "{given}");
    assert!(given["halt"]["closedAt"].is_string(), "the gate is closed: {given}");

    let refused = home.run(&["call", "demo", "runaway", "--json"]);
    assert_eq!(refused.code, Some(5), "a person's call is refused: {refused:?}");
    assert!(refused.error()["message"].as_str().is_some_and(|text| text.contains("wrong month")), "{refused:?}");
    let shown = until(&home, "confirmed", |halt| halt["counts"]["confirmed"] == 1);
    assert_eq!(shown["halt"]["tasks"][0]["id"], task.as_str(), "with its evidence: {shown}");
    let again = home.ok(&["halt", "--retry"]).out;
    assert!(again.contains("Nothing could be asked again"), "it ended: {again}");

    // The machine is killed, and comes back halted.
    core.kill();
    assert!(halt(&home)["halt"].is_object(), "also without a core");
    let core = home.serve();
    assert_eq!(home.run(&["call", "demo", "runaway"]).code, Some(5), "halted after the restart");
    assert!(home.run(&["doctor"]).out.contains("work is halted"), "doctor says so");

    let early = home.run(&["resume", "calls", "--json"]);
    assert_eq!(early.code, Some(5), "the stages go in order: {early:?}");
    for stage in ["acknowledged", "requests", "read-only", "calls"] {
        home.ok(&["resume", stage]);
    }
    assert_eq!(halt(&home)["halt"], Value::Null, "it is over");
    let folder = home.folder("work", &["a.txt"]);
    home.call("index_folder", &format!(r#"{{"path":{folder:?}}}"#));
    assert_eq!(home.run(&["resume", "calls"]).code, Some(5), "there is nothing to resume");
    drop(core);
}

#[test]
fn the_file_halts_all_calls_once_and_is_put_aside() {
    let (home, core) = Home::with_demo();
    let file = home.data().join("HALT");
    fs::write(&file, "").expect("the file is made");
    let shown = until(&home, "halted", Value::is_object);
    let order = &shown["halt"]["orders"][0];
    assert_eq!((&order["by"], order["scope"].to_string()), (&Value::Null, r#"["calls"]"#.into()), "{shown}");
    let begun = Instant::now();
    while file.symlink_metadata().is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it is renamed");
    }
    assert_eq!(home.run(&["call", "demo", "runaway"]).code, Some(5), "calls are refused");
    for stage in ["acknowledged", "requests", "read-only", "calls"] {
        home.ok(&["resume", stage]);
    }
    core.signal(Signal::TERM);
    core.ended();

    // A folder of that name does the same, and a core that starts obeys before it serves anybody.
    fs::create_dir(&file).expect("the folder is made");
    let told = home.ok(&["halt"]).out;
    assert!(told.contains("Nothing is halted yet.") && told.contains("will halt all calls"), "said before: {told}");
    let told = halt(&home);
    assert_eq!(told["halt"], Value::Null, "nothing is on record: {told}");
    assert!(told["haltFile"].as_str().is_some_and(|file| file.ends_with("/HALT")), "a script reads it, too: {told}");
    let _core = home.serve();
    assert!(halt(&home)["halt"].is_object(), "halted from the start");
    let kept = fs::read_dir(home.data()).expect("the data folder").flatten();
    let aside = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("HALT.")).count();
    assert_eq!(aside, 2, "both were put aside");
}

#[test]
fn ending_a_pause_that_is_none_tells_an_unknown_name_from_one_that_is_not_paused() {
    let (home, _core) = Home::with_demo();
    home.ok(&["agents", "add", "bee"]);
    for (name, code, says) in [
        ("nobody", 4, "there is no agent and no server `nobody`"),
        ("bee", 5, "`bee` is not paused"),
        ("demo", 5, "`demo` is not paused"),
    ] {
        let refused = home.run(&["unpause", name]);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(says), "{refused:?}");
    }
}

#[test]
fn a_halt_names_what_is_wrong_with_it_and_halts_nothing() {
    let (home, _core) = Home::with_demo();
    let long = "x".repeat(10_000);
    for (args, code) in [
        (vec!["halt", "--reason", "", "--yes"], 2),
        (vec!["halt", "--reason", long.as_str(), "--yes"], 2),
        (vec!["halt", "--reason", "r", "--yes", "--server", "dmo"], 4),
        (vec!["halt", "--reason", "r", "--yes", "--agent", "nobody"], 4),
        (vec!["halt", "--reason", "r", "--yes", "--tool", "build"], 2),
        (vec!["halt", "--scope", "calls"], 2),
        (vec!["halt", "--reason", "r", "--yes", "--scope", "nonsense"], 2),
        (vec!["resume", "everything"], 2),
    ] {
        assert_eq!(home.run(&args).code, Some(code), "`{:?}`", &args[..2]);
    }
    assert_eq!(halt(&home)["halt"], Value::Null, "nothing was halted");
}
