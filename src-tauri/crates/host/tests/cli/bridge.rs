//! The bridge between an agent's pipes and the core, whose end the agent does not notice.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::home::Home;

/// Longest wait for an answer.
const LIMIT: Duration = crate::home::PATIENCE;

/// An agent's program that speaks through a bridge.
pub(crate) struct Agent<'a> {
    home: &'a Home,
    bridge: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
}

impl<'a> Agent<'a> {
    pub(crate) fn start(home: &'a Home) -> Self {
        Self::start_with(home, |_| {})
    }

    /// The same, with a bridge whose surroundings are changed.
    pub(crate) fn start_with(home: &'a Home, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = home.command(&["connect", "demo", "--agent", "claude"]);
        change(&mut command);
        let mut bridge =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let output = BufReader::new(bridge.stdout.take().expect("its output"));
        let (told, lines) = mpsc::sync_channel(1_000);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else { panic!("not JSON: `{line}`") };
                if told.send(value).is_err() {
                    return;
                }
            }
        });
        let input = bridge.stdin.take();
        Self { home, bridge, input, lines }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{message}").and_then(|()| input.flush()).expect("the bridge reads");
    }

    pub(crate) fn ask(&mut self, id: i64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// The answer to a request; anything else that comes is passed over, but no other answer.
    pub(crate) fn answer(&self, id: i64) -> Value {
        loop {
            let value = self.lines.recv_timeout(LIMIT).expect("an answer in time");
            if value.get("method").is_none() {
                assert_eq!(value["id"], id, "answers come once and to what was asked: {value}");
                return value;
            }
        }
    }

    pub(crate) fn greet(&mut self) {
        let who = json!({"name": "agent", "version": "1"});
        self.ask(1, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}));
        assert_eq!(self.answer(1)["result"]["protocolVersion"], "2025-11-25");
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    pub(crate) fn bridge_pid(&self) -> u32 {
        self.bridge.id()
    }

    /// The process that has the data directory.
    pub(crate) fn core(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.home.data().join("core.lock")).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }
}

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        let _ = self.bridge.kill();
        let _ = self.bridge.wait();
        // The core that the bridge started is nobody's child here.
        if let Some(core) = self.core() {
            let _ = kill_process(core, Signal::TERM);
        }
    }
}

fn home_with_work() -> (Home, crate::home::Core, Value) {
    let (home, core) = Home::with_demo();
    home.ok(&["agents", "add", "claude", "--save"]);
    // A core that a bridge starts takes no setting from the environment of this test.
    std::fs::write(home.data().join("config.toml"), "listen = \"off\"\n").expect("it can be written");
    let names: Vec<String> = (0..600).map(|number| format!("{number}.txt")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let folder = home.folder("work", &names);
    (home, core, json!({"name": "index_folder", "arguments": {"path": folder}}))
}

/// Waits until the one task is at work, so that the core is killed under it.
fn until_working(home: &Home) {
    let mut last = Value::Null;
    for _ in 0..500 {
        last = home.ok(&["tasks", "list", "--json"]).json();
        if last["tasks"][0]["id"].is_string() {
            return;
        }
    }
    panic!("no task came: {last}");
}

/// A result, or an honest word that it is not confirmed.
fn is_honest(answer: &Value) -> bool {
    let is_done = answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("600 files"));
    let said = answer["error"]["message"].as_str().unwrap_or_default();
    is_done || said.contains("not confirmed") || said.contains("lost") || said.contains("not known")
}

#[test]
fn a_killed_core_is_a_pause_for_an_agent_of_2025() {
    let (home, core, call) = home_with_work();
    let mut agent = Agent::start(&home);
    agent.greet();
    agent.ask(2, "tools/call", call);
    until_working(&home);
    let before = agent.core();
    core.kill();
    let answer = agent.answer(2);
    assert!(is_honest(&answer), "its result, or that it is not confirmed: {answer}");
    agent.ask(3, "tools/list", json!({}));
    assert!(agent.answer(3)["result"]["tools"].as_array().is_some_and(|tools| tools.len() >= 9), "all as before");
    assert_ne!(agent.core(), before, "another core does it");
    agent.input = None;
    assert_eq!(agent.bridge.wait().expect("it ends").code(), Some(0), "the bridge ends with its input");
}

#[test]
fn a_killed_core_is_a_pause_for_an_agent_of_2026() {
    let (home, core, mut call) = home_with_work();
    let mut agent = Agent::start(&home);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    agent.ask(1, "server/discover", json!({"_meta": meta}));
    assert!(agent.answer(1)["result"]["capabilities"].is_object());
    call["_meta"] = meta.clone();
    agent.ask(2, "tools/call", call);
    until_working(&home);
    core.kill();
    let answer = agent.answer(2);
    assert!(is_honest(&answer), "its result, or that it is not confirmed: {answer}");
    agent.ask(3, "tools/list", json!({"_meta": meta}));
    assert!(agent.answer(3)["result"]["tools"].is_array(), "all as before");
}

/// Replaces a command by a shell that runs it as its child: with something after it, the shell stays.
fn through_a_shell(command: &mut Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{line}; true")]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    *command = shell;
}

#[test]
fn where_it_is_strict_what_an_agents_program_runs_neither_reads_nor_decides() {
    strict_agents(|_| {});
}

#[test]
fn where_it_is_strict_a_shell_between_an_agents_program_and_its_bridge_changes_nothing() {
    strict_agents(through_a_shell);
}

fn strict_agents(start: impl FnOnce(&mut Command)) {
    let (home, core, call) = home_with_work();
    core.signal(Signal::TERM);
    assert_eq!(core.ended(), Some(0));
    std::fs::write(home.data().join("config.toml"), "strict_agents = true\n").expect("it can be written");
    let _core = home.serve();
    home.ok(&["rules", "set", "--server", "demo", "--ask", "people"]);
    let mut agent = Agent::start_with(&home, start);
    agent.greet();
    agent.ask(2, "tools/call", call);
    // This test started the bridge: it is the agent's program, and so is everything it runs.
    let task = "hdl_00000000000000000000000000";
    assert!(home.run(&["doctor"]).out.contains("answers, version"), "how the core is may be known");
    for args in [
        &["tasks", "list"] as &[&str],
        &["tasks", "cancel", task],
        &["tasks", "answer", task, "--decline"],
        &["agents", "add", "mine"],
        &["agents", "revoke", "claude", "--yes"],
        &["rules", "set", "--server", "demo", "--ask", "agent"],
        &["servers", "add", "x", "--yes", "--", "true"],
        &["ui"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(5), "{args:?}: {ran:?}");
    }
    let in_another_session = Command::new("setsid")
        .args(["--wait", crate::home::PROGRAM, "agents", "add", "mine"])
        .env("TASKWARDEN_HOME", home.data())
        .output()
        .expect("it runs");
    assert_eq!(in_another_session.status.code(), Some(5), "a session of its own does not make it a person's");
    assert!(agent.answer(2)["result"].is_object(), "the agent's own work goes on");
}

#[test]
fn a_bridge_starts_a_core_when_there_is_none_unless_a_person_said_no() {
    let (home, core, _) = home_with_work();
    core.signal(Signal::TERM);
    assert_eq!(core.ended(), Some(0));
    let mut agent = Agent::start(&home);
    agent.greet();
    let started = agent.core().expect("a core");
    agent.input = None;
    agent.bridge.wait().expect("the bridge ends");
    assert!(home.run(&["doctor"]).out.contains("answers, version"), "the core it started stays");
    kill_process(started, Signal::TERM).expect("it can be stopped");
}
