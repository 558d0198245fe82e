//! From a change on a server that pushes to the line that `tasks watch --json` prints.
//!
//! The reference is the way without us: the same number of changes from the server's stream straight to a plain reader
//! in this process would take no measurable time, so there is none; the figures are times.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made should fail loudly")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tests::bench::{attach, program, quantile, row, start};
use tests::home::{Home, pause_for, wait_for};
use tests::server::{Manner, Recorder};

const CHANGES: usize = 500;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_secs(60), slow: Duration::ZERO, pushes: true };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    let home = Home::new(&program().display().to_string());
    let core = home.serve();
    let ran = home.run(["servers", "add", "pushing", "--yes", "--url", &server.url()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let id = runtime.block_on(start(&attach(&home), "pushing", "load", "one"));
    let task = server.task_of("one").expect("the task is on the server");
    wait_for("the core listens to the task", || server.is_heard(&task).then_some(()), || home.core_log());

    let mut watch = home
        .command()
        .args(["tasks", "watch", &id, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the watcher starts");
    let (line_out, lines) = mpsc::sync_channel(CHANGES * 4);
    let output = BufReader::new(watch.stdout.take().expect("its output"));
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if line_out.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    });
    // The first line tells the state of now; changes count from here.
    let _ = lines.recv_timeout(Duration::from_secs(30)).expect("the watcher shows the task");
    let mut taken = Vec::with_capacity(CHANGES);
    for number in 0..CHANGES {
        let word = format!("step {number} of many");
        let changed = Instant::now();
        server.say(&task, &word);
        let seen = loop {
            let (at, line) = lines.recv_timeout(Duration::from_secs(30)).expect("every change is shown");
            if line.contains(&word) {
                break at;
            }
        };
        taken.push(seen.duration_since(changed).as_secs_f64() * 1_000.0);
        // A little apart, so that each change is a first one and not coalesced with the one before.
        pause_for(Duration::from_millis(40));
    }
    let _ = watch.kill();
    let _ = watch.wait();
    taken.sort_by(f64::total_cmp);
    row("change on a pushing server to watch line, median", None, quantile(&taken, 0.5), "ms", "");
    row("change on a pushing server to watch line, p99", None, quantile(&taken, 0.99), "ms", "< 100");
    core.stop();
}
