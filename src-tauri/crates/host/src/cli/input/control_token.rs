//! `--token-file`: who runs a command, the person or a supervisor program with its control token.
//!
//! Only commands that a control token may run have it. What the token may do with them is the core's decision.

use std::path::PathBuf;

use api::ApiError;
use clap::Args;

use crate::app::control_client::ControlClient;
use crate::config::Config;

/// Whose command it is.
#[derive(Debug, Args)]
pub(crate) struct TokenFileArg {
    /// Run this as the supervisor program whose control token is in FILE, with what that token may do and nothing more.
    /// Only you may be able to read the file.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenFileArg {
    /// The core as that program reaches it; `None` when a person runs the command.
    ///
    /// # Errors
    /// When the file has no control token, or others can read it.
    pub(crate) fn client(&self, config: &Config) -> Result<Option<ControlClient>, ApiError> {
        self.token_file.as_deref().map(|file| ControlClient::open(config, file)).transpose()
    }
}
