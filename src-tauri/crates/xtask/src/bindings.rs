//! `cargo xtask bindings`: writes the types of calls and frames where the window reads them.
//!
//! A test of the api crate makes the text (`api::bindings`) and compares it with what is checked in; here it runs alone
//! and writes the text first. Nothing is known of the text here.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// The test that writes them.
const TEST: &str = "bindings::the_types_of_the_window_are_those_of_this_core";

/// Writes them.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = ["test", "--quiet", "--package", "taskwarden-api", "--lib", "--", "--exact", TEST];
    let mut test = process::cargo(workspace, &arguments);
    let said = process::output(test.env("BLESS", "1"), "Fix what is named above.")?;
    // A filter that fits no test passes too.
    if said.contains("1 passed") {
        return Ok(());
    }
    Err(Failure::new(format!("there is no test `{TEST}` in the api crate"), "Name it in `xtask/src/bindings.rs`."))
}
