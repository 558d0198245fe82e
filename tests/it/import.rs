//! Servers that real agent programs wrote into their own files are found, imported and work.
//!
//! Claude Code, Codex and Gemini CLI write their files themselves (`mcp add`), offline and in a home folder of their own;
//! opencode has no such command, so its file is as its maker documents it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::clients::node_program;
use tests::home::Home;

use crate::PROGRAM;

const CANARY: &str = "canary-90aa";

/// A program of the agents' lab.
fn installed(path: &str) -> PathBuf {
    let place = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/agents/node_modules")).join(path);
    assert!(place.exists(), "`{}` is missing: run `cargo xtask peers` once, it installs it", place.display());
    place
}

/// Runs a program in this home folder and nothing of ours in its environment.
fn adds(mut command: Command, user: &Path, args: &[&str]) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let quiet =
        [("DISABLE_TELEMETRY", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")];
    let work = user.join("work");
    let ran = command.args(args).env_clear().env("PATH", path).env("HOME", user).envs(quiet).current_dir(work);
    let ended = ran.output().expect("the program starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "`{args:?}` succeeds: {said}");
}

/// What three programs write themselves, and one has as documented.
fn written_by_programs(user: &Path) {
    std::fs::create_dir_all(user.join("work")).expect("a folder");
    let key = format!("API_KEY={CANARY}");
    let claude = || Command::new(installed("@anthropic-ai/claude-code-linux-x64/claude"));
    adds(claude(), user, &["mcp", "add", "--scope", "user", "hives", "-e", &key, "--", PROGRAM, "demo-server"]);
    adds(claude(), user, &["mcp", "add", "--scope", "local", "local", "--", PROGRAM, "demo-server"]);
    let header = format!("Authorization: Bearer {CANARY}");
    let remote = ["mcp", "add", "--scope", "project", "--transport", "http", "shared", "http://127.0.0.1:9/mcp", "-H"];
    adds(claude(), user, &[&remote[..], &[&header]].concat());
    let codex = || Command::new(installed("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"));
    adds(codex(), user, &["mcp", "add", "hives", "--env", &key, "--", PROGRAM, "demo-server"]);
    let web = ["mcp", "add", "web", "--url", "https://127.0.0.1:9/mcp", "--bearer-token-env-var", "WEB_TOKEN"];
    adds(codex(), user, &web);
    let mut gemini = Command::new(node_program());
    gemini.arg(installed("@google/gemini-cli/bundle/gemini.js"));
    adds(gemini, user, &["mcp", "add", "--scope", "user", "-e", &key, "hives", PROGRAM, "demo-server"]);
    let opencode = json!({"$schema": "https://opencode.ai/config.json", "mcp": {
        "hives": {"type": "local", "command": [PROGRAM, "demo-server"], "environment": {"API_KEY": CANARY}},
    }});
    std::fs::create_dir_all(user.join(".config/opencode")).expect("a folder");
    std::fs::write(user.join(".config/opencode/opencode.json"), opencode.to_string()).expect("a file");
}

/// The entry of this name in the files of a program.
fn entry<'a>(list: &'a Value, client: &str, name: &str) -> &'a Value {
    let all = |value: &'a Value| value.as_array().into_iter().flatten();
    let client = all(&list["clients"]).find(|one| one["client"] == client).unwrap_or(&Value::Null);
    all(&client["files"]).flat_map(|file| all(&file["servers"])).find(|one| one["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn what_real_programs_wrote_is_imported_once_works_and_their_files_stay_as_they_are() {
    let home = Home::new(PROGRAM);
    let user = home.path().join("user");
    written_by_programs(&user);
    let files = [".claude.json", "work/.mcp.json", ".codex/config.toml", ".gemini/settings.json"];
    let before: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(user.join(file)).expect("it is written")).collect();
    let folder = user.to_str().expect("text");
    let _core =
        home.serve_with(&[("HOME", folder), ("XDG_CONFIG_HOME", ""), ("CODEX_HOME", ""), ("CLAUDE_CONFIG_DIR", "")]);
    let work = user.join("work");
    let project = work.to_str().expect("text");
    let list = home.json(["clients", "list", "--json", "--folder", project]);
    for client in ["claude-code", "codex", "gemini-cli", "opencode"] {
        let hives = entry(&list, client, "hives");
        assert_eq!((&hives["state"], &hives["server"]), (&json!("new"), &json!("hives")), "{client}: {list}");
        assert_eq!(hives["alsoIn"].as_array().map(Vec::len), Some(3), "one server in four programs: {hives}");
    }
    assert_eq!(entry(&list, "claude-code", "local")["folder"], project, "{list}");
    assert_eq!(entry(&list, "claude-code", "shared")["address"]["secretHeaders"], json!(["Authorization"]), "{list}");
    assert_eq!(entry(&list, "codex", "web")["variables"][0]["name"], "WEB_TOKEN", "{list}");
    assert!(!list.to_string().contains(CANARY), "no value is told");

    let done = home.json(["clients", "import", "--yes", "--json", "--folder", project]);
    let names: Vec<&str> =
        done["servers"].as_array().expect("servers").iter().filter_map(|one| one["server"].as_str()).collect();
    assert_eq!(names, ["hives", "local", "shared"], "without a value, `web` is left out: {done}");
    let tools = home.json(["servers", "tools", "hives", "--json"]);
    assert!(tools.to_string().contains("hash_tree"), "the imported server runs: {tools}");
    let list = home.json(["clients", "list", "--json", "--folder", project]);
    for client in ["claude-code", "codex", "gemini-cli", "opencode"] {
        assert_eq!(entry(&list, client, "hives")["state"], "known", "{client}: {list}");
    }
    for (file, before) in files.iter().zip(before) {
        assert!(std::fs::read(user.join(file)).expect("it is there") == before, "`{file}` is only read");
    }
}
