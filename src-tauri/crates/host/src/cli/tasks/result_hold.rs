//! `taskwarden tasks hold`, `release` and `go-on`: a person decides whether and in which form an agent gets a result
//! (promise R2), and whether a task continues past a limit.
//!
//! The task itself is not touched, and its server is not told.

use api::calls::OneTask;
use api::calls::tasks::result_hold::ReleaseTask;
use api::dto::{FormDto, TaskDto};
use clap::{ArgGroup, Args};

use crate::app::core_client::CoreClient;
use crate::cli::input::amount;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{release_command, short_id};
use crate::config::Config;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["deliver", "slices", "trim", "withhold"]).multiple(false)))]
pub(crate) struct ReleaseArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// Give the agent the whole result.
    #[arg(long)]
    deliver: bool,
    /// Give the agent a preview; it reads the rest in parts.
    #[arg(long)]
    slices: bool,
    /// Give the agent the result cut to about this many tokens, such as `5k`.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    trim: Option<String>,
    /// Never give the agent the result.
    #[arg(long)]
    withhold: bool,
    /// The reason, shown to the agent.
    #[arg(long, value_name = "TEXT", requires = "withhold", conflicts_with_all = ["deliver", "slices", "trim"])]
    reason: Option<String>,
}

pub(crate) async fn hold(id: String, config: &Config, screen: &Screen) -> CommandResult {
    let task: TaskDto = CoreClient::attach(config)?.request("tasks.hold", &OneTask { id }).await?;
    if screen.is_json() {
        return screen.json(&task);
    }
    let id = short_id(&task.id, !screen.is_terminal());
    screen.line("The result is held; the agent does not get it.");
    screen.note(&format!("Decide later: {}", release_command(id)));
    Ok(DONE)
}

pub(crate) async fn release(command: ReleaseArgs, config: &Config, screen: &Screen) -> CommandResult {
    let ReleaseArgs { id, deliver: _, slices, trim, withhold, reason } = command;
    let trim_tokens = trim.as_deref().map(amount::tokens).transpose()?;
    let form = match (withhold, slices, trim_tokens) {
        (true, ..) => None,
        (false, true, _) => Some(FormDto::Slices),
        (false, false, Some(_)) => Some(FormDto::Trimmed),
        (false, false, None) => Some(FormDto::Whole),
    };
    let input = ReleaseTask { id, deliver: !withhold, form, trim_tokens, reason };
    let task: TaskDto = CoreClient::attach(config)?.request("tasks.release", &input).await?;
    if screen.is_json() {
        return screen.json(&task);
    }
    let when = if task.over { "" } else { " when it is ready" };
    screen.line(&match form {
        Some(FormDto::Whole) => format!("The agent gets the result{when}."),
        Some(FormDto::Slices) => format!("The agent gets a preview{when}, and reads the rest in parts."),
        Some(FormDto::Trimmed) => format!("The agent gets the result{when}, cut to that size."),
        None => "The agent does not get the result.".into(),
    });
    Ok(DONE)
}

pub(crate) async fn go_on(id: String, config: &Config, screen: &Screen) -> CommandResult {
    let task: TaskDto = CoreClient::attach(config)?.request("tasks.goOn", &OneTask { id }).await?;
    if screen.is_json() {
        screen.json(&task)?;
    } else {
        screen.line("The task continues past its limit.");
    }
    Ok(DONE)
}
