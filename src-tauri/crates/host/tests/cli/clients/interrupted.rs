//! Routes that are disturbed: the core is killed in the middle, and the program saves its file all the time.
//!
//! The number of rounds is small here; `TASKWARDEN_ROUTE_ROUNDS` raises it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::User;
use super::routed::claude_text;

fn rounds(usual: u64) -> u64 {
    std::env::var("TASKWARDEN_ROUTE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is always there")
}

#[test]
fn a_core_that_is_killed_in_the_middle_leaves_the_old_file_or_the_new_one_and_is_undone_afterwards() {
    let user = User::new();
    let text = claude_text();
    let path = user.write(".claude.json", &text);
    let mut core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    let routed = read(&path);
    user.ok(&["clients", "undo", "claude-code", "--yes"]);
    let (mut old, mut new) = (0, 0);
    for round in 0..rounds(8) {
        let mut command = user.command(&["clients", "route", "claude-code", "--yes"]);
        let mut asking =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("it starts");
        // Sampled over the time that a route takes: each round ends the core a little later.
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(12 * (round % 16)) {
            std::thread::yield_now();
        }
        core.kill();
        asking.wait().expect("it ends");
        match read(&path) {
            found if found == text => old += 1,
            found if found == routed => new += 1,
            found => panic!("a part of a file: {found}"),
        }
        core = user.serve();
        let state = super::server(&user.clients(&user.file("nowhere")), "claude-code", "demo")["state"].clone();
        let undo = user.run(&["clients", "undo", "claude-code", "--yes"]);
        let expected = if state == "routed" { 0 } else { 4 };
        assert_eq!(undo.code, Some(expected), "what is known fits the file: {state} {undo:?}");
        assert_eq!(read(&path), text, "byte for byte, in round {round}");
        let names = std::fs::read_dir(path.parent().expect("a folder")).expect("files").flatten();
        let left: Vec<_> = names
            .map(|file| file.file_name())
            .filter(|name| name.to_string_lossy().contains("taskwarden-new"))
            .collect();
        assert!(left.is_empty(), "nothing is left beside the file: {left:?}");
    }
    println!("{old} rounds ended with the old file, {new} with the new one");
}

/// Saves like Claude Code: reads, changes its own number, writes beside it and renames.
fn save(path: &Path, number: u64) {
    let mut value: Value = serde_json::from_str(&read(path)).expect("a whole file at every moment");
    value["edits"][number.to_string()] = json!(number);
    let new = path.with_extension("saving");
    std::fs::write(&new, serde_json::to_string_pretty(&value).expect("JSON")).expect("it is written");
    std::fs::rename(&new, path).expect("it is renamed");
}

#[test]
fn a_program_that_saves_every_10_ms_loses_none_of_its_edits() {
    let user = User::new();
    let path = user.write(".claude.json", &claude_text());
    let _core = user.serve();
    user.ok(&["clients", "import", "--yes"]);
    let (ends, saved) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut done, mut refused) = (0_u32, 0_u32);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let tick = ticks(Duration::from_millis(10));
            while !ends.load(Ordering::Relaxed) {
                save(&path, saved.load(Ordering::Relaxed));
                saved.fetch_add(1, Ordering::Relaxed);
                tick();
            }
        });
        for _ in 0..rounds(30) {
            if done >= 4 {
                break;
            }
            for act in ["route", "undo"] {
                match user.run(&["clients", act, "claude-code", "--yes"]).code {
                    Some(0) => done += 1,
                    _ => refused += 1,
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
    let value: Value = serde_json::from_str(&read(&path)).expect("JSON");
    let count = saved.load(Ordering::Relaxed);
    let missing: Vec<u64> = (0..count).filter(|n| value["edits"][n.to_string()] != json!(n)).collect();
    assert!(missing.is_empty(), "of {count} edits, {missing:?} are lost; {done} acts were done, {refused} refused");
    assert!(count > 0 && done + refused > 0, "{count} edits, {done} acts done, {refused} refused");
    // How many acts come between two saves depends on the machine. Once the program is quiet, each gets through.
    user.run(&["clients", "undo", "claude-code", "--yes"]);
    user.ok(&["clients", "route", "claude-code", "--yes"]);
    let value: Value = serde_json::from_str(&read(&path)).expect("JSON");
    assert!((0..count).all(|n| value["edits"][n.to_string()] == json!(n)), "{value}");
    println!("{count} edits, {done} acts done, {refused} refused");
}

/// Waits until the next multiple of a time.
#[expect(clippy::disallowed_methods, reason = "the pace of a program that saves, not a wait for something")]
fn ticks(every: Duration) -> impl Fn() {
    let begun = std::time::Instant::now();
    move || {
        let past = begun.elapsed().as_micros() % every.as_micros();
        std::thread::sleep(every.saturating_sub(Duration::from_micros(u64::try_from(past).unwrap_or(0))));
    }
}
