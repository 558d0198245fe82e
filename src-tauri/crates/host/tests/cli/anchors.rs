//! Anchors as a person keeps them: a file elsewhere gets each checkpoint, and a log that was changed contradicts it.

use std::path::{Path, PathBuf};

use crate::home::{Core, Home, until};

/// Copies and tries follow each other at once.
const AT_ONCE: [(&str, &str); 3] = [
    ("TASKWARDEN_POLICY_AUDIT_ANCHOR_GAP", "10ms"),
    ("TASKWARDEN_POLICY_AUDIT_ANCHOR_AGAIN", "100ms"),
    ("TASKWARDEN_POLICY_AUDIT_CHECKPOINT_GAP", "10ms"),
];

fn serve(home: &Home) -> Core {
    let mut command = home.command(&["serve", "--json"]);
    command.envs(AT_ONCE);
    home.listening(command).0
}

/// A folder that stands for another disk.
fn disk(home: &Home) -> PathBuf {
    let folder = home.data().with_file_name("usb");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn newest(home: &Home) -> u64 {
    let listed = home.ok(&["audit", "anchors", "list", "--json"]).json();
    listed["anchors"][0]["newest"].as_u64().unwrap_or(0)
}

/// How many checkpoints a file holds.
fn notes(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().matches("\u{2014} taskwarden/").count()
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target);
        } else if source.is_file() {
            std::fs::copy(&source, &target).expect("a copy");
        }
    }
}

#[test]
fn each_decision_is_soon_in_the_anchor_and_the_log_is_verified_with_it() {
    let home = Home::new();
    let _core = serve(&home);
    let file = disk(&home).join("log.notes");
    let added = home.ok(&["audit", "anchors", "add", "file", text(&file)]);
    assert!(added.out.contains("holds the checkpoint of row"), "{added:?}");
    assert!(added.err.contains("on the disk of the registry"), "a folder beside it is no other disk: {added:?}");
    let before = newest(&home);
    home.ok(&["agents", "add", "bee"]);
    until("the decision is in the anchor", || newest(&home) > before);
    assert!(notes(&file) >= 2, "one checkpoint after the other");

    let verified = home.ok(&["audit", "verify", "--anchor", text(&file)]);
    assert!(verified.out.contains("agrees: "), "{verified:?}");
    let export = disk(&home).join("export.jsonl");
    home.ok(&["audit", "export", "-o", text(&export)]);
    let verified = home.ok(&["audit", "verify", text(&export), "--anchor", text(&file)]);
    assert!(verified.out.contains("agrees with the rows"), "the same file proves an export: {verified:?}");
    let rows = home.ok(&["audit", "list", "--verb", "anchorAdded", "--json"]).json();
    assert_eq!(rows["rows"][0]["note"], text(&file), "who named the place is on record: {rows}");

    let left = home.ok(&["audit", "anchors", "remove", "1"]);
    assert!(left.out.contains("its file stays") && file.exists(), "{left:?}");
    let unknown = home.run(&["audit", "anchors", "remove", "1"]);
    assert!(unknown.code == Some(5) && unknown.err.contains("anchors list"), "{unknown:?}");
}

#[test]
fn an_older_registry_that_was_put_back_contradicts_its_anchor_which_stays_as_it_is() {
    let home = Home::new();
    let core = serve(&home);
    let file = disk(&home).join("log.notes");
    home.ok(&["audit", "anchors", "add", "file", text(&file)]);
    drop(core);
    let older = home.data().with_file_name("older");
    copy_folder(&home.data(), &older);
    let core = serve(&home);
    let before = newest(&home);
    for agent in ["one", "two", "three"] {
        home.ok(&["agents", "add", agent]);
    }
    until("the decisions are in the anchor", || newest(&home) >= before + 3);
    drop(core);
    let kept = std::fs::read(&file).expect("the anchor");
    std::fs::remove_dir_all(home.data()).expect("the registry is gone");
    copy_folder(&older, &home.data());

    let _core = serve(&home);
    let broken = || home.run(&["doctor"]).out.contains("rows were cut off");
    until("doctor names the contradiction", broken);
    let verified = home.run(&["audit", "verify", "--anchor", text(&file)]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.out.contains("rows were cut off"), "{verified:?}");
    assert_eq!(std::fs::read(&file).expect("the anchor"), kept, "the evidence is not written over");
}

#[test]
fn a_place_that_went_away_is_told_and_gets_what_it_missed_when_it_is_back() {
    let home = Home::new();
    let _core = serve(&home);
    let usb = disk(&home);
    let file = usb.join("log.notes");
    home.ok(&["audit", "anchors", "add", "file", text(&file)]);
    let away = usb.with_file_name("away");
    std::fs::rename(&usb, &away).expect("the disk is taken away");
    std::fs::create_dir(&usb).expect("its folder stays");
    home.ok(&["agents", "add", "bee"]);
    let trouble = || home.ok(&["audit", "anchors", "list"]).out.contains("is not there");
    until("the list says so", trouble);
    assert!(home.run(&["doctor"]).out.contains("is not there"), "and doctor");
    assert!(!file.exists(), "no file is made where the disk was mounted");
    std::fs::remove_dir(&usb).expect("empty");
    std::fs::rename(&away, &usb).expect("the disk is back");
    let signed = home.ok(&["audit", "checkpoint", "--json"]).json()["size"].as_u64().expect("a size");
    until("it has what it missed", || newest(&home) >= signed);
}

#[test]
fn what_can_be_no_anchor_is_refused_and_named() {
    let home = Home::new();
    let _core = serve(&home);
    let usb = disk(&home);
    let list = usb.join("shopping.txt");
    std::fs::write(&list, "milk\n").expect("a file");
    std::os::unix::fs::symlink(&list, usb.join("link")).expect("a link");
    let foreign = usb.join("foreign.notes");
    let other = Home::new();
    let _other_core = serve(&other);
    other.ok(&["audit", "anchors", "add", "file", text(&foreign)]);
    let inside = home.data().join("log.notes");
    for (place, code, word) in [
        (list.as_path(), 5, "does not end with a checkpoint"),
        (&usb.join("link"), 5, "is a link"),
        (&usb, 5, "is a folder"),
        (&usb.join("no/such/folder.notes"), 5, "is not there"),
        (&foreign, 5, "does not end with a checkpoint of this log"),
        (&inside, 2, "data folder"),
    ] {
        let refused = home.run(&["audit", "anchors", "add", "file", text(place)]);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(word) && refused.err.contains(text(place)), "{word}: {refused:?}");
    }
    assert_eq!(std::fs::read(&list).expect("a file"), b"milk\n", "nothing was written there");
    let none = home.ok(&["audit", "anchors", "list"]);
    assert!(none.out.contains("not copied anywhere"), "{none:?}");
    let rows = home.ok(&["audit", "list", "--verb", "anchorAdded", "--json"]).json();
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(0), "what was refused is not on record: {rows}");

    let good = usb.join("log.notes");
    home.ok(&["audit", "anchors", "add", "file", text(&good)]);
    let twice = home.run(&["audit", "anchors", "add", "file", text(&good)]);
    assert!(twice.code == Some(5) && twice.err.contains("already"), "{twice:?}");
    let unread = home.run(&["audit", "verify", "--anchor", text(&list)]);
    assert!(unread.code == Some(2) && unread.err.contains("shopping.txt"), "{unread:?}");
}
