//! Entries of all shapes as they stand in real files.

use serde_json::json;

use super::*;

fn direct(shape: EntryShape, form: VariableForm, entry: Value) -> ClientLaunch {
    match read(shape, form, &entry, Some("/work")) {
        EntryReading::Direct(launch) => *launch,
        other => panic!("{entry} can be launched, not {other:?}"),
    }
}

#[test]
fn entries_of_every_program_read_as_the_same_launch() {
    let usual = direct(
        EntryShape::Usual,
        VariableForm::Braces,
        json!({"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "canary"}, "disabled": true}),
    );
    let others = [
        (EntryShape::Zed, json!({"command": {"path": "npx", "args": ["-y", "x"], "env": {"TOKEN": "canary"}}})),
        (
            EntryShape::Zed,
            json!({"source": "custom", "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "canary"}}),
        ),
        (
            EntryShape::Opencode,
            json!({"type": "local", "command": ["npx", "-y", "x"], "environment": {"TOKEN": "canary"}}),
        ),
        (EntryShape::Codex, json!({"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "canary"}})),
        (EntryShape::Goose, json!({"type": "stdio", "cmd": "npx", "args": ["-y", "x"], "envs": {"TOKEN": "canary"}})),
        (EntryShape::Continue, json!({"name": "x", "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "canary"}})),
    ];
    for (shape, entry) in others {
        assert_eq!(direct(shape, VariableForm::Literal, entry.clone()), usual, "{entry}");
    }
    let ServerAddress::Stdio { secret_env, env, cwd, .. } = &usual.address else { panic!("a command") };
    assert_eq!((secret_env.as_slice(), env.is_empty()), (["TOKEN".to_owned()].as_slice(), true));
    assert_eq!(cwd.as_deref(), Some("/work"), "it runs where its program would start it");
}

#[test]
fn remote_entries_keep_their_headers_as_secrets() {
    for (shape, entry) in [
        (EntryShape::Usual, json!({"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer x"}})),
        (EntryShape::Usual, json!({"httpUrl": "https://h/mcp", "headers": {"Authorization": "Bearer x"}})),
        (
            EntryShape::Opencode,
            json!({"type": "remote", "url": "https://h/mcp", "headers": {"Authorization": "Bearer x"}}),
        ),
        (EntryShape::Codex, json!({"url": "https://h/mcp", "http_headers": {"Authorization": "Bearer x"}})),
        (
            EntryShape::Goose,
            json!({"type": "streamable_http", "uri": "https://h/mcp", "headers": {"Authorization": "Bearer x"}}),
        ),
    ] {
        let launch = direct(shape, VariableForm::Literal, entry.clone());
        let expected =
            ServerAddress::Http { url: "https://h/mcp".into(), secret_headers: vec!["Authorization".into()] };
        assert_eq!(launch.address, expected, "{entry}");
        assert!(!format!("{launch:?}").contains("Bearer"), "{entry}");
    }
    let codex = json!({"url": "https://h/mcp", "bearer_token_env_var": "LINEAR_KEY"});
    let launch = direct(EntryShape::Codex, VariableForm::Literal, codex);
    assert_eq!(launch.variables[0].name, "LINEAR_KEY");
    assert!(launch.variables[0].is_secret && launch.variables[0].is_environment);
}

#[test]
fn what_cannot_be_started_from_its_entry_alone_says_why() {
    for (shape, entry, why) in [
        (EntryShape::Usual, json!({"command": "x", "envFile": ".env"}), "`envFile`"),
        (EntryShape::Usual, json!({}), "neither a command nor an address"),
        (EntryShape::Usual, json!([]), "not an object"),
        (EntryShape::Usual, json!({"command": ["a"]}), "`command` is not a text"),
        (EntryShape::Usual, json!({"command": "a", "args": [{"x": 1}]}), "`args`"),
        (EntryShape::Usual, json!({"url": "ftp://h"}), "does not begin with"),
        (EntryShape::Usual, json!({"command": "a", "url": "http://h"}), "both"),
        (EntryShape::Zed, json!({"settings": {}}), "extension of Zed"),
        (
            EntryShape::Opencode,
            json!({"type": "local", "command": ["a"], "environment": {"A": "{file:~/key}"}}),
            "{file:",
        ),
        (EntryShape::Opencode, json!({"enabled": false}), "another file"),
        (EntryShape::Goose, json!({"type": "builtin", "name": "developer"}), "part of Goose"),
    ] {
        match read(shape, VariableForm::Opencode, &entry, None) {
            EntryReading::Unresolved(said) => assert!(said.contains(why), "{entry}: {said}"),
            other => panic!("{entry} is not {other:?}"),
        }
    }
}

#[test]
fn a_bridge_of_taskwarden_is_recognised_with_its_server_and_agent() {
    for (args, expected) in [
        (vec!["connect", "github", "--agent", "claude-code"], Some("github")),
        (vec!["connect", "--agent", "claude-code"], None),
        (vec!["connect", "--agent=claude-code", "github"], Some("github")),
    ] {
        let entry = json!({"command": "/usr/bin/taskwarden", "args": args});
        let expected = EntryReading::Routed { server: expected.map(str::to_owned), agent: "claude-code".into() };
        assert_eq!(read(EntryShape::Usual, VariableForm::Braces, &entry, None), expected, "{entry}");
    }
    let other = json!({"command": "/usr/bin/taskwarden", "args": ["demo-server"]});
    assert!(matches!(read(EntryShape::Usual, VariableForm::Braces, &other, None), EntryReading::Direct(_)));
}
