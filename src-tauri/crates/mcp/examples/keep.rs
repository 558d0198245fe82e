//! A keeper and nothing else, for the tests of this crate: they run what `taskwarden keep` runs.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else { return ExitCode::FAILURE };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let kept = runtime.block_on(keeper::serve(&folder, tokio::io::stdin(), std::io::stdout()));
    runtime.shutdown_background();
    if kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
