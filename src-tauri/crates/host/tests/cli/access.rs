//! Who gets in: one core a directory, and people only after consent. Who is no person is in `impostors.rs`.

use rustix::process::Signal;
use serde_json::json;

use crate::home::Home;

#[test]
fn without_a_core_what_is_on_record_is_read_and_the_rest_ends_with_3() {
    let (home, core) = Home::with_demo();
    let id = home.call("tool_error", "{}");
    home.watch(&id);
    core.signal(Signal::TERM);
    assert_eq!(core.ended(), Some(0), "the core drains and ends well");
    assert!(!home.data().join("core.sock").exists(), "its socket is gone");

    assert_eq!(home.ok(&["tasks", "list", "--json"]).json()["tasks"][0]["id"], json!(id));
    assert_eq!(home.task(&id)["phase"], "doneWithError");
    let servers = home.ok(&["servers", "list", "--json"]).json();
    assert_eq!(servers["servers"][0]["health"]["kind"], "unknown", "health is of the moment");
    home.ok(&["servers", "show", "demo"]);
    home.ok(&["inbox"]);
    assert_eq!(home.run(&["tasks", "result", &id]).code, Some(1), "the stored tool error is read");
    for args in [
        &["call", "demo", "flaky"] as &[&str],
        &["servers", "add", "x", "--yes", "--", "true"],
        &["servers", "remove", "demo", "--yes"],
        &["servers", "tools", "demo"],
        &["tasks", "answer", &id, "--decline"],
        &["tasks", "cancel", &id],
        &["tasks", "adopt", "demo", "t"],
        &["tasks", "watch"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(3), "{args:?}: {ran:?}");
        assert!(ran.err.contains("taskwarden serve"), "the way out is told: {}", ran.err);
    }
    let told = home.run(&["call", "demo", "flaky", "--json"]);
    assert_eq!(told.error()["code"], "noCore");
}

#[test]
fn a_second_core_for_the_same_directory_is_refused_and_the_first_goes_on() {
    let (home, core) = Home::with_demo();
    let second = home.run(&["serve"]);
    assert_eq!(second.code, Some(5));
    assert!(second.err.contains("already running"), "{}", second.err);
    home.ok(&["servers", "tools", "demo"]);
    core.kill();
    let _third = home.serve();
    home.ok(&["servers", "list"]);
}

#[test]
fn nothing_runs_before_a_person_agreed() {
    let home = Home::new();
    let _core = home.serve();
    let trace = home.folder("trace", &[]).join("ran");
    let script = format!("touch '{}'", trace.display());
    let refused = home.run(&["servers", "add", "quiet", "--", "sh", "-c", &script]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("--yes"), "the way to agree without a terminal is told: {}", refused.err);
    assert!(!trace.exists(), "the command did not run");
    assert_eq!(home.ok(&["servers", "list", "--json"]).json()["servers"], json!([]));
}

#[cfg(unix)]
#[test]
fn everything_in_the_data_directory_is_for_its_user_alone_and_secrets_stay_in_their_place() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let _core = home.serve();
    let mut add = home.command(&[
        "servers",
        "add",
        "web",
        "--yes",
        "--url",
        "http://127.0.0.1:1/mcp",
        "--header",
        "Authorization=THE_TOKEN",
    ]);
    let added = add.env("THE_TOKEN", "Bearer hush-hush").output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&added.stdout), String::from_utf8_lossy(&added.stderr));
    assert!(!said.contains("hush"), "it is not printed: {said}");
    let shown = home.ok(&["servers", "show", "web", "--json"]).out;
    assert!(shown.contains("Authorization") && !shown.contains("hush"), "only its name is shown: {shown}");
    let mut holding = Vec::new();
    let mut folders = vec![home.data()];
    while let Some(folder) = folders.pop() {
        // The core is at work: what was there a moment ago may be gone.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(facts) = entry.metadata() else { continue };
            let mode = facts.permissions().mode();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_eq!(mode & 0o077, 0, "`{}` is for its user alone", path.display());
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(9).any(|part| part == b"hush-hush") {
                holding.push(path.file_name().expect("a name").to_owned());
            }
        }
    }
    assert_eq!(holding, ["secrets.json"], "the secret lies in one place only");
    let sent_nowhere = home.run(&["servers", "add", "own", "--yes", "--header", "Authorization", "--", "/bin/true"]);
    assert_eq!(sent_nowhere.code, Some(2), "a command has no headers to put it in: {sent_nowhere:?}");
}
