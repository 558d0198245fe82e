//! Clients that we did not write, through the gateway: a task to its result, a question, a cancel, a restart in between.
//!
//! | client | speaks | way | what it cannot do |
//! |--------|--------|-----|-------------------|
//! | TypeScript client 2.4 with ext-tasks 0.2 | 2026-07-28, tasks | HTTP | – |
//! | TypeScript SDK 1.32 | 2025-11-25, tasks | HTTP, `connect` | – |
//! | Python SDK 1.30 | 2025-11-25, tasks | HTTP, `connect` | – |
//! | Python SDK 2.3, `fastmcp` 4.1 | 2026-07-28 | HTTP | they know no tasks: a cancel is giving up the call, after a restart they call again |
//! | rmcp 3.9 | 2026-07-28, tasks | `connect` | – |
//! | Inspector CLI 2.12 | what it negotiates | HTTP | one call a run: a cancel is ending it, after a restart it is run again |
//!
//! The server behind is rmcp over HTTP, which we did not write either. People answer with the command line.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::clients::{Told, node, python};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::peers::{self, HttpPeer};

use crate::{PROGRAM, RMCP_PEER};

/// How a client reaches the gateway.
#[derive(Clone, Copy)]
enum Way {
    Http,
    Connect,
}

/// A core with rmcp behind it and an agent in front.
struct Stage {
    gate: Gate,
    token: String,
    _peer: HttpPeer,
}

impl Stage {
    fn set() -> Self {
        let peer = peers::rmcp_http(RMCP_PEER);
        let gate = Gate::open(PROGRAM);
        gate.add_server("rmcp", &["--url", peer.url()]);
        let token = gate.add_agent("bee");
        Self { gate, token, _peer: peer }
    }

    /// Starts a client on a story.
    fn play(&self, mut client: Command, story: &str, way: Way) -> Told {
        client.arg(story);
        match way {
            Way::Http => {
                client.env("CLIENT_URL", self.gate.url("rmcp")).env("CLIENT_TOKEN", &self.token);
            }
            Way::Connect => {
                let connect = self.gate.connect("rmcp", "bee", &self.token);
                let words = std::iter::once(connect.get_program()).chain(connect.get_args());
                let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
                client.env("CLIENT_COMMAND", json!(words).to_string());
                for (name, value) in connect.get_envs() {
                    match value {
                        Some(value) => client.env(name, value),
                        None => client.env_remove(name),
                    };
                }
            }
        }
        Told::start(client, self.gate.home().path())
    }

    /// The agent's task of this tool, once it is in the list.
    fn task(&self, tool: &str, phase: &str) -> String {
        let is_it = |task: &Value| task["tool"] == tool && task["phase"] == phase;
        let task = self.gate.wait_task(&format!("{tool} is {phase}"), is_it);
        task["id"].as_str().expect("an id").to_owned()
    }

    fn answer(&self, id: &str) {
        let ran = self.gate.home().run(["tasks", "answer", id, "--accept", r#"{"name":"Ada"}"#]);
        assert_eq!(ran.code, 0, "the person's answer is taken: {}", ran.err);
    }
}

/// The four stories of a client that knows tasks.
fn stories_with_tasks(client: impl Fn() -> Command, way: Way) {
    let mut stage = Stage::set();

    let mut told = stage.play(client(), "result", way);
    assert_eq!(told.wait("done")["text"], "42", "a task goes to its result");

    let mut told = stage.play(client(), "question", way);
    let id = stage.task("ask_name", "waiting");
    stage.answer(&id);
    assert_eq!(
        told.wait("done")["text"],
        "accept: Ada",
        "what a person answered reaches the server and the client goes on"
    );

    let mut told = stage.play(client(), "cancel", way);
    let handle = told.wait("started")["task"].as_str().expect("a handle").to_owned();
    assert!(handle.starts_with("hdl_"), "the client has our handle, not the server's: {handle}");
    told.say("go");
    assert_eq!(told.wait("done")["status"], "cancelled", "the client's cancel is done");
    stage.task("forever", "cancelled");

    let mut told = stage.play(client(), "restart", way);
    told.wait("started");
    stage.gate.kill();
    stage.gate.start();
    told.say("go");
    let done = told.wait("done");
    assert_eq!(done["text"], "42", "the task outlived the core and the client has its result: {done}");
    let calls = stage.gate.tasks().iter().filter(|task| task["tool"] == "slow_sum").count();
    assert_eq!(calls, 2, "and nothing was called twice");
}

/// The stories of a client that knows no tasks: it holds its calls, and after a restart it calls again.
fn stories_without_tasks(client: impl Fn() -> Command) {
    let mut stage = Stage::set();

    let mut told = stage.play(client(), "result", Way::Http);
    assert_eq!(told.wait("done")["text"], "42", "a task of the server is a plain result to this client");

    let mut told = stage.play(client(), "question", Way::Http);
    let id = stage.task("ask_name", "waiting");
    stage.answer(&id);
    assert_eq!(told.wait("done")["text"], "accept: Ada", "the held call ends with what a person made of it");

    let mut told = stage.play(client(), "cancel", Way::Http);
    stage.task("forever", "running");
    told.say("go");
    told.wait("done");
    let id = stage.task("forever", "running");
    let ran = stage.gate.home().run(["tasks", "cancel", &id, "--yes", "--wait"]);
    assert_eq!(ran.code, 0, "a task whose client gave up lives on, and a person can stop it: {}", ran.err);

    let mut told = stage.play(client(), "restart", Way::Http);
    stage.task("slow_sum", "running");
    stage.gate.kill();
    stage.gate.start();
    assert_eq!(told.wait("done")["text"], "42", "the repeated call has the result");
    let calls = stage.gate.tasks().iter().filter(|task| task["tool"] == "slow_sum").count();
    assert_eq!(calls, 2, "and it joined the task: the tool ran once");
}

#[test]
fn client_typescript_2_with_ext_tasks_works_through_a_restart_over_http() {
    stories_with_tasks(|| node("ts-ext-tasks.mjs"), Way::Http);
}

#[test]
fn client_typescript_1_works_through_a_restart_over_http() {
    stories_with_tasks(|| node("ts-sdk-1.mjs"), Way::Http);
}

#[test]
fn client_typescript_1_works_through_a_restart_over_connect() {
    stories_with_tasks(|| node("ts-sdk-1.mjs"), Way::Connect);
}

#[test]
fn client_python_1_works_through_a_restart_over_http() {
    stories_with_tasks(|| python("venv", "python_sdk_1.py"), Way::Http);
}

#[test]
fn client_python_1_works_through_a_restart_over_connect() {
    stories_with_tasks(|| python("venv", "python_sdk_1.py"), Way::Connect);
}

#[test]
fn client_rmcp_works_through_a_restart_over_connect() {
    let client = || {
        let mut client = Command::new(RMCP_PEER);
        client.arg("client");
        client
    };
    stories_with_tasks(client, Way::Connect);
}

#[test]
fn client_python_2_without_tasks_works_through_a_restart() {
    stories_without_tasks(|| python("clients", "python_sdk_2.py"));
}

#[test]
fn client_fastmcp_without_tasks_works_through_a_restart() {
    stories_without_tasks(|| python("clients", "fastmcp_client.py"));
}

/// The Inspector's command line with one call; ends with what it printed.
fn inspector(stage: &Stage, tool: &str, arguments: &[&str]) -> Command {
    let mut client = node("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let header = format!("Authorization: Bearer {}", stage.token);
    client.args(["--cli", &stage.gate.url("rmcp"), "--transport", "http", "--header", &header]);
    client.args(["--method", "tools/call", "--tool-name", tool]);
    if !arguments.is_empty() {
        client.arg("--tool-arg").args(arguments);
    }
    let catalog: PathBuf = stage.gate.home().path().join("inspector.json");
    client.env("MCP_CATALOG_PATH", catalog).stdin(Stdio::null());
    client
}

#[test]
fn client_inspector_works_through_a_restart() {
    let mut stage = Stage::set();
    let text = |command: &mut Command| {
        let ran = command.output().expect("the Inspector runs");
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
    };
    let said = text(&mut inspector(&stage, "slow_sum", &["a=40", "b=2", "millis=400"]));
    assert!(said.contains("42"), "a task goes to its result: {said}");

    let asking = inspector(&stage, "ask_name", &[]).stdout(Stdio::piped()).spawn().expect("the Inspector runs");
    let id = stage.task("ask_name", "waiting");
    stage.answer(&id);
    let said = asking.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("accept: Ada"), "a person answers what it cannot: {said}");

    let mut endless = inspector(&stage, "forever", &[]).stdout(Stdio::null()).spawn().expect("the Inspector runs");
    let id = stage.task("forever", "running");
    endless.kill().and_then(|()| endless.wait().map(drop)).expect("it ends");
    let ran = stage.gate.home().run(["tasks", "cancel", &id, "--yes", "--wait"]);
    assert_eq!(ran.code, 0, "a task whose client is gone can be stopped: {}", ran.err);

    let slow = ["a=40", "b=2", "millis=8000"];
    let mut cut = inspector(&stage, "slow_sum", &slow).stdout(Stdio::null()).spawn().expect("the Inspector runs");
    stage.task("slow_sum", "running");
    stage.gate.kill();
    stage.gate.start();
    let _ = cut.kill().and_then(|()| cut.wait().map(drop));
    let said = wait_for(
        "the Inspector, run again, has the result",
        || Some(text(&mut inspector(&stage, "slow_sum", &slow))).filter(|said| said.contains("42")),
        || stage.gate.home().core_log(),
    );
    assert!(said.contains("42"), "{said}");
    let calls = stage.gate.tasks().iter().filter(|task| task["tool"] == "slow_sum").count();
    assert_eq!(calls, 2, "and it joined the task: the tool ran once");
}

/// The story of the first page: one agent, one endpoint, three servers that have nothing in common.
#[test]
fn client_uses_three_servers_of_three_kinds_without_noticing() {
    let demo = peers::demo_http(PROGRAM);
    let gate = Gate::open(PROGRAM);
    gate.add_server("demo", &["--url", demo.url()]);
    let everything = peers::everything_command();
    let everything: Vec<&str> = std::iter::once("--").chain(everything.iter().map(String::as_str)).collect();
    gate.add_server("everything", &everything);
    let database = format!("MEMORY_SQLITE_PATH={}", gate.home().path().join("memory.db").display());
    let memory = peers::memorygraph_command();
    let memory: Vec<&str> =
        ["--env", database.as_str(), "--"].into_iter().chain(memory.iter().map(String::as_str)).collect();
    gate.add_server("memory", &memory);
    let token = gate.add_agent("bee");

    let mut client = node("three-servers.mjs");
    client.env("CLIENT_URL", gate.url("*")).env("CLIENT_TOKEN", &token).arg("result");
    let mut told = Told::start(client, gate.home().path());
    let tools = told.wait("tools");
    let listed = tools["names"].to_string();
    for part in ["demo__", "everything__", "memory__"] {
        assert!(listed.contains(part), "the tools of all three are listed: {listed}");
    }
    let (memory, tasks) = (told.wait("plain"), told.wait("task"));
    assert!(memory["text"].as_str().is_some_and(|text| text.contains("bees")), "MemoryGraph answers: {memory}");
    assert!(tasks["text"].as_str().is_some_and(|text| text.contains("ants")), "a 2025 task ends: {tasks}");
    told.wait("done");
    gate.wait_task("the 2025 task is listed", |task| {
        task["tool"] == "simulate-research-query" && task["phase"] == "done"
    });
}
