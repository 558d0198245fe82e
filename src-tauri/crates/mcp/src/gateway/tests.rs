//! The gateway over a whole engine on a paused clock, with scripted servers and the memory registry.
//!
//! `world.rs` is the stage: agents that send requests as a face would hand them over, and what they hear. What passes
//! through real servers and sockets is tested by the programs of the `tests` crate.

mod budget;
mod calls;
mod ends_in_words;
mod holds;
mod isolation;
mod legacy;
mod legacy_stage;
mod modern_tasks;
mod passing;
mod questions;
mod schemas;
mod short_errors;
mod shown_part;
mod slices;
mod task_tools;
mod waiting;
mod wired;
mod world;
