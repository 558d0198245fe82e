//! A core that a bridge started serves all agents, and none of them can take it along when its program ends.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::bridge::Agent;
use crate::home::Home;

/// Everything that descends from a process at this moment, as opencode finds it: by parents, again and again.
fn descendants(of: u32) -> HashSet<u32> {
    let folders = fs::read_dir("/proc").expect("/proc").flatten();
    let parents: HashMap<u32, u32> = folders
        .filter_map(|folder| {
            let pid = folder.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(folder.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = HashSet::from([of]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            found.remove(&of);
            return found;
        }
        found.extend(more);
    }
}

fn end(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// A home with the demo server and an agent, and no core.
fn home_without_core() -> Home {
    let (home, core) = Home::with_demo();
    home.ok(&["agents", "add", "claude", "--save"]);
    fs::write(home.data().join("config.toml"), "listen = \"off\"\n").expect("it can be written");
    core.signal(Signal::TERM);
    assert_eq!(core.ended(), Some(0));
    home
}

#[test]
fn a_client_that_ends_all_descendants_of_its_servers_takes_no_core_and_no_task_along() {
    let home = home_without_core();
    let mut first = Agent::start(&home);
    first.greet();
    let core = first.core().expect("the first bridge started a core");
    let mut second = Agent::start(&home);
    second.greet();
    let names: Vec<String> = (0..300).map(|number| format!("{number}.txt")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let folder = home.folder("work", &names);
    second.ask(2, "tools/call", json!({"name": "index_folder", "arguments": {"path": folder}}));

    let bridge = first.bridge_pid();
    let below = descendants(bridge);
    let number = core.as_raw_nonzero().get().unsigned_abs();
    assert!(!below.contains(&number), "the core is none of them: {below:?}");
    let session = rustix::process::getsid(Some(core)).expect("its session");
    assert_eq!(session, core, "it has a session of its own");
    for pid in below {
        end(pid, Signal::TERM);
    }
    end(bridge, Signal::KILL);

    let answer = second.answer(2);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("300 files"), "the other agent's call goes on to its result: {answer}");
    assert_eq!(second.core(), Some(core), "with the same core");
    assert!(descendants(number).len() >= 2, "the core holds its keepers, not the bridge");
}

#[test]
fn a_bridge_that_is_killed_while_its_core_starts_leaves_a_whole_core() {
    let home = home_without_core();
    let mut first = Agent::start(&home);
    let ended = first.core();
    let who = json!({"name": "agent", "version": "1"});
    first.ask(1, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}));
    // As soon as the core has the data directory; it has said nothing yet.
    let begun = std::time::Instant::now();
    let core = loop {
        if let Some(core) = first.core().filter(|core| Some(*core) != ended) {
            break core;
        }
        assert!(begun.elapsed() < crate::home::PATIENCE, "a core comes");
        std::thread::yield_now();
    };
    end(first.bridge_pid(), Signal::KILL);
    let mut second = Agent::start(&home);
    second.greet();
    assert_eq!(second.core(), Some(core), "the core came up without the bridge that asked for it");
}

#[test]
fn what_a_client_left_is_no_person_to_the_core_that_its_bridge_started() {
    let home = home_without_core();
    let mut agent = Agent::start_with(&home, |_| {
        // This test adopts orphans from now on, the core among them, as some clients do.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("it adopts");
    });
    agent.greet();
    let core = agent.core().expect("a core");
    let stat = fs::read_to_string(format!("/proc/{}/stat", core.as_raw_nonzero())).expect("its facts");
    let parent = stat.rsplit_once(')').and_then(|(_, after)| after.split_whitespace().nth(1)).expect("its parent");
    assert_eq!(parent, std::process::id().to_string(), "the nearest that adopts has it, and the bridge does not");
    let ran = home.run(&["agents", "add", "mine"]);
    assert_eq!(ran.code, Some(5), "a child of it may be anybody's orphan: {ran:?}");
    let orphan = home.command(&["agents", "add", "mine"]).get_program().to_owned();
    let script = format!("({} agents add mine; echo $? > \"$OUT\") & exit 0", orphan.display());
    let out = home.folder("out", &[]).join("code");
    let mut left = Command::new("sh");
    left.args(["-c", &script]).env("OUT", &out).env("TASKWARDEN_HOME", home.data()).env("TASKWARDEN_SECRETS", "file");
    assert!(left.stdin(Stdio::null()).status().expect("a shell").success());
    let begun = std::time::Instant::now();
    while fs::read_to_string(&out).unwrap_or_default().trim().is_empty() {
        assert!(begun.elapsed() < crate::home::PATIENCE, "the orphan tries");
        std::thread::yield_now();
    }
    assert_eq!(fs::read_to_string(&out).expect("its code").trim(), "5", "nor is what it left behind a person");
}
