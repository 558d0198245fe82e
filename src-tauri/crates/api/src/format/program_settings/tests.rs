//! Settings for agent programs: whole, with the token where it must be and nowhere else.

use domain::client::profile::PROFILES;
use serde_json::{Value, json};

use super::*;
use crate::dto::{ProgramSettings, SettingsPlace, SettingsText, SettingsTransport};

const URL: &str = "http://127.0.0.1:7717/mcp";

fn made(saved: Option<&str>, url: Option<&str>, home: Option<&str>) -> ReadySettings {
    let connect = ["/opt/task warden".to_owned(), "connect".to_owned()];
    settings(SettingsInput { agent: "mine", token: "twa_x", connect: &connect, home, url, saved })
}

fn of<'a>(all: &'a ReadySettings, program: &str) -> &'a ProgramSettings {
    all.programs.iter().find(|one| one.program == program).expect("it has settings")
}

fn text(all: &ReadySettings, program: &str, transport: SettingsTransport, place: SettingsPlace) -> String {
    let is_it = |text: &&SettingsText| text.transport == transport && text.place == place;
    of(all, program).texts.iter().find(is_it).expect("such a text").text.clone()
}

#[test]
fn settings_name_the_way_and_the_token_once_each() {
    let all = made(None, Some(URL), None);
    let http: Value = serde_json::from_str(&all.http.expect("an address")).expect("JSON");
    assert_eq!(http["mcpServers"]["taskwarden"]["headers"]["Authorization"], "Bearer twa_x");
    let stdio: Value = serde_json::from_str(&all.stdio).expect("JSON");
    let command = &stdio["mcpServers"]["taskwarden"];
    assert_eq!(command["command"], "/opt/task warden");
    assert_eq!(command["args"], json!(["connect", "--agent", "mine"]));
    assert_eq!(command["env"], json!({ "TASKWARDEN_TOKEN": "twa_x" }), "the usual home needs no word");
}

#[test]
fn a_saved_token_does_not_stand_in_the_command() {
    let all = made(Some("/home/ann/a b/mine.token"), None, None);
    assert_eq!((all.http.as_ref(), all.claude.as_ref()), (None, None), "without an address there is nothing to paste");
    let shown: Vec<&str> = all.programs.iter().flat_map(|one| &one.texts).map(|text| text.text.as_str()).collect();
    assert!(!all.stdio.contains("twa_x"), "`connect` reads it from its file");
    assert!(shown.iter().all(|text| !text.contains("twa_x")), "{shown:?}");
    let all = made(Some("/home/ann/a b/mine.token"), Some(URL), None);
    let line = text(&all, "claude-code", SettingsTransport::Http, SettingsPlace::Terminal);
    assert!(line.ends_with(r#"--header "Authorization: Bearer $(cat '/home/ann/a b/mine.token')""#), "{line}");
}

#[test]
fn no_line_for_a_terminal_holds_the_token() {
    for (saved, known) in [(None, 5), (Some("/t"), 6)] {
        let all = made(saved, Some(URL), None);
        let lines = all.programs.iter().flat_map(|one| &one.texts).filter(|text| text.place == SettingsPlace::Terminal);
        let lines: Vec<&str> = lines.map(|text| text.text.as_str()).collect();
        assert_eq!(lines.len(), known, "two of Claude Code and Gemini CLI, one of Codex and VS Code: {lines:?}");
        assert!(lines.iter().all(|line| !line.contains("twa_x") && !line.contains('\n')), "{lines:?}");
    }
}

#[test]
fn another_home_stands_in_every_setting_of_the_command() {
    let all = made(None, Some(URL), Some("/data/my tasks"));
    assert!(all.stdio.contains("\"TASKWARDEN_HOME\": \"/data/my tasks\""), "{}", all.stdio);
    for text in all.programs.iter().flat_map(|one| &one.texts) {
        let is_told = text.text.contains("TASKWARDEN_HOME") && text.text.contains("/data/my tasks");
        assert_eq!(is_told, text.transport == SettingsTransport::Stdio, "{}", text.text);
    }
}

#[test]
fn every_measured_program_has_settings_for_both_ways() {
    let all = made(None, Some(URL), None);
    for profile in PROFILES.iter().filter(|profile| !profile.version.is_empty()) {
        let settings = of(&all, profile.word);
        assert_eq!(settings.label, profile.label);
        assert!(settings.check.is_some(), "{}", profile.word);
        for transport in [SettingsTransport::Http, SettingsTransport::Stdio] {
            assert!(settings.texts.iter().any(|text| text.transport == transport), "{}", profile.word);
        }
    }
    assert_eq!(all.programs.last().map(|last| last.program.as_str()), Some("other"), "and any other program");
    let stdio = made(None, None, None);
    let ways = stdio.programs.iter().flat_map(|one| &one.texts).map(|text| text.transport);
    assert!(ways.into_iter().all(|way| way == SettingsTransport::Stdio), "no address, no settings for one");
}

#[test]
fn codex_gets_toml_and_opencode_its_own_json() {
    let all = made(None, Some(URL), Some("C:\\data"));
    assert_eq!(
        text(&all, "codex", SettingsTransport::Http, SettingsPlace::File),
        "[mcp_servers.taskwarden]\nurl = \"http://127.0.0.1:7717/mcp\"\n\
         http_headers = { Authorization = \"Bearer twa_x\" }"
    );
    assert_eq!(
        text(&all, "codex", SettingsTransport::Stdio, SettingsPlace::File),
        "[mcp_servers.taskwarden]\ncommand = \"/opt/task warden\"\nargs = [\"connect\", \"--agent\", \"mine\"]\n\
         env = { TASKWARDEN_TOKEN = \"twa_x\", TASKWARDEN_HOME = \"C:\\\\data\" }"
    );
    assert_eq!(
        text(&all, "codex", SettingsTransport::Stdio, SettingsPlace::Terminal),
        "read -rs TASKWARDEN_TOKEN && codex mcp add taskwarden --env TASKWARDEN_TOKEN=\"$TASKWARDEN_TOKEN\" \
         --env TASKWARDEN_HOME='C:\\data' -- '/opt/task warden' connect --agent mine"
    );
    let json = |transport| -> Value {
        serde_json::from_str(&text(&all, "opencode", transport, SettingsPlace::File)).expect("JSON")
    };
    let remote = &json(SettingsTransport::Http)["mcp"]["taskwarden"];
    let headers = json!({ "Authorization": "Bearer twa_x" });
    assert_eq!(*remote, json!({ "type": "remote", "url": URL, "headers": headers, "oauth": false }));
    let local = &json(SettingsTransport::Stdio)["mcp"]["taskwarden"];
    assert_eq!(local["command"], json!(["/opt/task warden", "connect", "--agent", "mine"]));
    assert_eq!(local["environment"]["TASKWARDEN_TOKEN"], "twa_x");
}

#[test]
fn cursor_and_vs_code_get_the_form_that_their_makers_document() {
    let all = made(Some("/t"), Some(URL), None);
    let json = |program, transport| -> Value {
        serde_json::from_str(&text(&all, program, transport, SettingsPlace::File)).expect("JSON")
    };
    let headers = json!({ "Authorization": "Bearer twa_x" });
    let remote = json("cursor", SettingsTransport::Http)["mcpServers"]["taskwarden"].clone();
    assert_eq!(remote, json!({ "url": URL, "headers": headers }));
    let remote = json("vscode", SettingsTransport::Http)["servers"]["taskwarden"].clone();
    assert_eq!(remote, json!({ "type": "http", "url": URL, "headers": headers }));
    let local = json("vscode", SettingsTransport::Stdio)["servers"]["taskwarden"].clone();
    assert_eq!(local["args"], json!(["connect", "--agent", "mine"]));
    let line = text(&all, "vscode", SettingsTransport::Stdio, SettingsPlace::Terminal);
    assert!(line.starts_with("code --add-mcp '{") && line.contains(r#""name":"taskwarden""#), "{line}");
}
