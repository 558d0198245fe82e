//! The limits of plans, of alarms (`control/alarm.rs`), halts (`control/halt.rs`), pauses (`control/pause.rs`) and
//! control tokens (`control/token.rs`).
//!
//! Plans: used by the engine, which runs them, and by the api, which makes them. How many tasks one plan has at most is in
//! `api.rs`, as for one cancel.

mod alarm;
mod halt;
mod pause;
mod token;

use std::time::Duration;

pub use alarm::{AlarmPolicy, CALLS_REMEMBERED, FINGERPRINT_BYTES};
pub use halt::HaltPolicy;
pub use pause::PausePolicy;
pub use token::ControlTokenPolicy;

use super::{DAY, MINUTE, SECOND};

/// How plans are made, kept and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPolicy {
    /// A plan can be run for this long. Judgement: longer than a person reads a list, shorter than a list stays true.
    pub plan_valid: Duration,
    /// A plan that was run is kept this long after it ended. Judgement: longer than anybody asks what became of it.
    pub plan_kept: Duration,
    /// Tasks of an operation that are recorded together, so that they share an fsync. stop.md §3.3.
    pub tasks_per_commit: usize,
    /// How long the call that runs a plan waits until all tasks were asked, before it says how far it came. Judgement:
    /// 20,000 tasks take longer, and a caller wants to know within this time that it began.
    pub run_wait: Duration,
    /// Characters of a reason at most. As for halts.
    pub reason_chars: usize,
    /// How often the command line looks at an operation again. Judgement: as fast as numbers can be read.
    pub look_every: Duration,
    /// Ids of a plan that are shown when it is made. stop.md §4.
    pub ids_shown: usize,
    pub tokens: ControlTokenPolicy,
    pub alarms: AlarmPolicy,
    pub pauses: PausePolicy,
}

impl Default for ControlPolicy {
    fn default() -> Self {
        Self {
            plan_valid: 15 * MINUTE,
            plan_kept: 30 * DAY,
            tasks_per_commit: 64,
            run_wait: 10 * SECOND,
            reason_chars: 300,
            look_every: SECOND / 5,
            ids_shown: 100,
            tokens: ControlTokenPolicy::default(),
            alarms: AlarmPolicy::default(),
            pauses: PausePolicy::default(),
        }
    }
}
