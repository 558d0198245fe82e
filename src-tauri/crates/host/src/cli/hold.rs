//! `taskwarden tasks hold` and `release`: whether an agent gets a result is a person's to say (promise R2).
//!
//! The task itself is not touched: its server does not hear of it.

use api::calls::OneTask;
use api::calls::holds::ReleaseTask;
use api::dto::TaskDto;
use clap::{ArgGroup, Args};

use super::screen::Screen;
use super::words::short_id;
use super::{DONE, Ended};
use crate::config::Config;
use crate::door::Door;

/// What to do with a held result.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["deliver", "withhold"]).multiple(false)))]
pub(crate) struct Release {
    /// The task's handle, or a unique beginning of it.
    id: String,
    /// The agent gets the result.
    #[arg(long)]
    deliver: bool,
    /// The agent never gets the result.
    #[arg(long)]
    withhold: bool,
    /// Why not; told to the agent.
    #[arg(long, value_name = "TEXT", conflicts_with = "deliver")]
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
    screen.note(&format!("Decide later: taskwarden tasks release {id} --deliver, or --withhold"));
    Ok(DONE)
}

pub(crate) async fn release(command: Release, config: &Config, screen: &Screen) -> Ended {
    let Release { id, deliver, withhold: _, reason } = command;
    let task: TaskDto = Door::core(config)?.ask("tasks.release", &ReleaseTask { id, deliver, reason }).await?;
    if screen.is_json() {
        screen.json(&task)?;
    } else {
        screen.line(match (deliver, task.over) {
            (true, true) => "The agent gets the result.",
            (true, false) => "The agent gets the result when there is one.",
            (false, _) => "The agent does not get the result.",
        });
    }
    Ok(DONE)
}
