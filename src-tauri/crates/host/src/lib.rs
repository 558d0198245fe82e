//! Turns configuration into a running system, and is the `taskwarden` command line.
//!
//! `compose.rs` is the only place that wires ports to adapters; `socket.rs` is the core's door and `attach.rs` the way
//! through it; `door.rs` is what the command line and the window hold; `cli/` is one file a group of commands. Nothing here decides what is true of a task. Read `config.rs`
//! for what can be set, `secrets.rs` for where secrets lie, `lock.rs` for one core per data directory.

mod agents;
pub mod attach;
mod bridge;
pub mod cli;
pub mod compose;
pub mod config;
mod detach;
mod doctor;
pub mod door;
mod environment;
mod files;
mod frames;
mod http;
pub mod lock;
mod logging;
pub mod menu;
pub mod moment;
mod notices;
mod observed_clock;
mod orphans;
pub mod paths;
mod person;
pub mod places;
mod programs;
mod random;
mod reply;
mod request_budget;
pub mod secrets;
mod sign_in;
pub mod signals;
mod socket;
mod token;
pub mod watchdog;
