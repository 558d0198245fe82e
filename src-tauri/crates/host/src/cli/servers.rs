//! `taskwarden servers`: add, list, show, tools, remove.
//!
//! Adding shows what will run or be contacted and asks (`consent.rs`); what was agreed to is recorded by the core.
//! Secret values are taken from the environment or typed unseen, never from arguments, which other users can read.

use std::collections::BTreeMap;

use anstyle::AnsiColor;
use api::calls::servers::{AddServer, RemoveServer, ServerAdded, ServerList, ServerRemoved, ToolList};
use api::calls::{Nothing, OneServer};
use api::dto::{AddressDto, HealthDto, ServerDto, ToolDto, moment};
use api::{ApiError, Code, when};
use clap::{Args, Subcommand};
use url::Url;

use super::door::Door;
use super::screen::Screen;
use super::table::{Column, text, toned};
use super::words::{one_line, quoted, shell_word};
use super::{DONE, Ended, FAILED, consent, prompt, table, words};
use crate::config::Config;

/// Commands about servers.
#[derive(Debug, Subcommand)]
pub(crate) enum Servers {
    /// Add a server; shows what will run or be contacted, and asks.
    Add(Add),
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

/// A server to add.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// A name for it: 1 to 40 of a-z, 0-9, dot, dash and underscore.
    name: String,
    /// Address of a server over HTTP.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "secret_env", "cwd"])]
    url: Option<String>,
    /// Name of an HTTP header with a secret, such as `Authorization`; its value is taken from the environment variable
    /// after `=`, or asked.
    #[arg(long = "header", value_name = "NAME[=VARIABLE]", requires = "url")]
    headers: Vec<String>,
    /// Environment variable for the command.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Secret environment variable for the command; its value is taken from your environment, or asked.
    #[arg(long, value_name = "NAME[=VARIABLE]")]
    secret_env: Vec<String>,
    /// Folder in which the command runs; your home folder when left out.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    /// Agree without being asked.
    #[arg(long, short)]
    yes: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

pub(crate) async fn run(command: Servers, config: &Config, screen: &Screen) -> Ended {
    match command {
        Servers::Add(input) => add(input, config, screen).await,
        Servers::List => list(config, screen).await,
        Servers::Show { name } => show(name, config, screen).await,
        Servers::Tools { name } => tools(name, config, screen).await,
        Servers::Remove { name, yes } => remove(name, yes, config, screen).await,
    }
}

async fn add(input: Add, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    domain::server::check_server_name(&input.name)
        .map_err(|bad| ApiError::new(Code::Usage, bad.to_string(), "Choose a name such as `files` or `ci-2`."))?;
    let Add { name, url, headers, env, secret_env, cwd, yes, command } = input;
    let mut secrets = BTreeMap::new();
    let address = match url {
        Some(url) => AddressDto::Http {
            url: checked_url(&url)?,
            secret_headers: take_secrets(&headers, &mut secrets, screen).await?,
        },
        None => {
            let (program, args) = command
                .split_first()
                .ok_or_else(|| ApiError::new(Code::Usage, "the command is empty", "Give the program after `--`."))?;
            AddressDto::Stdio {
                command: program.clone(),
                args: args.to_vec(),
                env: plain_env(&env)?,
                secret_env: take_secrets(&secret_env, &mut secrets, screen).await?,
                cwd,
            }
        }
    };
    // Without a core nobody should be asked in vain.
    let known: ServerList = door.call("servers.list", &Nothing {}).await?;
    let is_new = known.servers.iter().all(|server| server.name != name);
    if is_new && !yes {
        if !screen.can_ask() {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` was not added: nobody agreed"),
                "Run it in a terminal to see what will run and agree, or pass `--yes`.",
            ));
        }
        if !consent::ask(&name, &address, screen).await? {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` was not added: you did not agree"),
                "Nothing was run or contacted.",
            ));
        }
    }
    let waiting = waiting(screen, &name, config);
    let added: Result<ServerAdded, ApiError> =
        door.call("servers.add", &AddServer { name, address, secrets, agreed: true }).await;
    waiting.finish_and_clear();
    told(&added?, screen)
}

fn told(added: &ServerAdded, screen: &Screen) -> Ended {
    let server = &added.server;
    if screen.is_json() {
        screen.json(added)?;
        return Ok(if server.health.kind == "up" { DONE } else { FAILED });
    }
    match server.health.kind.as_str() {
        "up" => {
            screen.line(&format!("Added `{}`: {}.", server.name, spoken(server)));
            if let Some(tools) = &added.tools {
                let names: Vec<String> = tools.iter().map(|tool| one_line(&tool.name)).collect();
                screen.line(&format!("{} tools: {}", names.len(), names.join(", ")));
            }
            Ok(DONE)
        }
        _ => {
            let why = server.health.why.as_deref().map_or_else(|| "it has not answered yet".into(), one_line);
            let hint = server.health.hint.as_deref().unwrap_or("It is tried again by itself.");
            screen.line(&format!("Added `{}`, but it cannot be reached.", server.name));
            if !server.stderr_tail.trim().is_empty() {
                screen.note(&format!("Its last words:\n{}", quoted(last_lines(&server.stderr_tail))));
            }
            Err(ApiError::new(
                Code::Failed,
                format!("server `{}` cannot be reached: {why}", server.name),
                format!("{} To take it away: `taskwarden servers remove {}`.", one_line(hint), server.name),
            ))
        }
    }
}

/// The end of a text, a few lines of it.
fn last_lines(text: &str) -> &str {
    /// Enough for an error with its context. Judgement.
    const LINES: usize = 10;
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(LINES.saturating_sub(1)).map_or(0, |(at, _)| at.saturating_add(1));
    text.get(from..).unwrap_or(text)
}

fn waiting(screen: &Screen, name: &str, config: &Config) -> indicatif::ProgressBar {
    if !screen.can_draw() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new_spinner().with_message(format!("Connecting to {name}"));
    bar.enable_steady_tick(config.policy.hosting.draw_every);
    bar
}

async fn list(config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let list: ServerList = door.call("servers.list", &Nothing {}).await?;
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
    table::print(
        screen,
        &["NAME", "HEALTH", "ERA", "TASKS", "OPEN", "SERVER", "ADDRESS"],
        &["SERVER", "ADDRESS"],
        rows,
    );
    if matches!(door, Door::Reading(_)) {
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
        text(server.open_tasks.to_string()),
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

async fn show(name: String, config: &Config, screen: &Screen) -> Ended {
    let door = Door::any(config).await?;
    let server: ServerDto = door.call("servers.show", &OneServer { name }).await?;
    if screen.is_json() {
        screen.json(&server)?;
        return Ok(DONE);
    }
    let now = words::now();
    let since = |text: &Option<String>| {
        text.as_deref().and_then(moment).map(|at| format!(" since {}", when::ago(at, now))).unwrap_or_default()
    };
    screen.line(&format!("{}  {}{}", server.name, server.health.kind, since(&server.health.since)));
    for (what, text) in [("why", &server.health.why), ("hint", &server.health.hint)] {
        if let Some(text) = text {
            screen.line(&format!("  {what:<12} {}", one_line(text)));
        }
    }
    if let Some(at) = server.health.retry_at.as_deref().and_then(moment) {
        screen.line(&format!("  tried again  {}", when::until(at, now)));
    }
    screen.line(&format!("  address      {}", address_line(&server.address)));
    screen.line(&format!("  speaks       {}", spoken(&server)));
    screen.line(&format!("  open tasks   {}", server.open_tasks));
    screen.line(&match (&server.agreed_by, server.agreed_at.as_deref().and_then(moment)) {
        (Some(by), Some(at)) => format!("  agreed       by {by}, {}", when::ago(at, now)),
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
    let list: ToolList = Door::core(config)?.call("servers.tools", &OneServer { name }).await?;
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
    table::print(screen, &["TOOL", "TASK", "SAYS IT", "DESCRIPTION"], &["DESCRIPTION"], rows);
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
    let server: ServerDto = door.call("servers.show", &OneServer { name: name.clone() }).await?;
    if server.open_tasks > 0 && !yes {
        let question = format!("{} open tasks on `{name}` will be lost. Remove it?", server.open_tasks);
        if !screen.can_ask() {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` has {} open tasks, which would be lost", server.open_tasks),
                "Cancel them first with `taskwarden tasks cancel --server`, or pass `--yes`.",
            ));
        }
        if !prompt::yes(&question).await? {
            return Err(ApiError::new(Code::Refused, format!("server `{name}` was kept"), "Nothing was changed."));
        }
    }
    let removed: ServerRemoved =
        door.call("servers.remove", &RemoveServer { name, even_with_open_tasks: server.open_tasks > 0 }).await?;
    if screen.is_json() {
        screen.json(&removed)?;
    } else {
        screen.line(&format!("Removed `{}`. Its tasks stay for the record.", removed.name));
    }
    Ok(DONE)
}

fn checked_url(text: &str) -> Result<String, ApiError> {
    let bad = |why: String| ApiError::new(Code::Usage, why, "Give the whole address, such as `https://host/mcp`.");
    let url = Url::parse(text).map_err(|error| bad(format!("`{}` is not a URL: {error}", one_line(text))))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(_)) => Ok(url.into()),
        _ => Err(bad("the URL of a server must begin with `https://` or `http://`".into())),
    }
}

fn plain_env(given: &[String]) -> Result<BTreeMap<String, String>, ApiError> {
    given
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            Some(_) | None => Err(ApiError::new(
                Code::Usage,
                "an environment variable needs a name and a value",
                "Write `--env NAME=VALUE`; for secrets use `--secret-env NAME`.",
            )),
        })
        .collect()
}

/// Takes the values of secrets from the environment, or asks. Returns their names.
async fn take_secrets(
    given: &[String],
    secrets: &mut BTreeMap<String, String>,
    screen: &Screen,
) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::with_capacity(given.len());
    for word in given {
        let (name, variable) = word.split_once('=').unwrap_or((word.as_str(), word.as_str()));
        let value = match std::env::var(variable) {
            Ok(value) if !value.is_empty() => value,
            Ok(_) | Err(_) if screen.can_ask() => {
                prompt::hidden(&format!("Value of {name} (not shown): ")).await?.unwrap_or_default()
            }
            Ok(_) | Err(_) => String::new(),
        };
        if name.is_empty() || value.is_empty() {
            return Err(ApiError::new(
                Code::Usage,
                format!("there is no value for secret `{}`", one_line(name)),
                format!("Set the environment variable `{}` before, or type it when asked.", one_line(variable)),
            ));
        }
        secrets.insert(name.to_owned(), value);
        names.push(name.to_owned());
    }
    Ok(names)
}
