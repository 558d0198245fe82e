//! Short rounds in which every contender makes the same calls in turn.
//!
//! A figure is the median of the rounds; the best round is kept beside it, because other work on the machine only ever
//! makes a round worse.

use std::time::Duration;

use tests::bench::{cpu, median};
use tests::load::{Callers, Piped, Target, Work};

const ROUNDS: usize = 5;

/// How long one round is.
pub(crate) fn round() -> Duration {
    let millis = std::env::var("TASKWARDEN_BENCH_MILLIS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(millis.unwrap_or(300))
}

/// How calls reach a contender.
pub(crate) enum Way {
    Http(Callers),
    Pipes(Box<Piped>),
}

/// Something that is measured, and the processes whose CPU time is its own.
pub(crate) struct Contender {
    pub(crate) way: Way,
    pub(crate) pids: Vec<u32>,
}

impl Contender {
    pub(crate) fn http(target: Target, pids: Vec<u32>) -> Self {
        Self { way: Way::Http(Callers::new(target)), pids }
    }

    /// Over pipes; the program counts as its own process.
    pub(crate) fn pipes(piped: Piped, mut pids: Vec<u32>) -> Self {
        pids.extend(piped.pid());
        Self { way: Way::Pipes(Box::new(piped)), pids }
    }

    fn cpu(&self) -> Duration {
        self.pids.iter().map(|&pid| cpu(pid)).sum()
    }

    /// One round.
    pub(crate) fn play(&mut self, runtime: &tokio::runtime::Runtime, load: Load<'_>) -> Round {
        let before = self.cpu();
        let measured = match &mut self.way {
            Way::Pipes(piped) => runtime.block_on(piped.measure(load.callers, load.span, load.tool)),
            Way::Http(callers) => {
                let speech = callers.speech();
                let body = |id| speech.tools_call(id, load.tool);
                let work = Work { method: "tools/call", name: load.tool, body: &body };
                runtime.block_on(callers.measure(load.callers, load.span, &work))
            }
        };
        let cpu = self.cpu().saturating_sub(before);
        Round {
            median: measured.at(0.5),
            p99: measured.at(0.99),
            rate: measured.rate(),
            calls: measured.micros.len() as f64,
            cpu: cpu.as_secs_f64() * 1e6,
        }
    }
}

/// What is called: a tool, by so many callers, for so long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) tool: &'a str,
    pub(crate) callers: usize,
    pub(crate) span: Duration,
}

impl<'a> Load<'a> {
    /// For one round.
    pub(crate) fn of(tool: &'a str, callers: usize) -> Self {
        Self { tool, callers, span: round() }
    }
}

/// What one round came to; times in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) median: f64,
    pub p99: f64,
    pub(crate) rate: f64,
    pub(crate) calls: f64,
    pub(crate) cpu: f64,
}

/// The rounds of one contender.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<Round>);

impl Rounds {
    fn each(&self, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        self.0.iter().map(of).collect()
    }

    /// The value of the middle round.
    pub(crate) fn middle(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(&self.each(of))
    }

    /// The smallest value of any round.
    pub(crate) fn least(&self, of: impl Fn(&Round) -> f64) -> f64 {
        self.each(of).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Calls a second in the middle round.
    pub(crate) fn rate(&self) -> f64 {
        self.middle(|round| round.rate)
    }

    /// Calls a second in the best round.
    pub(crate) fn best_rate(&self) -> f64 {
        self.each(|round| round.rate).into_iter().fold(0.0, f64::max)
    }

    /// CPU time of a call over all rounds: the clock of processes is too coarse for one.
    pub(crate) fn cpu_each(&self) -> f64 {
        self.each(|round| round.cpu).iter().sum::<f64>() / self.each(|round| round.calls).iter().sum::<f64>()
    }
}

/// Rounds of every contender in turn, each round begun by another one; results in the order of the contenders.
pub(crate) fn contest(
    runtime: &tokio::runtime::Runtime,
    contenders: &mut [Contender],
    tool: &str,
    callers: usize,
) -> Vec<Rounds> {
    let mut all = vec![Rounds::default(); contenders.len()];
    for first in 0..ROUNDS {
        for turn in 0..contenders.len() {
            let nth = (first + turn) % contenders.len();
            all[nth].0.push(contenders[nth].play(runtime, Load::of(tool, callers)));
        }
    }
    all
}
