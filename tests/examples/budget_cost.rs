//! What counting tokens costs a call, and what a held result spares its agent.
//!
//! Calls: the same gateway twice, with counting on and off, in turns with a third that is off as well, whose difference to
//! the other is the noise. Slices: a report of about 50,000 tokens is held; what stands in the agent's window afterwards
//! is set against the whole. `TASKWARDEN_BENCH_MILLIS` (1,000) is the length of one round. Judges nothing.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that cannot be made should fail loudly"
)]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tests::bench::{cpu, program, row};
use tests::budget::of;
use tests::gate::Gate;
use tests::load::{Measured, Speech, Target, Work, over_http, tools_call};
use tests::peers;
use tests::reader::{Reader, held, link, words};
use tests::tiny;

/// More and shorter rounds than elsewhere: what is looked for is small.
const ROUNDS: usize = 8;
/// What the issue asks for.
const REPORT: u64 = 50_000;

fn round() -> Duration {
    let millis = std::env::var("TASKWARDEN_BENCH_MILLIS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(millis.unwrap_or(1_000))
}

/// The tiny server, as a process of its own.
struct Tiny(Child);

impl Tiny {
    fn start() -> (Self, String) {
        let here = std::env::current_exe().expect("the path of this program");
        let mut child =
            Command::new(here).arg("server").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("an address");
        let address: SocketAddr = line.trim().parse().expect("an address");
        (Self(child), format!("http://{address}/mcp"))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway with counting on or off, and the way of an agent into it.
fn gateway(server: &str, counting: bool) -> (Gate, Target) {
    let mut gate = Gate::open(&program().display().to_string());
    gate.kill();
    gate.start_with(&[
        ("TASKWARDEN_POLICY_COUNTING_ON", if counting { "true" } else { "false" }),
        ("TASKWARDEN_POLICY_OPEN_CALLS_PER_SERVER", "1000000"),
        ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1000000"),
    ]);
    gate.add_server("tiny", &["--url", server]);
    let token = gate.add_agent("bench");
    gate.count_by("bench", "o200k", 200_000);
    let target =
        Target { address: gate.address(), path: "/mcp/tiny".into(), tokens: vec![token], speech: Speech::Modern };
    (gate, target)
}

/// The same calls with counting off, on, and off again.
fn calls(runtime: &tokio::runtime::Runtime) {
    let (_tiny, server) = Tiny::start();
    let [off, on, other] = [false, true, false].map(|counting| gateway(&server, counting));
    for (tool, size) in [("small", "small"), ("big", "1 MB")] {
        for callers in [1, 16] {
            let mut measured: [Vec<Measured>; 3] = Default::default();
            let mut used = [Duration::ZERO; 3];
            for _ in 0..ROUNDS {
                for (nth, (gate, target)) in [&off, &on, &other].into_iter().enumerate() {
                    let body = |id| tools_call(id, tool, false);
                    let before = cpu(gate.pid());
                    let work = Work { method: "tools/call", name: tool, body: &body };
                    measured[nth].push(runtime.block_on(over_http(target, callers, round(), &work)));
                    used[nth] += cpu(gate.pid()) - before;
                }
            }
            let [off, on, other] = measured.map(Measured::of);
            for (share, word, aim) in [(0.5, "median", "within the noise"), (0.99, "p99", "")] {
                let label = format!("counting, {callers} callers, {size}, {word}");
                row(&format!("{label}; off, on"), Some(off.at(share)), on.at(share), "µs", aim);
                row(&format!("{label}; off, off: the noise"), Some(off.at(share)), other.at(share), "µs", "");
            }
            let each = |used: Duration, of: &Measured| used.as_secs_f64() * 1e6 / of.micros.len() as f64;
            let label = format!("counting, {callers} callers, {size}: CPU of the core a call; off, on");
            row(&label, Some(each(used[0], &off)), each(used[1], &on), "µs", "");
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// What stands in the window of an agent that gets a large report: held, with a look or two into it, and whole.
fn slices() {
    let demo = peers::demo_http(&program().display().to_string());
    let gate = Gate::open(&program().display().to_string());
    gate.add_server("demo", &["--url", demo.url()]);
    let empty = gate.home().path().join("empty");
    std::fs::create_dir_all(&empty).expect("a folder");
    let report = json!({"tokens": REPORT, "path": empty});
    let agent = |name: &str, limit: Option<&str>| {
        let token = gate.add_agent(name);
        gate.count_by(name, "o200k", 200_000);
        if let Some(limit) = limit {
            gate.limit("--agent", name, "--result-tokens", limit);
        }
        Reader::modern(&gate, "demo", name, &token)
    };
    let reader = agent("held", Some("20000:hold"));
    let got = reader.call("huge_report", &report);
    let whole = number(&held(&got)["tokens"]);
    let all = agent("whole", None);
    let had = words(&all.call("huge_report", &report)).len();
    let came = |what: &str, name: &str, least: u64| {
        let budget = gate.wait_budget("it is counted", name, |budget| of(budget, "results") >= least);
        let tokens = of(&budget, "results") + of(&budget, "handles");
        row(&format!("a report of {REPORT} tokens; whole, {what}"), Some(whole), tokens as f64, "tokens", "");
    };
    came("given whole", "whole", (whole * 0.9) as u64);
    gate.wait_budget("the short result is counted", "held", |budget| of(budget, "handles") > 0);
    came("held: what its agent reads first", "held", 0);
    let place = link(&got);
    reader.ask("resources/read", &json!({"uri": format!("{place}?offset=0&tokens=2000")}));
    reader.ask("resources/read", &json!({"uri": format!("{place}?offset={}&tokens=2000", had / 2)}));
    came("held, and two slices of 2,000 read", "held", 3_000);
    let read = reader.slices(&place, 8_000);
    assert_eq!(read.concat().len(), had, "the slices are the whole");
    came(&format!("held, then all of it read in {} slices", read.len()), "held", 3_000 + (whole * 0.9) as u64);
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    if std::env::args().nth(1).as_deref() == Some("server") {
        runtime.block_on(tiny::over_http(|address| println!("{address}"))).expect("it serves");
        return;
    }
    slices();
    calls(&runtime);
}
