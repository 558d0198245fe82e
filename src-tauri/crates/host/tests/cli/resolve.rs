//! Tasks whose end nobody will learn are closed from the terminal, as in the window.

use serde_json::Value;

use crate::home::{Core, Home};

/// A server that answers no call, and ends during `die`.
const FRAGILE: &str = r#"while read -r line; do
  id=$(echo "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"fragile\",\"version\":\"1\"}}}";;
    *'"tools/list"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"work\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"die\",\"inputSchema\":{\"type\":\"object\"}}]}}";;
    *'"die"'*) exit 3;;
    *'"tools/call"'*|*'"notifications/'*) ;;
    *'"id"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}";;
  esac
done"#;

fn fragile() -> (Home, Core) {
    let home = Home::new();
    let script = home.folder("fragile", &[]).join("server.sh");
    std::fs::write(&script, FRAGILE).expect("written");
    let core = home.serve();
    home.ok(&["servers", "add", "fragile", "--yes", "--", "/bin/sh", &script.display().to_string()]);
    (home, core)
}

/// A call during which the server ends.
fn lost_call(home: &Home) -> String {
    let ran = home.run(&["call", "fragile", "die", "--wait", "--json"]);
    assert_eq!(ran.code, Some(1), "its reply is lost: {ran:?}");
    let list = home.ok(&["tasks", "list", "--json"]).json();
    let task = &list["tasks"][0];
    assert_eq!(task["phase"], "unconfirmed", "{task}");
    task["id"].as_str().expect("a handle").to_owned()
}

fn trouble(home: &Home) -> Vec<Value> {
    let rows = home.ok(&["inbox", "--json"]).json();
    let all = rows.to_string();
    let list = rows["trouble"].as_array().unwrap_or_else(|| panic!("the inbox lists trouble: {all}"));
    list.clone()
}

#[test]
fn a_task_that_is_not_confirmed_is_marked_resolved_once() {
    let (home, _core) = fragile();
    let id = lost_call(&home);
    let inbox = home.ok(&["inbox"]);
    assert!(inbox.out.contains("taskwarden tasks resolve "), "the inbox names the command: {inbox:?}");
    assert_eq!(trouble(&home).len(), 1, "one item");
    let marked = home.ok(&["tasks", "resolve", &id, "--note", "nothing was written", "--json"]).json();
    assert_eq!((&marked["id"], &marked["phase"]), (&Value::from(id.as_str()), &Value::from("unwatched")), "{marked}");
    assert!(trouble(&home).is_empty(), "it has left the inbox");
    let again = home.run(&["tasks", "resolve", &id, "--json"]);
    assert_eq!((again.code, &again.error()["code"]), (Some(5), &Value::from("refused")), "{again:?}");
}

#[test]
fn tasks_that_were_lost_together_are_marked_together_and_others_are_refused() {
    let (home, _core) = fragile();
    let work = home.ok(&["call", "fragile", "work"]).out.trim().to_owned();
    let refused = home.run(&["tasks", "resolve", &work]);
    assert_eq!(refused.code, Some(5), "its reply may still come: {refused:?}");
    assert!(refused.err.contains("taskwarden tasks cancel"), "the way on is named: {refused:?}");
    let unknown = home.run(&["tasks", "resolve", "hdl_nothing"]);
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
    let lost = lost_call(&home);
    assert_eq!(home.watch(&work), Some(1), "the other reply was lost with it");
    let marked = home.ok(&["tasks", "resolve", &lost, "--together", "--json"]).json();
    assert_eq!(marked, serde_json::json!({"resolved": 2, "left": []}));
    assert_eq!(home.task(&work)["phase"], "unwatched");
}
