//! `taskwarden connect`: what an agent's program starts to reach its servers over standard input and output.
//!
//! It proves itself with the agent's token, from the environment or from the file that `agents add --save` wrote
//! (ruling 25). Everything else is `bridge.rs`. Nothing but protocol is written to standard output.

use api::{ApiError, Code};
use clap::Args;

use super::screen::Screen;
use super::{DONE, Ended};
use crate::bridge::core::Way;
use crate::bridge::{self, pipes};
use crate::config::Config;
use crate::token;

/// A bridge for an agent.
#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// Only this server, with its tools under their own names; without it, all servers.
    server: Option<String>,
    /// The agent, as `taskwarden agents add` named it.
    #[arg(long, value_name = "NAME")]
    agent: String,
}

pub(crate) async fn run(command: Connect, config: Config, screen: &Screen) -> Ended {
    let Connect { server, agent } = command;
    if screen.is_json() {
        return Err(ApiError::new(Code::Usage, "a bridge prints nothing of its own", "Leave `--json` out."));
    }
    let token = token::find(&config.paths, &agent)?;
    let policy = config.policy.clone();
    let way = Way::new(config, agent, token, server)?;
    bridge::run(way, &policy, pipes::input(), pipes::output()).await?;
    Ok(DONE)
}
