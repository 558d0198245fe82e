//! `taskwarden agents`: add, list and revoke agents.
//!
//! Adding is in `add.rs`, a new token in `new_token.rs`, the bridge of an agent's program in `connect.rs`. What an agent may do is not decided here.

mod add;
pub(crate) mod connect;
mod new_token;

use anstyle::AnsiColor;
use api::calls::Nothing;
use api::calls::agents::{AgentList, AgentRevoked, RevokeAgent};
use api::calls::tasks::cancel::CancelList;
use api::dto::task::facts::CancelStateDto;
use api::dto::{AgentFacts, moment};
use api::format::time;
use api::format::tokens::grouped;
use api::{ApiError, Code};
use clap::Subcommand;

use super::input::prompt;
use super::output::screen::Screen;
use super::output::sentences::one_line;
use super::output::table::{TableCell, TableLayout, text, toned};
use super::output::{left_entries, sentences, table};
use super::tasks::cancel;
use crate::agent_access::token_file;
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Add an agent, and print its token once with settings for its program.
    Add(add::AddAgentArgs),
    /// Make a new token for an agent, and print it once with settings. The old token stops working at once.
    NewToken(new_token::NewTokenArgs),
    /// List all agents.
    List,
    /// Revoke an agent's access at once, and ask servers to cancel all its tasks.
    Revoke {
        /// The agent's name or id.
        name: String,
        /// The reason, for the audit log and for servers that accept one.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) async fn run(command: AgentsCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        AgentsCommand::Add(input) => add::add(input, config, screen).await,
        AgentsCommand::NewToken(input) => new_token::replace(input, config, screen).await,
        AgentsCommand::List => list(config, screen).await,
        AgentsCommand::Revoke { name, reason, yes } => revoke(name, reason, yes, config, screen).await,
    }
}

async fn list(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let list: AgentList = core.request("agents.list", &Nothing {}).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.agents.is_empty() {
        screen.line("No agent yet. Add one: taskwarden agents add NAME");
        return Ok(DONE);
    }
    let rows = list.agents.iter().map(row).collect();
    let layout = TableLayout {
        header: &["NAME", "STATE", "SEEN", "CALLS", "OPEN", "NEEDS YOU", "CLIENT"],
        cut: &["CLIENT"],
        spare: &["CLIENT", "CALLS"],
    };
    table::print(screen, layout, rows);
    if core.is_read_only() {
        screen.note("No core is running, so it is not known who is connected. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

fn row(agent: &AgentFacts) -> Vec<TableCell> {
    let now = sentences::now();
    let seen = agent.seen_at.as_deref().and_then(moment).map_or_else(|| "never".into(), |at| time::ago(at, now));
    vec![
        text(agent.name.clone()),
        match (&agent.revoked_at, agent.connected) {
            (Some(_), _) => toned("revoked", AnsiColor::Red),
            (None, _) if agent.paused.is_some() => toned("paused", AnsiColor::Yellow),
            (None, true) => toned("connected", AnsiColor::Green),
            (None, false) => text("away"),
        },
        text(seen),
        text(agent.calls.to_string()),
        text(agent.figures.open.to_string()),
        text(agent.figures.needs_you.to_string()),
        text(agent.client.as_deref().map_or_else(|| "-".into(), one_line)),
    ]
}

async fn revoke(name: String, reason: Option<String>, yes: bool, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    if !yes {
        confirm(&name, &core, screen).await?;
    }
    let input = RevokeAgent { agent: name, reason };
    let revoked: AgentRevoked = core.request("agents.revoke", &input).await?;
    let name = &revoked.agent.name;
    token_file::forget(&config.paths, name);
    if screen.is_json() {
        screen.json(&revoked)?;
        let refused = revoked.stops.iter().any(|stop| stop.state == CancelStateDto::Refused);
        return Ok(if refused { Code::Refused.exit() } else { DONE });
    }
    screen.line(&format!("Agent `{name}` no longer has access."));
    left_entries::print("connect as it", &revoked.left, screen);
    let listed = u64::try_from(revoked.stops.len()).unwrap_or(u64::MAX);
    screen.line(&asked(revoked.stopped, listed));
    if revoked.stopped == 0 && listed == 0 {
        return Ok(DONE);
    }
    let hidden = revoked.stopped.saturating_sub(listed);
    let ended = cancel::report(CancelList { stops: revoked.stops }, false, &core, config, screen).await?;
    if hidden > 0 {
        screen.note(&format!("{hidden} more: taskwarden tasks list --agent {name}"));
    }
    Ok(ended)
}

/// How many open tasks the agent had, and how many of them are asked to cancel now: the head of the list of all of them.
fn asked(now: u64, listed: u64) -> String {
    let open = time::count(listed.max(now), "open task");
    match now {
        0 if listed == 0 => "It had no open tasks.".into(),
        0 => format!("It had {open}, which had been asked to cancel before:"),
        now if now >= listed => format!("Cancelling {open}:"),
        1 => format!("It had {open}. 1 is asked to cancel now; the others had been asked before:"),
        now => format!("It had {open}. {} are asked to cancel now; the others had been asked before:", grouped(now)),
    }
}

async fn confirm(name: &str, core: &CoreClient, screen: &Screen) -> Result<(), ApiError> {
    let list: AgentList = core.request("agents.list", &Nothing {}).await?;
    let Some(agent) = list.agents.iter().find(|agent| agent.name == name || agent.id == name) else {
        // The core reports the unknown name, with a suggestion.
        return Ok(());
    };
    let tasks = time::count(agent.open_tasks, "open task");
    let question = format!("Revoke the access of `{}` and cancel {tasks}?", agent.name);
    prompt::confirm(&question, &format!("agent `{}` was not revoked", agent.name), screen).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_revocation_counts_the_tasks_that_are_listed_below_it() {
        assert_eq!(asked(0, 0), "It had no open tasks.");
        assert_eq!(asked(3, 3), "Cancelling 3 open tasks:");
        assert_eq!(asked(1, 16), "It had 16 open tasks. 1 is asked to cancel now; the others had been asked before:");
        assert_eq!(asked(2, 16), "It had 16 open tasks. 2 are asked to cancel now; the others had been asked before:");
        assert_eq!(asked(0, 16), "It had 16 open tasks, which had been asked to cancel before:");
        assert_eq!(asked(700, 500), "Cancelling 700 open tasks:", "a list is a page, and the head counts all");
    }
}
