//! `taskwarden servers add`: shows what will be run or contacted, asks, and prints what was found.
//!
//! The core records the agreement; the text of the question is in `consent.rs`. Secret values come from the environment
//! or a hidden prompt, never from arguments, which other users of the machine can read.

use std::collections::BTreeMap;

use api::calls::Nothing;
use api::calls::servers::{AddServer, ServerAdded, ServerList};
use api::dto::AddressDto;
use api::dto::server::HealthKind;
use api::format::time;
use api::{ApiError, Code};
use clap::Args;
use url::Url;

use super::{last_lines, protocol};
use crate::app::core_client::CoreClient;
use crate::cli::input::secrets::take_secrets;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, quoted};
use crate::cli::servers::consent;
use crate::cli::servers::tools::not_offered_tools;
use crate::config::Config;
use crate::os::program_lookup;

#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// A name for the server: 1 to 40 of a-z, 0-9, dot, dash and underscore.
    name: String,
    /// The address of an HTTP server.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "secret_env", "cwd"])]
    url: Option<String>,
    /// The name of an HTTP header with a secret value, such as `Authorization`. The value is read from this environment
    /// variable, or asked for.
    #[arg(long = "header", value_name = "NAME[=VARIABLE]", requires = "url", conflicts_with = "command")]
    headers: Vec<String>,
    /// An environment variable for the command.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A secret environment variable for the command. The value is read from your environment, or asked for.
    #[arg(long, value_name = "NAME[=VARIABLE]")]
    secret_env: Vec<String>,
    /// The folder in which the command runs. Default: your home folder.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    /// Agree without being asked.
    #[arg(long, short)]
    yes: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

pub(super) async fn add(input: AddServerArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    domain::server::check_server_name(&input.name)
        .map_err(|bad| ApiError::new(Code::Usage, bad.to_string(), "Choose a name such as `files` or `ci-2`."))?;
    let AddServerArgs { name, url, headers, env, secret_env, cwd, yes, command } = input;
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
                // A relative path is meant from the current folder.
                None => std::env::current_dir().ok(),
            };
            AddressDto::Stdio {
                // If it is not found, the core reports it like any other reason why a server is down.
                command: program_lookup::locate(program, folder.as_deref()).unwrap_or_else(|| program.clone()),
                args: args.to_vec(),
                env: plain_env(&env)?,
                secret_env: take_secrets(&secret_env, &mut secrets, screen).await?,
                cwd,
            }
        }
    };
    // Fails without a core, before anybody is asked.
    let known: ServerList = core.request("servers.list", &Nothing {}).await?;
    let is_new = known.servers.iter().all(|server| server.name != name);
    if is_new && !yes {
        if !screen.can_ask() {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` was not added: nobody agreed"),
                "Run it in a terminal to see what will run and agree to it, or pass `--yes`.",
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
    let added: ServerAdded = waiting.until(core.request("servers.add", &input)).await?;
    print_added(&added, screen)
}

fn print_added(added: &ServerAdded, screen: &Screen) -> CommandResult {
    let server = &added.server;
    if screen.is_json() {
        screen.json(added)?;
        return Ok(if server.health.kind == HealthKind::Up { DONE } else { FAILED });
    }
    match server.health.kind {
        HealthKind::Up => {
            screen.line(&format!("Added `{}`: {}.", server.name, protocol(server)));
            if let Some(tools) = &added.tools {
                let offered = tools.iter().filter(|tool| tool.not_offered.is_none());
                let names: Vec<String> = offered.map(|tool| one_line(&tool.name)).collect();
                let count = time::count(u64::try_from(names.len()).unwrap_or(u64::MAX), "tool");
                screen.line(&if names.is_empty() { count } else { format!("{count}: {}", names.join(", ")) });
                if let Some(words) = not_offered_tools(tools) {
                    screen.note(&words);
                }
            }
            if let Some(why) = &added.tools_failed {
                let name = &server.name;
                screen.warning(&format!(
                    "its tools could not be listed: {}. `taskwarden servers tools {name}` tries again.",
                    one_line(why).trim_end_matches('.')
                ));
            }
            Ok(DONE)
        }
        HealthKind::Unknown | HealthKind::Connecting | HealthKind::Down | HealthKind::Ended | HealthKind::Blocked => {
            let why = server.health.why.as_deref().map_or_else(|| "it has not answered yet".into(), one_line);
            let hint = server.health.hint.as_deref().unwrap_or("It will be tried again automatically.");
            let wants = server.sign_in.as_ref().is_some_and(|sign_in| sign_in.needed.is_some());
            if wants {
                let name = &server.name;
                screen.line(&format!(
                    "Added `{name}`. It answers once you are signed in: taskwarden servers sign-in {name}"
                ));
                return Ok(DONE);
            }
            screen.line(&format!("Added `{}`, but it cannot be reached.", server.name));
            if !server.stderr_tail.trim().is_empty() {
                screen.note(&format!("Last lines of its standard error:\n{}", quoted(last_lines(&server.stderr_tail))));
            }
            Err(ApiError::new(
                Code::Failed,
                format!("server `{}` cannot be reached: {why}", server.name),
                format!("{} To remove it: `taskwarden servers remove {}`.", one_line(hint), server.name),
            ))
        }
    }
}

/// Shows what is waited for, and for how long at most, when a server does not answer soon.
struct Waiting<'a> {
    words: String,
    config: &'a Config,
    screen: &'a Screen,
}

impl<'a> Waiting<'a> {
    fn new(name: &str, address: &AddressDto, config: &'a Config, screen: &'a Screen) -> Self {
        let what = match address {
            AddressDto::Stdio { .. } => "its program to answer",
            AddressDto::Http { .. } => "its address to answer",
        };
        // The longest time the core waits for a new server.
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
    let bad = |why: String| ApiError::new(Code::Usage, why, "Give the full address, such as `https://host/mcp`.");
    // Never quoted, because it may contain a password.
    let url = Url::parse(text).map_err(|error| bad(format!("the address is not a URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ApiError::new(
            Code::Usage,
            "the URL contains a user name or password",
            "Remove the part before `@` and pass `--header Authorization`; its value is stored as a secret.",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_refused_and_never_repeated() {
        let error = checked_url("https://ann:hush@host/mcp").expect_err("a password in a URL");
        assert!(!format!("{error:?}").contains("hush") && !error.hint.is_empty(), "a hint without the password");
    }
}
