//! What is found: every program of the catalog, and files that cannot be used.

use serde_json::{Value, json};

use super::{User, server};
use crate::home::PROGRAM;

const CANARY: &str = "canary-51d0";

/// Files of all programs, each with one server `files` that has a secret.
fn everything(user: &User) {
    let usual = json!({"command": "/bin/cat", "args": ["-u"], "env": {"TOKEN": CANARY}});
    let servers = json!({"mcpServers": {"files": usual}});
    user.write(
        ".claude.json",
        &json!({"mcpServers": {"files": usual}, "projects": {"/work/a": {"mcpServers": {"local": usual}}}}).to_string(),
    );
    user.write("project/.mcp.json", &json!({"mcpServers": {"shared": usual}}).to_string());
    for file in [
        ".config/Claude/claude_desktop_config.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ".kiro/settings/mcp.json",
        ".lmstudio/mcp.json",
    ] {
        user.write(file, &servers.to_string());
    }
    user.write(".config/Code/User/mcp.json", &format!("{{\n  // mine\n  \"servers\": {{\"files\": {usual},}},\n}}\n"));
    user.write(".config/zed/settings.json", &format!("// Zed\n{{\"context_servers\": {{\"files\": {usual}}}}}"));
    user.write(
        ".config/opencode/opencode.jsonc",
        &json!({"mcp": {"files": {"type": "local", "command": ["/bin/cat", "-u"], "environment": {"TOKEN": CANARY}}}})
            .to_string(),
    );
    user.write(
        ".codex/config.toml",
        &format!("model = \"x\"\n\n[mcp_servers.files]\ncommand = \"/bin/cat\"\nargs = [\"-u\"]\n\n[mcp_servers.files.env]\nTOKEN = \"{CANARY}\"\n"),
    );
    user.write(
        ".config/goose/config.yaml",
        &format!("extensions:\n  files:\n    type: stdio\n    cmd: /bin/cat\n    args:\n      - -u\n    envs:\n      TOKEN: {CANARY}\n  developer:\n    type: builtin\n"),
    );
    user.write(
        ".continue/config.yaml",
        &format!(
            "mcpServers:\n  - name: files\n    command: /bin/cat\n    args: [\"-u\"]\n    env:\n      TOKEN: {CANARY}\n"
        ),
    );
}

#[test]
fn the_servers_of_every_known_program_are_found_and_no_value_of_theirs_is_shown() {
    let user = User::new();
    everything(&user);
    let _core = user.serve();
    let list = user.clients(&user.file("project"));
    let words = [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "zed",
        "opencode",
        "codex",
        "gemini-cli",
        "goose",
        "cline",
        "kiro",
        "lm-studio",
        "continue",
    ];
    for word in words {
        let files = server(&list, word, "files");
        assert_eq!(files["state"], "new", "{word}: {list}");
        let address = json!({"kind": "stdio", "command": "/bin/cat", "args": ["-u"], "env": {}, "secretEnv": ["TOKEN"], "cwd": null});
        assert_eq!(files["address"], address, "{word}");
        assert_eq!(files["server"], "files", "one server in many files is imported once: {word}");
        assert_eq!(files["alsoIn"].as_array().map(Vec::len), Some(words.len() - 1), "{word}: {files}");
    }
    assert_eq!(server(&list, "claude-code", "local")["folder"], "/work/a");
    let shared = server(&list, "claude-code", "shared");
    assert_eq!(shared["address"]["cwd"], user.file("project").to_str().expect("text"), "{shared}");
    assert!(server(&list, "goose", "developer")["why"].as_str().is_some_and(|why| why.contains("Goose")), "{list}");
    let shown = user.ok(&["clients", "list"]);
    assert!(shown.out.contains("Claude Code (claude-code): 2 servers"), "{}", shown.out);
    assert!(!list.to_string().contains(CANARY) && !shown.out.contains(CANARY), "a value is shown nowhere");
    let log = std::fs::read_dir(user.data().join("logs")).expect("logs").flatten();
    for file in log {
        assert!(!std::fs::read_to_string(file.path()).unwrap_or_default().contains(CANARY), "nor logged");
    }
}

#[test]
fn a_file_that_cannot_be_used_says_why_and_hides_no_other() {
    let user = User::new();
    let entry = "{\"command\": \"/bin/cat\"}";
    for (file, text, why) in [
        (".cursor/mcp.json", format!("{{\"mcpServers\": {{\"a\": {entry}, \"a\": {entry}}}}}"), "stands twice"),
        (".claude.json", format!("{{\n  // no\n  \"mcpServers\": {{\"a\": {entry}}}}}"), "line 2"),
        (".lmstudio/mcp.json", format!("{{\"mcpServers\": {{\"a\": {entry},}}}}"), "not valid JSON"),
        (".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\ncommand = \"y\"\n".into(), "line 3"),
        (".config/goose/config.yaml", "extensions:\n  a: {cmd: x}\n  a: {cmd: y}\n".into(), "YAML"),
        (".kiro/settings/mcp.json", "\u{0}".into(), "not valid JSON"),
    ] {
        user.write(file, &text);
        let core = user.serve();
        let list = user.clients(&user.file("nowhere"));
        let problem = list["clients"].as_array().expect("clients").iter().flat_map(|client| {
            client["files"].as_array().into_iter().flatten().filter_map(|file| file["problem"].as_str())
        });
        let problem = problem.collect::<Vec<_>>().join("; ");
        assert!(problem.contains(why), "{file}: `{problem}`");
        drop(core);
        std::fs::remove_file(user.file(file)).expect("it is there");
    }
    user.write(
        ".config/Claude/claude_desktop_config.json",
        "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"/bin/cat\"}}}",
    );
    user.write(".gemini/settings.json", "");
    std::fs::create_dir_all(user.file(".cursor/mcp.json")).expect("a folder");
    let _core = user.serve();
    let list = user.clients(&user.file("nowhere"));
    assert_eq!(server(&list, "claude-desktop", "a")["state"], "new", "a byte-order mark is no error: {list}");
    let clients = list["clients"].as_array().expect("clients");
    let cursor = clients.iter().find(|one| one["client"] == "cursor").expect("cursor");
    assert_eq!(cursor["files"][0]["problem"], "it is not a file");
    let gemini = clients.iter().find(|one| one["client"] == "gemini-cli").expect("gemini");
    assert_eq!((&gemini["files"][0]["problem"], &gemini["files"][0]["servers"]), (&Value::Null, &json!([])));
}

#[test]
fn a_large_file_with_many_projects_is_listed_in_time() {
    let user = User::new();
    let history: Vec<String> = (0..40_000).map(|n| format!("line {n} of a long history {}", "x".repeat(80))).collect();
    let text = json!({"history": history, "mcpServers": {"demo": {"command": PROGRAM, "args": ["demo-server"]}}});
    let text = serde_json::to_string_pretty(&text).expect("JSON");
    assert!(text.len() > 4_000_000, "as large as the design says: {}", text.len());
    user.write(".claude.json", &text);
    let _core = user.serve();
    user.clients(&user.file("nowhere"));
    let begun = std::time::Instant::now();
    let list = user.clients(&user.file("nowhere"));
    let took = begun.elapsed();
    assert_eq!(server(&list, "claude-code", "demo")["state"], "new");
    // The figure is 200 ms for a release build; a debug build on a busy machine is an order slower.
    assert!(took < std::time::Duration::from_secs(4), "{took:?}");
}

#[test]
fn without_a_core_the_way_to_one_is_named() {
    let user = User::new();
    everything(&user);
    let none = user.run(&["clients", "list"]);
    assert_eq!((none.code, none.err.contains("taskwarden serve")), (Some(3), true), "{none:?}");
}
