//! What the measuring programs share: the released program in a data directory of its own, and what a process uses.
//!
//! CPU time, memory and context switches are read from `/proc` of the processes named, so that servers and drivers do
//! not count. System calls are counted by the kernel and read with `perf` or `strace` (`kernel_counts.rs`). Nothing here
//! judges.

use std::path::PathBuf;
use std::time::Duration;

use domain::policy::Policy;
use host::app::socket_client::SocketClient;
use host::config::paths::Paths;
use serde::Serialize;
use serde_json::{Value, json};

use crate::home::Home;

mod kernel_counts;

pub use kernel_counts::{KernelCount, KernelCounts};

/// `taskwarden` beside the running example: `target/release/taskwarden`.
#[must_use]
pub fn program() -> PathBuf {
    let here = std::env::current_exe().expect("the path of this program");
    here.ancestors().nth(2).expect("target/release").join("taskwarden")
}

/// A way to the core of a data directory.
#[must_use]
pub fn attach(home: &Home) -> SocketClient {
    SocketClient::new(&Paths::new(home.data()), &Policy::default()).expect("a way to the core")
}

/// Makes a call of the api and reads its JSON.
pub async fn call(core: &SocketClient, name: &str, input: &Value) -> Value {
    let text = core.call(name, input.to_string()).await.unwrap_or_else(|e| panic!("`{name}` failed: {e}"));
    serde_json::from_str(&text).expect("JSON of the api")
}

/// Starts a call on a server and returns its handle.
pub async fn start(core: &SocketClient, server: &str, tool: &str, nonce: &str) -> String {
    let input = json!({"server": server, "tool": tool, "arguments": {"nonce": nonce}});
    let task = call(core, "tasks.start", &input).await;
    task.get("id").and_then(Value::as_str).expect("an id").to_owned()
}

/// The fields of `/proc/PID/stat` after the name, which may hold anything.
fn stat(pid: u32) -> Vec<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    after.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect()
}

/// CPU time that a process has used.
#[must_use]
pub fn cpu(pid: u32) -> Duration {
    // User and system time are the 11th and 12th fields after the state, in clock ticks.
    let ticks: u64 = stat(pid).iter().skip(10).take(2).sum();
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

/// A process and everything that it started.
#[must_use]
pub fn family(pid: u32) -> Vec<u32> {
    let every = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: Vec<u32> = every.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(pids.iter().filter(|&&pid| stat(pid).first() == Some(&u64::from(parent))));
        next += 1;
    }
    family
}

/// The number after a name in a file of `/proc`.
fn field(path: impl AsRef<std::path::Path>, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Memory that a process holds, in KiB.
#[must_use]
pub fn resident_kib(pid: u32) -> u64 {
    field(format!("/proc/{pid}/status"), "VmRSS:")
}

/// How often the threads of a process left a processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Switches {
    /// Because they had nothing to do. Each of these ends with a wake-up.
    pub waited: u64,
    /// Because others wanted the processor: that is the machine's doing.
    pub preempted: u64,
}

impl Switches {
    /// Of all threads that a process has now.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        threads.fold(Self::default(), |sum, thread| {
            let status = thread.path().join("status");
            Self {
                waited: sum.waited + field(&status, "voluntary_ctxt_switches:"),
                preempted: sum.preempted + field(&status, "nonvoluntary_ctxt_switches:"),
            }
        })
    }

    /// What came since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            waited: self.waited.saturating_sub(earlier.waited),
            preempted: self.preempted.saturating_sub(earlier.preempted),
        }
    }
}

/// The value below which `share` of the sorted values lie.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let place = (last as f64 * share).round() as usize;
    sorted.get(place.min(last)).copied().unwrap_or(f64::NAN)
}

/// The middle one of some values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// One line of the table; what is `None` becomes a dash there.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Row {
    /// What was measured, in the same words in every run: it is how the former figure is found.
    pub metric: String,
    /// The figure of what we are measured against.
    pub reference: Option<f64>,
    /// Our figure.
    pub ours: Option<f64>,
    /// Ours over the reference; filled in by [`Row::print`].
    pub ratio: Option<f64>,
    /// The ratio, or without a reference our figure, from the best round instead of the middle one.
    pub best: Option<f64>,
    /// What it should be.
    pub aim: String,
    /// The unit of both figures.
    pub unit: &'static str,
    /// Why a figure is missing, or what else a reader has to know.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Row {
    /// Prints it for `cargo xtask bench`.
    pub fn print(mut self) {
        if self.ratio.is_none() {
            let reference = self.reference.filter(|reference| *reference > 0.0);
            self.ratio = self.ours.zip(reference).map(|(ours, reference)| ours / reference);
        }
        println!("{}", serde_json::to_string(&self).expect("numbers and texts"));
    }
}

/// Prints one line of the table.
pub fn row(metric: &str, reference: Option<f64>, ours: f64, unit: &'static str, aim: &str) {
    Row { metric: metric.to_owned(), reference, ours: Some(ours), unit, aim: aim.to_owned(), ..Row::default() }.print();
}
