//! A 2025 server over stdio in shell, the plainest there is, and the processes of its children.
//!
//! It announces no changes, so nothing that is said about them makes a listener pause.

use crate::home::Home;

/// What `bash -c` runs: `initialize`, a list of one tool, and pings.
pub const QUIET_SERVER: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) body='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"quiet","version":"1"}}' ;;
    *'"method":"tools/list"'*) body='"result":{"tools":[{"name":"nothing","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"ping"'*) body='"result":{}' ;;
    *'"method":"notifications/'*) continue ;;
    *) body='"error":{"code":-32601,"message":"method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$body"
done
"#;

/// The processes of the children of all servers, by the records of their keepers.
#[must_use]
pub fn children(home: &Home) -> Vec<i32> {
    let folders = std::fs::read_dir(home.data().join("keep")).into_iter().flatten().filter_map(Result::ok);
    let records = folders.filter_map(|folder| std::fs::read(folder.path().join("who")).ok());
    let records = records.filter_map(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    let pid = |record: serde_json::Value| i32::try_from(record.pointer("/child/pid")?.as_i64()?).ok();
    records.filter_map(pid).collect()
}
