//! `taskwarden agents`: add, list, revoke.
//!
//! Adding is in `add.rs`. What an agent may do is not decided here.

mod add;

use anstyle::AnsiColor;
use api::calls::Nothing;
use api::calls::agents::{AgentList, AgentRevoked, RevokeAgent};
use api::calls::tasks::cancel::CancelList;
use api::dto::{AgentFacts, moment};
use api::{ApiError, Code};
use api::format::time;
use clap::Subcommand;

use super::screen::Screen;
use super::table::{Column, Layout, text, toned};
use super::words::one_line;
use super::{DONE, Ended, prompt, stop, table, words};
use crate::config::Config;
use crate::door::Door;
use crate::token;

/// Commands about agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Add an agent; prints its token once, with settings for its program.
    Add(add::Add),
    /// List all agents.
    List,
    /// Take an agent's access away at once, and ask all its tasks to stop.
    Revoke {
        /// Its name or id.
        name: String,
        /// Why, for the record and for servers that take it.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) async fn run(command: Agents, config: &Config, screen: &Screen) -> Ended {
    match command {
        Agents::Add(input) => add::add(input, config, screen).await,
        Agents::List => list(config, screen).await,
        Agents::Revoke { name, reason, yes } => revoke(name, reason, yes, config, screen).await,
    }
}

async fn list(config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let list: AgentList = door.ask("agents.list", &Nothing {}).await?;
    if screen.is_json() {
        screen.json(&list)?;
        return Ok(DONE);
    }
    if list.agents.is_empty() {
        screen.line("No agent yet. Add one: taskwarden agents add NAME");
        return Ok(DONE);
    }
    let rows = list.agents.iter().map(row).collect();
    let layout = Layout {
        header: &["NAME", "STATE", "SEEN", "CALLS", "OPEN", "NEEDS YOU", "CLIENT"],
        cut: &["CLIENT"],
        spare: &["CLIENT", "CALLS"],
    };
    table::print(screen, layout, rows);
    if door.is_reading() {
        screen.note("No core is running: who is connected is not known. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

fn row(agent: &AgentFacts) -> Vec<Column> {
    let now = words::now();
    let seen = agent.seen_at.as_deref().and_then(moment).map_or_else(|| "never".into(), |at| time::ago(at, now));
    vec![
        text(agent.name.clone()),
        match (&agent.revoked_at, agent.connected) {
            (Some(_), _) => toned("revoked", AnsiColor::Red),
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

async fn revoke(name: String, reason: Option<String>, yes: bool, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    if !yes {
        confirm(&name, &door, screen).await?;
    }
    let input = RevokeAgent { agent: name, reason };
    let revoked: AgentRevoked = door.ask("agents.revoke", &input).await?;
    let name = &revoked.agent.name;
    token::forget(&config.paths, name);
    if screen.is_json() {
        screen.json(&revoked)?;
        let refused = revoked.stops.iter().any(|stop| stop.state == "refused");
        return Ok(if refused { Code::Refused.exit() } else { DONE });
    }
    screen.line(&format!("Agent `{name}` has no access any more."));
    if revoked.stopped == 0 {
        screen.line("It had no open task.");
        return Ok(DONE);
    }
    screen.line(&format!("{} asked to stop:", time::count(revoked.stopped, "open task")));
    let hidden = revoked.stopped.saturating_sub(u64::try_from(revoked.stops.len()).unwrap_or(u64::MAX));
    let ended = stop::told(CancelList { stops: revoked.stops }, false, &door, config, screen).await?;
    if hidden > 0 {
        screen.note(&format!("And {hidden} more: taskwarden tasks list --agent {name}"));
    }
    Ok(ended)
}

async fn confirm(name: &str, door: &Door, screen: &Screen) -> Result<(), ApiError> {
    let list: AgentList = door.ask("agents.list", &Nothing {}).await?;
    let Some(agent) = list.agents.iter().find(|agent| agent.name == name || agent.id == name) else {
        // The core says what is near.
        return Ok(());
    };
    let tasks = time::count(agent.open_tasks, "open task");
    if !screen.can_ask() {
        return Err(ApiError::new(
            Code::Refused,
            format!("agent `{}` was kept: nobody confirmed", agent.name),
            "Run it in a terminal, or pass `--yes`.",
        ));
    }
    let question = format!("Take the access of `{}` away and ask {tasks} of it to stop?", agent.name);
    if prompt::yes(&question).await? {
        return Ok(());
    }
    Err(ApiError::new(Code::Refused, format!("agent `{}` was kept", agent.name), "Nothing was changed."))
}
