//! `taskwarden keep`: holds one server's process beyond the core that started it (ruling 16).
//!
//! Cores start it; nobody types it. What to start comes on standard input, because it holds secrets; whether it runs is
//! said in one line on standard output. It reads no configuration and writes no log: everything about it is in
//! `mcp::upstream::transport`.

use std::path::PathBuf;

use api::{ApiError, Code};
use clap::Args;

use super::{DONE, Ended};

/// A keeper.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// The folder of this keeper; it must not be there yet.
    folder: PathBuf,
}

pub(crate) async fn run(command: Keep) -> Ended {
    match mcp::upstream::transport::keep(&command.folder, tokio::io::stdin(), std::io::stdout()).await {
        Ok(()) => Ok(DONE),
        Err(error) => Err(ApiError::new(
            Code::Failed,
            error.to_string(),
            "Cores start this by themselves; there is nothing to do by hand.",
        )),
    }
}
