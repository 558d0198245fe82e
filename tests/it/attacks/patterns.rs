//! A server whose tools have schemas that cost seconds and gigabytes to compile (finding A14).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tests::bench::resident_kib;
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::torture::SetOnDrop;

use super::AT_ONCE;
use crate::PROGRAM;
use crate::statements::{Log, modern, no_method, result};

/// How many patterns a tool has: as many as are checked here (`shares.patterns_per_tool`), as in the finding, and as in
/// the measurement of issue 11.
const TOOLS: [(&str, usize); 3] = [("as_many_as_may_be", 64), ("many", 200), ("very_many", 5_000)];
/// Growth of the core that its allocator and large lists of tools explain. The finding took 1.2 GB.
const GROWTH_MAX_KIB: u64 = 256 * 1_024;
/// Pings of the other agent while the schemas are used, at least.
const PINGS_MIN: usize = 20;

/// A text that each of the patterns has to be tried on.
fn letters() -> String {
    "æ".repeat(60)
}

fn tools() -> Value {
    let tool = |(name, patterns): (&str, usize)| {
        let fields: Map<String, Value> = (0..patterns)
            .map(|number| {
                (format!("f{number}"), json!({"type": "string", "pattern": format!(r"^\p{{L}}{{60}}{number}$")}))
            })
            .collect();
        json!({"name": name, "inputSchema": {"type": "object", "properties": fields}})
    };
    json!(TOOLS.map(tool))
}

#[test]
fn a_tool_with_thousands_of_costly_patterns_holds_up_no_ping_of_another_agent_and_no_list() {
    let log = Log::default();
    let server = log.serve(|asked| match asked.method() {
        "tools/list" => {
            result(asked, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools()}))
        }
        "tools/call" => {
            result(asked, &json!({"resultType": "complete", "content": [{"type": "text", "text": "well"}]}))
        }
        _ => modern(asked, no_method),
    });
    let mut gate = Gate::open(PROGRAM);
    gate.kill();
    // A runtime worker that compiles is half of them.
    gate.start_with(&[("TOKIO_WORKER_THREADS", "2")]);
    gate.add_server("patterns", &["--url", &server.url()]);
    let caller = Agent::new(&gate.url("patterns"), &gate.add_agent("caller"));
    let other = Agent::new(&gate.url("*"), &gate.add_agent("other"));
    let (session, _) = other.open("2025-11-25");
    let before = resident_kib(gate.pid());

    let (is_over, pings) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (slowest, most) = std::thread::scope(|scope| {
        let pinging = scope.spawn(|| {
            let (mut slowest, mut most) = (Duration::ZERO, 0);
            while !is_over.load(Ordering::Relaxed) || pings.load(Ordering::Relaxed) < PINGS_MIN {
                let begun = Instant::now();
                let pong = other.in_session(&session, "ping", &json!({}));
                assert_eq!(pong.result(), json!({}), "{pong:?}");
                slowest = slowest.max(begun.elapsed());
                most = most.max(resident_kib(gate.pid()));
                pings.fetch_add(1, Ordering::Relaxed);
            }
            (slowest, most)
        });
        let listing = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert_eq!(gate.home().run(["tasks", "list"]).code, 0, "{}", gate.home().core_log());
                slowest = slowest.max(begun.elapsed());
            }
            slowest
        });
        let calling = SetOnDrop(&is_over);
        for (tool, patterns) in TOOLS {
            let fields: Map<String, Value> =
                (0..patterns).map(|number| (format!("f{number}"), json!(letters()))).collect();
            let arguments = Value::Object(fields);
            let answer = caller.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
            // On a busy machine it is a task first.
            let text = match answer.result()["taskId"].as_str() {
                Some(task) => caller.wait_status(task, "completed").to_string(),
                None => answer.text,
            };
            assert!(text.contains("well"), "the call of an agent is made: {text}");
            let ran =
                gate.home().run_with_input(["call", "patterns", tool, "--args", "-", "--wait"], &arguments.to_string());
            // Whether the arguments fit the patterns is not the matter here.
            assert!(matches!(ran.code, 0 | 2), "the call of a person is made or refused: {}{}", ran.out, ran.err);
        }
        drop(calling);
        let listed = listing.join().expect("the list answers");
        println!("the slowest `tasks list` took {listed:?}");
        assert!(listed < AT_ONCE, "the slowest list took {listed:?}");
        pinging.join().expect("the pings are answered")
    });
    let grown = most.saturating_sub(before);
    println!("the slowest of {} pings took {slowest:?}; the core grew by {grown} KiB", pings.load(Ordering::Relaxed));
    assert!(slowest < AT_ONCE, "the slowest ping took {slowest:?}");
    assert!(grown < GROWTH_MAX_KIB, "the core grew by {grown} KiB");
}
