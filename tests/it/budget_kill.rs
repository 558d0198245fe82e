//! Power cuts around the commit of a result that is over its limit.
//!
//! Whether the core dies before the commit, after it, or while it hands the result out: what its agent ever reads of
//! it is the short result, and afterwards slices, none larger than the limit. The agent repeats what got no answer, as
//! clients do; every answer is looked at, not only the last. That no handle is lost meanwhile is `gateway_kill.rs`.

use serde_json::{Value, json};
use tests::agent::{Agent, Gone};
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::peers::{self, HttpPeer};
use tests::reader::{held, link, words};

use crate::PROGRAM;

/// What one result may have.
const LIMIT: u64 = 1_000;
/// About how many tokens the report has.
const REPORT: u64 = 4_000;
/// Characters that neither a short result nor a slice has, and the report has three times over.
const TOO_MUCH: usize = 6_000;
/// Tokens that a slice may have more than its text: what says where it goes on, and one where it is cut.
const AROUND: u64 = 100;

/// An agent at work with a core that dies.
struct Work {
    gate: Gate,
    agent: Agent,
    restarts: u32,
    /// Slices that it asked for, also those that no answer came to.
    slices: u64,
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
        Self { gate, agent, restarts: 0, slices: 0, _demo: demo }
    }

    /// Asks until there is an answer of a core. Nothing that is answered is the report itself.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        for () in looks() {
            self.slices += u64::from(method == "resources/read");
            let asked = self.agent.ask(method, params.clone());
            if self.gate.has_ended() {
                self.gate.start();
                self.restarts += 1;
            }
            match asked {
                Ok(answer) if answer["error"]["code"] == -32000 && answer.to_string().contains("not connected") => {}
                Ok(answer) => {
                    assert!(answer.to_string().len() < TOO_MUCH, "the report came unheld: {answer:.500}");
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
        for () in looks() {
            let seen = self.ask("tasks/get", &json!({"taskId": task}));
            match seen["result"]["status"].as_str() {
                Some("completed") => return Some(json!({"result": seen["result"]["result"]})),
                Some("working") => {}
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
        let read = self.report(&link(&got));
        assert!(read > 2 * REPORT as usize, "and all of it can be read: {read}");
        self.is_counted(held(&got)["id"].as_str().expect("an id"));
    }

    /// Characters of the report, read slice by slice.
    fn report(&mut self, uri: &str) -> usize {
        let (mut read, mut next) = (0, Some(0));
        while let Some(offset) = next {
            let slice = self.ask("resources/read", &json!({"uri": format!("{uri}?offset={offset}&tokens=8000")}));
            let content = &slice["result"]["contents"][0];
            let text = content["text"].as_str().unwrap_or_else(|| panic!("a slice: {slice:.500}"));
            read += text.chars().count();
            next = content["_meta"]["io.taskwarden/slice"]["next"].as_u64();
            assert!(next.is_none_or(|next| next > offset), "reading goes on: {content}");
        }
        read
    }

    /// What was read is committed with the task. When the core died, some of that was lost and some was read twice; what
    /// the result weighs was committed with the result itself.
    fn is_counted(&mut self, id: &str) {
        let Self { gate, restarts, slices, .. } = self;
        let most = *slices * (LIMIT + AROUND);
        wait_for(
            "the figures of the task are committed",
            || {
                let ran = gate.home().run(["tasks", "show", id, "--json"]);
                if gate.has_ended() {
                    gate.start();
                    *restarts += 1;
                    return None;
                }
                let tokens = (ran.code == 0).then(|| ran.json()["tokens"].clone())?;
                let result = tokens["result"].as_u64().unwrap_or_else(|| panic!("its size is known: {tokens}"));
                let delivered = tokens["delivered"].as_u64().unwrap_or_else(|| panic!("and what was read: {tokens}"));
                assert!(result > LIMIT, "as large as it was when it was held: {tokens}");
                assert!(delivered <= most, "no more than {slices} slices were read: {tokens}");
                (delivered >= result || *restarts > 0).then_some(())
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
