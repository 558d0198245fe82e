//! Power cuts around the commit of a result that is over its limit.
//!
//! Whether the core dies before the commit, after it, or while it hands the result out: what its agent ever reads of it is
//! the short result, and afterwards slices. The agent repeats what got no answer, as clients do; every answer is looked
//! at, not only the last. That no handle is lost meanwhile is `gateway_kill.rs`.

use std::time::Duration;

use serde_json::{Value, json};
use tests::agent::{Agent, Gone};
use tests::gate::Gate;
use tests::home::{pause_for, wait_for};
use tests::peers::{self, HttpPeer};
use tests::reader::{held, link, words};

use crate::PROGRAM;

/// What one result may have.
const LIMIT: u64 = 1_000;
/// About how many tokens the report has.
const REPORT: u64 = 4_000;
/// Characters that no short result has, and the report has three times over.
const TOO_MUCH: usize = 6_000;

/// An agent at work with a core that dies.
struct Work {
    gate: Gate,
    agent: Agent,
    restarts: u32,
    _demo: HttpPeer,
}

impl Work {
    /// With the core aborting at `point`.
    fn begin(point: &str) -> Self {
        let demo = peers::demo_http(PROGRAM);
        let mut gate = Gate::open(PROGRAM);
        gate.add_server("demo", &["--url", demo.url()]);
        let token = gate.add_agent("bee");
        gate.count_by("bee", "o200k", 200_000);
        gate.limit("--agent", "bee", "--result-tokens", &format!("{LIMIT}:hold"));
        // The tool that answers at once is over its limit with its one sentence.
        let quick = ["rules", "set", "--server", "demo", "--tool", "tool_error", "--result-tokens", "5:hold"];
        let ran = gate.home().run(quick);
        assert_eq!(ran.code, 0, "the limit is set: {}", ran.err);
        let agent = Agent::over_http(&gate.url("demo"), &token);
        gate.kill();
        gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
        Self { gate, agent, restarts: 0, _demo: demo }
    }

    /// Asks until there is an answer of a core. Nothing that is answered is the report itself.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        for _ in 0..100 {
            let asked = self.agent.ask(method, params.clone());
            if self.gate.has_ended() {
                self.gate.start();
                self.restarts += 1;
            }
            match asked {
                Ok(answer) if answer["error"]["code"] == -32000 && answer.to_string().contains("not connected") => {
                    pause_for(Duration::from_millis(100));
                }
                Ok(answer) => {
                    let is_slice = method == "resources/read";
                    assert!(is_slice || answer.to_string().len() < TOO_MUCH, "the report came unheld: {answer:.500}");
                    return answer;
                }
                Err(Gone(_)) => {}
            }
        }
        panic!("`{method}` is never answered; core: {}", self.gate.home().core_log());
    }

    /// Calls a tool to its end; `None` where its reply was lost with the core, which its agent is told.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let begun = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        if begun["error"].is_object() {
            assert!(self.restarts > 0, "`{tool}` was lost without a reason: {begun}");
            return None;
        }
        if begun["result"]["resultType"] != "task" {
            return Some(begun);
        }
        let task = begun["result"]["taskId"].clone();
        for _ in 0..600 {
            let seen = self.ask("tasks/get", &json!({"taskId": task}));
            match seen["result"]["status"].as_str() {
                Some("completed") => return Some(json!({"result": seen["result"]["result"]})),
                Some("working") => pause_for(Duration::from_millis(50)),
                _ => {
                    assert!(self.restarts > 0, "`{tool}` failed without a reason: {seen}");
                    return None;
                }
            }
        }
        panic!("`{tool}` never ends; core: {}", self.gate.home().core_log());
    }

    /// The day of the agent; every result that it has is a short one, and the report is whole behind it.
    fn run(&mut self) {
        if let Some(got) = self.call("tool_error", &json!({})) {
            assert!(held(&got)["tokens"].as_u64() > Some(5), "a quick result is held like any other: {got}");
        }
        let folder = self.gate.home().path().join("empty");
        std::fs::create_dir_all(&folder).expect("a folder");
        let Some(got) = self.call("huge_report", &json!({"tokens": REPORT, "path": folder})) else { return };
        assert!(held(&got)["tokens"].as_u64() > Some(LIMIT), "the report is held: {got}");
        assert!(words(&got).contains("Files below"), "its first lines are there: {got}");
        let read = self.ask("resources/read", &json!({"uri": format!("{}?offset=0&tokens=8000", link(&got))}));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("a slice: {read:.500}"));
        assert!(text.len() > 2 * REPORT as usize, "and all of it can be read: {}", text.len());
        self.is_counted(held(&got)["id"].as_str().expect("an id"));
    }

    /// What was read is committed with the task, or the core died of it: then that much was lost, and nothing else.
    fn is_counted(&mut self, id: &str) {
        let Self { gate, restarts, .. } = self;
        wait_for(
            "the figures of the task are committed",
            || {
                let ran = gate.home().run(["tasks", "show", id, "--json"]);
                if gate.has_ended() {
                    gate.start();
                    *restarts += 1;
                    return Some(());
                }
                let is_read = ran.code == 0 && ran.json()["tokens"]["delivered"].as_u64() > Some(LIMIT);
                (is_read || *restarts > 0).then_some(())
            },
            String::new,
        );
    }
}

/// Cuts at every passage of this point, until the day does not pass it so often.
fn cut_everywhere(point: &str, at_least: u32) {
    let mut cuts = 0;
    for side in ["before", "after"] {
        let is_cut = |nth: &u32| {
            let mut work = Work::begin(&format!("{point}:{side}:{nth}"));
            work.run();
            work.restarts > 0
        };
        cuts += (1..100).take_while(is_cut).count() as u32;
    }
    println!("{point}: {cuts} cuts");
    assert!(cuts >= at_least, "the day passes `{point}` often enough to mean something, not {cuts} times");
}

#[test]
fn no_result_over_its_limit_reaches_its_agent_when_the_core_dies_around_a_commit() {
    cut_everywhere("registry.commit", 2);
}

#[test]
fn no_result_over_its_limit_reaches_its_agent_when_the_core_dies_around_an_admission() {
    cut_everywhere("registry.admit", 2);
}
