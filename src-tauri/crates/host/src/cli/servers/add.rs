//! `taskwarden servers add`: shows what will run or be contacted, asks, and tells what was found.
//!
//! What was agreed to is recorded by the core; the words of the question are in `consent.rs`. Secret values are taken
//! from the environment or typed unseen, never from arguments, which other users of the machine can read.

use std::collections::BTreeMap;

use api::calls::Nothing;
use api::calls::servers::{AddServer, ServerAdded, ServerList};
use api::dto::AddressDto;
use api::{ApiError, Code};
use clap::Args;
use url::Url;

use super::{last_lines, spoken};
use crate::cli::screen::Screen;
use crate::cli::words::{one_line, quoted};
use crate::cli::{DONE, Ended, FAILED, consent, prompt};
use crate::config::Config;
use crate::door::Door;
use crate::programs;

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
    #[arg(long = "header", value_name = "NAME[=VARIABLE]", requires = "url", conflicts_with = "command")]
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

pub(super) async fn add(input: Add, config: &Config, screen: &Screen) -> Ended {
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
            let folder = match &cwd {
                Some(folder) => Some(std::path::PathBuf::from(folder)),
                // What is typed here means what lies here.
                None => std::env::current_dir().ok(),
            };
            AddressDto::Stdio {
                // Not found, it is said by the core as any other reason why it cannot be reached.
                command: programs::locate(program, folder.as_deref()).unwrap_or_else(|| program.clone()),
                args: args.to_vec(),
                env: plain_env(&env)?,
                secret_env: take_secrets(&secret_env, &mut secrets, screen).await?,
                cwd,
            }
        }
    };
    // Without a core nobody should be asked in vain.
    let known: ServerList = door.ask("servers.list", &Nothing {}).await?;
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
    let waiting = Waiting::new(&name, &address, config, screen);
    let input = AddServer { name, address, secrets, agreed: true };
    let added: ServerAdded = waiting.until(door.ask("servers.add", &input)).await?;
    told(&added, screen)
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

/// Says what is waited for, and how long at most, when a server does not answer soon.
struct Waiting<'a> {
    words: String,
    config: &'a Config,
    screen: &'a Screen,
}

impl<'a> Waiting<'a> {
    fn new(name: &str, address: &AddressDto, config: &'a Config, screen: &'a Screen) -> Self {
        let what = match address {
            AddressDto::Stdio { .. } => "its program to speak MCP",
            AddressDto::Http { .. } => "its address to answer",
        };
        // As long as the core waits for a server that it does not know.
        let limit = config.policy.probe_first_output.saturating_add(config.policy.initialize_limit);
        Self { words: format!("Waiting for `{name}`: {what}, at most {} s", limit.as_secs()), config, screen }
    }

    async fn until<T>(self, done: impl Future<Output = T>) -> T {
        let hosting = &self.config.policy.hosting;
        let mut done = std::pin::pin!(done);
        tokio::select! {
            done = &mut done => return done,
            () = tokio::time::sleep(hosting.say_waiting_after) => {}
        }
        if !self.screen.can_draw() {
            if !self.screen.is_json() {
                self.screen.note(&format!("{}.", self.words));
            }
            return done.await;
        }
        let bar = indicatif::ProgressBar::new_spinner().with_message(self.words);
        bar.enable_steady_tick(hosting.draw_every);
        let done = done.await;
        bar.finish_and_clear();
        done
    }
}

fn checked_url(text: &str) -> Result<String, ApiError> {
    let bad = |why: String| ApiError::new(Code::Usage, why, "Give the whole address, such as `https://host/mcp`.");
    // Never quoted: it may carry a password.
    let url = Url::parse(text).map_err(|error| bad(format!("the address is not a URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ApiError::new(
            Code::Usage,
            "the URL carries a name or a password",
            "Leave out what stands before `@` and pass `--header Authorization`: its value is kept as a secret.",
        ));
    }
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

/// The name of a secret and the variable its value is taken from, when one is named.
fn secret_name(word: &str) -> Result<(&str, Option<&str>), ApiError> {
    let (name, variable) = word.split_once('=').map_or((word, None), |(name, variable)| (name, Some(variable)));
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let is_variable = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name(name) && variable.is_none_or(is_variable) { Ok((name, variable)) } else { Err(secret_in_arguments()) }
}

fn secret_in_arguments() -> ApiError {
    ApiError::new(
        Code::Usage,
        "a secret is given by its name, or by the name of a variable that holds it; there is no such variable",
        "Pass only the name, such as `--header Authorization` or `--secret-env TOKEN`, and type the value when asked.",
    )
}

/// Takes the values of secrets from the environment, or asks. Returns their names.
async fn take_secrets(
    given: &[String],
    secrets: &mut BTreeMap<String, String>,
    screen: &Screen,
) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::with_capacity(given.len());
    for word in given {
        let (name, variable) = secret_name(word)?;
        let found = std::env::var(variable.unwrap_or(name)).ok().filter(|value| !value.is_empty());
        let value = match (found, variable) {
            (Some(value), _) => value,
            // What stands there may be the secret itself: it is not repeated.
            (None, Some(_)) => return Err(secret_in_arguments()),
            (None, None) if screen.can_ask() => {
                prompt::hidden(&format!("Value of {name} (not shown): ")).await?.unwrap_or_default()
            }
            (None, None) => String::new(),
        };
        if value.is_empty() {
            return Err(ApiError::new(
                Code::Usage,
                format!("there is no value for secret `{}`", one_line(name)),
                format!("Set the environment variable `{}` before, or type it when asked.", one_line(name)),
            ));
        }
        secrets.insert(name.to_owned(), value);
        names.push(name.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_an_argument_is_refused_and_never_repeated() {
        for word in ["Authorization: Bearer hush", "K=hush-hush", "=hush", "K="] {
            let error = secret_name(word).expect_err("a value is no name");
            assert!(!format!("{error:?}").contains("hush"), "the value is not repeated");
        }
        assert_eq!(secret_name("Authorization=CI_TOKEN").ok(), Some(("Authorization", Some("CI_TOKEN"))));
        assert_eq!(secret_name("X-Key").ok(), Some(("X-Key", None)), "a name alone is asked for");
        let error = checked_url("https://ann:hush@host/mcp").expect_err("a password in a URL");
        assert!(!format!("{error:?}").contains("hush") && !error.hint.is_empty(), "a hint without the password");
    }
}
