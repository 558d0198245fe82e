//! What the engine runs on: supervised tasks, clocks, randomness, the commit signal and gauges.
//!
//! Nothing here knows a task, a server or an agent. Start with `supervisor.rs`, the only place that spawns.

pub(crate) mod clock;
pub(crate) mod clock_steps;
pub(crate) mod commit_signal;
pub(crate) mod due_queue;
pub(crate) mod gauges;
pub(crate) mod hex;
pub(crate) mod random;
pub mod supervisor;
pub(crate) mod thread_activity;
pub(crate) mod tick_queue;
pub(crate) mod time;
