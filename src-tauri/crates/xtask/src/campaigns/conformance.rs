//! `cargo xtask conformance`: the official conformance runner in front of servers, and of the gateway before them.
//!
//! The comparison is an integration test (`tests/it/conformance.rs`), which CI runs too; here it only gets its terminal,
//! so that the table of scenarios is seen.

use crate::failure::Failure;
use crate::process;
use crate::setup::install;
use crate::workspace::Workspace;

/// Runs every scenario before and behind the gateway.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    install::peers(workspace)?;
    let arguments = ["test", "--workspace", "--test", "it", "conformance", "--", "--nocapture", "--test-threads=1"];
    let mut comparison = process::cargo(workspace, &arguments);
    process::run(&mut comparison, "The checks that differ are named above; run the runner by hand to see one of them.")
}
