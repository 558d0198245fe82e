//! `taskwarden agents add`: prints the token once, with settings for the agent's program.
//!
//! With `--save` the token is also written to a file that only the user can read, where `connect` finds it (ruling 25).
//! The settings are the api's, the same as in the window.

use api::calls::agents::{AddAgent, AgentAdded};
use api::dto::{ProgramSettings, SettingsPlace, SettingsText, SettingsTransport};
use api::format::program_settings::{self, SettingsInput, programs};
use api::{ApiError, Code};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::agent_access::token_file;
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::config::Config;
use crate::os::own_program::own_program_text;

/// An agent to add.
#[derive(Debug, Args)]
pub(crate) struct AddAgentArgs {
    /// A name for the agent: a-z, 0-9, dot, dash and underscore.
    name: String,
    /// The agent's program. Results are counted as this program shows them, and only its settings are printed.
    #[arg(long = "for", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(programs::words()))]
    program: Option<String>,
    /// Print the settings for one transport only.
    #[arg(long, value_name = "WAY")]
    transport: Option<Transport>,
    /// Save the token in a file that only you can read, for `taskwarden connect`.
    #[arg(long)]
    save: bool,
    /// Do not offer the four task tools to clients without task support.
    #[arg(long)]
    no_task_tools: bool,
}

/// How a program reaches the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// The program speaks HTTP.
    Http,
    /// The program starts `taskwarden connect`.
    Stdio,
}

impl Transport {
    fn is(self, other: SettingsTransport) -> bool {
        match self {
            Self::Http => other == SettingsTransport::Http,
            Self::Stdio => other == SettingsTransport::Stdio,
        }
    }
}

pub(super) async fn add(input: AddAgentArgs, config: &Config, screen: &Screen) -> CommandResult {
    let AddAgentArgs { name, program, transport, save, no_task_tools } = input;
    let core = CoreClient::attach(config)?;
    let asked = AddAgent { name, task_tools: Some(!no_task_tools), program: program.clone(), save: None };
    let mut added: AgentAdded = core.request("agents.add", &asked).await?;
    let saved = if save { Some(token_file::save(&config.paths, &added.agent.name, &added.token)) } else { None };
    if let Some(Ok(path)) = &saved {
        added.settings = program_settings::settings(SettingsInput {
            agent: &added.agent.name,
            token: &added.token,
            connect: &own_connect(),
            home: config.paths.named_home().as_deref(),
            url: added.url.as_deref(),
            saved: path.to_str(),
        });
    }
    if let Some(program) = &program {
        added.settings.programs.retain(|one| one.program == *program);
    }
    if let Some(transport) = transport {
        added.settings.programs.iter_mut().for_each(|one| one.texts.retain(|text| transport.is(text.transport)));
    }
    if screen.is_json() {
        screen.json(&added)?;
    } else {
        print(&added, screen);
        if let Some(Ok(path)) = &saved {
            screen.note(&format!("Saved in `{}`, which only you can read.", path.display()));
        }
    }
    match saved {
        // The token was printed above, so it is not lost.
        Some(Err(error)) => Err(ApiError::new(
            Code::Failed,
            format!("the agent was added, but its token could not be saved: {error}"),
            "Put the token printed above into `TASKWARDEN_TOKEN`, or revoke the agent and try again.",
        )),
        Some(Ok(_)) | None => Ok(DONE),
    }
}

/// How this program starts a bridge.
fn own_connect() -> Vec<String> {
    vec![own_program_text().unwrap_or_else(|| "taskwarden".into()), "connect".into()]
}

/// The token alone goes to standard output, for scripts; the settings are for people, and hold it again unless it was saved.
fn print(added: &AgentAdded, screen: &Screen) {
    screen.note(&format!("Added agent `{}`. This is its token; it cannot be shown again:", added.agent.name));
    screen.line(&added.token);
    for program in &added.settings.programs {
        print_program(program, screen);
    }
    if added.url.is_none() {
        screen.note("\nNo HTTP address is open. Programs that start a command can still connect.");
    }
    screen.note(
        "\nUse one of the settings for your program, then restart the program. It reaches all servers of \
         `taskwarden servers list`; for a single server, put its name after `/mcp/` or after `connect`.",
    );
}

pub(super) fn print_program(program: &ProgramSettings, screen: &Screen) {
    if program.texts.is_empty() {
        return;
    }
    screen.note(&format!("\n== {}", program.label));
    for text in &program.texts {
        screen.note(&format!("\n{}:\n{}", heading(text), text.text));
    }
    if let Some(check) = &program.check {
        screen.note(&format!("\nTo check: {check}"));
    }
    for note in &program.notes {
        screen.note(note);
    }
}

/// `Over HTTP, in ~/.codex/config.toml`.
fn heading(text: &SettingsText) -> String {
    let way = match text.transport {
        SettingsTransport::Http => "Over HTTP",
        SettingsTransport::Stdio => "As a command",
    };
    match (text.place, &text.file) {
        (SettingsPlace::Terminal, _) => format!("{way}, in a terminal"),
        (SettingsPlace::File, Some(file)) => format!("{way}, in {file}"),
        (SettingsPlace::File, None) => format!("{way}, in the program's settings"),
    }
}
