//! `taskwarden keep`: holds one server's process beyond the core that started it (ruling 16).
//!
//! Cores start it; nobody types it. What to start is read from standard input, because it holds secrets; one line on
//! standard output says whether it runs. It reads no configuration and writes no log. Read the crate `keeper` next.

use std::path::PathBuf;

use api::{ApiError, Code};
use clap::Args;

use crate::cli::output::exit_code::{CommandResult, DONE};

#[derive(Debug, Args)]
pub(crate) struct KeeperArgs {
    /// The folder for this keeper; it must not exist yet.
    folder: PathBuf,
}

pub(crate) async fn run(command: KeeperArgs) -> CommandResult {
    match keeper::serve(&command.folder, tokio::io::stdin(), std::io::stdout()).await {
        Ok(()) => Ok(DONE),
        Err(error) => Err(ApiError::new(
            Code::Failed,
            error.to_string(),
            "Only cores start this; there is nothing to do by hand.",
        )),
    }
}
