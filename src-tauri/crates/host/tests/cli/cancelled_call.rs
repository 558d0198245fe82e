//! A call over stdio that is cancelled and whose server says nothing: only the call ends, and nobody's word is invented.

use crate::home::Home;

/// Counts in its memory, and never answers `work`.
const SERVER: &str = r#"
n=0
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) body='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counter","version":"1"}}' ;;
    *'"method":"tools/list"'*) body='"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}},{"name":"count","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"notifications/'*) continue ;;
    *'"name":"work"'*) continue ;;
    *'"name":"count"'*) n=$((n+1)); body='"result":{"content":[{"type":"text","text":"count '$n'"}]}' ;;
    *'"method":"ping"'*) body='"result":{}' ;;
    *) body='"error":{"code":-32601,"message":"method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$body"
done
"#;

fn count(home: &Home) -> String {
    home.ok(&["call", "counter", "count", "--wait"]).out.trim().to_owned()
}

#[test]
fn the_process_of_the_server_goes_on_with_what_it_remembers() {
    let home = Home::new();
    let _core = home.serve();
    home.ok(&["servers", "add", "counter", "--yes", "--", "bash", "-c", SERVER]);
    assert_eq!(count(&home), "count 1");
    let work = home.ok(&["call", "counter", "work"]).out.trim().to_owned();
    let asked = home.run(&["tasks", "cancel", &work, "--wait"]);
    assert_eq!(asked.code, Some(5), "no end is confirmed: {asked:?}");
    assert!(asked.err.contains("may go on"), "and that is said: {asked:?}");
    assert_eq!(count(&home), "count 2", "the same process answers");
    let log = home.ok(&["servers", "log", "counter"]).out;
    assert!(!log.contains("ended"), "nobody ended it: {log}");
    let rows = home.ok(&["audit", "list", "--task", &work, "--verb", "stopEnded", "--json"]).json()["rows"].clone();
    let row = &rows[0];
    assert!(row["actor"].as_str().is_some_and(|actor| actor.starts_with("system:")), "the server said nothing: {rows}");
    assert_eq!(row["note"], "sent", "{rows}");
}
