//! The running program: composes a core from its adapters, starts it once per data directory, and reaches a running
//! one.
//!
//! `compose.rs` wires ports to adapters; `core_client.rs` is what the command line and the window call;
//! `control_client.rs` calls as a supervisor program; `socket_client.rs` reaches a core in another process. Nothing here
//! decides what is true of a task.

pub(crate) mod agent_doors;
pub mod compose;
pub(crate) mod control_client;
pub(crate) mod control_events;
pub mod core_client;
pub(crate) mod environment;
pub(crate) mod folder_watch;
pub(crate) mod halt_file;
mod leftover_children;
pub(crate) mod locked_data_dir;
pub(crate) mod running_core;
pub mod shutdown_signals;
pub mod socket_client;
pub(crate) mod start_error;
pub mod watchdog;
