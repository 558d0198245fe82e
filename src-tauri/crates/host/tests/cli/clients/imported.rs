//! Servers that are imported: what is shown, what is kept, and where secrets go.

use serde_json::{Value, json};

use super::{User, server};
use crate::home::PROGRAM;

const CANARY: &str = "canary-7f3e";

/// The demo server as two programs have it, with a secret.
fn demo_entry() -> Value {
    json!({"command": PROGRAM, "args": ["demo-server"], "env": {"API_KEY": CANARY}})
}

/// Every file below the data folder that holds this text, but the vault.
pub(super) fn holding(user: &User, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![user.data()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_none_or(|name| name != "secrets.json") {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(text.len()).any(|piece| piece == text.as_bytes()) {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    found
}

#[test]
fn a_server_in_two_programs_is_shown_and_imported_once_and_its_secret_is_in_the_vault_alone() {
    let user = User::new();
    user.write(".claude.json", &json!({"mcpServers": {"demo": demo_entry()}}).to_string());
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"other name": demo_entry()}}).to_string());
    let _core = user.serve();
    let shown = user.ok(&["clients", "import", "--dry-run"]);
    assert!(shown.err.contains("demo-server") && shown.err.contains("API_KEY"), "{}", shown.err);
    assert!(shown.err.contains("also in cursor") && !shown.err.contains(CANARY), "{}", shown.err);
    assert_eq!(user.ok(&["servers", "list", "--json"]).json()["servers"], json!([]), "a dry run changes nothing");
    let nobody = user.run(&["clients", "import"]);
    assert_eq!((nobody.code, nobody.err.contains("nobody agreed")), (Some(5), true), "{nobody:?}");
    let done = user.ok(&["clients", "import", "--yes", "--json"]).json();
    assert_eq!(done["servers"], json!([{"name": "demo", "state": "added", "server": "demo", "why": null}]));
    let list = user.clients(&user.file("nowhere"));
    for (client, name) in [("claude-code", "demo"), ("cursor", "other name")] {
        let entry = server(&list, client, name);
        assert_eq!((&entry["state"], &entry["server"]), (&json!("known"), &json!("demo")), "{list}");
    }
    assert_eq!(holding(&user, CANARY), Vec::<String>::new(), "the value is in the vault and nowhere else");
    let vault = std::fs::read_to_string(user.data().join("secrets.json")).expect("the vault");
    assert!(vault.contains(CANARY));
    let called = user.ok(&["servers", "tools", "demo", "--json"]);
    assert!(called.out.contains("hash_tree"), "what was imported runs: {}", called.out);
    assert!(user.ok(&["clients", "import", "--yes"]).out.contains("nothing to import"));
}

#[test]
fn variables_stay_names_until_they_have_values_and_an_entry_that_changed_is_refused() {
    let user = User::new();
    let entry = |args: Value| json!({"command": PROGRAM, "args": args, "env": {"API_KEY": "${DEMO_KEY}"}});
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"demo": entry(json!(["demo-server"]))}}).to_string());
    let _core = user.serve();
    let left_out = user.ok(&["clients", "import", "--yes"]);
    assert!(left_out.err.contains("`DEMO_KEY` has no value"), "{left_out:?}");
    let list = user.clients(&user.file("nowhere"));
    let variable = &server(&list, "cursor", "demo")["variables"][0];
    assert_eq!(*variable, json!({"name": "DEMO_KEY", "environment": true, "secret": true, "default": null}));
    let mut command = user.command(&["clients", "import", "cursor", "--yes", "--json"]);
    let ran = crate::home::Ran::from(command.env("DEMO_KEY", CANARY).output().expect("it starts"));
    assert_eq!(ran.json()["servers"][0]["state"], "added", "{ran:?}");
    assert_eq!(holding(&user, CANARY), Vec::<String>::new());
    let vault = std::fs::read_to_string(user.data().join("secrets.json")).expect("the vault");
    assert!(vault.contains(CANARY), "the value of the variable is in the vault");
    assert_eq!(server(&user.clients(&user.file("nowhere")), "cursor", "demo")["state"], "known");
    // A changed command is another server, and asks again.
    user.write(
        ".cursor/mcp.json",
        &json!({"mcpServers": {"demo": entry(json!(["demo-server", "--help"]))}}).to_string(),
    );
    let list = user.clients(&user.file("nowhere"));
    let changed = server(&list, "cursor", "demo");
    assert_eq!((&changed["state"], &changed["server"]), (&json!("new"), &json!("demo-cursor")), "{list}");
}

#[test]
fn an_entry_with_an_open_secret_is_never_the_server_of_another_account() {
    let user = User::new();
    let entry = |key: &str| json!({"command": PROGRAM, "args": ["demo-server"], "env": {"API_KEY": key}});
    user.write(".claude.json", &json!({"mcpServers": {"ada": entry("of-ada")}}).to_string());
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"ben": entry("${BEN_KEY}")}}).to_string());
    user.write(".kiro/settings/mcp.json", &json!({"mcpServers": {"kim": entry("${KIM_KEY}")}}).to_string());
    let opencode =
        json!({"type": "local", "command": [PROGRAM, "demo-server"], "environment": {"API_KEY": "{env:BEN_KEY}"}});
    user.write(".config/opencode/opencode.json", &json!({"mcp": {"ben": opencode}}).to_string());
    let _core = user.serve();
    let import = |client: &str, values: &[(&str, &str)]| {
        let mut command = user.command(&["clients", "import", client, "--yes", "--json"]);
        let ran = crate::home::Ran::from(command.envs(values.to_vec()).output().expect("it starts"));
        let imported = &ran.json()["servers"][0];
        (
            imported["state"].as_str().unwrap_or("none").to_owned(),
            imported["server"].as_str().unwrap_or("none").to_owned(),
        )
    };
    let state = |client: &str, name: &str| {
        let list = user.clients(&user.file("nowhere"));
        let entry = server(&list, client, name);
        (
            entry["state"].as_str().unwrap_or_default().to_owned(),
            entry["server"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let is = |state: &str, server: &str| (state.to_owned(), server.to_owned());
    assert_eq!(import("claude-code", &[]), is("added", "ada"));
    assert_eq!(state("cursor", "ben"), is("new", "ben"), "its secret is not known, so it is not ada's");
    let refused = user.run(&["clients", "route", "cursor", "--server", "ben", "--dry-run"]);
    assert!(refused.err.contains("not imported") || refused.out.contains("not imported"), "{refused:?}");
    assert_eq!(import("cursor", &[("BEN_KEY", "of-ben")]), is("added", "ben"));
    assert_eq!((state("cursor", "ben"), state("opencode", "ben")), (is("known", "ben"), is("known", "ben")));
    assert_eq!(state("kiro", "kim"), is("new", "kim"), "another variable is another secret");
    assert_eq!(import("kiro", &[("KIM_KEY", "of-ada")]), is("known", "ada"), "unless its value says otherwise");
    assert_eq!(state("kiro", "kim"), is("known", "ada"));
}

#[test]
fn an_entry_that_its_program_does_not_start_is_imported_only_when_somebody_asks_for_it() {
    let user = User::new();
    let entry = json!({"type": "local", "command": [PROGRAM, "demo-server"], "enabled": false});
    user.write(".config/opencode/opencode.json", &json!({"mcp": {"off": entry}}).to_string());
    let _core = user.serve();
    let left_out = user.ok(&["clients", "import", "--yes"]);
    assert!(left_out.err.contains("does not start them: off"), "{left_out:?}");
    assert_eq!(user.ok(&["servers", "list", "--json"]).json()["servers"], json!([]), "nothing was imported");
    let shown = user.ok(&["clients", "import", "--disabled", "--dry-run"]);
    assert!(shown.err.contains("Taskwarden runs it all the same"), "{shown:?}");
    let done = user.ok(&["clients", "import", "--disabled", "--yes", "--json"]).json();
    assert_eq!(done["servers"][0]["state"], "added", "{done}");
}

#[test]
fn a_program_that_is_not_there_and_an_unknown_client_are_named() {
    let user = User::new();
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"gone": {"command": "no-such-program"}}}).to_string());
    let _core = user.serve();
    let list = user.clients(&user.file("nowhere"));
    let gone = server(&list, "cursor", "gone");
    assert_eq!(gone["state"], "unresolved", "{list}");
    assert!(gone["why"].as_str().is_some_and(|why| why.contains("`no-such-program`")), "{gone}");
    let unknown = user.run(&["clients", "import", "curser"]);
    assert_eq!((unknown.code, unknown.err.contains("`cursor`")), (Some(4), true), "{unknown:?}");
}
