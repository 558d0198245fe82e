//! 10,000 working tasks on 50 servers at a 5 s interval: are looks on time, and what do they cost?
//!
//! Two spreads: evenly, and 9,990 tasks on one server. The servers run in a process of their own (`poll_load servers`).
//! `TASKWARDEN_BENCH_SECONDS` (60) and `TASKWARDEN_BENCH_TASKS` (10,000) change the size.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be made should fail loudly"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tests::bench::{attach, cpu, program, quantile, resident_kib, row, start};
use tests::home::{Home, pause_for};
use tests::server::{Manner, Recorder};

const SERVERS: usize = 50;
const INTERVAL: Duration = Duration::from_secs(5);
/// A look is due at the interval, plus the jitter that the policy allows upward with a hint (half of `jitter_share`).
const JITTER: Duration = Duration::from_millis(500);

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The servers' own process: prints the addresses, then answers `forget` and `report`.
fn servers() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: INTERVAL, slow: Duration::ZERO, pushes: false };
    let all: Vec<Recorder> =
        (0..SERVERS).map(|_| runtime.block_on(Recorder::start(manner)).expect("a loopback server")).collect();
    println!("{}", json!(all.iter().map(Recorder::url).collect::<Vec<_>>()));
    for line in std::io::stdin().lines().map_while(Result::ok) {
        if line == "forget" {
            all.iter().for_each(Recorder::forget_gaps);
            println!("{{}}");
        } else {
            let gaps: Vec<Vec<u64>> = all.iter().map(|server| server.seen().gaps_ms).collect();
            let early: u64 = all.iter().map(|server| server.seen().early).sum();
            println!("{}", json!({"gaps": gaps, "early": early}));
        }
        let _ = std::io::stdout().flush();
    }
}

struct Servers {
    child: Child,
    ask: ChildStdin,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
    urls: Vec<String>,
}

impl Servers {
    fn begin() -> Self {
        let here = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(here)
            .arg("servers")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the servers start");
        let ask = child.stdin.take().expect("their input");
        let mut answers = BufReader::new(child.stdout.take().expect("their output")).lines();
        let urls = serde_json::from_str(&answers.next().expect("a line").expect("readable")).expect("addresses");
        Self { child, ask, answers, urls }
    }

    fn say(&mut self, word: &str) -> Value {
        writeln!(self.ask, "{word}").expect("the servers listen");
        serde_json::from_str(&self.answers.next().expect("a line").expect("readable")).expect("JSON")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn measure(runtime: &tokio::runtime::Runtime, spread: &str, tasks: usize, share_of_first: impl Fn(usize) -> usize) {
    let span = Duration::from_secs(u64::try_from(setting("TASKWARDEN_BENCH_SECONDS", 60)).unwrap_or(60));
    let mut servers = Servers::begin();
    let home = Home::new(&program().display().to_string());
    std::fs::create_dir_all(home.data()).expect("the data directory");
    // A person does not start 9,990 calls on one server; the measurement does.
    let core = home.serve_with(&[("TASKWARDEN_POLICY_OPEN_CALLS_PER_SERVER", "100000")]);
    for (number, url) in servers.urls.clone().iter().enumerate() {
        let ran = home.run(["servers", "add", &format!("s{number}"), "--yes", "--url", url]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let attached = attach(&home);
    let before = resident_kib(core.pid());
    runtime.block_on(async {
        let starting = (0..tasks).map(|number| {
            let attached = &attached;
            let server = format!("s{}", share_of_first(number));
            async move { start(attached, &server, "load", &number.to_string()).await }
        });
        futures::stream::iter(starting).buffer_unordered(64).collect::<Vec<_>>().await
    });
    // Two intervals, so that every task has been looked at and the first burst is over.
    pause_for(INTERVAL * 2 + Duration::from_secs(2));
    servers.say("forget");
    let used = cpu(core.pid());
    pause_for(span);
    let used = cpu(core.pid()) - used;
    let after = resident_kib(core.pid());
    let report = servers.say("report");
    let per_server: Vec<Vec<f64>> = report["gaps"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|gaps| gaps.as_array().into_iter().flatten().filter_map(Value::as_f64).collect())
        .collect();
    let due = (INTERVAL + JITTER).as_secs_f64() * 1_000.0;
    let on_time = |gaps: &[f64]| {
        let timely = gaps.iter().filter(|gap| **gap <= due + 1_000.0).count();
        let share = timely as f64 / gaps.len().max(1) as f64;
        share * 100.0
    };
    let all: Vec<f64> = per_server.concat();
    let expected = tasks as f64 * span.as_secs_f64() / (INTERVAL + JITTER / 2).as_secs_f64();
    row(
        &format!("{spread}: looks done of looks due in the span"),
        Some(expected),
        all.len() as f64,
        "looks",
        ">= 0.99 ×",
    );
    row(&format!("{spread}: looks within 1 s of due"), Some(100.0), on_time(&all), "%", ">= 99 %");
    let mut others = per_server.get(1..).unwrap_or_default().concat();
    others.sort_by(f64::total_cmp);
    let late = (quantile(&others, 0.99) - INTERVAL.as_secs_f64() * 1_000.0).max(0.0);
    row(&format!("{spread}: lateness of the other 49 servers, p99"), None, late, "ms", "<= 500 jitter + 1000");
    row(&format!("{spread}: CPU of the core"), Some(span.as_secs_f64()), used.as_secs_f64(), "s", "<= 0.5 ×");
    let each = after.saturating_sub(before) as f64 / tasks as f64;
    row(&format!("{spread}: resident memory a task"), None, each, "KiB", "< 4");
    row(
        &format!("{spread}: looks before the server's interval"),
        None,
        report["early"].as_f64().unwrap_or(f64::NAN),
        "looks",
        "0",
    );
    core.stop();
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("servers") {
        return servers();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let tasks = setting("TASKWARDEN_BENCH_TASKS", 10_000);
    measure(&runtime, "even", tasks, |number| number % SERVERS);
    measure(&runtime, "9,990 on one", tasks, |number| if number < 10 { 1 + number * 4 } else { 0 });
}
