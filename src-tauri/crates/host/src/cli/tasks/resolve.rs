//! `taskwarden tasks resolve`: closes tasks whose end nobody will learn, as *Mark resolved* does in the window.
//!
//! Nothing is sent to a server. A task that can still be reached is refused: it is cancelled, or it ends by itself.

use api::calls::OneTask;
use api::calls::inbox::lost::{LostResolved, ResolveLost};
use api::calls::tasks::ShownTask;
use api::calls::tasks::history::Unwatch;
use api::dto::TaskDto;
use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;
use domain::task::status::Phase;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, phase, short_id};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// What happened to the task, for the audit log.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Mark all tasks resolved that were lost together with this one.
    #[arg(long)]
    together: bool,
}

pub(crate) async fn run(command: ResolveArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let ResolveArgs { id, note, together } = command;
    let ShownTask { task, .. } = core.request("tasks.show", &OneTask { id }).await?;
    if !task.phase.0.is_resolvable() {
        return Err(refused(&task));
    }
    // A task that expired was lost with no other.
    if together && task.phase.0 != Phase::Expired {
        let told: LostResolved = core.request("inbox.resolve", &ResolveLost { id: task.id, note }).await?;
        return report(&told, screen);
    }
    let task: TaskDto = core.request("tasks.unwatch", &Unwatch { id: task.id, note }).await?;
    if together {
        return report(&LostResolved { resolved: 1, left: Vec::new() }, screen);
    }
    if screen.is_json() {
        return screen.json(&task);
    }
    screen.line("Marked resolved. The server was not told.");
    Ok(DONE)
}

fn refused(task: &TaskDto) -> ApiError {
    let id = short_id(&task.id, false);
    let hint = if task.over {
        format!("It is closed already. `taskwarden tasks show {id}` shows what is known about it.")
    } else {
        let labels =
            Phase::ALL.iter().filter(|phase| phase.is_resolvable()).map(|phase| format!("`{}`", phase.label()));
        let labels = labels.collect::<Vec<_>>().join(", ");
        format!("Only a task in one of these phases can be: {labels}. To end it: taskwarden tasks cancel {id}")
    };
    let message = format!("task `{}` cannot be marked resolved: it is `{}`", task.id, phase(task));
    ApiError::new(Code::Refused, message, hint)
}

fn report(told: &LostResolved, screen: &Screen) -> CommandResult {
    let outcome = if told.left.is_empty() { DONE } else { Code::Refused.exit() };
    if screen.is_json() {
        screen.json(told)?;
        return Ok(outcome);
    }
    screen.line(&format!("Marked {} resolved. The server was not told.", count(u64::from(told.resolved), "task")));
    for left in &told.left {
        let id = short_id(&left.id, !screen.is_terminal());
        screen.line(&format!("{id}  not marked ({})", one_line(&left.why)));
    }
    Ok(outcome)
}
