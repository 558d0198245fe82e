//! Limits of storage from outside: what a lower one removes is shown and asked for, waits, and can be undone.

use serde_json::Value;

use crate::home::Home;

const LOWER: [&str; 8] = ["storage", "set", "--payload-size", "1", "--agent-size", "1", "--server-size", "1"];

fn with(args: &[&'static str]) -> Vec<&'static str> {
    LOWER.iter().chain(args).copied().collect()
}

#[test]
fn a_lower_limit_asks_says_when_it_removes_and_loses_nothing_when_it_is_set_back_over_a_restart() {
    let (home, core) = Home::with_demo();
    let task = home.call("tool_error", "{}");
    home.watch(&task);
    let shown = || home.ok(&["storage", "show", "--json"]).json();
    let before = shown();

    let refused = home.run(&with(&[]));
    assert_eq!(refused.code, Some(5), "nobody confirmed: {refused:?}");
    assert!(refused.err.contains("were not set") && refused.err.contains("--yes"), "with a way out: {refused:?}");
    assert_eq!(shown()["limits"], before["limits"], "and nothing is set");

    let set = home.ok(&with(&["--yes", "--json"])).json();
    assert!(set["due"]["payloadTasks"].as_u64() >= Some(1), "what goes is said: {set}");
    let until = set["waitsUntil"].as_str().expect("and when").to_owned();
    let told = home.ok(&["storage", "show"]).out;
    assert!(told.contains(&format!("before {until}")), "people read the same: {told}");

    core.kill();
    let _core = home.serve();
    assert_eq!(shown()["waitsUntil"], until.as_str(), "a restart changes no stated time");
    let raise = ["storage", "set", "--payload-size", "2GiB", "--agent-size", "1GiB", "--server-size", "1GiB", "--json"];
    let undone = home.ok(&raise).json();
    assert_eq!(undone["limits"], before["limits"], "what keeps more is not asked for: {undone}");
    assert_eq!((&undone["waitsUntil"], &undone["due"]), (&Value::Null, &before["due"]), "nothing waits or goes");
    assert_eq!(undone["stored"]["payloads"], before["stored"]["payloads"], "all is there");
}
