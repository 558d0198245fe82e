//! `taskwarden control`: make, list and revoke control tokens, with which supervisor programs end work.
//!
//! What a token may do is the core's; the token itself is printed once, alone on standard output.

use anstyle::AnsiColor;
use api::calls::Nothing;
use api::calls::control_tokens::{
    AddControlToken, ControlTokenAdded, ControlTokenFacts, ControlTokenList, OneControlToken,
};
use api::dto::moment;
use api::format::time;
use clap::{Args, Subcommand};
use domain::time::Timestamp;

use super::halt::tool;
use super::input::run_time::span;
use super::output::screen::Screen;
use super::output::sentences;
use super::output::sentences::one_line;
use super::output::table::{self, TableCell, TableLayout, text, toned};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about control tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum ControlCommand {
    /// Make a control token, and print it once.
    Add(Box<AddControlArgs>),
    /// List all control tokens.
    List,
    /// Revoke a control token at once. What it began ends after the current task.
    Revoke {
        /// The token's name or id.
        name: String,
    },
}

/// The token to make.
#[derive(Debug, Args)]
pub(crate) struct AddControlArgs {
    /// A name for it, such as `night-watch`.
    name: String,
    /// What it may do: read, cancel, revoke (which cancels as well), halt, pause.
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', required = true)]
    scope: Vec<String>,
    /// It reaches tasks of this agent. Can be repeated.
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// It reaches tasks on this server. Can be repeated.
    #[arg(long = "server", value_name = "SERVER")]
    servers: Vec<String>,
    /// It reaches calls of this tool. Can be repeated.
    #[arg(long = "tool", value_name = "SERVER/TOOL")]
    tools: Vec<String>,
    /// It reaches everything.
    #[arg(long)]
    all: bool,
    /// The agent that holds the token. It does not reach that agent's own tasks.
    #[arg(long, value_name = "AGENT")]
    held_by: Option<String>,
    /// It reaches the tasks of the agent that holds it, and no others.
    #[arg(long, requires = "held_by")]
    own_tasks: bool,
    /// Tasks that one call may end. Default: 20.
    #[arg(long, value_name = "N")]
    per_call: Option<u32>,
    /// Tasks that it may end in an hour. Default: 100.
    #[arg(long, value_name = "N")]
    per_hour: Option<u32>,
    /// Each call that ends work must say why.
    #[arg(long)]
    needs_reason: bool,
    /// Tasks are ended by a plan only.
    #[arg(long)]
    needs_plan: bool,
    /// How long it is valid, such as `12h` or `30d`. Default: until it is revoked.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

pub(crate) async fn run(command: ControlCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        ControlCommand::Add(input) => add(*input, config, screen).await,
        ControlCommand::List => list(config, screen).await,
        ControlCommand::Revoke { name } => {
            let core = CoreClient::attach(config)?;
            let revoked: ControlTokenFacts = core.request("controlTokens.revoke", &OneControlToken { name }).await?;
            if screen.is_json() {
                return screen.json(&revoked);
            }
            screen.line(&format!("Control token `{}` opens nothing any more.", revoked.name));
            Ok(DONE)
        }
    }
}

async fn add(input: AddControlArgs, config: &Config, screen: &Screen) -> CommandResult {
    let input = AddControlToken {
        name: input.name,
        scopes: input.scope,
        agents: input.agents,
        servers: input.servers,
        tools: input.tools.iter().map(|text| tool(text)).collect::<Result<_, _>>()?,
        all: input.all,
        held_by: input.held_by,
        own_tasks: input.own_tasks,
        per_call: input.per_call,
        per_hour: input.per_hour,
        needs_reason: input.needs_reason,
        needs_plan: input.needs_plan,
        valid_ms: input.until.as_deref().map(span).transpose()?,
    };
    let added: ControlTokenAdded = CoreClient::attach(config)?.request("controlTokens.add", &input).await?;
    if screen.is_json() {
        return screen.json(&added);
    }
    screen.note(&format!("Control token `{}` was made; it cannot be shown again:", added.facts.name));
    screen.line(&added.token);
    screen.note(&format!("It may {} {}.", added.facts.scopes.join(", "), reach_words(&added.facts)));
    screen.note("Commands take it with `--token-file FILE`, from a file that only you can read.");
    match &added.url {
        Some(url) => {
            screen.note(&format!("It opens {url}, with `Authorization: Bearer TOKEN`."));
            screen.note(&format!("As tools of an agent, over MCP: {url}/mcp"));
        }
        None => screen.note("The core has no listener now, so it opens nothing over HTTP."),
    }
    Ok(DONE)
}

async fn list(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let list: ControlTokenList = core.request("controlTokens.list", &Nothing {}).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.tokens.is_empty() {
        screen.line("No control token yet. Make one: taskwarden control add NAME --scope cancel --agent AGENT");
        return Ok(DONE);
    }
    let layout = TableLayout {
        header: &["NAME", "STATE", "SCOPES", "REACHES", "TASKS", "UNTIL", "ID"],
        cut: &["REACHES"],
        spare: &["TASKS", "ID", "UNTIL"],
    };
    let now = sentences::now();
    table::print(screen, layout, list.tokens.iter().map(|token| row(token, now)).collect());
    if list.tokens.iter().any(|token| waits_for_clock(token, now)) {
        screen.note(CLOCK_BEHIND);
    }
    Ok(DONE)
}

/// Why a token that ends at a time opens nothing yet.
const CLOCK_BEHIND: &str = "The clock of this machine stands before the time when a token was made, so nobody knows whether \
                            its time is over. It opens nothing until the clock is right.";

/// Whether it is not in force only because the clock stands before the moment when it was made.
fn waits_for_clock(token: &ControlTokenFacts, now: Timestamp) -> bool {
    let is_timed = token.until.is_some() && token.revoked_at.is_none();
    is_timed && !token.in_force && moment(&token.created_at).is_some_and(|created| now < created)
}

fn row(token: &ControlTokenFacts, now: Timestamp) -> Vec<TableCell> {
    let until = token.until.as_deref().and_then(moment).filter(|_| token.revoked_at.is_none());
    let is_past = until.is_some_and(|until| until <= now);
    vec![
        text(token.name.clone()),
        match (&token.revoked_at, token.in_force) {
            (Some(_), _) => toned("revoked", AnsiColor::Red),
            (None, true) => toned("in force", AnsiColor::Green),
            (None, false) if is_past => toned("time is over", AnsiColor::Yellow),
            (None, false) if waits_for_clock(token, now) => toned("clock is behind", AnsiColor::Yellow),
            // The core decides by its own clock, which may have been set back.
            (None, false) => toned("not in force", AnsiColor::Yellow),
        },
        text(token.scopes.join(", ")),
        text(one_line(&reach_words(token))),
        text(format!("{} a call, {} an hour", token.per_call, token.per_hour)),
        text(match until {
            None => "-".to_owned(),
            Some(until) if is_past => time::ago(until, now),
            Some(until) => format!("{} left", time::span(until.since(now))),
        }),
        text(token.id.clone()),
    ]
}

/// What it reaches, as the end of a sentence.
fn reach_words(token: &ControlTokenFacts) -> String {
    let mut parts = Vec::new();
    if !token.agents.is_empty() {
        parts.push(format!("of {}", token.agents.join(" or ")));
    }
    if !token.servers.is_empty() {
        parts.push(format!("on {}", token.servers.join(" or ")));
    }
    if !token.tools.is_empty() {
        let tools: Vec<String> = token.tools.iter().map(|tool| format!("{}/{}", tool.server, tool.tool)).collect();
        parts.push(format!("by {}", tools.join(" or ")));
    }
    match (&token.held_by, token.own_tasks) {
        (Some(agent), true) => parts.push(format!("of {agent} itself")),
        (Some(agent), false) => parts.push(format!("not of {agent}, which holds it")),
        (None, _) => {}
    }
    if parts.is_empty() { "all tasks".to_owned() } else { format!("tasks {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_not_in_force_because_the_clock_is_behind_is_told_apart() {
        let made = Timestamp::from_millis(1_795_780_800_000);
        let token = |in_force: bool, until: Option<Timestamp>| ControlTokenFacts {
            id: "ctl_1".into(),
            name: "night-watch".into(),
            scopes: vec!["read".into()],
            agents: Vec::new(),
            servers: Vec::new(),
            tools: Vec::new(),
            own_tasks: false,
            held_by: None,
            per_call: 20,
            per_hour: 100,
            needs_reason: false,
            needs_plan: false,
            by: "ada".into(),
            created_at: made.to_string(),
            until: until.map(|until| until.to_string()),
            revoked_at: None,
            in_force,
        };
        let timed = token(false, Some(made.shifted(60_000)));
        assert!(waits_for_clock(&timed, made.shifted(-1_000)), "the clock stands before it was made");
        assert!(!waits_for_clock(&timed, made.shifted(120_000)), "its time is over");
        assert!(!waits_for_clock(&token(true, None), made.shifted(-1_000)), "one without an end is in force");
        let revoked = ControlTokenFacts { revoked_at: Some(made.to_string()), ..timed };
        assert!(!waits_for_clock(&revoked, made.shifted(-1_000)), "a revoked one waits for nothing");
    }
}
