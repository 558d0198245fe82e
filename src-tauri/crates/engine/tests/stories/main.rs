//! Stories of the engine on a paused clock, against the scripted server and the memory registry.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "stories are tests, also where clippy cannot tell: they end with a reason"
)]

mod agents;
mod budget;
mod budget_kept;
mod budget_limits;
mod budget_room;
mod budget_scale;
mod calls;
mod clock_steps;
mod deciding;
mod driving;
mod finding;
mod following;
mod giving;
mod hardship;
mod joining;
mod killing;
mod lines;
mod many_questions;
mod recording;
mod restarting;
mod scale;
mod settling;
mod shared_questions;
mod telling;
mod world;
