//! The `taskwarden` command line: arguments in, text or JSON and an exit code out (product.md).
//!
//! One folder per group of commands. Commands call the core through its socket; those that only read use the registry
//! itself when no core runs (ruling 17). Errors are one line and a hint on standard error, or one object with `--json`.
//! Nothing here decides what may be done.

mod agents;
mod alarms;
mod budget;
mod clients;
mod control;
mod core_commands;
mod halt;
mod inbox;
mod input;
mod output;
mod rules;
mod servers;
mod storage;
mod tasks;

use std::ffi::OsString;
use std::process::ExitCode;

use api::{ApiError, Code};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::app::compose::Adapters;
use crate::config::{Config, ConfigError};
use crate::os::concealment;
use output::exit_code::{CommandResult, DONE, INTERRUPTED};
use output::screen::Screen;

/// Watch, answer and stop the long-running work that MCP servers do for you and your agents.
#[derive(Debug, Parser)]
#[command(name = "taskwarden", bin_name = "taskwarden", version, max_term_width = 100)]
struct Cli {
    /// Print JSON: one document, or one per line where a command streams.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the core in this terminal until Ctrl-C. It serves agents and the window in the browser.
    Serve(core_commands::serve::ServeArgs),
    /// Print the address of the running core's window in the browser, and a one-time code for it.
    Ui,
    /// List signed-in browsers, and sign them out.
    #[command(subcommand)]
    Sessions(core_commands::sessions::SessionsCommand),
    /// Add, list, show and remove MCP servers.
    #[command(subcommand)]
    Servers(servers::ServersCommand),
    /// Add, list and revoke agents: programs that reach servers through Taskwarden.
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    /// Find the agent programs that are installed here, and the servers in their files.
    #[command(subcommand)]
    Clients(clients::ClientsCommand),
    /// Connect an agent to its servers over standard input and output. The agent's program runs this.
    Connect(agents::connect::ConnectArgs),
    /// Show how full the context windows of agents are, and set how tokens are counted.
    Budget(budget::BudgetArgs),
    /// List and set rules for the calls of agents.
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Call a tool, and print the handle of its task at once.
    Call(tasks::call::CallArgs),
    /// List, show, watch, answer and cancel tasks.
    #[command(subcommand)]
    Tasks(tasks::TasksCommand),
    /// Show everything that waits for you, oldest first.
    Inbox(inbox::InboxArgs),
    /// List and dismiss alarms: what agents call again and again.
    #[command(subcommand)]
    Alarms(alarms::AlarmsCommand),
    /// Halt work: refuse calls, cancel tasks and freeze questions, everywhere or in chosen places.
    Halt(halt::HaltArgs),
    /// Let halted work begin again, stage by stage.
    Resume(halt::ResumeArgs),
    /// Pause one agent, so that its new calls wait, or freeze the processes of one local server.
    Pause(halt::pause::PauseArgs),
    /// End the pause of an agent or a server, and say which of the waiting calls are sent.
    Unpause(halt::pause::UnpauseArgs),
    /// List what is paused.
    #[command(subcommand)]
    Pauses(halt::pause::PausesCommand),
    /// Make, list and revoke control tokens, with which supervisor programs end work.
    #[command(subcommand)]
    Control(control::ControlCommand),
    /// Show what is stored and for how long, change the limits, and clean up.
    Storage(storage::StorageArgs),
    /// Read and check the audit log.
    #[command(subcommand)]
    Audit(storage::audit::AuditCommand),
    /// Check the installation, and say how to fix each problem.
    Doctor,
    /// Run the built-in MCP server, whose tools do long work on local files.
    DemoServer(core_commands::serve::DemoServerArgs),
    /// Keep one server's process running when its core ends. Only cores start this.
    #[command(hide = true)]
    Keep(core_commands::keeper::KeeperArgs),
    /// Print shell completions.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    run_with(std::env::args_os(), |adapters| adapters)
}

/// Runs the command line with these arguments. `wrap` may replace adapters of a core that is started.
pub fn run_with(args: impl IntoIterator<Item = OsString>, wrap: impl FnOnce(Adapters) -> Adapters) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let screen = Screen::new(wants_json);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(report_usage(&screen, &error, &args)),
    };
    // Before anything is connected. The demo server is what any server is.
    if !matches!(cli.command, Command::DemoServer(_)) {
        concealment::conceal();
    }
    let runtime = match runtime(matches!(cli.command, Command::Serve(_) | Command::DemoServer(_))) {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = ApiError::new(
                Code::Failed,
                format!("a thread could not be started: {error}"),
                "Close some programs or raise the limits of your user, then try again.",
            );
            return ExitCode::from(print_error(&screen, &error));
        }
    };
    // Boxed because every command is in the future; one allocation in a process.
    let ended = runtime.block_on(Box::pin(interruptible(cli.command, &screen, wrap)));
    // A prompt may still wait for a line that nobody will type; do not wait for it.
    runtime.shutdown_background();
    ExitCode::from(match ended {
        Ok(code) => code,
        Err(error) => print_error(&screen, &error),
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

/// Ends a command at Ctrl-C, unless the command handles it first. Cores shut down in their own way.
async fn interruptible(command: Command, screen: &Screen, wrap: impl FnOnce(Adapters) -> Adapters) -> CommandResult {
    let handles_it = match &command {
        Command::Serve(_) | Command::DemoServer(_) | Command::Keep(_) => true,
        Command::Servers(command) => command.handles_interrupt(),
        _ => false,
    };
    if handles_it {
        return perform(command, screen, wrap).await;
    }
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    // Register the handler now, before anything on the screen mentions Ctrl-C.
    let _ = futures::poll!(interrupted.as_mut());
    tokio::select! {
        biased;
        ended = perform(command, screen, wrap) => ended,
        _ = interrupted => Ok(INTERRUPTED),
    }
}

async fn perform(command: Command, screen: &Screen, wrap: impl FnOnce(Adapters) -> Adapters) -> CommandResult {
    if let Command::Completions { shell } = command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "taskwarden", &mut script);
        screen.raw(&script);
        return Ok(DONE);
    }
    if let Command::DemoServer(demo) = command {
        return Box::pin(core_commands::serve::demo(demo, screen)).await;
    }
    if let Command::Keep(command) = command {
        return core_commands::keeper::run(command).await;
    }
    if let Command::Doctor = command {
        // It must work even when the configuration cannot be read.
        return Box::pin(core_commands::doctor::run(Config::load(), screen)).await;
    }
    let config = match &command {
        Command::Serve(command) if command.is_background() => Config::load_for_background(),
        _ => Config::load(),
    };
    let config = config.map_err(|error| config_error(&error))?;
    match command {
        Command::Serve(command) => core_commands::serve::run(command, config, screen, wrap).await,
        Command::Ui => core_commands::ui::run(&config, screen).await,
        Command::Sessions(command) => core_commands::sessions::run(command, &config, screen).await,
        Command::Servers(command) => servers::run(command, &config, screen).await,
        Command::Agents(command) => agents::run(command, &config, screen).await,
        Command::Clients(command) => Box::pin(clients::run(command, &config, screen)).await,
        Command::Connect(command) => Box::pin(agents::connect::run(command, config, screen)).await,
        Command::Budget(command) => budget::run(command, &config, screen).await,
        Command::Alarms(command) => alarms::run(command, &config, screen).await,
        Command::Rules(command) => rules::run(command, &config, screen).await,
        Command::Call(command) => tasks::call::run(command, &config, screen).await,
        Command::Tasks(command) => tasks::run(command, &config, screen).await,
        Command::Inbox(command) => inbox::run(&command, &config, screen).await,
        Command::Halt(command) => halt::run(command, &config, screen).await,
        Command::Resume(command) => halt::resume(command, &config, screen).await,
        Command::Pause(command) => halt::pause::pause(command, &config, screen).await,
        Command::Unpause(command) => halt::pause::unpause(command, &config, screen).await,
        Command::Pauses(command) => halt::pause::run(command, &config, screen).await,
        Command::Control(command) => control::run(command, &config, screen).await,
        Command::Storage(command) => storage::run(command, &config, screen).await,
        Command::Audit(command) => storage::audit::run(command, &config, screen).await,
        Command::Doctor | Command::DemoServer(_) | Command::Keep(_) | Command::Completions { .. } => Ok(DONE),
    }
}

fn config_error(error: &ConfigError) -> ApiError {
    ApiError::new(Code::Usage, error.to_string(), error.hint())
}

/// Prints an error and gives its exit code.
fn print_error(screen: &Screen, error: &ApiError) -> u8 {
    screen.error(error);
    error.code.exit()
}

/// Help and version are answers; everything else is a usage error in our words.
fn report_usage(screen: &Screen, error: &clap::Error, args: &[OsString]) -> u8 {
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
            let intended = intended_command(args);
            let (message, hint) = usage(&text, &intended);
            let hint = in_a_group(error).filter(|_| !intended.contains(' ')).unwrap_or(hint);
            print_error(screen, &ApiError::new(Code::Usage, message, hint))
        }
    }
}

/// The command that was intended, as far as its words are known: `taskwarden budget set`.
fn intended_command(args: &[OsString]) -> String {
    let mut words = vec!["taskwarden"];
    let mut command = &Cli::command();
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()).filter(|word| !word.starts_with('-')) {
        let Some(found) = command.find_subcommand(word) else { break };
        words.push(word);
        command = found;
    }
    words.join(" ")
}

/// Where a command without its group is found: an unknown `answer` is that of `tasks`, not one that is spelt alike.
fn in_a_group(error: &clap::Error) -> Option<String> {
    /// Groups that are named; more have a command of such a name only where it means anything, such as `list`.
    const NAMED: usize = 3;
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let cli = Cli::command();
    let groups = cli.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    let found: Vec<String> = groups.map(|group| format!("`taskwarden {} {word}`", group.get_name())).collect();
    (1..=NAMED).contains(&found.len()).then(|| format!("Write {}.", found.join(" or ")))
}

/// Turns clap's paragraphs into one line and a hint.
fn usage(text: &str, command: &str) -> (String, String) {
    let mut message = Vec::new();
    let mut tips = Vec::new();
    let mut usage = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            tips.push(sentence(tip));
        } else if let Some(form) = line.strip_prefix("Usage: ") {
            usage = Some(if form.ends_with("<COMMAND>") && tips.is_empty() {
                format!("`{command} --help` lists the commands.")
            } else {
                format!("Write it as `{form}`.")
            });
        } else if line.starts_with("For more information") || usage.is_some() {
            // A command with two forms has a usage line for each; one is enough.
        } else {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    tips.extend(usage);
    if tips.is_empty() {
        let purpose =
            if command.contains(' ') { "explains the arguments and their units" } else { "lists the commands" };
        tips.push(format!("`{command} --help` {purpose}."));
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
