//! The `taskwarden` program. Everything is in `host::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::cli::run()
}
