//! What planning and writing cost: each text is parsed once, however large it is and however many entries it has.

use domain::policy::Policy;

use super::*;

fn parsed_by<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = crate::clients::document::PARSED.get();
    let done = act();
    (done, crate::clients::document::PARSED.get() - before)
}

fn routing_of(path: &Path, names: &[&str]) -> BridgeEdit {
    let entry = |name: &&str| (vec!["mcpServers".to_owned(), (*name).to_owned()], (*name).to_owned());
    BridgeEdit {
        client: "claude-code".into(),
        path: path.to_owned(),
        entries: names.iter().map(entry).collect(),
        agent: "claude-code".into(),
        connect: vec!["/usr/bin/taskwarden".into(), "connect".into()],
        home: None,
    }
}

#[test]
fn a_route_parses_the_file_and_its_result_once_and_what_was_agreed_to_is_not_planned_again() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join(".claude.json");
    let policy = Policy::default().client_files;
    let text = r#"{"history": ["a"], "mcpServers": {"one": {"command": "npx"}, "two": {"command": "npx"}}}"#;
    std::fs::write(&path, text).expect("it is written");
    let edit = routing_of(&path, &["one", "two"]);
    let (plan, parsed) = parsed_by(|| plan_route(&edit, &policy).expect("it can be routed"));
    assert_eq!(parsed, 2, "the file and its result");

    let asked = EditToWrite::Route { edit, backup: home.path().join("backups/one") };
    let (written, parsed) = parsed_by(|| write_edit(&asked, &plan, &policy).expect("it is written"));
    assert_eq!(parsed, 0, "the file has the bytes that were planned for");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), written.plan.after.reveal());
}

#[test]
fn a_file_that_was_saved_since_it_was_planned_is_planned_anew() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join(".claude.json");
    let policy = Policy::default().client_files;
    let text = r#"{"starts": 1, "mcpServers": {"one": {"command": "npx"}}}"#;
    std::fs::write(&path, text).expect("it is written");
    let edit = routing_of(&path, &["one"]);
    let plan = plan_route(&edit, &policy).expect("it can be routed");
    std::fs::write(&path, text.replace('1', "2")).expect("it is saved");

    let asked = EditToWrite::Route { edit, backup: home.path().join("backups/one") };
    write_edit(&asked, &plan, &policy).expect("its entries are those that were agreed to");
    let now = std::fs::read_to_string(&path).expect("it is there");
    assert!(now.contains("\"starts\": 2") && now.contains("/usr/bin/taskwarden"), "{now}");

    std::fs::write(&path, text.replace("npx", "other")).expect("it is saved");
    let refused = write_edit(&asked, &plan, &policy).expect_err("another command needs another agreement");
    assert!(matches!(refused, ReplaceError::Refused(why) if why.contains("changed since")));
}

/// Twelve programs with a file of two servers each; what stands in it as `one` is the program's own.
fn files_of_programs() -> Vec<(&'static str, &'static str, String)> {
    let entries = "\"demo\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\",  \"x\"],\n      \"timeout\": 5\n    },\n    \"other\": { \"command\": \"cat\" }";
    let json = |section: &str| format!("{{\n  \"theme\": \"one\",\n  \"{section}\": {{\n    {entries}\n  }}\n}}\n");
    let listed = "\"demo\": { \"type\": \"local\", \"command\": [\"npx\", \"-y\"], \"enabled\": true },\n    \"other\": { \"type\": \"remote\", \"url\": \"http://h\" }";
    let commented = |text: String| text.replace("one\",", "one\", // mine");
    let mut files: Vec<(&str, &str, String)> = [
        ("claude-code", ".claude.json"),
        ("claude-desktop", "Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("cline", "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ("kiro", ".kiro/settings/mcp.json"),
        ("lm-studio", ".lmstudio/mcp.json"),
        ("gemini-cli", ".gemini/settings.json"),
    ]
    .into_iter()
    .map(|(client, file)| (client, file, json("mcpServers")))
    .collect();
    files.push(("vscode", "Code/User/mcp.json", commented(json("servers"))));
    files.push(("zed", "zed/settings.json", commented(json("context_servers"))));
    files.push(("opencode", "opencode/opencode.json", commented(json("mcp")).replace(entries, listed)));
    let toml = "theme = \"one\" # mine\n\n[mcp_servers.demo]\ncommand = \"npx\"\nargs = [ \"-y\", \"x\" ]\ntool_timeout_sec = 5\n\n[mcp_servers.other]\ncommand = \"cat\"\n";
    files.push(("codex", "config.toml", toml.into()));
    let yaml = "theme: one # mine\nextensions:\n  demo:\n    type: stdio\n    cmd: npx\n    args: [ \"-y\" ]\n    timeout: 5\n  other:\n    type: stdio\n    cmd: cat\n";
    files.push(("goose", "goose/config.yaml", yaml.into()));
    files
}

/// The same file as other editors write it: Windows line ends, a byte-order mark, no end of its last line, tabs or a comment.
fn forms(text: &str) -> [String; 5] {
    let tabs = if text.starts_with('{') { text.replace("  ", "\t") } else { format!("# mine\n{text}") };
    [text.into(), text.replace('\n', "\r\n"), format!("\u{feff}{text}"), text.trim_end().into(), tabs]
}

#[test]
fn sixty_files_of_twelve_programs_are_byte_for_byte_as_before_but_for_what_the_program_wrote_itself() {
    let policy = Policy::default().client_files;
    let mut count = 0;
    for (client, file, text) in files_of_programs() {
        for text in forms(&text) {
            let home = tempfile::tempdir().expect("a folder");
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, &text).expect("it is written");
            let (_, kind) = kind_of(client, &path).expect("the program is known");
            let section = kind.sections[0].iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
            let place = |name: &str| section.iter().cloned().chain([name.to_owned()]).collect();
            let edit = BridgeEdit {
                client: client.into(),
                path: path.clone(),
                entries: ["demo", "other"].map(|name| (place(name), name.to_owned())).to_vec(),
                agent: client.into(),
                connect: vec!["/usr/bin/taskwarden".into(), "connect".into()],
                home: Some("/elsewhere".into()),
            };
            let plan = plan_route(&edit, &policy).unwrap_or_else(|why| panic!("{client}: {why}: {text:?}"));
            let routed = plan.after.reveal().to_owned();
            assert_eq!(routed.matches("/usr/bin/taskwarden").count(), 2, "{client}: {routed:?}");
            let step = UndoStep {
                before: plan.before.expect("it is there"),
                after_digest: sha256_hex(&routed),
                changes: plan.changes,
            };
            let undo = UndoEdit { client: client.into(), path: path.clone(), steps: vec![step] };
            for own in ["one", "two"] {
                std::fs::write(&path, routed.replace("one", own)).expect("the program saves");
                let undone = plan_undo(&undo, &policy).unwrap_or_else(|why| panic!("{client}: {why}: {text:?}"));
                assert_eq!(undone.after.reveal(), text.replace("one", own), "{client}");
                assert_eq!(undone.kept, Vec::<String>::new(), "{client}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 60);
}
