//! Running other programs from the workspace root.
//!
//! Their output goes straight to the terminal unless asked for. It does not interpret results: a program that ends
//! with an error becomes a [`Failure`] that names it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// The cargo that runs us, so that a toolchain chosen by hand stays chosen. It builds what the lock file names and
/// nothing else.
pub(crate) fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut arguments = arguments.to_vec();
    if let Some(after) = locked_after(&arguments) {
        arguments.insert(after, "--locked");
    }
    let mut command = program_in(workspace, program.to_string_lossy().as_ref(), &arguments);
    // Set by `cargo run` for us alone; inherited, they would rebuild crates that read them.
    for name in std::env::vars_os().map(|(name, _)| name).filter(|name| is_ours(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
}

/// Where `--locked` belongs among the arguments of cargo; nowhere for the formatter, which resolves nothing.
fn locked_after(arguments: &[&str]) -> Option<usize> {
    match arguments {
        ["fmt", ..] | [] => None,
        ["nextest", "run", ..] => Some(2),
        _ => Some(1),
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME"
}

/// Any program, with the workspace root as its folder.
pub(crate) fn program_in(workspace: &Workspace, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace.root());
    command
}

/// Runs it to its end with its output on our terminal.
pub(crate) fn run(command: &mut Command, hint: &str) -> Result<(), Failure> {
    let name = written(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{name}` ended with {status}"), hint)),
        Err(why) => Err(Failure::new(format!("`{name}` could not be started: {why}"), hint)),
    }
}

/// Runs it to its end and returns what it printed; its errors go to our terminal.
pub(crate) fn output(command: &mut Command, hint: &str) -> Result<String, Failure> {
    let name = written(command);
    match command.stderr(Stdio::inherit()).output() {
        Ok(done) if done.status.success() => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ok(done) => Err(Failure::new(format!("`{name}` ended with {}", done.status), hint)),
        Err(why) => Err(Failure::new(format!("`{name}` could not be started: {why}"), hint)),
    }
}

/// Whether a program is there and runs.
pub(crate) fn is_there(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command as a person would type it, the program without its folder.
fn written(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let mut words = vec![program.into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_never_builds_anything_but_what_the_lock_file_names() {
        for (arguments, after) in [
            (["build", "--workspace"].as_slice(), Some(1)),
            (&["test", "--workspace", "--", "--nocapture"], Some(1)),
            (&["nextest", "run", "--workspace"], Some(2)),
            (&["fmt", "--all"], None),
        ] {
            assert_eq!(locked_after(arguments), after, "{arguments:?}");
        }
    }
}
