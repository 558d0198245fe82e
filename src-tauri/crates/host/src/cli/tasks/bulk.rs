//! `taskwarden tasks cancel` and `revoke` for all open tasks that match: a plan is made, counted, agreed to and run.
//!
//! The tasks are those that were counted; what began since is not asked. Which tasks match is the core's, and for a
//! supervisor program only those in the reach of its control token.

use std::time::Instant;

use api::calls::plans::{MakePlan, PlanFilter, RunPlanInput, ShowPlan};
use api::control::plans::ControlMakePlan;
use api::dto::plan::{
    BulkActDto, BulkCounts, BulkResultDto, BulkTask, ExcludedWhy, OperationBegun, PlanMade, PlanShown,
};
use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::control_client::ControlClient;
use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, short_id};
use crate::config::Config;

/// Which open tasks, in the words of `tasks list`.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// All open tasks in this phase. Can be repeated.
    #[arg(long, value_name = "PHASE", conflicts_with = "ids")]
    phase: Vec<String>,
    /// All open tasks on this server.
    #[arg(long, value_name = "SERVER", conflicts_with = "ids")]
    server: Option<String>,
    /// All open tasks of this agent.
    #[arg(long, value_name = "AGENT", conflicts_with = "ids")]
    agent: Option<String>,
    /// All open tasks.
    #[arg(long, conflicts_with_all = ["ids", "phase", "server", "agent"])]
    all: bool,
}

impl FilterArgs {
    /// `None` when nothing was said: a command without tasks must not mean all of them.
    pub(super) fn filter(&self) -> Option<PlanFilter> {
        let Self { phase, server, agent, all } = self;
        let is_said = *all || !phase.is_empty() || server.is_some() || agent.is_some();
        is_said.then(|| PlanFilter {
            phases: phase.clone(),
            server: server.clone(),
            agent: agent.clone(),
            ..PlanFilter::default()
        })
    }
}

/// How a plan is run.
pub(super) struct BulkRun<'a> {
    pub(super) reason: Option<String>,
    /// The person agreed beforehand.
    pub(super) yes: bool,
    /// Until each task has its final result.
    pub(super) wait: bool,
    pub(super) caller: &'a BulkCaller,
    pub(super) config: &'a Config,
}

/// Who runs it.
pub(super) enum BulkCaller {
    Person(CoreClient),
    Program(ControlClient),
}

impl BulkCaller {
    /// The program that showed its control token, or else the person.
    pub(super) fn of(program: Option<ControlClient>, config: &Config) -> Result<Self, ApiError> {
        match program {
            Some(program) => Ok(Self::Program(program)),
            None => CoreClient::attach(config).map(Self::Person),
        }
    }

    async fn make(&self, choice: MakePlan) -> Result<PlanMade, ApiError> {
        match self {
            Self::Person(core) => core.request("plans.make", &choice).await,
            Self::Program(program) => {
                let MakePlan { kind, ids, filter, query: _ } = choice;
                program.request("plans.make", &ControlMakePlan { kind, ids, filter }).await
            }
        }
    }

    async fn request<O: DeserializeOwned>(&self, name: &str, input: &impl Serialize) -> Result<O, ApiError> {
        match self {
            Self::Person(core) => core.request(name, input).await,
            Self::Program(program) => program.request(name, input).await,
        }
    }
}

/// What became of an operation, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BulkReport<'a> {
    plan_id: &'a str,
    operation: &'a str,
    counts: BulkCounts,
    stops: Vec<BulkLine<'a>>,
}

#[derive(Serialize)]
struct BulkLine<'a> {
    id: &'a str,
    state: BulkResultDto,
    server: Option<&'a str>,
    agent: Option<&'a str>,
    tool: Option<&'a str>,
    why: Option<&'a str>,
}

pub(super) async fn run(choice: MakePlan, bulk: BulkRun<'_>, screen: &Screen) -> CommandResult {
    let plan = bulk.caller.make(choice).await?;
    if !bulk.yes {
        confirm(&plan, screen).await?;
    }
    let run = RunPlanInput { plan_id: plan.plan_id.clone(), reason: bulk.reason.clone() };
    let begun: OperationBegun = bulk.caller.request("plans.run", &run).await?;
    let shown = tokio::select! {
        // A control token that may not read began it all the same.
        shown = follow(&begun.operation, &bulk) => match (shown, bulk.caller) {
            (Err(error), BulkCaller::Program(_)) if error.code == Code::NotFound => return unread(&begun, screen),
            (shown, _) => shown?,
        },
        _ = tokio::signal::ctrl_c() => {
            screen.note("\nThe tasks are still being asked; only the wait ended.");
            return Ok(INTERRUPTED);
        }
    };
    let counts = shown.first().and_then(|page| page.operation.as_ref()).map(|run| run.counts).unwrap_or_default();
    let tasks = || shown.iter().flat_map(|page| &page.tasks);
    if screen.is_json() {
        let stops = tasks().map(line).collect();
        screen.json(&BulkReport { plan_id: &plan.plan_id, operation: &begun.operation, counts, stops })?;
    } else {
        tasks().for_each(|task| print_task(task, screen));
        screen.line(&summary(plan.count, counts));
        if let Some(why) = shown.first().and_then(|page| page.operation.as_ref()?.cut_short.as_deref()) {
            screen.line(&format!("It ended before the last task: {}.", one_line(why)));
        }
    }
    let is_open = counts.not_confirmed + counts.not_asked > 0;
    Ok(if is_open { Code::Refused.exit() } else { DONE })
}

/// What is known of an operation that its control token may not look at.
fn unread(begun: &OperationBegun, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.json(begun)?;
    } else {
        let left = if begun.left == 0 { String::new() } else { format!("; {} are left to ask", begun.left) };
        screen.line(&format!("Asked the servers to cancel {}{left}.", count(begun.asked, "task")));
        for one in &begun.refused {
            screen.line(&format!("{}  not asked ({})", short_id(&one.id, !screen.is_terminal()), one_line(&one.why)));
        }
        if let Some(why) = &begun.cut_short {
            screen.line(&format!("It ended before the last task: {}.", one_line(why)));
        }
        screen.note("This control token may not see what became of them: that needs the scope `read`.");
    }
    let is_whole = begun.left == 0 && begun.cut_short.is_none();
    Ok(if is_whole { DONE } else { Code::Refused.exit() })
}

fn line(task: &BulkTask) -> BulkLine<'_> {
    BulkLine {
        id: &task.id,
        state: task.result,
        server: task.server.as_deref(),
        agent: task.agent.as_deref(),
        tool: task.tool.as_deref(),
        why: task.why.as_deref(),
    }
}

/// Shows the count, and asks.
async fn confirm(plan: &PlanMade, screen: &Screen) -> Result<(), ApiError> {
    let (tasks, were) = (count(plan.count, "task"), if plan.count == 1 { "was" } else { "were" });
    // Those that are over are no news: nobody chooses them here.
    for left_out in plan.excluded.iter().filter(|left_out| left_out.why == ExcludedWhy::AlreadyAsked) {
        let asked = count(left_out.count, "task");
        screen.note_to_people(&format!("Not among them, because they were asked before: {asked}."));
    }
    let (question, undone) = match plan.kind {
        BulkActDto::Cancel => (format!("Ask the servers to cancel {tasks}?"), format!("{tasks} {were} not cancelled")),
        BulkActDto::Revoke => (
            format!("Take {tasks} from their agents, and ask the servers to cancel them?"),
            format!("{tasks} {were} not revoked"),
        ),
    };
    prompt::confirm(&question, &undone, screen).await
}

/// Looks again until each server said something, or for so long as a reply may take; with `wait`, until each task has
/// its final result. All pages of the last look.
async fn follow(operation: &str, bulk: &BulkRun<'_>) -> Result<Vec<PlanShown>, ApiError> {
    let policy = &bulk.config.policy;
    let begun = Instant::now();
    loop {
        let looked = Instant::now();
        let first: PlanShown =
            bulk.caller.request("plans.show", &ShowPlan { id: operation.to_owned(), offset: 0 }).await?;
        let is_done = first.operation.as_ref().is_none_or(|run| {
            let heard = run.counts.asked + run.counts.not_asked == 0;
            let late = !bulk.wait && begun.elapsed() > policy.reply_limit && run.ended_at.is_some();
            run.settled || late || !bulk.wait && heard
        });
        if is_done {
            return pages(first, operation, bulk.caller).await;
        }
        // A long list is looked at less often.
        tokio::time::sleep(policy.control.look_every.max(looked.elapsed() * 2)).await;
    }
}

async fn pages(first: PlanShown, operation: &str, caller: &BulkCaller) -> Result<Vec<PlanShown>, ApiError> {
    let mut next = first.next;
    let mut pages = vec![first];
    while let Some(offset) = next {
        let page: PlanShown = caller.request("plans.show", &ShowPlan { id: operation.to_owned(), offset }).await?;
        next = page.next;
        pages.push(page);
    }
    Ok(pages)
}

fn print_task(task: &BulkTask, screen: &Screen) {
    let server = task.server.as_deref().map_or_else(|| "the server".to_owned(), one_line);
    let words = match task.result {
        BulkResultDto::NotAsked => "not asked".to_owned(),
        BulkResultDto::Asked => format!("asked; {server} has not answered yet"),
        BulkResultDto::Acknowledged => format!("acknowledged by {server}, which has not reported the end yet"),
        BulkResultDto::Stopped => format!("cancelled, confirmed by {server}"),
        BulkResultDto::FinishedAnyway => "finished anyway".to_owned(),
        BulkResultDto::NotConfirmed => format!("not confirmed by {server}"),
        BulkResultDto::EndedMeanwhile => "ended meanwhile; not asked".to_owned(),
    };
    let is_told = task.result == BulkResultDto::EndedMeanwhile;
    let why = task.why.as_deref().filter(|_| !is_told).map(|why| format!(" ({})", one_line(why))).unwrap_or_default();
    screen.line(&format!("{}  {words}{why}", short_id(&task.id, !screen.is_terminal())));
}

/// `16 tasks: 12 cancelled, 3 acknowledged, 1 not confirmed`.
fn summary(many: u64, counts: BulkCounts) -> String {
    let parts: Vec<String> = [
        (counts.stopped, "cancelled"),
        (counts.finished_anyway, "finished anyway"),
        (counts.acknowledged, "acknowledged"),
        (counts.asked, "asked"),
        (counts.not_confirmed, "not confirmed"),
        (counts.ended_meanwhile, "ended meanwhile"),
        (counts.not_asked, "not asked"),
    ]
    .into_iter()
    .filter(|(many, _)| *many > 0)
    .map(|(many, words)| format!("{many} {words}"))
    .collect();
    format!("{}: {}", count(many, "task"), parts.join(", "))
}
