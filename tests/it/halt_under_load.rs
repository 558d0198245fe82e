//! A halt in the middle of many calls: what the server has in its log and what the halt page says agree call by call.
//!
//! The server, the agents and the person see only what the wire and the command line bring. Each call has a word of its
//! own, so that a call is either not at the server, or answered, or on the page: nothing is counted twice or lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::time::Timestamp;
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::server::{Manner, Recorder};
use tests::torture::SetOnDrop;

use crate::PROGRAM;
use crate::attacks::AT_ONCE;

/// Agents that call at once, half of them with calls that take a while.
const AGENTS: usize = 8;

/// How much is halted, and what is demanded of it.
struct Size {
    /// Calls that are answered before the halt, and refused after it.
    calls: usize,
    /// Calls that are answered in a second at least.
    per_second: u32,
    /// No call arrives later than this after the gate closed.
    late: Duration,
}

/// As CI runs it: a debug build beside other tests.
const SAMPLE: Size = Size { calls: 400, per_second: 0, late: AT_ONCE };
/// stop.md §7, check 3, for a release build (`cargo xtask torture`).
const WHOLE: Size = Size { calls: 5_000, per_second: 500, late: Duration::from_millis(10) };

/// One call as its agent saw it.
struct Called {
    agent: String,
    begun: Instant,
    answer: Value,
}

impl Called {
    /// The agent was told that its call never left.
    fn is_refused(&self) -> bool {
        let text = self.answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        self.answer["result"]["isError"] == true && text.contains("halted this work") && text.contains("was not sent")
    }

    /// The agent has the server's own result.
    fn is_answered(&self) -> bool {
        self.answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.ends_with("and done"))
    }
}

/// What the agents have heard so far.
#[derive(Default)]
struct Heard {
    answered: AtomicUsize,
    refused: AtomicUsize,
    is_over: AtomicBool,
}

/// Calls until told to end, one call at a time; gives each call by its word.
fn call_on(mut agent: Agent, number: usize, heard: &Heard) -> BTreeMap<String, Called> {
    let tool = if number.is_multiple_of(2) { "quick" } else { "slow" };
    let mut calls = BTreeMap::new();
    while !heard.is_over.load(Ordering::Relaxed) {
        let nonce = format!("{tool}-{number}-{}", calls.len());
        let begun = Instant::now();
        let params = json!({"name": tool, "arguments": {"nonce": nonce}});
        let answer = agent.ask("tools/call", params).expect("the core answers each call");
        let called = Called { agent: agent_name(number), begun, answer };
        heard.answered.fetch_add(usize::from(called.is_answered()), Ordering::Relaxed);
        heard.refused.fetch_add(usize::from(called.is_refused()), Ordering::Relaxed);
        calls.insert(nonce, called);
    }
    calls
}

fn agent_name(number: usize) -> String {
    format!("agent-{number}")
}

#[test]
fn after_a_halt_among_many_calls_the_servers_log_and_the_halt_page_agree_call_by_call() {
    let size = if std::env::var_os("TASKWARDEN_TORTURE").is_some() { WHOLE } else { SAMPLE };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { slow: Duration::from_millis(300), pushes: false, ..Manner::default() };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let tokens: Vec<String> = (0..AGENTS).map(|number| gate.add_agent(&agent_name(number))).collect();
    gate.kill();
    // Agents that never pause send more than one may.
    let calm = "[policy.gateway]\nrequests_per_second = 1000000\nrequests_burst = 1000000\n";
    std::fs::write(gate.home().data().join("config.toml"), calm).expect("the configuration can be written");
    gate.start();

    let (heard, url) = (Heard::default(), gate.url("recorder"));
    let begun = Instant::now();
    let (calls, page, returned, sent_until_then, per_second) = std::thread::scope(|threads| {
        let agents: Vec<_> = tokens
            .iter()
            .enumerate()
            .map(|(number, token)| {
                let (heard, agent) = (&heard, Agent::over_http(&url, token));
                threads.spawn(move || call_on(agent, number, heard))
            })
            .collect();
        let calling = SetOnDrop(&heard.is_over);
        let are = |count: &AtomicUsize, wanted| (count.load(Ordering::Relaxed) >= wanted).then_some(());
        wait_for("calls are answered", || are(&heard.answered, size.calls), || gate.home().core_log());
        let answered = u32::try_from(heard.answered.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let per_second = f64::from(answered) / begun.elapsed().as_secs_f64();
        let page = gate.home().json(["halt", "--reason", "wrong month", "--yes", "--json"]);
        let (returned, sent) = (Instant::now(), server.seen().calls.len());
        wait_for("calls are refused", || are(&heard.refused, size.calls), || gate.home().core_log());
        drop(calling);
        let mut calls = BTreeMap::new();
        for agent in agents {
            calls.extend(agent.join().expect("an agent fell over"));
        }
        (calls, page, returned, sent, per_second)
    });

    let page = &page["halt"];
    let closed = page["closedAt"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let closed = closed.unwrap_or_else(|| panic!("the page says when the gate closed: {page}"));
    let seen = server.seen();
    let late = seen.last_call.map(|last| last.since(closed)).unwrap_or_default();
    println!("{per_second:.0} calls a second; the last one arrived {late:?} after the gate closed");
    assert!(late < size.late, "it arrived {late:?} after the gate closed");
    assert!(per_second >= f64::from(size.per_second), "only {per_second:.0} calls a second: too few to mean something");
    assert_eq!(seen.calls.len(), sent_until_then, "once the command has returned, no call arrives at the server");
    assert!(seen.calls.values().all(|times| *times == 1), "no call was sent twice");
    let on_page: BTreeSet<&str> =
        page["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["agent"].as_str()).collect();
    for (nonce, called) in &calls {
        let (is_sent, answer) = (seen.calls.contains_key(nonce), &called.answer);
        if called.begun > returned {
            assert!(called.is_refused(), "a call after the halt is refused: {answer}");
        }
        if called.is_refused() {
            assert!(!is_sent, "`{nonce}` was refused, and the server has it");
        } else if !called.is_answered() {
            // Each agent has one call at a time, so its name tells which.
            assert!(on_page.contains(called.agent.as_str()), "`{nonce}` is neither answered nor on the page: {answer}");
        }
    }
    let unknown: Vec<&String> = seen.calls.keys().filter(|nonce| !calls.contains_key(*nonce)).collect();
    assert!(unknown.is_empty(), "the server has no call that nobody made: {unknown:?}");
    assert_eq!(seen.violations, Vec::<String>::new(), "and nothing to complain of");
}
