//! Entries in the files of agent programs that lead to an agent or a server which is gone.

use serde_json::json;

use crate::clients::User;
use crate::home::PROGRAM;

/// Claude Code with one server that is imported and routed.
fn routed(user: &User) -> String {
    let entry = json!({"command": PROGRAM, "args": ["demo-server"]});
    let text = json!({"mcpServers": {"demo": entry}}).to_string();
    let path = user.write(".claude.json", &text);
    let by_hand = format!(
        "[mcp_servers.mine]\ncommand = \"{PROGRAM}\"\nargs = [\"connect\", \"demo\", \"--agent\", \"claude-code\"]\n"
    );
    user.write(".codex/config.toml", &by_hand);
    path.display().to_string()
}

#[test]
fn who_revokes_an_agent_or_removes_a_server_is_told_which_entries_still_lead_there_and_how_to_take_them_back() {
    let user = User::new();
    let path = routed(&user);
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    let revoked = user.ok(&["agents", "revoke", "claude-code", "--yes"]).out;
    assert!(revoked.contains("Entries of agent programs still connect as it:"), "{revoked}");
    assert!(revoked.contains(&format!("  claude-code: demo in {path}\n")), "{revoked}");
    assert!(revoked.contains("  codex: mine in "), "{revoked}");
    assert!(revoked.contains("config.toml (not routed by Taskwarden; remove by hand)"), "{revoked}");
    let undo = "To take them back: taskwarden clients undo claude-code";
    assert_eq!(revoked.matches("To take them back").count(), 1, "{revoked}");
    assert!(revoked.contains(undo), "{revoked}");

    let removed = user.ok(&["servers", "remove", "demo", "--yes"]).out;
    assert!(removed.contains("Entries of agent programs still lead to it:"), "{removed}");
    assert!(removed.contains(&format!("  claude-code: demo in {path}\n")) && removed.contains(undo), "{removed}");

    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    user.ok(&["agents", "add", "other"]);
    let other = user.ok(&["agents", "revoke", "other", "--yes"]).out;
    assert!(!other.contains("Entries of agent programs"), "nothing leads to it: {other}");
}
