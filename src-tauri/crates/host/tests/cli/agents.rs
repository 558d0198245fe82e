//! Agents on the command line: a token once, settings that can be pasted, and access that ends.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Home, Ran};

#[test]
fn adding_an_agent_prints_its_token_once_with_settings() {
    let home = Home::new();
    let (_core, said) = home.serve_with(&["--listen", "127.0.0.1:0"]);
    let url = said["url"].as_str().expect("an address").to_owned();
    let added = home.ok(&["agents", "add", "claude"]);
    let token = added.out.trim().to_owned();
    assert!(token.starts_with("twa_") && token.len() == 47, "standard output is the token alone: {}", added.out);
    assert!(added.err.contains(&format!("claude mcp add --transport http taskwarden {url}mcp")), "{}", added.err);
    assert!(added.err.contains("\"mcpServers\"") && added.err.contains("\"connect\""), "{}", added.err);
    let listed = home.ok(&["agents", "list", "--json"]);
    assert!(!listed.out.contains("twa_"), "it is not shown again: {}", listed.out);
    assert_eq!(listed.json()["agents"][0]["name"], "claude");
    assert_eq!(home.run(&["agents", "add", "claude"]).code, Some(5), "one agent, one name");
    assert_eq!(home.run(&["agents", "add", "Big Name"]).code, Some(2), "a name names a file");
    let everything = std::fs::read(home.data().join("registry.db")).expect("the registry");
    let found = everything.windows(token.len()).any(|piece| piece == token.as_bytes());
    assert!(!found, "the token is nowhere in the registry");
}

#[test]
fn settings_for_one_program_are_printed_alone_and_tell_another_data_directory() {
    let home = Home::new();
    let (_core, said) = home.serve_with(&["--listen", "127.0.0.1:0"]);
    let url = said["url"].as_str().expect("an address").to_owned();
    let added = home.ok(&["agents", "add", "mine", "--for", "codex"]);
    let token = added.out.trim();
    let toml = format!(
        "[mcp_servers.taskwarden]\nurl = \"{url}mcp\"\nhttp_headers = {{ Authorization = \"Bearer {token}\" }}"
    );
    assert!(added.err.contains(&toml), "whole, so that it can be pasted: {}", added.err);
    assert!(!added.err.contains("mcpServers") && !added.err.contains("claude"), "Codex alone: {}", added.err);
    assert!(added.err.contains(&format!("TASKWARDEN_HOME = \"{}\"", home.data().display())), "{}", added.err);
    let budget = home.ok(&["budget", "mine", "--json"]).out;
    assert!(budget.contains("o200k"), "it is counted as Codex usually is: {budget}");
    let saved = home.ok(&["agents", "add", "saved", "--save", "--for", "gemini-cli", "--transport", "stdio", "--json"]);
    let saved = saved.json();
    let programs = saved["settings"]["programs"].as_array().expect("programs");
    assert_eq!(programs.len(), 1, "{saved}");
    let texts = programs[0]["texts"].as_array().expect("texts");
    assert!(texts.iter().all(|text| text["transport"] == "stdio"), "{saved}");
    let secret = saved["token"].as_str().expect("a token");
    assert!(!saved["settings"].to_string().replace(secret, "").is_empty() && !programs[0].to_string().contains(secret));
    for program in home.ok(&["agents", "add", "all", "--json"]).json()["settings"]["programs"].as_array().expect("all")
    {
        for text in program["texts"].as_array().expect("texts").iter().filter(|text| text["transport"] == "stdio") {
            assert!(text["text"].as_str().is_some_and(|text| text.contains("TASKWARDEN_HOME")), "{text}");
        }
    }
}

#[test]
fn a_saved_token_is_for_its_user_alone_and_goes_with_the_access() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let _core = home.serve();
    let added = home.ok(&["agents", "add", "claude", "--save", "--json"]).json();
    let path = home.data().join("agents/claude.token");
    let mode = std::fs::metadata(&path).expect("it is saved").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else can read it");
    let stdio = added["settings"]["stdio"].as_str().expect("settings").to_owned();
    assert!(!stdio.contains("twa_"), "the command finds it by itself: {stdio}");
    assert_eq!(home.run(&["agents", "revoke", "claude"]).code, Some(5), "nobody confirmed");
    let revoked = home.ok(&["agents", "revoke", "claude", "--yes", "--json"]).json();
    assert!(revoked["agent"]["revokedAt"].is_string(), "{revoked}");
    assert!(!path.exists(), "its file goes too");
    let told = home.run(&["connect", "--agent", "claude"]);
    assert_eq!(told.code, Some(4), "there is no token any more: {told:?}");
}

#[test]
fn rules_are_set_field_by_field_and_taken_away() {
    let (home, _core) = Home::with_demo();
    home.ok(&[
        "rules",
        "set",
        "--server",
        "demo",
        "--tool",
        "tidy_downloads",
        "--ask",
        "agent-then-people",
        "--people-after",
        "5min",
    ]);
    let list =
        home.ok(&["rules", "set", "--server", "demo", "--tool", "tidy_downloads", "--hold-results", "true", "--json"]);
    let rule = &list.json()["rules"][0];
    assert_eq!(rule["peopleAfterMs"], 300_000, "what was set before stays: {rule}");
    assert_eq!(rule["holdResults"], true);
    let shown = home.ok(&["rules", "list"]).out;
    assert!(shown.contains("tool tidy_downloads of demo") && shown.contains("people after 5 min"), "{shown}");
    assert_eq!(home.run(&["rules", "set", "--server", "demo"]).code, Some(2), "a rule says something");
    home.ok(&["agents", "add", "claude"]);
    home.ok(&["rules", "set", "--agent", "claude", "--result-tokens", "20k"]);
    let narrow = ["--agent", "claude", "--tool", "tidy_downloads"];
    let set = home.run(&[&["rules", "set"], narrow.as_slice(), &["--result-tokens", "none"]].concat());
    assert_eq!(set.code, Some(2), "no rule of an agent is for one tool: {set:?}");
    assert_eq!(home.run(&[&["rules", "unset"], narrow.as_slice()].concat()).code, Some(2));
    let kept = home.ok(&["rules", "list"]).out;
    assert!(kept.contains("result 20,000 hold"), "the rule for all that the agent starts stands: {kept}");
    home.ok(&["rules", "unset", "--agent", "claude"]);
    let again = home.run(&["rules", "unset", "--agent", "claude", "--json"]);
    assert_eq!((again.code, &again.error()["message"]), (Some(4), &"there is no such rule".into()), "{again:?}");
    assert!(home.run(&["rules", "unset", "--agent", "nobody"]).err.contains("nobody"), "an agent that is unknown");
    assert_eq!(home.run(&["rules", "set", "--server", "demo", "--task-after", "soon"]).code, Some(2));
    assert_eq!(home.run(&["rules", "set", "--agent", "nobody", "--ask", "both"]).code, Some(4));
    let list = home.ok(&["rules", "unset", "--server", "demo", "--tool", "tidy_downloads", "--json"]);
    assert_eq!(list.json()["rules"], Value::Array(Vec::new()));
}

#[test]
fn a_wrong_token_or_server_lets_no_bridge_in() {
    let (home, _core) = Home::with_demo();
    home.ok(&["agents", "add", "claude", "--save"]);
    home.ok(&["agents", "add", "other", "--save"]);
    let run = |args: &[&str], token: Option<&str>| {
        let mut command = home.command(args);
        if let Some(token) = token {
            command.env("TASKWARDEN_TOKEN", token);
        }
        let mut bridge =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut input = bridge.stdin.take().expect("its input");
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).expect("it reads");
        let ran = Ran::from(bridge.wait_with_output().expect("it ends"));
        drop(input);
        assert!(ran.out.contains("\"error\""), "who waits is answered: {ran:?}");
        ran
    };
    let guessed = run(&["connect", "--agent", "claude"], Some("twa_guess"));
    assert_eq!(guessed.code, Some(5), "{guessed:?}");
    assert!(!guessed.err.contains("twa_guess"), "a token is never told: {}", guessed.err);
    let token = std::fs::read_to_string(home.data().join("agents/other.token")).expect("a token");
    assert_eq!(run(&["connect", "--agent", "claude"], Some(token.trim())).code, Some(5), "another agent's token");
    let nowhere = run(&["connect", "dem", "--agent", "claude"], None);
    assert_eq!((nowhere.code, nowhere.err.contains("`dem`")), (Some(4), true), "{nowhere:?}");
}
