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
