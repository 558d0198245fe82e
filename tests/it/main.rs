//! One binary for everything that crosses a crate or a process: the real program against real servers.
//!
//! `peers.rs` talks to servers we did not write, `hostile.rs` to servers that misbehave, `kill.rs` ends the core at every
//! point where that could hurt, `statements/` holds us to protocol.md §8.1 (the table is `../STATEMENTS.md`). They run the
//! program as a person would; nothing here reaches into it.

#![expect(clippy::indexing_slicing, reason = "a wrong JSON path in a test should fail loudly")]
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail like tests")]

mod agents;
mod all_at_once;
mod attacks;
mod audit_anchors;
mod audit_otlp;
mod audit_recipe;
mod audit_removed;
mod audit_rewritten;
mod audit_sinks;
mod audit_traces;
mod budget;
mod budget_kill;
mod bulk;
mod clients;
mod conformance;
mod control_document;
mod control_repeats;
mod copied_folder;
mod dead_servers;
mod disk_full;
mod escalation;
mod frozen;
mod gateway_guess;
mod gateway_kill;
mod gateway_statements;
mod halt_file;
mod halt_kill;
mod halt_questions;
mod halt_under_load;
mod hostile;
mod import;
mod kill;
mod kill_kept;
mod loop_alarms;
mod pauses;
mod peers;
mod receipts;
mod repeated_calls;
mod revocation;
mod sign_in;
mod silent_core;
mod statements;
mod stored_limits;
mod survival;
mod taken_over;
mod torture_clock;
mod torture_disk;
mod torture_sessions;
mod transcript;
mod unknown_tasks;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_core-under-test");
/// Our serving face with the fixtures of the conformance runner.
pub(crate) const CONFORMANCE_SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");
/// The independent 2026-07-28 peer: a server, the same fixtures, and a client.
pub(crate) const RMCP_PEER: &str = env!("CARGO_BIN_EXE_rmcp-peer");
