//! The `taskwarden` command line: arguments in, text or JSON and an exit code out (product.md).
//!
//! One file a group of commands. Commands speak to the core through its socket, or, where they only read, to the
//! registry itself when no core runs (ruling 17). Errors are one line and a hint on standard error; with `--json` one
//! object. Nothing here decides what may be done.

mod agents;
mod amount;
mod answer;
mod ask;
mod audit;
mod budget;
mod call;
mod connect;
mod consent;
mod doctor;
mod follow;
mod hold;
mod inbox;
mod input;
mod keep;
mod prompt;
mod rules;
mod screen;
mod serve;
mod servers;
mod sessions;
mod stop;
mod storage;
mod table;
mod tasks;
mod ui;
mod watch;
mod weigh;
pub(crate) mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use api::{ApiError, Code};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::compose::Adapters;
use crate::config::{Config, ConfigError};
use screen::Screen;

/// Watch, answer and stop the long-running work that MCP servers do for you and your agents.
#[derive(Debug, Parser)]
#[command(name = "taskwarden", bin_name = "taskwarden", version, max_term_width = 100)]
struct Cli {
    /// Print JSON: one document, or one a line where a command streams.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the core in this terminal until Ctrl-C, for agents and the window in the browser.
    Serve(serve::Serve),
    /// Show the window of the running core in the browser: prints its address and a one-time code.
    Ui,
    /// List browsers that are signed in, and sign them out.
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Add, list, show and remove MCP servers.
    #[command(subcommand)]
    Servers(servers::Servers),
    /// Add, list and revoke agents: programs that reach servers through Taskwarden.
    #[command(subcommand)]
    Agents(agents::Agents),
    /// Carry an agent's standard input and output to its servers; for the settings of agents' programs.
    Connect(connect::Connect),
    /// Show what stands in the windows of agents, and set how it is counted.
    Budget(budget::Budget),
    /// List and set what holds for calls of agents.
    #[command(subcommand)]
    Rules(rules::Rules),
    /// Call a tool; prints the handle of its task at once.
    Call(call::Call),
    /// List, show, watch, answer and cancel tasks.
    #[command(subcommand)]
    Tasks(tasks::Tasks),
    /// Show everything that waits for your answer, oldest first.
    Inbox(inbox::Inbox),
    /// Show what is stored and how long it is kept, change that, and clean up.
    Storage(storage::Storage),
    /// Check the audit log.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Check the set-up; each finding comes with its cure.
    Doctor,
    /// Run the built-in MCP server whose tools do real long work on local files.
    DemoServer(serve::DemoServer),
    /// Hold one server's process beyond the core that started it; cores start this themselves.
    #[command(hide = true)]
    Keep(keep::Keep),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// How a command ended: an exit code, or an error that has its own.
pub(crate) type Ended = Result<u8, ApiError>;

/// Done, exit code 0.
pub(crate) const DONE: u8 = 0;
/// The task failed, was cancelled or is gone.
pub(crate) const FAILED: u8 = 1;
/// Interrupted by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    run_with(std::env::args_os(), |adapters| adapters)
}

/// Runs the command line with these arguments; `wrap` may replace adapters of a core that is started.
pub fn run_with(args: impl IntoIterator<Item = OsString>, wrap: impl FnOnce(Adapters) -> Adapters) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let screen = Screen::new(wants_json);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(misread(&screen, &error, &args)),
    };
    let runtime = match runtime(matches!(cli.command, Command::Serve(_) | Command::DemoServer(_))) {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = ApiError::new(
                Code::Failed,
                format!("the system gave no threads: {error}"),
                "Close programs or raise the limits of your user, then try again.",
            );
            return ExitCode::from(told(&screen, &error));
        }
    };
    // Large because every command is in it; one allocation for a process.
    let ended = runtime.block_on(Box::pin(interruptible(cli.command, &screen, wrap)));
    // A question may still wait for a line that nobody will type; nothing of ours runs on.
    runtime.shutdown_background();
    ExitCode::from(match ended {
        Ok(code) => code,
        Err(error) => told(&screen, &error),
    })
}

fn runtime(is_core: bool) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = if is_core {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder.enable_all().build()
}

/// Ends a command at Ctrl-C. A command that has something to say about it does so first; cores end in their own way.
async fn interruptible(command: Command, screen: &Screen, wrap: impl FnOnce(Adapters) -> Adapters) -> Ended {
    if matches!(command, Command::Serve(_) | Command::DemoServer(_) | Command::Keep(_)) {
        return perform(command, screen, wrap).await;
    }
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    // The signal is ours from now on, before anything is shown that invites it.
    let _ = futures::poll!(interrupted.as_mut());
    tokio::select! {
        biased;
        ended = perform(command, screen, wrap) => ended,
        _ = interrupted => Ok(INTERRUPTED),
    }
}

async fn perform(command: Command, screen: &Screen, wrap: impl FnOnce(Adapters) -> Adapters) -> Ended {
    if let Command::Completions { shell } = command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "taskwarden", &mut script);
        screen.raw(&script);
        return Ok(DONE);
    }
    if let Command::DemoServer(demo) = command {
        return Box::pin(serve::demo(demo, screen)).await;
    }
    if let Command::Keep(command) = command {
        return keep::run(command).await;
    }
    if let Command::Doctor = command {
        // It must speak even when the configuration cannot be read.
        return Box::pin(doctor::run(Config::load(), screen)).await;
    }
    let config = match &command {
        Command::Serve(command) if command.is_background() => Config::load_for_background(),
        _ => Config::load(),
    };
    let config = config.map_err(|error| unconfigured(&error))?;
    match command {
        Command::Serve(command) => serve::run(command, config, screen, wrap).await,
        Command::Ui => ui::run(&config, screen).await,
        Command::Sessions(command) => sessions::run(command, &config, screen).await,
        Command::Servers(command) => servers::run(command, &config, screen).await,
        Command::Agents(command) => agents::run(command, &config, screen).await,
        Command::Connect(command) => Box::pin(connect::run(command, config, screen)).await,
        Command::Budget(command) => budget::run(command, &config, screen).await,
        Command::Rules(command) => rules::run(command, &config, screen).await,
        Command::Call(command) => call::run(command, &config, screen).await,
        Command::Tasks(command) => tasks::run(command, &config, screen).await,
        Command::Inbox(command) => inbox::run(&command, &config, screen).await,
        Command::Storage(command) => storage::run(command, &config, screen).await,
        Command::Audit(command) => audit::run(command, &config, screen).await,
        Command::Doctor | Command::DemoServer(_) | Command::Keep(_) | Command::Completions { .. } => Ok(DONE),
    }
}

fn unconfigured(error: &ConfigError) -> ApiError {
    ApiError::new(Code::Usage, error.to_string(), error.hint())
}

/// Prints an error and gives its exit code.
fn told(screen: &Screen, error: &ApiError) -> u8 {
    screen.error(error);
    error.code.exit()
}

/// Help and version are answers; everything else is a usage error in our words.
fn misread(screen: &Screen, error: &clap::Error, args: &[OsString]) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            screen.line(&error.render().ansi().to_string().trim_end().replace("\r\n", "\n"));
            DONE
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !screen.is_json() => {
            screen.note(error.render().ansi().to_string().trim_end());
            Code::Usage.exit()
        }
        _ => {
            let text = error.render().to_string();
            let (message, hint) = usage(&text, &meant(args));
            told(screen, &ApiError::new(Code::Usage, message, hint))
        }
    }
}

/// The command that was meant, as far as its words are known: `taskwarden budget set`.
fn meant(args: &[OsString]) -> String {
    let mut words = vec!["taskwarden"];
    let mut command = &Cli::command();
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()).filter(|word| !word.starts_with('-')) {
        let Some(found) = command.find_subcommand(word) else { break };
        words.push(word);
        command = found;
    }
    words.join(" ")
}

/// Clap's paragraphs as one line and a hint.
fn usage(text: &str, meant: &str) -> (String, String) {
    let mut message = Vec::new();
    let mut tips = Vec::new();
    let mut usage = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            tips.push(sentence(tip));
        } else if let Some(form) = line.strip_prefix("Usage: ") {
            usage = Some(if form.ends_with("<COMMAND>") && tips.is_empty() {
                format!("`{meant} --help` lists the commands.")
            } else {
                format!("Write it as `{form}`.")
            });
        } else if line.starts_with("For more information") || usage.is_some() {
            // A command with two forms has a line of usage for each: one is told.
        } else {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    tips.extend(usage);
    if tips.is_empty() {
        let told = if meant.contains(' ') { "says what belongs there, with units" } else { "lists the commands" };
        tips.push(format!("`{meant} --help` {told}."));
    }
    (message.join(" ").replace('\'', "`"), tips.join(" ").replace('\'', "`"))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let rest = letters.as_str();
    format!("{first}{rest}{}", if rest.ends_with(['.', '?', '!']) { "" } else { "." })
}

#[cfg(test)]
mod tests;
