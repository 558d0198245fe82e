//! `taskwarden servers`: add, list, show, tools, log, restart, end, sign in and out, and remove.
//!
//! Adding is in `add.rs`, the log and the end of a process in `running.rs`, signing in and out in `sign_in.rs`. Health is current and only known while a core runs; everything else is as last negotiated.
//! Nothing is contacted from here.

mod add;
pub(crate) mod consent;
mod running;
mod sign_in;
mod tools;

use anstyle::AnsiColor;
use api::calls::servers::{RemoveServer, ServerList, ServerRemoved};
use api::calls::{Nothing, OneServer};
use api::dto::server::{DialectDto, HealthKind};
use api::dto::{AddressDto, HealthDto, ServerDto, moment};
use api::format::time;
use api::{ApiError, Code};
use clap::Subcommand;

use self::running::Act;
use super::input::prompt;
use super::output::screen::Screen;
use super::output::sentences::{one_line, quoted, shell_word};
use super::output::table::{TableCell, TableLayout, text, toned};
use super::output::{left_entries, sentences, table};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about servers.
#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Add a server. Shows what will be run or contacted, and asks first.
    Add(add::AddServerArgs),
    /// List all servers with their protocol version and health.
    List,
    /// Show one server.
    Show {
        /// The server's name.
        name: String,
    },
    /// List a server's tools, or what changed in them since a person last looked.
    Tools(tools::ToolsArgs),
    /// Show a server's log: its standard error, its log messages, and when its process started and ended.
    Log {
        /// The server's name.
        name: String,
        /// Go on with new lines until Ctrl-C.
        #[arg(long, short)]
        follow: bool,
    },
    /// End a local server's process and start it again, or open the connection to a remote one anew.
    Restart {
        /// The server's name.
        name: String,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
    /// End a local server's process with everything it started. The next call starts it again.
    End {
        /// The server's name.
        name: String,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
    /// Sign in to a server that asks for it, in a browser.
    SignIn(sign_in::SignInArgs),
    /// Sign out of a server: its tokens are forgotten here, and given up where they came from.
    SignOut {
        /// The server's name.
        name: String,
    },
    /// Remove a server. Its tasks stay on record.
    Remove {
        /// The server's name.
        name: String,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
}

impl ServersCommand {
    /// Whether it ends at Ctrl-C by itself, because the core has to hear of it.
    pub(crate) const fn handles_interrupt(&self) -> bool {
        matches!(self, Self::SignIn(_))
    }
}

pub(crate) async fn run(command: ServersCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        ServersCommand::Add(input) => add::add(input, config, screen).await,
        ServersCommand::List => list(config, screen).await,
        ServersCommand::Show { name } => show(name, config, screen).await,
        ServersCommand::Tools(input) => tools::tools(input, config, screen).await,
        ServersCommand::Log { name, follow } => running::log(name, follow, config, screen).await,
        ServersCommand::Restart { name, yes } => running::act(Act::Restart, name, yes, config, screen).await,
        ServersCommand::End { name, yes } => running::act(Act::End, name, yes, config, screen).await,
        ServersCommand::SignIn(input) => sign_in::sign_in(input, config, screen).await,
        ServersCommand::SignOut { name } => sign_in::sign_out(name, config, screen).await,
        ServersCommand::Remove { name, yes } => remove(name, yes, config, screen).await,
    }
}

async fn list(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let list: ServerList = core.request("servers.list", &Nothing {}).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.servers.is_empty() {
        screen.line("No servers yet. Add one: taskwarden servers add NAME -- COMMAND, or --url URL");
        screen.line("To try it out: taskwarden servers add demo -- taskwarden demo-server");
        return Ok(DONE);
    }
    let rows = list.servers.iter().map(row).collect();
    let layout = TableLayout {
        header: &["NAME", "HEALTH", "ERA", "TASKS", "OPEN", "SERVER", "ADDRESS"],
        cut: &["SERVER", "ADDRESS"],
        spare: &["ERA", "TASKS", "SERVER"],
    };
    table::print(screen, layout, rows);
    if core.is_read_only() {
        screen.note("No core is running, so health is not known. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

fn row(server: &ServerDto) -> Vec<TableCell> {
    let unknown = || "-".to_owned();
    vec![
        text(server.name.clone()),
        if server.frozen.is_some() { toned("frozen", AnsiColor::Yellow) } else { health_cell(&server.health) },
        text(server.era.as_ref().map_or_else(unknown, ToString::to_string)),
        text(server.dialect.as_ref().map_or_else(unknown, ToString::to_string)),
        text(server.figures.open.to_string()),
        text(one_line(&match (&server.server_name, &server.server_version) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            (Some(name), None) => name.clone(),
            (None, _) => unknown(),
        })),
        text(address_line(&server.address)),
    ]
}

fn health_cell(health: &HealthDto) -> TableCell {
    match health.kind {
        HealthKind::Up => toned("up", AnsiColor::Green),
        HealthKind::Connecting => toned("connecting", AnsiColor::Blue),
        HealthKind::Blocked => toned("needs you", AnsiColor::Yellow),
        HealthKind::Down => toned("down", AnsiColor::Red),
        HealthKind::Ended | HealthKind::Unknown => text(health.kind.to_string()),
    }
}

pub(crate) fn address_line(address: &AddressDto) -> String {
    match address {
        AddressDto::Stdio { command, args, .. } => consent::command_line(command, args),
        AddressDto::Http { url, .. } => shell_word(url),
    }
}

/// Environment, secrets and folder: names only, never a value.
fn address_details(address: &AddressDto) -> Vec<(&'static str, String)> {
    let named = |names: Vec<&String>| names.into_iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    let lines = match address {
        AddressDto::Stdio { env, secret_env, cwd, .. } => vec![
            ("variables", named(env.keys().collect())),
            ("secrets", named(secret_env.iter().collect())),
            ("folder", cwd.as_deref().map(one_line).unwrap_or_default()),
        ],
        AddressDto::Http { secret_headers, .. } => vec![("secrets", named(secret_headers.iter().collect()))],
    };
    lines.into_iter().filter(|(_, words)| !words.is_empty()).collect()
}

async fn show(name: String, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let server: ServerDto = core.request("servers.show", &OneServer { name }).await?;
    if screen.is_json() {
        return screen.json(&server);
    }
    let now = sentences::now();
    let since = |text: &Option<String>| {
        text.as_deref().and_then(moment).map(|at| format!(" since {}", time::ago(at, now))).unwrap_or_default()
    };
    match &server.frozen {
        // Why it could not be reached before says nothing about a server that stands still.
        Some(pause) => {
            screen.line(&format!("{}  frozen{}", server.name, since(&Some(pause.since.clone()))));
            screen.line(&format!("  why          {}", super::halt::pause::who(pause)));
            screen.line(&format!("  processes    {}", super::halt::pause::begun(pause)));
        }
        None => {
            screen.line(&format!("{}  {}{}", server.name, server.health.kind, since(&server.health.since)));
            for (what, text) in [("why", &server.health.why), ("hint", &server.health.hint)] {
                if let Some(text) = text {
                    screen.line(&format!("  {what:<12} {}", one_line(text)));
                }
            }
            if let Some(at) = server.health.retry_at.as_deref().and_then(moment) {
                screen.line(&format!("  next try     {}", time::until(at, now)));
            }
        }
    }
    screen.line(&format!("  address      {}", address_line(&server.address)));
    for (what, words) in address_details(&server.address) {
        screen.line(&format!("  {what:<12} {words}"));
    }
    if let Some(sign_in) = &server.sign_in {
        screen.line(&format!("  sign-in      {}", sign_in::line(sign_in)));
        if !sign_in.missing_scopes.is_empty() {
            let missing = one_line(&sign_in.missing_scopes.join(" "));
            screen.line(&format!("  wants        {missing}; sign in again to ask for it"));
        }
    }
    screen.line(&format!("  speaks       {}", protocol(&server)));
    screen.line(&format!("  open tasks   {}", server.figures.open));
    screen.line(&format!("  need you     {}", server.figures.needs_you));
    if let Some(not_offered) = &server.not_offered {
        let name = &server.name;
        let words = tools::not_offered_counts(not_offered);
        screen.line(&format!("  tools        {words}; `taskwarden servers tools {name}` names them"));
    }
    if let Some(refused) = crate::doctor::servers::refused_questions(&server) {
        screen.line(&format!("  questions    {refused}"));
    }
    screen.line(&match (&server.agreed_by, server.agreed_at.as_deref().and_then(moment)) {
        (Some(by), Some(at)) => format!("  agreed       by {by}, {}", time::ago(at, now)),
        _ => "  agreed       no: nobody agreed, or the address changed; remove the server and add it again".into(),
    });
    if !server.stderr_tail.trim().is_empty() {
        screen.line(&format!("  last lines of its standard error:\n{}", quoted(last_lines(&server.stderr_tail))));
    }
    Ok(DONE)
}

/// `modern (2026-07-28), tasks 2026-07-28, name 1.0`.
fn protocol(server: &ServerDto) -> String {
    let era = server.era.as_deref().unwrap_or("not known yet");
    let version = server.protocol_version.as_deref().map(|v| format!(" ({})", one_line(v))).unwrap_or_default();
    let tasks = match server.dialect {
        Some(DialectDto::NoTasks) => ", no tasks of its own".to_owned(),
        Some(dialect) => format!(", tasks {dialect}"),
        None => String::new(),
    };
    let name = match (&server.server_name, &server.server_version) {
        (Some(name), Some(version)) => format!(", {} {}", one_line(name), one_line(version)),
        _ => String::new(),
    };
    format!("{era}{version}{tasks}{name}")
}

async fn remove(name: String, yes: bool, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let server: ServerDto = core.request("servers.show", &OneServer { name: name.clone() }).await?;
    if server.figures.open > 0 && !yes {
        let question =
            format!("{} on `{name}` will be lost. Remove it?", time::count(server.figures.open, "open task"));
        if !screen.can_ask() {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` has {}, which would be lost", time::count(server.figures.open, "open task")),
                "Cancel them first with `taskwarden tasks cancel --server`, or pass `--yes`.",
            ));
        }
        if !prompt::yes(&question).await? {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` was not removed"),
                "Nothing was changed.",
            ));
        }
    }
    let removed: ServerRemoved =
        core.request("servers.remove", &RemoveServer { name, even_with_open_tasks: server.figures.open > 0 }).await?;
    if screen.is_json() {
        screen.json(&removed)?;
    } else {
        screen.line(&format!("Removed `{}`. Its tasks stay on record.", removed.name));
        left_entries::print("lead to it", &removed.left, screen);
    }
    Ok(DONE)
}

/// The last few lines of a text.
fn last_lines(text: &str) -> &str {
    /// Enough for an error with its context. Judgement.
    const LINES: usize = 10;
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(LINES.saturating_sub(1)).map_or(0, |(at, _)| at.saturating_add(1));
    text.get(from..).unwrap_or(text)
}
