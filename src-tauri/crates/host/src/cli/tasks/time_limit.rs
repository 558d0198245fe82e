//! `taskwarden tasks allow-time`: more time for a task that reached a limit.
//!
//! What happens at a limit is the core's decision.

use api::calls::tasks::time_limit::AllowTime;
use api::dto::TaskDto;
use api::dto::task::run_limit::RunLimitKind;
use api::format::time;
use clap::{ArgGroup, Args};

use crate::app::core_client::CoreClient;
use crate::cli::input::run_time::span;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::config::Config;

/// Which task is allowed how much.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("how_much").required(true).args(["more", "unlimited"]).multiple(false)))]
pub(crate) struct AllowTimeArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// So much more, counted from now, such as `30min`.
    #[arg(long, value_name = "TIME")]
    more: Option<String>,
    /// Remove the limit from this task. The rule stays as it is.
    #[arg(long)]
    unlimited: bool,
    /// The limit of time without progress, in place of the time limit.
    #[arg(long)]
    progress: bool,
}

pub(crate) async fn allow(input: AllowTimeArgs, config: &Config, screen: &Screen) -> CommandResult {
    let AllowTimeArgs { id, more, unlimited: _, progress } = input;
    let limit = if progress { RunLimitKind::Progress } else { RunLimitKind::Time };
    let more_ms = more.as_deref().map(span).transpose()?;
    let input = AllowTime { id, limit, more_ms };
    let task: TaskDto = CoreClient::attach(config)?.request("tasks.allowTime", &input).await?;
    if screen.is_json() {
        return screen.json(&task);
    }
    screen.line(&match more_ms {
        Some(more_ms) => format!("The task may run {} more.", time::span_ms(more_ms)),
        None => "The limit no longer applies to this task.".to_owned(),
    });
    Ok(DONE)
}
