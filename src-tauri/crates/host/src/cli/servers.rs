//! `taskwarden servers`: add, list, show, tools, remove.
//!
//! Adding is in `add.rs`. Health is of the moment and only known while a core runs; everything else is as last
//! negotiated. Nothing is contacted from here.

mod add;

use anstyle::AnsiColor;
use api::calls::servers::{RemoveServer, ServerList, ServerRemoved, ServerTools};
use api::calls::{Nothing, OneServer};
use api::dto::{AddressDto, HealthDto, ServerDto, ToolDto, moment};
use api::{ApiError, Code};
use api::format::time;
use clap::Subcommand;

use super::screen::Screen;
use super::table::{Column, Layout, text, toned};
use super::words::{one_line, quoted, shell_word};
use super::{DONE, Ended, consent, prompt, table, words};
use crate::config::Config;
use crate::door::Door;

/// Commands about servers.
#[derive(Debug, Subcommand)]
pub(crate) enum Servers {
    /// Add a server; shows what will run or be contacted, and asks.
    Add(add::Add),
    /// List all servers with era, dialect and health.
    List,
    /// Show one server.
    Show {
        /// Its name.
        name: String,
    },
    /// List a server's tools.
    Tools {
        /// Its name.
        name: String,
    },
    /// Remove a server; its tasks stay for the record.
    Remove {
        /// Its name.
        name: String,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) async fn run(command: Servers, config: &Config, screen: &Screen) -> Ended {
    match command {
        Servers::Add(input) => add::add(input, config, screen).await,
        Servers::List => list(config, screen).await,
        Servers::Show { name } => show(name, config, screen).await,
        Servers::Tools { name } => tools(name, config, screen).await,
        Servers::Remove { name, yes } => remove(name, yes, config, screen).await,
    }
}

async fn list(config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let list: ServerList = door.ask("servers.list", &Nothing {}).await?;
    if screen.is_json() {
        screen.json(&list)?;
        return Ok(DONE);
    }
    if list.servers.is_empty() {
        screen.line("No server yet. Add one: taskwarden servers add NAME -- COMMAND, or --url URL");
        screen.line("To try it out: taskwarden servers add demo -- taskwarden demo-server");
        return Ok(DONE);
    }
    let rows = list.servers.iter().map(row).collect();
    let layout = Layout {
        header: &["NAME", "HEALTH", "ERA", "TASKS", "OPEN", "SERVER", "ADDRESS"],
        cut: &["SERVER", "ADDRESS"],
        spare: &["ERA", "TASKS", "SERVER"],
    };
    table::print(screen, layout, rows);
    if door.is_reading() {
        screen.note("No core is running: health is not known. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

fn row(server: &ServerDto) -> Vec<Column> {
    let unknown = || "-".to_owned();
    vec![
        text(server.name.clone()),
        health_cell(&server.health),
        text(server.era.clone().unwrap_or_else(unknown)),
        text(server.dialect.clone().unwrap_or_else(unknown)),
        text(server.figures.open.to_string()),
        text(one_line(&match (&server.server_name, &server.server_version) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            (Some(name), None) => name.clone(),
            (None, _) => unknown(),
        })),
        text(address_line(&server.address)),
    ]
}

fn health_cell(health: &HealthDto) -> Column {
    match health.kind.as_str() {
        "up" => toned("up", AnsiColor::Green),
        "connecting" => toned("connecting", AnsiColor::Blue),
        "blocked" => toned("needs you", AnsiColor::Yellow),
        "down" => toned("down", AnsiColor::Red),
        other => text(one_line(other)),
    }
}

pub(crate) fn address_line(address: &AddressDto) -> String {
    match address {
        AddressDto::Stdio { command, args, .. } => consent::command_line(command, args),
        AddressDto::Http { url, .. } => shell_word(url),
    }
}

/// What goes with the address: names only, never a value.
fn given(address: &AddressDto) -> Vec<(&'static str, String)> {
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

async fn show(name: String, config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let server: ServerDto = door.ask("servers.show", &OneServer { name }).await?;
    if screen.is_json() {
        screen.json(&server)?;
        return Ok(DONE);
    }
    let now = words::now();
    let since = |text: &Option<String>| {
        text.as_deref().and_then(moment).map(|at| format!(" since {}", time::ago(at, now))).unwrap_or_default()
    };
    screen.line(&format!("{}  {}{}", server.name, server.health.kind, since(&server.health.since)));
    for (what, text) in [("why", &server.health.why), ("hint", &server.health.hint)] {
        if let Some(text) = text {
            screen.line(&format!("  {what:<12} {}", one_line(text)));
        }
    }
    if let Some(at) = server.health.retry_at.as_deref().and_then(moment) {
        screen.line(&format!("  tried again  {}", time::until(at, now)));
    }
    screen.line(&format!("  address      {}", address_line(&server.address)));
    for (what, words) in given(&server.address) {
        screen.line(&format!("  {what:<12} {words}"));
    }
    screen.line(&format!("  speaks       {}", spoken(&server)));
    screen.line(&format!("  open tasks   {}", server.figures.open));
    screen.line(&format!("  need you     {}", server.figures.needs_you));
    if let Some(refused) = words::refused_questions(&server) {
        screen.line(&format!("  questions    {refused}"));
    }
    screen.line(&match (&server.agreed_by, server.agreed_at.as_deref().and_then(moment)) {
        (Some(by), Some(at)) => format!("  agreed       by {by}, {}", time::ago(at, now)),
        _ => "  agreed       no: it changed since, or nobody did; remove and add it".into(),
    });
    if !server.stderr_tail.trim().is_empty() {
        screen.line(&format!("  last words on its standard error:\n{}", quoted(last_lines(&server.stderr_tail))));
    }
    Ok(DONE)
}

/// `modern (2026-07-28), tasks 2026-07-28, name 1.0`.
fn spoken(server: &ServerDto) -> String {
    let era = server.era.as_deref().unwrap_or("not known yet");
    let version = server.protocol_version.as_deref().map(|v| format!(" ({})", one_line(v))).unwrap_or_default();
    let tasks = match server.dialect.as_deref() {
        Some("none") => ", no tasks of its own".to_owned(),
        Some(dialect) => format!(", tasks {dialect}"),
        None => String::new(),
    };
    let name = match (&server.server_name, &server.server_version) {
        (Some(name), Some(version)) => format!(", {} {}", one_line(name), one_line(version)),
        _ => String::new(),
    };
    format!("{era}{version}{tasks}{name}")
}

async fn tools(name: String, config: &Config, screen: &Screen) -> Ended {
    let list: ServerTools = Door::core(config)?.ask("servers.tools", &OneServer { name }).await?;
    if screen.is_json() {
        screen.json(&list)?;
        return Ok(DONE);
    }
    if list.tools.is_empty() {
        screen.line("This server has no tools.");
        return Ok(DONE);
    }
    let rows = list
        .tools
        .iter()
        .map(|tool| {
            let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            vec![text(one_line(&tool.name)), text(tool.task_support.clone()), text(effect(tool)), text(one_line(words))]
        })
        .collect();
    let layout = Layout {
        header: &["TOOL", "TASK", "SAYS IT", "DESCRIPTION"],
        cut: &["DESCRIPTION"],
        spare: &["TASK", "SAYS IT"],
    };
    table::print(screen, layout, rows);
    Ok(DONE)
}

fn effect(tool: &ToolDto) -> &'static str {
    match (tool.read_only, tool.destructive) {
        (Some(true), _) => "only reads",
        (_, Some(true)) => "destroys",
        _ => "-",
    }
}

async fn remove(name: String, yes: bool, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    let server: ServerDto = door.ask("servers.show", &OneServer { name: name.clone() }).await?;
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
            return Err(ApiError::new(Code::Refused, format!("server `{name}` was kept"), "Nothing was changed."));
        }
    }
    let removed: ServerRemoved =
        door.ask("servers.remove", &RemoveServer { name, even_with_open_tasks: server.figures.open > 0 }).await?;
    if screen.is_json() {
        screen.json(&removed)?;
    } else {
        screen.line(&format!("Removed `{}`. Its tasks stay for the record.", removed.name));
    }
    Ok(DONE)
}

/// The end of a text, a few lines of it.
fn last_lines(text: &str) -> &str {
    /// Enough for an error with its context. Judgement.
    const LINES: usize = 10;
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(LINES.saturating_sub(1)).map_or(0, |(at, _)| at.saturating_add(1));
    text.get(from..).unwrap_or(text)
}
