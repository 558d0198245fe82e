//! What writing a call ahead costs: in the caller's way, and as processor time of the whole process.
//!
//! A quick call begins and ends at once, a slow one lasts a few milliseconds, so that it is written and removed. Each is
//! measured with the intents of the policy and with ones that are written without waiting for their end, in the same run.
//! Prints one JSON object a line, as `cargo xtask bench` reads it.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot go on has nothing to say")]

use std::path::Path;
use std::time::{Duration, Instant};

use domain::policy::Policy;
use domain::ports::CallIntents as _;
use registry::{CallIntentsOptions, SealKey, SqliteCallIntents};
use testkit::contract::call_intents::intent;
use tokio::runtime::Handle;

/// Quick calls in one round.
const QUICK: u64 = 20_000;
/// How long a quick call takes, as one on loopback does.
const QUICK_TAKES: Duration = Duration::from_micros(100);
/// Slow calls in one round, all at once.
const SLOW: u64 = 2_000;

async fn open(path: &Path, settle: Duration) -> SqliteCallIntents {
    let mut policy = Policy::default();
    policy.gateway.intent_settle = settle;
    let opening = CallIntentsOptions { path, key: SealKey::from_bytes([7; 32]), policy: &policy };
    SqliteCallIntents::open(opening, |work| drop(Handle::current().spawn(work))).await.expect("opens")
}

/// Processor time of this process so far.
fn spent() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = |place: usize| text.rsplit(')').next()?.split_whitespace().nth(place)?.parse::<u64>().ok();
    // User and system time in hundredths of a second, counted from behind the name.
    Duration::from_millis(10 * (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0)))
}

/// Nanoseconds in the caller's way for each of some quick calls one after the other, and of the processor's. Without
/// intents, what the measurement itself costs.
#[expect(clippy::disallowed_methods, reason = "the thread is the caller's alone, and its pause is what a call takes")]
fn quick(intents: Option<&SqliteCallIntents>) -> (u128, u128) {
    let (mut in_the_way, before) = (Duration::ZERO, spent());
    for number in 0..QUICK {
        let intent = intent(number);
        let id = intent.id;
        let began = Instant::now();
        if let Some(intents) = intents {
            intents.begin(intent);
        }
        in_the_way += began.elapsed();
        // What the call itself takes; nobody else has this thread meanwhile.
        std::thread::sleep(QUICK_TAKES);
        let began = Instant::now();
        if let Some(intents) = intents {
            intents.end(id);
        }
        in_the_way += began.elapsed();
    }
    let calls = u128::from(QUICK);
    (in_the_way.as_nanos() / calls, (spent() - before).as_nanos() / calls)
}

/// Calls begun, written, ended and removed in a second.
async fn slow(intents: &SqliteCallIntents) -> u64 {
    let began = Instant::now();
    for number in 0..SLOW {
        intents.begin(intent(number));
    }
    intents.flushed().await;
    for number in 0..SLOW {
        intents.end(intent(number).id);
    }
    intents.flushed().await;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    SLOW * 1_000 / millis
}

fn row(metric: &str, reference: u128, ours: u128, unit: &str, aim: &str) {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let ratio = ours as f64 / reference.max(1) as f64;
    println!(
        "{{\"metric\": \"{metric}\", \"reference\": {reference}, \"ours\": {ours}, \"unit\": \"{unit}\", \
         \"ratio\": {ratio:.2}, \"aim\": \"{aim}\"}}"
    );
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (_, nothing) = tokio::task::block_in_place(|| quick(None));
    let mut found = Vec::new();
    for settle in [Duration::ZERO, Policy::default().gateway.intent_settle] {
        let folder = tempfile::tempdir().expect("a folder");
        let intents = open(&folder.path().join("intents.sqlite"), settle).await;
        let (in_the_way, processor) = tokio::task::block_in_place(|| quick(Some(&intents)));
        found.push((in_the_way, processor.saturating_sub(nothing), u128::from(slow(&intents).await)));
    }
    let [(way_at_once, cpu_at_once, slow_at_once), (way, cpu, slow)] = found.as_slice() else { return };
    row("a quick call written ahead, in its way, against at once", *way_at_once, *way, "ns", "<= 5000 ns");
    row("the same, processor time", *cpu_at_once, *cpu, "ns", "<= 1 ×");
    row("slow calls written ahead and removed", *slow_at_once, *slow, "calls/s", ">= 10000 calls/s");
}
