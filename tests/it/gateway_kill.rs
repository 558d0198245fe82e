//! Power cuts between any two effects of the gateway, with an agent at work: over HTTP, and through a bridge.
//!
//! Whatever the core was doing when it died (writing an intent ahead, sending, admitting, releasing a handle, taking an
//! answer or a cancel), no handle that the agent saw is ever unknown afterwards (statement 57), what it was told about
//! a task's end stays, no answer arrives twice with two values, and no call is made again by the gateway itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::agent::{Agent, Gone};
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::server::{Manner, Recorder};
use tests::torture::{Campaign, Pulse, kill_at_each, kill_at_some};

use crate::PROGRAM;
use crate::kill::kill_at_random;

/// The tools that the agent calls, each once; the name is the nonce too.
const TOOLS: [&str; 5] = ["quick", "slow", "work", "ask", "hold"];

/// What came of a call, as its agent knows it.
#[derive(Debug, Clone, PartialEq)]
enum Brought {
    /// A plain result.
    Result,
    /// A plain error: the gateway says that the reply was lost.
    Lost(Value),
    /// A handle.
    Handle(String),
}

/// The exit code of a command that was refused (product.md).
const REFUSED: i32 = 5;

/// An agent at work, and what it saw.
struct Work<'a> {
    gate: Gate,
    server: &'a Recorder,
    agent: Agent,
    /// The token of another agent.
    stranger: String,
    /// Over HTTP somebody has to start the core again; a bridge does it itself.
    is_bridge: bool,
    restarts: u32,
    /// Attempts of each call that left the agent.
    attempts: BTreeMap<&'static str, u32>,
    /// Every handle that the agent ever saw.
    seen: Vec<String>,
    /// The end of a task as it was told first.
    ends: BTreeMap<String, String>,
}

fn recorder() -> (tokio::runtime::Runtime, Recorder) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(300), pushes: false };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    (runtime, server)
}

impl<'a> Work<'a> {
    fn begin(server: &'a Recorder, is_bridge: bool) -> Self {
        let gate = Gate::open(PROGRAM);
        gate.add_server("recorder", &["--url", &server.url()]);
        gate.ask_the_agent("recorder");
        // Before a bridge comes: what starts one is an agent's from then on, and adds nobody.
        let (token, stranger) = (gate.add_agent("worker"), gate.add_agent("stranger"));
        let agent = if is_bridge {
            let command = gate.connect("recorder", "worker", &token);
            // The cores that it starts serve others at the same address.
            gate.set_listen_of_background_cores(&gate.address().to_string());
            Agent::over_bridge(&command)
        } else {
            Agent::over_http(&gate.url("recorder"), &token)
        };
        let (attempts, seen, ends) = Default::default();
        Self { gate, server, agent, stranger, is_bridge, restarts: 0, attempts, seen, ends }
    }

    /// Starts the core again, if it is gone.
    fn revive(&mut self) {
        if !self.is_bridge && self.gate.has_ended() {
            self.gate.start();
            self.restarts += 1;
        }
    }

    /// Asks until there is an answer of a core; repeats what may be repeated.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        for () in looks() {
            match self.agent.ask(method, params.clone()) {
                Ok(answer) if is_passing(&answer) => {}
                Ok(answer) => return answer,
                Err(Gone(_)) => self.revive(),
            }
        }
        panic!("`{method}` is never answered; core: {}", self.gate.home().core_log());
    }

    /// Calls a tool; a call without an answer is made again, as clients do.
    fn call(&mut self, tool: &'static str) -> Brought {
        for () in looks() {
            *self.attempts.entry(tool).or_default() += 1;
            let answer = match self.agent.ask("tools/call", json!({"name": tool, "arguments": {"nonce": tool}})) {
                Ok(answer) if is_passing(&answer) => continue,
                Ok(answer) => answer,
                Err(Gone(_)) => {
                    self.revive();
                    continue;
                }
            };
            if answer["error"].is_object() {
                return Brought::Lost(answer["error"].clone());
            }
            if answer["result"]["resultType"] == "task" {
                let id = answer["result"]["taskId"].as_str().expect("a handle").to_owned();
                self.seen.push(id.clone());
                return Brought::Handle(id);
            }
            return Brought::Result;
        }
        panic!("the call `{tool}` is never answered; core: {}", self.gate.home().core_log());
    }

    /// Looks at a task. No handle that the agent saw is ever unknown, and an end stays what it was.
    fn look(&mut self, id: &str) -> Value {
        let answer = self.ask("tasks/get", &json!({"taskId": id}));
        assert!(answer["error"].is_null(), "a handle that the agent saw is known: {answer}");
        let task = answer["result"].clone();
        let status = task["status"].as_str().expect("a status").to_owned();
        if matches!(status.as_str(), "completed" | "failed" | "cancelled") {
            let first = self.ends.entry(id.to_owned()).or_insert_with(|| status.clone());
            assert_eq!(*first, status, "the end of a task never changes: {task}");
        }
        task
    }

    /// Looks until the status is one of these.
    fn until(&mut self, id: &str, statuses: &[&str]) -> Value {
        for () in looks() {
            let task = self.look(id);
            if statuses.iter().any(|status| task["status"] == *status) {
                return task;
            }
        }
        panic!("{id} is never one of {statuses:?}: {}; core: {}", self.look(id), self.gate.home().core_log());
    }

    /// Everything an agent does, whatever happens to the core.
    fn run(&mut self) {
        let mut brought: BTreeMap<&'static str, Brought> = BTreeMap::new();
        for tool in TOOLS {
            let one = self.call(tool);
            brought.insert(tool, one);
        }
        if let Some(Brought::Handle(id)) = brought.get("ask").cloned() {
            let asked = self.until(&id, &["input_required", "failed"]);
            if asked["status"] == "input_required" {
                let keys: Vec<String> =
                    asked["inputRequests"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
                assert_eq!(keys.len(), 1, "one question: {asked}");
                let answers = json!({ keys[0].clone(): {"action": "accept", "content": {"word": "bees"}} });
                let taken = self.ask("tasks/update", &json!({"taskId": id, "inputResponses": answers}));
                assert!(taken["error"].is_null(), "the answer is taken: {taken}");
                let done = self.until(&id, &["completed", "failed"]);
                assert!(done["status"] == "failed" || done.to_string().contains("bees"), "{done}");
            }
        }
        if let Some(Brought::Handle(id)) = brought.get("hold").cloned() {
            let cancelled = self.ask("tasks/cancel", &json!({"taskId": id}));
            assert!(cancelled["error"].is_null(), "the cancel is taken: {cancelled}");
            let ended = self.until(&id, &["cancelled", "failed"]);
            // A call whose reply was lost has no task that could be stopped; people are told so.
            let shown = self.show(&id);
            if ended["status"] == "cancelled" && shown["phase"] != "unconfirmed" {
                // An agent whose first attempt died with the core made another: only that one has the handle.
                let tasks = self.server.tasks_of("hold");
                assert!(!tasks.is_empty(), "the server has the task");
                wait_for(
                    "the cancel reached the server",
                    || tasks.iter().any(|task| self.server.seen().cancels.contains_key(task)).then_some(()),
                    || format!("{:?}; {shown}", self.server.seen()),
                );
            }
        }
        for (tool, one) in &brought {
            match one {
                Brought::Handle(id) => {
                    self.until(&id.clone(), &["completed", "failed", "cancelled"]);
                }
                Brought::Result => assert!(matches!(*tool, "quick" | "slow"), "`{tool}` is a task"),
                Brought::Lost(error) => assert!(self.deaths() > 0, "`{tool}` was lost without a reason: {error}"),
            }
        }
        self.check();
    }

    /// What people see of a task.
    fn show(&mut self, id: &str) -> Value {
        wait_for(
            "the task is shown",
            || {
                self.revive();
                let ran = self.gate.home().run(["tasks", "show", id, "--json"]);
                if ran.code == REFUSED {
                    self.replace_core();
                }
                (ran.code == 0).then(|| ran.json())
            },
            String::new,
        )
    }

    /// Puts a core of this test in the place of one that the bridge started. That one takes a detached test run, whose
    /// parents end at an orphan, for nobody it knows (decision 0016); the way on is a core of one's own.
    fn replace_core(&mut self) {
        let lock = std::fs::read_to_string(self.gate.home().data().join("core.lock")).unwrap_or_default();
        if let Some(pid) = lock.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
            // It may be gone by now.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.gate.start();
    }

    /// How often a core died, as far as it is known.
    fn deaths(&self) -> u32 {
        if self.is_bridge { u32::MAX } else { self.restarts }
    }

    fn check(&mut self) {
        for id in self.seen.clone() {
            self.look(&id);
        }
        let seen = self.server.seen();
        assert_eq!(seen.violations, Vec::<String>::new(), "the gateway keeps to the protocol");
        for (nonce, calls) in &seen.calls {
            let attempts = self.attempts.get(nonce.as_str()).copied().unwrap_or_default();
            // A bridge repeats by itself what got no answer.
            assert!(self.is_bridge || *calls <= attempts, "`{nonce}` was called {calls} times for {attempts} attempts");
            assert!(self.deaths() > 0 || *calls == 1, "`{nonce}` was called {calls} times although nothing died");
        }
        for (task, answers) in &seen.answers {
            let first = answers.first().expect("at least one");
            assert!(answers.iter().all(|answer| answer == first), "{task} got one answer, however often: {answers:?}");
            assert_eq!(first.1["content"]["word"], "bees", "and it is the agent's");
        }
        let mut stranger = Agent::over_http(&self.gate.url("recorder"), &self.stranger);
        let is_bridge = self.is_bridge;
        for id in self.seen.clone() {
            let log = self.gate.home().path().join("core.log");
            let last = std::cell::RefCell::new(String::new());
            let foreign = wait_for(
                "a stranger is answered",
                || {
                    self.revive();
                    // A bridge starts a core when its agent wants something.
                    if is_bridge {
                        let _ = self.agent.ask("server/discover", json!({}));
                    }
                    let asked = stranger.ask("tasks/get", json!({"taskId": id}));
                    asked.map_err(|Gone(why)| *last.borrow_mut() = why).ok()
                },
                || {
                    let log = std::fs::read_to_string(&log).unwrap_or_default();
                    format!("bridge: {is_bridge}; {}; core: {log}", last.borrow())
                },
            );
            assert_eq!(foreign["error"]["code"], -32602, "another agent's handle is unknown: {foreign}");
        }
    }
}

/// The core is not ready yet, or says that it is stopping: nothing of the request was begun.
fn is_passing(answer: &Value) -> bool {
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    answer["error"]["code"] == -32000 && message.contains("not connected")
}

#[test]
fn an_agents_story_holds_when_nothing_is_killed() {
    for is_bridge in [false, true] {
        let (_runtime, server) = recorder();
        let mut work = Work::begin(&server, is_bridge);
        work.run();
        assert_eq!(work.restarts, 0, "the core ran through");
        for (tool, attempts) in &work.attempts {
            assert_eq!(*attempts, 1, "`{tool}` was answered at once");
        }
    }
}

/// Runs the story with the core aborting at `point`; returns whether it got there.
fn cut(point: &str) -> bool {
    let (_runtime, server) = recorder();
    let mut work = Work::begin(&server, false);
    work.gate.kill();
    work.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
    work.run();
    work.restarts > 0
}

fn assert_passes(point: &str, passages: u32, at_least: u32) {
    println!("{point}: {passages} passages");
    assert!(passages >= at_least, "the story passes `{point}` often enough to mean something, not {passages} times");
}

/// Kills the core before and after each passage of this point.
fn cut_everywhere(point: &str, at_least: u32) {
    assert_passes(point, kill_at_each(point, cut), at_least);
}

#[test]
fn no_handle_is_lost_when_the_core_dies_around_an_intent() {
    cut_everywhere("intents.begin", 10);
    cut_everywhere("intents.end", 10);
}

#[test]
fn no_handle_is_lost_when_the_core_dies_around_an_admission() {
    cut_everywhere("registry.admit", 4);
}

#[test]
fn no_handle_is_lost_when_the_core_dies_around_a_commit_of_an_agents_task() {
    let point = "registry.commit";
    assert_passes(point, kill_at_some(point, cut), 10);
}

#[test]
fn no_handle_is_lost_when_the_core_dies_around_what_it_sends_for_an_agent() {
    for point in ["upstream.call", "upstream.answer", "upstream.cancel"] {
        cut_everywhere(point, 2);
    }
}

/// CI kills at 50 random moments, half of them under a bridge; `cargo xtask torture` at 1,000.
#[test]
fn torture_no_handle_that_an_agent_saw_is_unknown_over_many_kills() {
    let (mut stories, mut seen, mut repeated) = (0_u32, 0, 0_u32);
    Campaign::new("kills under agents", 50).run(|random, round| {
        let (_runtime, server) = recorder();
        let mut work = Work::begin(&server, stories % 2 == 1);
        stories += 1;
        let data = work.gate.home().data();
        let pulse = Pulse::start(data.join("core.sock"));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_at_random(&data, &stop, random));
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                // Whoever reads the restarts asks a core that may be dead by now.
                work.restarts = 1;
                work.run();
            }));
            stop.store(true, Ordering::Relaxed);
            round.weight = killer.join().expect("the killer ends");
            if let Err(why) = ran {
                std::panic::resume_unwind(why);
            }
        });
        round.handles = work.seen.len();
        round.answers = server.seen().answers.len();
        round.gap = pulse.stop();
        seen += work.seen.len();
        repeated += server.seen().calls.values().map(|calls| calls - 1).sum::<u32>();
    });
    println!("{stories} stories; {repeated} calls made again because their agents repeated them");
    assert!(seen > 0, "the stories came far enough to mean something");
}
