//! `cargo xtask bindings`: writes the types of calls and frames where the window reads them.
//!
//! The text is the api's (`api::bindings`); nothing is known of it here. That what is checked in is not stale is a test
//! of the api crate, which `cargo xtask test` runs with all others: a step of its own would compile the heavy crates a
//! second time.

use std::process::Stdio;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// Where the window reads them.
const PLACE: &str = "ui/src/lib/bindings/index.ts";

/// Writes them.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = ["run", "--quiet", "--package", "taskwarden-api", "--example", "bindings"];
    let written = process::cargo(workspace, &arguments).stderr(Stdio::inherit()).output();
    let written = written.map_err(|why| Failure::new(format!("cargo could not be started: {why}"), "Install Rust."))?;
    if !written.status.success() || written.stdout.is_empty() {
        return Err(Failure::new("the types could not be written", "Fix what the compiler names above."));
    }
    std::fs::write(workspace.root().join(PLACE), &written.stdout)
        .map_err(|why| Failure::new(format!("`{PLACE}` could not be written: {why}"), "Check who owns it."))
}
