//! `taskwarden agents add`: prints the token once, with settings for the agent's program.
//!
//! With `--save` the token also lies in a file that only the user can read, where `connect` finds it (ruling 25). The
//! settings are the api's, as the window shows them.

use api::calls::agents::{AddAgent, AgentAdded};
use api::dto::{ProgramSettings, SettingsPlace, SettingsText, SettingsTransport};
use api::format::program_settings::{self, SettingsInput, programs};
use api::{ApiError, Code};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::cli::screen::Screen;
use crate::cli::{DONE, Ended};
use crate::config::Config;
use crate::door::Door;
use crate::token;

/// An agent to add.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// A name for it: a-z, 0-9, dot, dash, underscore.
    name: String,
    /// The agent's program: its results are counted as this program shows them, and only its settings are printed.
    #[arg(long = "for", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(programs::words()))]
    program: Option<String>,
    /// Print the settings for one way alone.
    #[arg(long, value_name = "WAY")]
    transport: Option<Transport>,
    /// Keep the token in a file that only you can read, for `taskwarden connect`.
    #[arg(long)]
    save: bool,
    /// Do not offer the four task tools to a client that knows no tasks.
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

pub(super) async fn add(input: Add, config: &Config, screen: &Screen) -> Ended {
    let Add { name, program, transport, save, no_task_tools } = input;
    let door = Door::core(config)?;
    let asked = AddAgent { name, task_tools: Some(!no_task_tools), program: program.clone() };
    let mut added: AgentAdded = door.ask("agents.add", &asked).await?;
    let saved = if save { Some(token::save(&config.paths, &added.agent.name, &added.token)) } else { None };
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
            screen.note(&format!("Saved in `{}`, readable by you alone.", path.display()));
        }
    }
    match saved {
        // The token was shown: it is not lost with its file.
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
    let program = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    vec![program.unwrap_or_else(|| "taskwarden".into()), "connect".into()]
}

fn print(added: &AgentAdded, screen: &Screen) {
    screen.note(&format!("Added agent `{}`. This is its token; nobody can show it again:", added.agent.name));
    screen.line(&added.token);
    for program in &added.settings.programs {
        print_program(program, screen);
    }
    if added.url.is_none() {
        screen.note("\nNo HTTP address is open; programs that start a command can still be connected.");
    }
    screen.note(
        "\nOne of the texts for your program is enough. Restart the program after it. It then reaches all servers of \
         `taskwarden servers list`; for one alone, put its name after `/mcp/` or after `connect`.",
    );
}

fn print_program(program: &ProgramSettings, screen: &Screen) {
    if program.texts.is_empty() {
        return;
    }
    screen.note(&format!("\n== {}", program.label));
    for text in &program.texts {
        screen.note(&format!("\n{}:\n{}", heading(text), text.text));
    }
    if let Some(check) = &program.check {
        screen.note(&format!("\nTo check it: {check}"));
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
