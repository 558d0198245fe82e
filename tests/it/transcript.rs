//! What the budget shows is what the client's own transcript contains.
//!
//! Clients that we did not write use the gateway and write down every message that they sent and received. A program that
//! shares nothing with ours (`clients/count.py`, Python's tiktoken) counts that transcript by decision 0014, and each
//! source must be the same to the token: `o200k` is counted exactly, so there is no bound to state. Families that are
//! estimated have no public tokenizer to compare with; their error is measured in the tokens crate.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::budget::{SOURCES, passed};
use tests::clients::{Told, node, python};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::peers::{self, HttpPeer};

use crate::PROGRAM;

/// A core with an agent that is counted by `o200k`, and the place of its client's transcript.
struct Stage {
    gate: Gate,
    token: String,
    _demo: HttpPeer,
}

impl Stage {
    fn set(agent: &str) -> Self {
        let demo = peers::demo_http(PROGRAM);
        let mut gate = Gate::open(PROGRAM);
        gate.kill();
        // So that a call that goes on does so in seconds.
        let soon = [
            ("TASKWARDEN_POLICY_GATEWAY_CALL_LIMIT_UNKNOWN", "4s"),
            ("TASKWARDEN_POLICY_GATEWAY_CALL_LIMIT_MARGIN", "1s"),
        ];
        gate.start_with(&soon);
        gate.add_server("demo", &["--url", demo.url()]);
        let token = gate.add_agent(agent);
        gate.count_by(agent, "o200k", 200_000);
        gate.limit("--agent", agent, "--result-tokens", "5000:hold");
        Self { gate, token, _demo: demo }
    }

    fn transcript(&self) -> PathBuf {
        self.gate.home().path().join("transcript.jsonl")
    }

    /// A folder for the tools to look at.
    fn folder(&self) -> PathBuf {
        let folder = self.gate.home().path().join("looked-at");
        std::fs::create_dir_all(folder.join("below")).expect("a folder");
        for (name, text) in [("bees.txt", "bees dance"), ("ants.md", "# ants"), ("below/wasps.txt", "wasps rest\n")] {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        folder
    }

    /// Lets a client have its day; gives what it told at its end.
    fn play(&self, script: &str, door: &str) -> Value {
        let mut client = node(script);
        client.env("CLIENT_URL", self.gate.url(door)).env("CLIENT_TOKEN", &self.token);
        client.env("CLIENT_TRANSCRIPT", self.transcript()).env("CLIENT_FOLDER", self.folder());
        Told::start(client, self.gate.home().path()).wait("done")
    }

    /// Tokens by source, by Python's tiktoken.
    fn counted(&self) -> Value {
        let ranks = self.gate.home().path().join("ranks");
        std::fs::create_dir_all(&ranks).expect("a folder");
        run(python("clients", "count.py").arg(self.transcript()).arg(ranks), self.gate.home().path())
    }

    /// The budget shows the same, source by source, and says that it is exact.
    fn agrees(&self, agent: &str) {
        let counted = self.counted();
        assert_eq!(counted["unanswered"], 0, "every request has its answer in the transcript: {counted}");
        let theirs: Vec<(&str, u64)> =
            SOURCES.map(|source| (source, counted[source].as_u64().expect("a number"))).into();
        let ours = || {
            let budget = self.gate.budget(agent);
            SOURCES.map(|source| (source, passed(&budget, source))).to_vec()
        };
        wait_for(
            "the budget shows what the transcript contains",
            || (ours() == theirs).then_some(()),
            || format!("the budget: {:?}\nthe transcript: {theirs:?}\n{}", ours(), self.gate.budget(agent)),
        );
        let budget = self.gate.budget(agent)["budget"].clone();
        assert_eq!(budget["family"]["id"], "o200k", "in the tokens that were asked for: {budget}");
        assert_eq!(budget["now"]["passedExactness"], "exact", "and nothing of it is an estimate: {budget}");
        let sum: u64 = theirs.iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(budget["now"]["passed"], sum, "the whole is the sum of its sources: {budget}");
        assert!(theirs.iter().filter(|(_, tokens)| *tokens > 0).count() >= 4, "the day was a full one: {theirs:?}");
    }

    /// The one huge report, as people see it.
    fn report(&self) -> Value {
        self.gate.wait_task("the report is listed", |task| task["tool"] == "huge_report")
    }
}

/// Runs a program that prints one JSON document.
fn run(command: &mut Command, place: &Path) -> Value {
    let ran = command.current_dir(place).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "it counts: {said}");
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|why| panic!("one JSON document: {why}; {said}"))
}

#[test]
fn the_budget_of_a_client_with_tasks_is_what_its_own_transcript_contains() {
    let stage = Stage::set("bee");
    let everything = peers::everything_command();
    let everything: Vec<&str> = std::iter::once("--").chain(everything.iter().map(String::as_str)).collect();
    stage.gate.add_server("everything", &everything);
    let done = stage.play("budget-modern.mjs", "*");
    assert_eq!((&done["indexed"], &done["flaky"]), (&json!("completed"), &json!("failed")), "tasks ended: {done}");
    let slices = done["slices"].as_u64().expect("a number");
    assert!(slices >= 4, "the report was read in slices of 2,500 tokens, not in {slices}");
    let report = done["report"].as_str().expect("a text");
    assert!(
        report.starts_with("Files below `") && report.contains("Collatz"),
        "and they are the report: {report:.200}"
    );
    let short = done["short"].as_str().expect("a text");
    assert!(short.contains("GPT o200k, exact"), "what was given instead says how large it is: {short}");
    stage.agrees("bee");

    let task = stage.report();
    let id = task["id"].as_str().expect("an id");
    let read = |tokens: &Value| tokens["delivered"].as_u64() >= tokens["result"].as_u64();
    let tokens = stage.gate.wait_tokens("all of the report was read", id, read);
    assert_eq!(tokens["family"], "o200k", "its figures are in the agent's tokens: {tokens}");
    assert!(tokens["result"].as_u64() > Some(5_000), "the whole size is known: {tokens}");
}

#[test]
fn the_budget_of_a_client_with_the_four_tools_is_what_its_own_transcript_contains() {
    let stage = Stage::set("wasp");
    let done = stage.play("budget-legacy.mjs", "demo");
    assert!(done["tools"].to_string().contains("tasks_result"), "it has the four tools: {done}");
    assert!(done["parts"].as_u64() >= Some(2), "the report was read in parts: {done}");
    let report = done["report"].as_str().expect("a text");
    assert!(
        report.starts_with("Files below `") && report.contains("Collatz"),
        "and they are the report: {report:.200}"
    );
    stage.agrees("wasp");
}
