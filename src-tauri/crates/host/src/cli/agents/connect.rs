//! `taskwarden connect`: what an agent's program starts to reach its servers over standard input and output.
//!
//! The agent proves itself with its token, from the environment or from the file that `agents add --save` wrote (ruling
//! 25). Everything else is in `bridge.rs`. Only protocol messages go to standard output.

use api::{ApiError, Code};
use clap::Args;

use crate::agent_access::token_file;
use crate::bridge::core_finder::CoreFinder;
use crate::bridge::{self, stdio_lines};
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::config::Config;

/// A bridge for an agent.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Connect to this server only, with its tools under their own names. Default: all servers.
    server: Option<String>,
    /// The agent's name, as given to `taskwarden agents add`.
    #[arg(long, value_name = "NAME")]
    agent: String,
}

pub(crate) async fn run(command: ConnectArgs, config: Config, screen: &Screen) -> CommandResult {
    let ConnectArgs { server, agent } = command;
    if screen.is_json() {
        return Err(ApiError::new(Code::Usage, "`connect` prints only protocol messages", "Leave `--json` out."));
    }
    let token = token_file::find(&config.paths, &agent)?;
    let policy = config.policy.clone();
    let way = CoreFinder::new(config, agent, token, server)?;
    bridge::run(way, &policy, stdio_lines::input(), stdio_lines::output()).await?;
    Ok(DONE)
}
