//! `taskwarden agents new-token`: replaces an agent's token and prints the new one once.
//!
//! The agent's tasks go on; sessions with the old token end. Where `connect` reads the token from a file, the core has
//! written the new one there.

use api::ApiError;
use api::calls::Nothing;
use api::calls::agents::AgentList;
use api::calls::agents::new_token::NewAgentToken;
use api::dto::OneAgent;
use api::format::time;
use clap::Args;

use super::add::print_program;
use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::config::Config;

/// The agent whose token is replaced.
#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// The agent's name or id.
    name: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn replace(input: NewTokenArgs, config: &Config, screen: &Screen) -> CommandResult {
    let NewTokenArgs { name, yes } = input;
    let core = CoreClient::attach(config)?;
    if !yes {
        confirm(&name, &core, screen).await?;
    }
    let made: NewAgentToken = core.request("agents.newToken", &OneAgent { agent: name }).await?;
    if screen.is_json() {
        screen.json(&made)?;
        return Ok(DONE);
    }
    screen.note(&format!("Agent `{}` has a new token; it cannot be shown again:", made.agent.name));
    screen.line(&made.token);
    if made.ended_sessions > 0 {
        screen.note(&format!("Ended {}. Its open tasks go on.", time::count(made.ended_sessions, "session")));
    }
    for program in &made.settings.programs {
        print_program(program, screen);
    }
    match &made.saved_in {
        Some(file) => screen.note(&format!("\n`{file}` has the new token, so `taskwarden connect` goes on by itself.")),
        None => screen.note("\nPut it into the settings of the agent's program, then restart the program."),
    }
    Ok(DONE)
}

async fn confirm(name: &str, core: &CoreClient, screen: &Screen) -> Result<(), ApiError> {
    let list: AgentList = core.request("agents.list", &Nothing {}).await?;
    let Some(agent) = list.agents.iter().find(|agent| agent.name == name || agent.id == name) else {
        // The core reports the unknown name, with a suggestion.
        return Ok(());
    };
    let sessions = u64::try_from(agent.sessions.len()).unwrap_or(u64::MAX);
    let question = format!("Replace the token of `{}`, which ends {}?", agent.name, time::count(sessions, "session"));
    prompt::confirm(&question, &format!("agent `{}` keeps its token", agent.name), screen).await
}
