//! Anchors as a person keeps them: a file or a repository elsewhere gets each checkpoint, and a log that was changed
//! contradicts it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::{Core, Home, until};

/// The branch of a repository that holds the checkpoints.
const BRANCH: &str = "taskwarden-checkpoints";

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

/// What git prints in a folder.
fn git(folder: &Path, args: &[&str]) -> String {
    let ran = Command::new("git").arg("-C").arg(folder).args(args).output().expect("git is installed");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
}

/// A repository in a folder of this name.
fn repository(disk: &Path, name: &str, args: &[&str]) -> PathBuf {
    git(disk, &[&["init", "--quiet"], args, &[name]].concat());
    disk.join(name)
}

/// How many checkpoints a repository has.
fn commits(repository: &Path) -> usize {
    git(repository, &["rev-list", "--count", BRANCH]).parse().expect("a number")
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

/// Anchors a log at a place and goes on with it there; then the registry is again what it was when the place was named.
fn put_older_registry_back(home: &Home, place: &[&str]) {
    let core = serve(home);
    home.ok(&[&["audit", "anchors", "add"], place].concat());
    drop(core);
    let older = home.data().with_file_name("older");
    copy_folder(&home.data(), &older);
    let core = serve(home);
    let before = newest(home);
    for agent in ["one", "two", "three"] {
        home.ok(&["agents", "add", agent]);
    }
    until("the decisions are in the anchor", || newest(home) >= before + 3);
    drop(core);
    std::fs::remove_dir_all(home.data()).expect("the registry is gone");
    copy_folder(&older, &home.data());
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
    assert!(left.out.contains("what lies there stays") && file.exists(), "{left:?}");
    let unknown = home.run(&["audit", "anchors", "remove", "1"]);
    assert!(unknown.code == Some(5) && unknown.err.contains("anchors list"), "{unknown:?}");
}

#[test]
fn an_older_registry_that_was_put_back_contradicts_its_anchor_which_stays_as_it_is() {
    let home = Home::new();
    let file = disk(&home).join("log.notes");
    put_older_registry_back(&home, &["file", text(&file)]);
    let kept = std::fs::read(&file).expect("the anchor");

    let _core = serve(&home);
    let broken = || home.run(&["doctor"]).out.contains("rows were cut off");
    until("doctor names the contradiction", broken);
    let verified = home.run(&["audit", "verify", "--anchor", text(&file)]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.out.contains("rows were cut off"), "{verified:?}");
    assert_eq!(std::fs::read(&file).expect("the anchor"), kept, "the evidence is not written over");
}

#[test]
fn a_new_epoch_goes_on_from_an_older_registry_and_names_the_fork_to_who_does_not_know_of_it() {
    let home = Home::new();
    let file = disk(&home).join("log.notes");
    put_older_registry_back(&home, &["file", text(&file)]);
    let core = serve(&home);
    until("doctor names the contradiction", || home.run(&["doctor"]).out.contains("rows were cut off"));
    let unasked = home.run(&["audit", "checkpoint", "--new-epoch"]);
    assert!(unasked.code == Some(5) && unasked.err.contains("no epoch was begun"), "{unasked:?}");
    let kept = std::fs::read_to_string(&file).expect("the anchor");
    let begun = home.ok(&["audit", "checkpoint", "--new-epoch", "--reason", "the backup of Monday", "--yes"]);
    assert!(begun.out.lines().next().is_some_and(|origin| origin.ends_with("/2")), "{begun:?}");
    let rows = home.ok(&["audit", "list", "--verb", "epochBegun", "--json"]).json();
    let note = rows["rows"][0]["note"].as_str().expect("a note").to_owned();
    let why = "contradicted by anchor 1; the backup of Monday";
    assert!(note.starts_with("epoch 2, `taskwarden/") && note.ends_with(why), "{note}");
    let replaced = home.ok(&["audit", "list", "--verb", "signingKeyReplaced", "--json"]).json();
    assert_eq!(replaced["rows"].as_array().map(Vec::len), Some(0), "the key is the same: {replaced}");

    let now = || std::fs::read_to_string(&file).expect("the anchor");
    until("the place gets copies again", || now().contains("/2\n"));
    assert!(now().starts_with(&kept), "and what it held stays: {}", now());
    let healthy = home.run(&["doctor"]).out;
    assert!(!healthy.contains("rows were cut off") && healthy.contains("it went on from an older copy"), "{healthy}");
    let refused = home.run(&["audit", "checkpoint", "--new-epoch", "--yes"]);
    assert!(refused.code == Some(5) && refused.err.contains("in epoch 2, and no anchor contradicts it"), "{refused:?}");
    let anchor = ["--anchor", text(&file)];
    let forked = home.run(&[&["audit", "verify"], anchor.as_slice()].concat());
    assert!(forked.code == Some(1) && forked.out.contains("it forked, and a row `epochBegun` says who"), "{forked:?}");
    let known = home.run(&[&["audit", "verify", "--epoch", "2"], anchor.as_slice()].concat());
    assert!(known.code == Some(0) && known.out.contains("agrees"), "{known:?}");
    let unknown = home.run(&[&["audit", "verify", "--epoch", "3"], anchor.as_slice()].concat());
    assert!(unknown.code == Some(2) && unknown.err.contains("3 is above the number of this log"), "{unknown:?}");

    let export = home.data().with_file_name("rows.jsonl");
    home.ok(&["audit", "export", "-o", text(&export)]);
    let forked = home.run(&[&["audit", "verify", text(&export)], anchor.as_slice()].concat());
    assert!(forked.code == Some(1) && forked.out.contains("the log forked: the checkpoint of row"), "{forked:?}");
    let known = home.run(&[&["audit", "verify", text(&export), "--epoch", "2"], anchor.as_slice()].concat());
    assert!(known.code == Some(0) && known.out.contains("from before the log went on from an older copy"), "{known:?}");
    drop(core);
    let _core = serve(&home);
    let again = home.ok(&["audit", "checkpoint"]);
    assert!(again.out.lines().next().is_some_and(|origin| origin.ends_with("/2")), "the epoch stays: {again:?}");
    home.ok(&["audit", "verify"]);
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

#[test]
fn each_decision_is_soon_a_commit_that_git_alone_gives_back_as_a_file_of_anchors() {
    let home = Home::new();
    let core = serve(&home);
    let usb = disk(&home);
    let repo = repository(&usb, "proofs", &[]);
    std::fs::write(repo.join("notes.txt"), "mine\n").expect("a file");
    let marker = usb.join("hook-ran");
    let hook = repo.join(".git/hooks/reference-transaction");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", text(&marker))).expect("a hook");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, executable).expect("a hook that runs");
    let added = home.ok(&["audit", "anchors", "add", "git", text(&repo)]);
    assert!(added.out.contains("(git) holds the checkpoint of row"), "{added:?}");
    assert!(added.err.contains("--push REMOTE"), "a repository beside the registry proves less: {added:?}");
    let before = newest(&home);
    home.ok(&["agents", "add", "bee"]);
    until("the decision is in the anchor", || newest(&home) > before);
    drop(core);
    let _core = serve(&home);
    home.ok(&["agents", "add", "wasp"]);
    let signed = home.ok(&["audit", "checkpoint", "--json"]).json()["size"].as_u64().expect("a size");
    until("after a restart it goes on", || newest(&home) >= signed);
    assert!(commits(&repo) >= 3, "one checkpoint after the other");
    assert_eq!(git(&repo, &["status", "--porcelain"]), "?? notes.txt", "the working tree is left alone");
    assert!(!marker.exists(), "no hook of the repository runs in the core");
    git(&repo, &["fsck", "--strict"]);

    let verified = home.ok(&["audit", "verify", "--anchor", text(&repo)]);
    assert!(verified.out.contains("agrees: "), "{verified:?}");
    let (export, anchors) = (usb.join("export.jsonl"), usb.join("checkpoints.notes"));
    home.ok(&["audit", "export", "-o", text(&export)]);
    // As the documentation says, for a machine without Taskwarden.
    std::fs::write(&anchors, git(&repo, &["log", "--reverse", "--format=%b", BRANCH])).expect("a file");
    let verified = home.ok(&["audit", "verify", text(&export), "--anchor", text(&anchors)]);
    assert!(verified.out.contains("agrees with the rows"), "{verified:?}");
    let shown = git(&repo, &["show", &format!("{BRANCH}:checkpoint")]);
    assert!(shown.starts_with("taskwarden/"), "a site that shows the branch shows the note: {shown}");
    let rows = home.ok(&["audit", "list", "--verb", "anchorAdded", "--json"]).json();
    assert_eq!(rows["rows"][0]["note"], format!("{} (git)", text(&repo)), "{rows}");
}

#[test]
fn a_commit_that_could_not_be_pushed_is_told_and_pushed_when_the_remote_is_back() {
    let home = Home::new();
    let _core = serve(&home);
    let usb = disk(&home);
    let (repo, remote) = (repository(&usb, "proofs", &[]), repository(&usb, "server", &["--bare"]));
    git(&repo, &["remote", "add", "elsewhere", text(&remote)]);
    let added = home.ok(&["audit", "anchors", "add", "git", text(&repo), "--push", "elsewhere"]);
    assert!(added.out.contains("pushed to elsewhere") && added.err.is_empty(), "{added:?}");
    let away = usb.join("away");
    std::fs::rename(&remote, &away).expect("the remote is gone");
    home.ok(&["agents", "add", "bee"]);
    let trouble = || home.ok(&["audit", "anchors", "list"]).out.contains("was not pushed to `elsewhere`; git says:");
    until("the list says so", trouble);
    std::fs::rename(&away, &remote).expect("the remote is back");
    let signed = home.ok(&["audit", "checkpoint", "--json"]).json()["size"].as_u64().expect("a size");
    until("it has what it missed", || newest(&home) >= signed);
    let tip = |folder: &Path| git(folder, &["rev-parse", BRANCH]);
    assert_eq!(tip(&repo), tip(&remote), "each commit is there");
    let verified = home.ok(&["audit", "verify", "--anchor", text(&remote)]);
    assert!(verified.out.contains("agrees: "), "{verified:?}");
}

#[test]
fn an_older_registry_contradicts_its_repository_which_gets_no_further_commit() {
    let home = Home::new();
    let repo = repository(&disk(&home), "proofs", &["--bare"]);
    put_older_registry_back(&home, &["git", text(&repo)]);
    let kept = git(&repo, &["rev-parse", BRANCH]);

    let _core = serve(&home);
    until("doctor names the contradiction", || home.run(&["doctor"]).out.contains("rows were cut off"));
    let verified = home.run(&["audit", "verify", "--anchor", text(&repo)]);
    assert!(verified.code == Some(1) && verified.out.contains("rows were cut off"), "{verified:?}");
    home.ok(&["agents", "add", "four"]);
    home.ok(&["audit", "checkpoint"]);
    assert_eq!(git(&repo, &["rev-parse", BRANCH]), kept, "the evidence is not built upon");
}

#[test]
fn what_can_be_no_repository_of_anchors_is_refused_and_named() {
    let home = Home::new();
    let _core = serve(&home);
    let usb = disk(&home);
    let plain = usb.join("plain");
    std::fs::create_dir(&plain).expect("a folder");
    let file = usb.join("shopping.txt");
    std::fs::write(&file, "milk\n").expect("a file");
    let worked_on = repository(&usb, "worked-on", &["--initial-branch", BRANCH]);
    git(&worked_on, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "mine"]);
    let foreign = repository(&usb, "foreign", &[]);
    git(&foreign, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "mine"]);
    git(&foreign, &["branch", BRANCH]);
    let good = repository(&usb, "good", &[]);
    for (place, more, word) in [
        (plain.as_path(), &[][..], "is no git repository"),
        (&file, &[], "is a file"),
        (&usb.join("nowhere"), &[], "is not there"),
        (&worked_on, &[], "checked out"),
        (&foreign, &[], "has a commit without a checkpoint"),
        (&good, &["--push", "nobody"], "has no remote `nobody`"),
        (&good, &["--push", "--mirror"], "--mirror"),
    ] {
        let refused = home.run(&[&["audit", "anchors", "add", "git", text(place)], more].concat());
        assert!(matches!(refused.code, Some(2 | 5)) && refused.err.contains(word), "{word}: {refused:?}");
    }
    let none = home.ok(&["audit", "anchors", "list"]);
    assert!(none.out.contains("not copied anywhere"), "{none:?}");
    assert_eq!(git(&good, &["for-each-ref"]), "", "and nothing was written");
}
