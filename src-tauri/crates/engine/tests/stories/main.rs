//! Stories of the engine on a paused clock, against the scripted server and the memory registry.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "stories are tests, also where clippy cannot tell: they end with a reason"
)]

mod calls;
mod deciding;
mod finding;
mod following;
mod hardship;
mod restarting;
mod settling;
mod telling;
mod world;
