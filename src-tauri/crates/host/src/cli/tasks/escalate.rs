//! `taskwarden tasks escalate`: the next step against a task, and how `tasks show` tells of the steps.
//!
//! What a step ends is named before it is taken. The sentences are the api's.

use api::calls::OneTask;
use api::calls::tasks::ShownTask;
use api::calls::tasks::escalate::{EscalateTask, TaskEscalated};
use api::dto::moment;
use api::dto::task::escalation::{EscalationDto, EscalationStepDto, OfferedStepDto, ProcessEndState, StoppedByDto};
use api::format::time::{self, count};
use api::{ApiError, Code};
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line, short_id};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct EscalateArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// The step to take, from 1 to 5. The next one that the task has if left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    step: Option<u8>,
    /// The reason, for the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask before a step that ends more than this task.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(command: EscalateArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let EscalateArgs { id, step, reason, yes } = command;
    let ShownTask { task, escalation, .. } = core.request("tasks.show", &OneTask { id }).await?;
    let wanted = |offered: &&OfferedStepDto| step.is_none_or(|step| offered.number == step);
    let offered = escalation.offered.iter().find(wanted);
    if let Some(offered) = offered.filter(|offered| offered.confirm && !yes) {
        let not_done = format!("step {} of task `{}` ({}) was not taken", offered.number, task.id, offered.label);
        prompt::confirm(&question(offered), &not_done, screen).await?;
    }
    let (step, told_tasks) = match offered {
        Some(offered) => (Some(offered.number), offered.tasks),
        None => (step, 0),
    };
    // A step that the task does not have is refused by the core, which says why.
    if let Some(missing) = escalation.unavailable.iter().find(|missing| Some(missing.number) == step) {
        return Err(ApiError::new(
            Code::Refused,
            format!("step {} of task `{}` cannot be taken", missing.number, task.id),
            format!("{} `taskwarden tasks show ID` shows the steps so far and those left.", one_line(&missing.why)),
        ));
    }
    let id = task.id;
    let taken: TaskEscalated = core.request("tasks.escalate", &EscalateTask { id, step, reason, told_tasks }).await?;
    if screen.is_json() {
        screen.json(&taken)?;
    } else {
        let last = taken.escalation.steps.iter().find(|one| one.number == taken.step);
        let evidence = last.map(|one| one_line(&one.evidence)).unwrap_or_default();
        screen.line(&format!("{}  step {}: {evidence}", short_id(&taken.task.id, !screen.is_terminal()), taken.step));
        show_offered(&taken.escalation, screen);
    }
    let processes = taken.escalation.steps.iter().filter_map(|one| one.processes.as_ref());
    let are_left = processes.filter(|_| taken.step == 5).any(|end| end.state != ProcessEndState::Gone);
    Ok(if are_left { Code::Failed.exit() } else { DONE })
}

/// What ends, and whose.
fn question(offered: &OfferedStepDto) -> String {
    let whose = if offered.agents.is_empty() { String::new() } else { format!(" of {}", offered.agents.join(", ")) };
    let tasks = count(offered.tasks, "open task");
    let processes: Vec<String> =
        offered.processes.iter().map(|process| format!("{} ({})", process.pid, one_line(&process.name))).collect();
    let processes = if processes.is_empty() { String::new() } else { format!(" Processes: {}.", processes.join(", ")) };
    format!(
        "{}: it affects {} and ends {tasks}{whose}.{processes} Take step {}?",
        offered.label, offered.affects, offered.number
    )
}

/// The steps so far and the next one, for `tasks show`.
pub(super) fn show(escalation: &EscalationDto, screen: &Screen) {
    if escalation.steps.is_empty() {
        return;
    }
    screen.line("\nSteps to end it:");
    let now = sentences::now();
    for taken in &escalation.steps {
        let at = moment(&taken.at).map(|at| time::ago(at, now)).unwrap_or_default();
        let reason = taken.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
        let (number, step) = (taken.number, words(taken.step));
        screen.line(&format!(
            "  {at:<14} {number} {step} by {}{reason}: {}",
            sentences::ordered_by(&taken.by, taken.by_name.as_deref()),
            one_line(&taken.evidence)
        ));
    }
    if let Some(stopped) = &escalation.stopped {
        let at = moment(&stopped.at).map(|at| time::ago(at, now)).unwrap_or_default();
        screen.line(&match stopped.by {
            StoppedByDto::Server => format!("  ended {at}: its server said how"),
            StoppedByDto::NothingRan => format!("  over {at}: it never ran on its server"),
            StoppedByDto::Processes => format!("  ended {at}: its processes were seen to be gone"),
        });
    }
    show_offered(escalation, screen);
    if let Some(record) = &escalation.record {
        screen.line(&format!("  {}", one_line(&record.sentence)));
    }
}

/// What was done, as a person says it.
const fn words(step: EscalationStepDto) -> &'static str {
    match step {
        EscalationStepDto::Cancel => "cancelled",
        EscalationStepDto::HoldResult => "result held",
        EscalationStepDto::Revoke => "revoked from its agent",
        EscalationStepDto::RevokeAgent => "agent revoked",
        EscalationStepDto::ShutDown => "server shut down",
    }
}

fn show_offered(escalation: &EscalationDto, screen: &Screen) {
    if let Some(next) = escalation.offered.first() {
        screen.line(&format!(
            "  next: {} {}, which affects {}",
            next.number,
            one_line(&next.label),
            one_line(&next.affects)
        ));
    }
    if let Some(missing) = escalation.unavailable.iter().find(|missing| missing.number == 5) {
        screen.line(&format!("  no step 5: {}", one_line(&missing.why)));
    }
}
