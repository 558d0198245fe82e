//! The window of Taskwarden: a thin shell around the host.
//!
//! It holds no rule about tasks. What can be asked is `api`'s, what runs is `host`'s; this crate carries calls and
//! frames between them and a webview, and owns what only a desktop has.

use std::process::ExitCode;

/// Runs what the arguments ask for: the demo server, or the window.
#[must_use]
pub fn run() -> ExitCode {
    host::cli::run()
}
