//! `taskwarden tasks hold`, `release` and `go-on`: whether and in which form an agent gets a result is a person's to say
//! (promise R2), and whether a task goes on past a limit.
//!
//! The task itself is not touched: its server does not hear of it.

use api::calls::OneTask;
use api::calls::tasks::result_hold::ReleaseTask;
use api::dto::{FormDto, TaskDto};
use clap::{ArgGroup, Args};

use super::screen::Screen;
use super::words::short_id;
use super::{DONE, Ended, amount};
use crate::config::Config;
use crate::door::Door;

/// What to do with a held result.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["deliver", "slices", "trim", "withhold"]).multiple(false)))]
pub(crate) struct Release {
    /// The task's handle, or a unique beginning of it.
    id: String,
    /// The agent gets the result, whole.
    #[arg(long)]
    deliver: bool,
    /// The agent gets a short result, and reads the rest in slices.
    #[arg(long)]
    slices: bool,
    /// The agent gets the result cut to about so many tokens, such as `5k`.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    trim: Option<String>,
    /// The agent never gets the result.
    #[arg(long)]
    withhold: bool,
    /// Why not; told to the agent.
    #[arg(long, value_name = "TEXT", requires = "withhold", conflicts_with_all = ["deliver", "slices", "trim"])]
    reason: Option<String>,
}

pub(crate) async fn hold(id: String, config: &Config, screen: &Screen) -> Ended {
    let task: TaskDto = Door::core(config)?.ask("tasks.hold", &OneTask { id }).await?;
    if screen.is_json() {
        screen.json(&task)?;
        return Ok(DONE);
    }
    let id = short_id(&task.id, !screen.is_terminal());
    screen.line("Its result is held back from the agent.");
    screen.note(&format!("Decide later: {}", ways(id)));
    Ok(DONE)
}

/// The command that decides about a held result, with its four ways.
pub(crate) fn ways(id: &str) -> String {
    format!("taskwarden tasks release {id} --slices, --deliver, --trim TOKENS or --withhold")
}

pub(crate) async fn release(command: Release, config: &Config, screen: &Screen) -> Ended {
    let Release { id, deliver: _, slices, trim, withhold, reason } = command;
    let trim_tokens = trim.as_deref().map(amount::tokens).transpose()?;
    let form = match (withhold, slices, trim_tokens) {
        (true, ..) => None,
        (false, true, _) => Some(FormDto::Slices),
        (false, false, Some(_)) => Some(FormDto::Trimmed),
        (false, false, None) => Some(FormDto::Whole),
    };
    let input = ReleaseTask { id, deliver: !withhold, form, trim_tokens, reason };
    let task: TaskDto = Door::core(config)?.ask("tasks.release", &input).await?;
    if screen.is_json() {
        screen.json(&task)?;
        return Ok(DONE);
    }
    let when = if task.over { "" } else { " when there is one" };
    screen.line(&match form {
        Some(FormDto::Whole) => format!("The agent gets the result{when}."),
        Some(FormDto::Slices) => format!("The agent gets a short result{when}, and reads the rest in slices."),
        Some(FormDto::Trimmed) => format!("The agent gets the result{when}, cut to the size you gave."),
        None => "The agent does not get the result.".into(),
    });
    Ok(DONE)
}

pub(crate) async fn go_on(id: String, config: &Config, screen: &Screen) -> Ended {
    let task: TaskDto = Door::core(config)?.ask("tasks.goOn", &OneTask { id }).await?;
    if screen.is_json() {
        screen.json(&task)?;
    } else {
        screen.line("It goes on past its limit.");
    }
    Ok(DONE)
}
