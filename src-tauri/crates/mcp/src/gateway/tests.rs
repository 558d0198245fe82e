//! The gateway over a whole engine on a paused clock, with scripted servers and the memory registry.
//!
//! Real servers and sockets are tested by the programs of the `tests` crate. Start with `setup.rs`.

mod calls;
mod clipped_results;
mod elicitation;
mod error_previews;
mod final_notes;
mod forwarding;
mod held_calls;
mod held_results;
mod isolation;
mod legacy;
mod legacy_setup;
mod modern_tasks;
mod result_pages;
mod schemas;
mod scripted_servers;
mod setup;
mod task_tools;
mod tool_names;
mod usage;
