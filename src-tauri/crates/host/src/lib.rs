//! Turns configuration into a running system, and is the `taskwarden` command line.
//!
//! Start with `app/compose.rs`, the only place that wires ports to adapters. `socket.rs` and `http.rs` are the two ways
//! into a core, `app/core_client.rs` is how the command line and the window call it, `bridge.rs` is an agent's pipe to
//! it. Nothing here decides what is true of a task.

mod agent_access;
pub mod app;
mod bridge;
pub mod cli;
mod clients;
pub mod config;
mod doctor;
mod http;
mod logging;
mod notifications;
mod os;
mod secrets;
mod socket;
pub mod window;
