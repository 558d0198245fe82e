//! Stories of the engine on a paused clock, against the scripted server and the memory registry.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "stories are tests, also where clippy cannot tell: they end with a reason"
)]

mod agent_connections;
mod agent_world;
mod agents;
mod budget;
mod budget_kept;
mod budget_limits;
mod budget_room;
mod budget_scale;
mod budget_shares;
mod bulk;
mod calls;
mod clock_steps;
mod decisions;
mod dedup;
mod discovery;
mod ended_by_person;
mod failing_polls;
mod failures;
mod halts;
mod handle_release;
mod kill_points;
mod log_sinks;
mod loop_alarms;
mod many_questions;
mod notices;
mod pauses;
mod polling;
mod questions_after_restart;
mod recording;
mod resolving;
mod restarting;
mod scale;
mod server_acts;
mod shared_questions;
mod sign_ins;
mod signed_log;
mod standing_answers;
mod task_spans;
mod time_limits;
mod unknown_tasks;
mod world;
