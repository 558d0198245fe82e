//! What the measuring programs share: the released program in a data directory of its own, its CPU time and memory.
//!
//! Figures are read from `/proc` of the core's process, so that servers and drivers do not count. Nothing here judges.

use std::path::PathBuf;
use std::time::Duration;

use domain::policy::Policy;
use host::app::socket_client::SocketClient;
use host::config::paths::Paths;
use serde_json::{Value, json};

use crate::home::Home;

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

/// CPU time that a process has used.
#[must_use]
pub fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name in parentheses: user and system time are the 12th and 13th fields, in clock ticks.
    let after = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

/// Memory that a process holds, in KiB.
#[must_use]
pub fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
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

/// Prints one line of the table.
pub fn row(metric: &str, reference: Option<f64>, ours: f64, unit: &str, aim: &str) {
    let ratio = reference.filter(|reference| *reference > 0.0).map(|reference| ours / reference);
    println!(
        "{}",
        json!({"metric": metric, "reference": reference, "ours": ours, "ratio": ratio, "aim": aim, "unit": unit})
    );
}
