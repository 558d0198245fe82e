//! Servers that are routed through Taskwarden and taken back: which bytes change, who is asked, and what is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{User, server};
use crate::home::PROGRAM;

const CANARY: &str = "canary-2b66";

/// The settings of Claude Code with two servers, as it writes them.
pub(super) fn claude_text() -> String {
    format!(
        "{{\n  \"theme\": \"dark\",\n  \"mcpServers\": {{\n    \"demo\": {{\n      \"type\": \"stdio\",\n      \
         \"command\": \"{PROGRAM}\",\n      \"args\": [\"demo-server\"],\n      \"env\": {{ \"API_KEY\": \"{CANARY}\" }},\n      \
         \"timeout\": 5\n    }},\n    \"other\": {{ \"command\": \"/bin/cat\" }}\n  }},\n  \"numStartups\": 7\n}}\n"
    )
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file")
}

/// Files below the data folder that hold the canary, but the vault.
fn holding(user: &User) -> Vec<String> {
    super::imported::holding(user, CANARY)
}

#[test]
fn a_route_is_shown_asked_for_written_and_taken_back_byte_for_byte() {
    let user = User::new();
    let text = claude_text();
    let path = user.write(".claude.json", &text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("permissions");
    let _core = user.serve();
    let early = user.ok(&["clients", "route", "claude-code", "--dry-run"]);
    assert!(early.err.contains("not imported") && early.out.contains("nothing to change"), "{early:?}");
    user.ok(&["clients", "import", "--yes"]);
    let shown = user.ok(&["clients", "route", "claude-code", "--server", "demo", "--dry-run"]);
    assert!(!shown.out.contains(CANARY) && shown.out.contains("(hidden)"), "{}", shown.out);
    assert!(!shown.out.contains("theme") && !shown.out.contains("/bin/cat"), "only what changes: {}", shown.out);
    let nobody = user.run(&["clients", "route", "claude-code"]);
    assert_eq!((nobody.code, nobody.err.contains("nobody agreed")), (Some(5), true), "{nobody:?}");
    assert_eq!(read(&path), text, "nothing is written before somebody agrees");
    let unknown = user.run(&["clients", "route", "claude-code", "--server", "dema"]);
    assert_eq!((unknown.code, unknown.err.contains("`demo`")), (Some(4), true), "{unknown:?}");

    let done = user.ok(&["clients", "route", "claude-code", "--server", "demo", "--yes", "--json"]).json();
    let file = &done["files"][0];
    assert_eq!((&file["state"], &file["exchanged"]), (&json!("done"), &json!(true)), "{done}");
    let routed = read(&path);
    let value: Value = serde_json::from_str(&routed).expect("strict JSON");
    let entry = &value["mcpServers"]["demo"];
    assert_eq!(entry["args"], json!(["connect", "demo", "--agent", "claude-code"]), "{entry}");
    assert_eq!(entry["env"], json!({"TASKWARDEN_HOME": user.data()}), "{entry}");
    assert_eq!((&entry["timeout"], &entry["type"]), (&json!(5), &json!("stdio")), "its own members stay");
    assert!(!routed.contains("twa_") && !routed.contains(CANARY), "neither token nor secret is in it: {routed}");
    for kept in ["\"theme\": \"dark\"", "    \"other\": { \"command\": \"/bin/cat\" }\n", "\"numStartups\": 7\n}\n"] {
        assert!(routed.contains(kept), "{kept}: {routed}");
    }
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o640, "its permissions stay");
    let backup = Path::new(file["backup"].as_str().expect("a backup"));
    assert_eq!((read(backup), mode(backup)), (text.clone(), 0o600));
    let list = user.clients(&user.file("nowhere"));
    let found = server(&list, "claude-code", "demo");
    assert_eq!((&found["state"], &found["server"]), (&json!("routed"), &json!("demo")), "{list}");

    // The program starts exactly that, and reaches the tools of the server under their own names.
    let words: Vec<&str> = entry["args"].as_array().expect("args").iter().filter_map(Value::as_str).collect();
    let tools = super::tools_over_bridge(&user, &words);
    assert!(tools.contains("\"name\":\"hash_tree\""), "an allow list of `mcp__demo__hash_tree` stays valid: {tools}");

    // The one command brings the file back, and the route is found undone; then the route again, and its undo.
    let restore = file["restore"].as_str().expect("a command");
    assert!(std::process::Command::new("sh").args(["-c", restore]).status().expect("sh").success());
    assert_eq!(read(&path), text);
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(read(&path), text, "an undo of what is undone changes nothing");
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    assert_ne!(read(&path), text);
    let preview = user.ok(&["clients", "undo", "claude-code", "--dry-run"]);
    assert!(preview.out.contains("+") && !preview.out.contains(CANARY), "{preview:?}");
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(read(&path), text, "byte for byte");
    assert_eq!(mode(&path), 0o640);
    let nothing = user.run(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(nothing.code, Some(4), "{nothing:?}");
    let beside = std::fs::read_dir(path.parent().expect("a folder")).expect("files").flatten();
    assert!(beside.into_iter().all(|file| !file.file_name().to_string_lossy().contains("taskwarden-new")));
}

#[test]
fn two_routes_of_one_file_are_taken_back_byte_for_byte_and_secrets_stay_in_the_vault() {
    let user = User::new();
    let text = claude_text();
    let path = user.write(".claude.json", &text);
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--server", "demo", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--server", "other", "--yes"]);
    let backups = user.data().join("backups/clients");
    let all: Vec<_> = std::fs::read_dir(&backups).expect("backups").flatten().map(|file| file.path()).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    let value: Value = serde_json::from_str(&read(&path)).expect("strict JSON");
    assert_eq!(value["mcpServers"]["other"]["args"], json!(["connect", "other", "--agent", "claude-code"]));
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(read(&path), text);
    // The copies are the only other place, and they are gone after 30 days.
    assert!(holding(&user).iter().all(|file| Path::new(file).starts_with(&backups)), "{:?}", holding(&user));
    for file in &all {
        let written = std::fs::metadata(file).and_then(|facts| facts.modified()).expect("when it was written");
        let old = written - std::time::Duration::from_secs(31 * 86_400);
        std::fs::File::options().write(true).open(file).and_then(|file| file.set_modified(old)).expect("its time");
    }
    user.clients(&user.file("nowhere"));
    assert_eq!(holding(&user), Vec::<String>::new(), "the value is in the vault and nowhere else");
}

#[test]
fn what_people_changed_since_the_route_stays_when_it_is_taken_back() {
    let user = User::new();
    let entry = |n: usize| json!({"command": PROGRAM, "args": ["demo-server", "--steps", n.to_string()]});
    let servers = json!({"a": entry(1), "b": entry(2), "c": entry(3), "d": entry(4)});
    let path =
        user.write(".claude.json", &serde_json::to_string_pretty(&json!({"mcpServers": servers})).expect("JSON"));
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    let mut value: Value = serde_json::from_str(&read(&path)).expect("JSON");
    value["mcpServers"]["b"]["args"] = json!(["mine"]);
    value["mcpServers"]["c"]["timeout"] = json!(9);
    value["mcpServers"].as_object_mut().expect("servers").remove("d");
    value["theme"] = json!("light");
    std::fs::write(&path, value.to_string()).expect("the program saves");
    let list = user.clients(&user.file("nowhere"));
    let drift = list["clients"][0]["files"][0]["drift"].to_string();
    assert!(drift.contains("`b`") && drift.contains("`d` was removed"), "{list}");
    let doctor = user.run(&["doctor"]);
    assert!(doctor.out.contains("changed since it was routed"), "{doctor:?}");
    let undone = user.ok(&["clients", "undo", "claude-code", "--yes", "--json"]).json();
    assert!(undone["files"][0]["kept"][0].as_str().is_some_and(|why| why.contains("`b`")), "{undone}");
    let after: Value = serde_json::from_str(&read(&path)).expect("JSON");
    let now = &after["mcpServers"];
    assert_eq!((&now["a"], &now["d"]), (&entry(1), &entry(4)), "ours go back, and what was lost returns: {after}");
    assert_eq!((&now["b"]["args"], &now["c"]["timeout"]), (&json!(["mine"]), &json!(9)), "theirs stay: {after}");
    assert_eq!((&now["c"]["args"], &after["theme"]), (&entry(3)["args"], &json!("light")), "{after}");
    // A file that is gone comes back with the entries alone.
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--server", "a", "--yes"]);
    std::fs::remove_file(&path).expect("it was there");
    let list = user.clients(&user.file("nowhere"));
    let file = &list["clients"][0]["files"][0];
    assert_eq!((&file["drift"], &file["servers"]), (&json!(["the file is gone"]), &json!([])), "{list}");
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(serde_json::from_str::<Value>(&read(&path)).expect("JSON"), json!({"mcpServers": {"a": entry(1)}}));
}

#[test]
fn an_entry_keeps_its_own_formatting_when_only_other_lines_changed_since() {
    let user = User::new();
    let text = claude_text();
    let path = user.write(".claude.json", &text);
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    let saved = read(&path).replace("\"numStartups\": 7", "\"numStartups\": 8");
    std::fs::write(&path, saved).expect("the program saves");
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(read(&path), text.replace("\"numStartups\": 7", "\"numStartups\": 8"));
}

#[test]
fn an_entry_that_cannot_be_changed_or_put_back_is_named_and_is_no_obstacle_for_others() {
    let user = User::new();
    let entry = |name: &str| {
        format!(
            "  {name}:\n    type: stdio\n    cmd: {PROGRAM}\n    args:\n      - demo-server\n      - --name\n      - {name}\n"
        )
    };
    let shared = "  shared: *base\n";
    let text = format!(
        "base: &base\n  type: stdio\n  cmd: {PROGRAM}\n  args:\n    - demo-server\nextensions:\n{}{}{shared}",
        entry("first"),
        entry("second")
    );
    let path = user.write(".config/goose/config.yaml", &text);
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    let refused = user.run(&["clients", "route", "goose", "--yes"]);
    assert_eq!((refused.code, refused.err.contains("`shared` cannot be changed")), (Some(5), true), "{refused:?}");
    assert_eq!(read(&path), text);
    let agents = user.ok(&["agents", "list", "--json"]);
    assert!(!agents.out.contains("goose"), "nothing was routed, so no agent was added: {agents:?}");
    user.ok(&["clients", "route", "goose", "--server", "first", "--server", "second", "--yes"]);
    let routed = read(&path);
    let from = routed.find("  second:").expect("the second entry");
    let to = routed.find("  shared:").expect("the third entry");
    std::fs::write(&path, format!("{}{}", &routed[..from], &routed[to..])).expect("somebody removes it");
    let undone = user.ok(&["clients", "undo", "goose", "--yes", "--json"]).json();
    let now = read(&path);
    assert!(now.contains(&entry("first")), "the first one is as before: {now}");
    assert_eq!(undone["files"][0]["kept"], json!([]), "{now}");
    let back = format!("{shared}{}", entry("second"));
    assert!(now.ends_with(&back), "what was removed has its own lines again, behind the others: {now}");
}

#[test]
fn every_format_is_routed_and_taken_back_byte_for_byte() {
    let user = User::new();
    let mut files = vec![
        (
            "codex",
            ".codex/config.toml",
            format!(
                "model = \"x\" # mine\n\n[mcp_servers.demo] # first\ncommand = \"{PROGRAM}\"\nargs = [\"demo-server\"]\nstartup_timeout_sec = 9\n\n[mcp_servers.demo.env]\nKEY = \"{CANARY}\"\n"
            ),
        ),
        (
            "zed",
            ".config/zed/settings.json",
            format!(
                "{{\n  // mine\n  \"context_servers\": {{\n    \"demo\": {{\n      \"command\": \"{PROGRAM}\",\n      \"args\": [\"demo-server\"],\n    }},\n  }},\n}}\n"
            ),
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            format!(
                "{{\r\n\t\"mcp\": {{\r\n\t\t\"demo\": {{\r\n\t\t\t\"type\": \"local\",\r\n\t\t\t\"command\": [\"{PROGRAM}\", \"demo-server\"]\r\n\t\t}}\r\n\t}}\r\n}}"
            ),
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            format!(
                "\u{feff}{{\"mcpServers\":{{\"demo\":{{\"command\":\"{PROGRAM}\",\"args\":[\"demo-server\"],\"trust\":true}}}}}}"
            ),
        ),
    ];
    files.push((
        "goose",
        ".config/goose/config.yaml",
        format!("# mine\nextensions:\n  demo:\n    type: stdio\n    cmd: {PROGRAM}\n    args:\n      - demo-server\n    timeout: 300\n  developer:\n    type: builtin\n"),
    ));
    for (_, file, text) in &files {
        user.write(file, text);
    }
    let list =
        "mcpServers:\n  - name: demo\n    command: PROGRAM\n    args: [demo-server]\n".replace("PROGRAM", PROGRAM);
    user.write(".continue/config.yaml", &list);
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    for (client, file, text) in &files {
        let path = user.file(file);
        let ran = user.run(&["clients", "route", client, "--yes", "--json"]);
        if *client == "goose" && ran.code == Some(5) {
            // For YAML a refusal is a normal outcome (setup.md §3.2); nothing may have changed then.
            assert_eq!(read(&path), *text);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let routed = read(&path);
        assert!(
            routed.contains("connect") && routed.contains(client) && !routed.contains(CANARY),
            "{client}: {routed}"
        );
        for kept in ["# mine", "// mine", "# first", "startup_timeout_sec = 9", "timeout: 300", "\"trust\":true"] {
            assert_eq!(routed.contains(kept), text.contains(kept), "`{kept}` of {client}: {routed}");
        }
        assert_eq!(routed.matches("\r\n").count() > 5, text.contains("\r\n"), "{client}: {routed:?}");
        let state = server(&user.clients(&user.file("nowhere")), client, "demo")["state"].clone();
        assert_eq!(state, "routed", "{client}");
        user.ok(&["clients", "undo", client, "--yes"]);
        assert_eq!(read(&path), *text, "{client}: byte for byte");
    }
    let refused = user.run(&["clients", "route", "continue", "--yes"]);
    assert_eq!((refused.code, refused.err.contains("list")), (Some(5), true), "{refused:?}");
    assert_eq!(read(&user.file(".continue/config.yaml")), list);
}

#[test]
fn a_file_that_cannot_be_written_says_why_and_a_link_stays_a_link() {
    let user = User::new();
    let text = claude_text();
    let path = user.write(".claude.json", &text);
    let cursor = user.write("elsewhere/mcp.json", &text);
    std::fs::create_dir_all(user.file(".cursor")).expect("a folder");
    std::os::unix::fs::symlink(&cursor, user.file(".cursor/mcp.json")).expect("a link");
    let project = user.write(
        "project/.mcp.json",
        &json!({"mcpServers": {"demo": {"command": PROGRAM, "args": ["demo-server"], "cwd": "/"}}}).to_string(),
    );
    let _core = user.serve();
    let folder = user.file("project");
    let folder = folder.to_str().expect("text");
    user.ok(&["clients", "import", "--yes", "--folder", folder]);
    user.ok(&["clients", "route", "cursor", "--yes"]);
    assert!(std::fs::symlink_metadata(user.file(".cursor/mcp.json")).expect("a link").is_symlink());
    assert!(read(&cursor).contains("\"cursor\""), "what the link names is changed");
    user.ok(&["clients", "undo", "cursor", "--yes"]);
    assert_eq!(read(&cursor), text);

    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("permissions");
    let refused = |why: &str| {
        let ran = user.run(&["clients", "route", "claude-code", "--yes"]);
        assert_eq!((ran.code, ran.err.contains(why)), (Some(5), true), "`{why}`: {ran:?}");
        assert_eq!(read(&path), text);
    };
    mode(0o444);
    refused("read-only");
    let agents = user.ok(&["agents", "list", "--json"]);
    assert!(!agents.out.contains("claude-code"), "a file that stays as it is needs no agent: {agents:?}");
    mode(0o644);
    std::fs::hard_link(&path, user.file("second name")).expect("a link");
    refused("hard links");
    std::fs::remove_file(user.file("second name")).expect("it is there");
    // Only root can give a file away; elsewhere the check is not reached.
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
        refused("another user");
        std::os::unix::fs::chown(&path, Some(0), None).expect("back");
    }
    let before = read(&project);
    let all = user.ok(&["clients", "route", "claude-code", "--folder", folder, "--json", "--dry-run"]).json();
    assert_eq!(all["files"].as_array().map(Vec::len), Some(1), "the file of a project changes only by name: {all}");
    assert_eq!(read(&project), before);
    // Nothing of a refusal stays: the route works afterwards.
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    assert_eq!(read(&path), text);

    user.ok(&["clients", "route", "cursor", "--yes"]);
    std::fs::remove_dir_all(user.file(".cursor")).expect("it is there");
    let gone = user.run(&["clients", "undo", "cursor", "--yes"]);
    assert_eq!((gone.code, gone.err.contains("its folder is missing")), (Some(5), true), "{gone:?}");
    assert!(!gone.err.contains("Restart the program"), "nothing changed for it: {gone:?}");
    std::fs::create_dir(user.file(".cursor")).expect("the program is started once");
    user.ok(&["clients", "undo", "cursor", "--yes"]);
    let back: Value = serde_json::from_str(&read(&user.file(".cursor/mcp.json"))).expect("JSON");
    assert_eq!(back["mcpServers"]["demo"]["command"], PROGRAM, "the entries alone come back: {back}");
}
