//! What the torture campaigns share: rounds with a seed, a pulse that measures gaps, and one line of figures.
//!
//! A round that fails is told with its seed and counted, and the campaign goes on, so that one run shows all that is
//! wrong. CI runs samples; `cargo xtask torture` sets the number of rounds and makes the lines a table.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::{PATIENCE, pause_for};

/// A campaign gives up after so many failed rounds: the next ones would say the same. Judgement.
const FAILURES_MAX: u32 = 10;
/// Between two pings of a pulse: a tenth of the gap that issue 11 allows (100 ms).
const PULSE_EVERY: Duration = Duration::from_millis(10);

/// What one round adds to the figures of its campaign.
#[derive(Debug, Default)]
pub struct Round {
    /// Rounds it counts for: a story with eight kills is eight.
    pub weight: u32,
    /// Handles that were given out and are still known.
    pub handles: usize,
    /// Answers that were recorded and arrived.
    pub answers: usize,
    /// The longest time in which the core answered nothing.
    pub gap: Duration,
}

/// Many rounds of the same attack.
pub struct Campaign {
    name: &'static str,
    rounds: u32,
    random: u64,
    done: u32,
    failures: u32,
    sum: Round,
    begun: Instant,
}

impl Campaign {
    /// A campaign of `sample` rounds, or of `TASKWARDEN_TORTURE`, with a seed of its own or `TASKWARDEN_SEED`.
    #[must_use]
    pub fn new(name: &'static str, sample: u32) -> Self {
        let rounds = torture_rounds().unwrap_or(sample);
        let seed = seed(name);
        Self { name, rounds, random: seed, done: 0, failures: 0, sum: Round::default(), begun: Instant::now() }
    }

    /// Runs the rounds and prints the line of figures; fails the test if any round failed.
    pub fn run(mut self, mut round: impl FnMut(&mut Random, &mut Round)) {
        while self.done < self.rounds && self.failures < FAILURES_MAX {
            let seed = next(&mut self.random);
            let mut told = Round { weight: 1, ..Round::default() };
            let ran = catch_unwind(AssertUnwindSafe(|| round(&mut Random(seed), &mut told)));
            if ran.is_err() {
                self.failures += 1;
                println!("{}: round {} failed; its numbers come from {seed}", self.name, self.done + 1);
            }
            self.done += told.weight.max(1);
            self.sum.handles += told.handles;
            self.sum.answers += told.answers;
            self.sum.gap = self.sum.gap.max(told.gap);
        }
        let workers = std::env::var("TOKIO_WORKER_THREADS").unwrap_or_else(|_| "all".into());
        let figures = json!({
            "campaign": self.name, "workers": workers, "rounds": self.done, "failures": self.failures,
            "handles": self.sum.handles, "answers": self.sum.answers,
            "gapMs": u64::try_from(self.sum.gap.as_millis()).unwrap_or(u64::MAX),
            "seconds": self.begun.elapsed().as_secs(),
        });
        println!("{figures}");
        assert_eq!(self.failures, 0, "rounds of `{}` that failed", self.name);
    }
}

/// The number of rounds that `cargo xtask torture` sets.
fn torture_rounds() -> Option<u32> {
    number_from("TASKWARDEN_TORTURE").and_then(|rounds| u32::try_from(rounds).ok())
}

/// `TASKWARDEN_SEED` or a new seed; printed, so that a failure can be repeated.
fn seed(name: &str) -> u64 {
    let seed = number_from("TASKWARDEN_SEED");
    let seed = seed.unwrap_or_else(|| getrandom::u64().expect("the system has random bits"));
    println!("{name}: TASKWARDEN_SEED={seed}");
    seed
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// CI kills the core at one in so many passages of a kill point that a story passes often (ruling 35).
const SAMPLE_EVERY: u32 = 4;
/// No story passes a kill point so often.
const PASSAGES_MAX: u32 = 200;

/// Kills the core before and after each passage of a kill point, until the story passes it no more. `kill_at` runs the story
/// with a core that aborts at the place it is given, and tells whether the core got there. Returns the number of passages.
pub fn kill_at_each(point: &str, kill_at: impl Fn(&str) -> bool) -> u32 {
    ["before", "after"].map(|side| kill_from(&format!("{point}:{side}"), 1, 1, &kill_at)).iter().sum()
}

/// The same at one passage in four, from a random one on; at each of them with `TASKWARDEN_TORTURE`. Returns the greatest
/// number of passages that fits what was seen.
pub fn kill_at_some(point: &str, kill_at: impl Fn(&str) -> bool) -> u32 {
    if torture_rounds().is_some() {
        return kill_at_each(point, kill_at);
    }
    let mut random = Random(seed(point));
    let mut side = |side| kill_from(&format!("{point}:{side}"), 1 + random.below(SAMPLE_EVERY), SAMPLE_EVERY, &kill_at);
    side("before") + side("after")
}

fn kill_from(place: &str, first: u32, every: u32, kill_at: impl Fn(&str) -> bool) -> u32 {
    let step = usize::try_from(every).expect("a small number");
    let numbers = (first..PASSAGES_MAX).step_by(step);
    let last = numbers.take_while(|number| kill_at(&format!("{place}:{number}"))).last();
    // The next one that was tried is not passed, so at most one less than a step lies behind the last.
    last.map_or(first - 1, |last| last + every - 1)
}

/// Numbers that come again from the same seed.
pub struct Random(u64);

impl Random {
    /// A number below `bound`, which is at most 2^31.
    pub fn below(&mut self, bound: u32) -> u32 {
        let drawn = next(&mut self.0) >> 33;
        u32::try_from(drawn % u64::from(bound.max(1))).unwrap_or_default()
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.below(u32::try_from(of.len()).unwrap_or(u32::MAX));
        of.get(usize::try_from(at).unwrap_or_default()).expect("something to pick from")
    }
}

/// Knuth's linear congruential generator; its high bits are good enough for moments.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state
}

/// Sets a flag when it is dropped, so that threads that run until the flag is set also end when the test panics.
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Pings a core through its socket all the time, and measures the longest time without an answer.
pub struct Pulse {
    is_over: Arc<AtomicBool>,
    beating: Option<JoinHandle<Duration>>,
}

impl Drop for Pulse {
    /// A round that fails leaves no pulse behind.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Pulse {
    /// Starts at the first answer of the core behind this socket.
    #[must_use]
    pub fn start(socket: PathBuf) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let beating = std::thread::spawn(move || {
            let (mut longest, mut answered) = (Duration::ZERO, None::<Instant>);
            while !over.load(Ordering::Relaxed) {
                let is_answered = ping(&socket).is_ok();
                if let Some(before) = answered {
                    longest = longest.max(before.elapsed());
                }
                if is_answered {
                    answered = Some(Instant::now());
                }
                pause_for(PULSE_EVERY);
            }
            longest
        });
        Self { is_over, beating: Some(beating) }
    }

    /// Ends it; the longest time without an answer.
    #[must_use]
    pub fn stop(mut self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.beating.take().map_or(Duration::ZERO, |beating| beating.join().expect("the pulse ends"))
    }
}

/// Asks the core for its shortest answer, over a connection of its own.
fn ping(socket: &Path) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(
        b"POST /call/core.ping HTTP/1.1\r\nhost: core\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
    )?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    if head.ends_with(b" 200") { Ok(()) } else { Err(std::io::Error::other("no pong")) }
}
