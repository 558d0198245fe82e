//! `taskwarden halt` and `taskwarden resume`: stop work in chosen places, see what became of it, and let it begin again in
//! stages (stop.md §3.2).
//!
//! Everything is halted when nothing is chosen. A state of a task is what was observed, never a guess. The same with a
//! control token is `halt/control_calls.rs`.

mod control_calls;
pub(crate) mod pause;

use api::calls::Nothing;
use api::calls::halts::{HaltRetried, ResumeHalt, StartHalts};
use api::dto::halt::{
    HaltDto, HaltEffectDto, HaltOrderDto, HaltShown, HaltedTaskCounts, HaltedTaskDto, HaltedTaskStateDto,
    RecoveryStageDto, ToolOfServer,
};
use api::format::time::count;
use api::{ApiError, Code};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::input::control_token::TokenFileArg;
use super::input::prompt;
use super::output::screen::Screen;
use super::output::sentences::{one_line, ordered_by, short_id};
use super::output::table::{self, TableLayout, text};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// The word that a person types to halt.
const WORD: &str = "HALT";

#[derive(Debug, Args)]
pub(crate) struct HaltArgs {
    /// Halt, for this reason. It is shown to everybody whose work is refused. Without it, shows what is halted.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What to stop: new calls, running tasks (they are asked to cancel), requests (questions are frozen). Default: all.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', requires = "reason")]
    scope: Vec<HaltScope>,
    /// Only what runs on this server. Can be repeated.
    #[arg(long = "server", value_name = "SERVER", requires = "reason")]
    servers: Vec<String>,
    /// Only what this agent does. Can be repeated.
    #[arg(long = "agent", value_name = "AGENT", requires = "reason")]
    agents: Vec<String>,
    /// Only calls of this tool. Can be repeated.
    #[arg(long = "tool", value_name = "SERVER/TOOL", requires = "reason")]
    tools: Vec<String>,
    /// Do not ask for confirmation.
    #[arg(long, short, requires = "reason")]
    yes: bool,
    /// Ask the tasks of the halt again whose cancels were not confirmed.
    #[arg(long, conflicts_with_all = ["reason", "token_file"])]
    retry: bool,
    #[command(flatten)]
    token: TokenFileArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HaltScope {
    Calls,
    Running,
    Requests,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The next stage: each needs the one before.
    stage: ResumeStage,
    /// With `acknowledged`: go on although tasks may still run.
    #[arg(long)]
    with_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ResumeStage {
    /// You have seen what ended and what did not.
    Acknowledged,
    /// Questions are answered again.
    Requests,
    /// Calls of tools pass that only read, and that you marked as seen.
    ReadOnly,
    /// All calls pass: the halt is over.
    Calls,
}

pub(crate) async fn run(command: HaltArgs, config: &Config, screen: &Screen) -> CommandResult {
    if command.retry {
        return retry(config, screen).await;
    }
    let program = command.token.client(config)?;
    let Some(reason) = command.reason else {
        if let Some(program) = program {
            return control_calls::show_halt(&program, screen).await;
        }
        return show(config, screen).await;
    };
    let tools = command.tools.iter().map(|text| tool(text)).collect::<Result<Vec<_>, _>>()?;
    if !command.yes {
        confirm(screen).await?;
    }
    let scope = command.scope.into_iter().map(|scope| match scope {
        HaltScope::Calls => HaltEffectDto::Calls,
        HaltScope::Running => HaltEffectDto::Running,
        HaltScope::Requests => HaltEffectDto::Requests,
    });
    let (servers, agents) = (command.servers, command.agents);
    let input = StartHalts { reason, scope: scope.collect(), servers, agents, tools };
    match program {
        Some(program) => control_calls::halt(input, &program, screen).await,
        None => print(&CoreClient::attach(config)?.request("halts.start", &input).await?, screen),
    }
}

/// Why a second attempt asked nothing.
fn nothing_to_ask(counts: &HaltedTaskCounts) -> String {
    let why = if counts.not_confirmed > 0 {
        "a call without a task is asked only once, and what is lost cannot be asked"
    } else if counts.requested + counts.acknowledged > 0 {
        "the servers that were asked may still answer"
    } else if counts.open > 0 {
        "this halt asked no task to cancel; `taskwarden halt --reason TEXT --scope running` does"
    } else if counts.confirmed > 0 {
        "every task that this halt covers has ended"
    } else {
        "this halt covers no task"
    };
    format!("Nothing could be asked again: {why}.")
}

/// What is halted. Without a core, a file `HALT` that is there halts all calls as soon as one starts.
async fn show(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let shown: HaltShown = core.request("halts.show", &Nothing {}).await?;
    let file = config.paths.halt_file();
    if !core.is_read_only() || file.symlink_metadata().is_err() {
        return print(&shown, screen);
    }
    let halt_file = file.display().to_string();
    if screen.is_json() {
        return screen.json(&HaltComing { shown: &shown, halt_file });
    }
    if shown.is_in_force() {
        print(&shown, screen)?;
    } else {
        screen.line("Nothing is halted yet.");
    }
    let file = one_line(&halt_file);
    screen.line(&format!("The file `{file}` will halt all calls when the core starts."));
    screen.line("Remove it if that is not wanted.");
    Ok(DONE)
}

/// What `halt --json` prints without a core when the file `HALT` is there.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HaltComing<'a> {
    #[serde(flatten)]
    shown: &'a HaltShown,
    /// The file that halts all calls when the core starts.
    halt_file: String,
}

async fn retry(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let retried: HaltRetried = core.request("halts.retry", &Nothing {}).await?;
    if screen.is_json() {
        return screen.json(&retried);
    }
    let shown: HaltShown = core.request("halts.show", &Nothing {}).await?;
    screen.line(&match retried.asked {
        0 => nothing_to_ask(&shown.halt.as_ref().map(|halt| halt.counts).unwrap_or_default()),
        asked => format!("Asked {} again to cancel.", count(asked, "task")),
    });
    print(&shown, screen)
}

pub(crate) async fn resume(command: ResumeArgs, config: &Config, screen: &Screen) -> CommandResult {
    let stage = match command.stage {
        ResumeStage::Acknowledged => RecoveryStageDto::Acknowledged,
        ResumeStage::Requests => RecoveryStageDto::Requests,
        ResumeStage::ReadOnly => RecoveryStageDto::ReadOnly,
        ResumeStage::Calls => RecoveryStageDto::Calls,
    };
    let core = CoreClient::attach(config)?;
    print(&core.request("halts.resume", &ResumeHalt { stage, with_open: command.with_open }).await?, screen)
}

/// `SERVER/TOOL`. A tool's name may contain a slash, a server's may not.
pub(super) fn tool(text: &str) -> Result<ToolOfServer, ApiError> {
    match text.split_once('/') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            Ok(ToolOfServer { server: server.into(), tool: tool.into() })
        }
        Some(_) | None => Err(ApiError::new(
            Code::Usage,
            format!("`{}` does not name a tool", one_line(text)),
            "Write it as `SERVER/TOOL`; `taskwarden servers tools SERVER` lists the tools.",
        )),
    }
}

async fn confirm(screen: &Screen) -> Result<(), ApiError> {
    let not_done = "nothing was halted";
    if !screen.can_ask() {
        let message = format!("{not_done}: nobody confirmed");
        return Err(ApiError::new(Code::Refused, message, "Run it in a terminal, or pass `--yes`."));
    }
    let typed = prompt::line(&format!("Type {WORD} to halt: ")).await?;
    if typed.is_some_and(|typed| typed.trim() == WORD) {
        return Ok(());
    }
    Err(ApiError::new(Code::Refused, not_done, format!("Type {WORD} in capitals, or pass `--yes`.")))
}

fn print(shown: &HaltShown, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.json(shown)?;
        return Ok(DONE);
    }
    if let Some(why) = &shown.unreadable {
        screen.line(&format!("Everything is halted, because the halts on record cannot be read: {}.", one_line(why)));
        screen.line("`taskwarden resume calls` ends that.");
    }
    match &shown.halt {
        Some(halt) => print_halt(halt, screen),
        None if shown.unreadable.is_none() => screen.line("Nothing is halted."),
        None => {}
    }
    Ok(DONE)
}

fn print_halt(halt: &HaltDto, screen: &Screen) {
    for order in &halt.orders {
        screen.line(&sentence(order));
    }
    if let Some(closed) = &halt.closed_at {
        screen.line(&format!("No call that this covers has left since {closed}."));
    }
    let counts = &halt.counts;
    if let Some(tasks) = counted_tasks(counts) {
        screen.line(&tasks);
        let layout = TableLayout {
            header: &["ID", "STATE", "SERVER", "TOOL", "AGENT", "EVIDENCE"],
            cut: &["EVIDENCE"],
            spare: &[],
        };
        table::print(screen, layout, halt.tasks.iter().map(|task| row(task, screen)).collect());
        let all = counts.unsettled() + counts.confirmed;
        let more = all.saturating_sub(u64::try_from(halt.tasks.len()).unwrap_or(u64::MAX));
        if more > 0 {
            screen.line(&format!("… and {more} more"));
        }
    }
    for step in &halt.steps {
        screen.line(&format!("{} by {} at {}", stage_done(step.stage), one_line(&step.by), step.at));
    }
    let unsettled = counts.unsettled_words().filter(|_| halt.next_stage == Some(RecoveryStageDto::Acknowledged));
    match (halt.next_stage, unsettled) {
        (Some(stage), Some(unsettled)) => {
            let stage = stage_word(stage);
            screen.line(&format!("Before you go on: {unsettled}."));
            screen.line(&format!("Next, once you have seen that: `taskwarden resume {stage} --with-open`"));
        }
        (Some(stage), None) => screen.line(&format!("Next: `taskwarden resume {}`", stage_word(stage))),
        (None, _) => screen.line("The halt is over."),
    }
}

/// `16 tasks: 12 ended, 4 acknowledged`; `None` when the halt covers no task.
pub(crate) fn counted_tasks(counts: &HaltedTaskCounts) -> Option<String> {
    let states = [
        (counts.requested, "asked to cancel"),
        (counts.acknowledged, "acknowledged"),
        (counts.confirmed, "ended"),
        (counts.not_confirmed, "not confirmed"),
        (counts.open, "not asked to cancel"),
    ];
    let parts: Vec<String> =
        states.iter().filter(|(many, _)| *many > 0).map(|(many, state)| format!("{many} {state}")).collect();
    let all = states.iter().map(|(many, _)| many).sum();
    (!parts.is_empty()).then(|| format!("{}: {}", count(all, "task"), parts.join(", ")))
}

/// `Halted by ada at …: everything (calls, running, requests) — wrong month`
fn sentence(order: &HaltOrderDto) -> String {
    let named = |by: &str| ordered_by(by, order.by_name.as_deref());
    let by = order.by.as_deref().map_or_else(|| "the file HALT".to_owned(), named);
    let place = match (&order.server, &order.agent, &order.tool) {
        (Some(server), _, Some(tool)) => format!("the tool {} of {}", one_line(tool), one_line(server)),
        (Some(server), _, None) => format!("the server {}", one_line(server)),
        (None, Some(agent), _) => format!("the agent {}", one_line(agent)),
        (None, None, _) => "everything".to_owned(),
    };
    let words = |effects: &[HaltEffectDto]| effects.iter().map(|effect| effect_word(*effect)).collect::<Vec<_>>();
    let in_force = match words(&order.in_force) {
        none if none.is_empty() => "nothing of it is in force any more".to_owned(),
        some => format!("halted: {}", some.join(", ")),
    };
    let reason = if order.reason.is_empty() { String::new() } else { format!(": \"{}\"", one_line(&order.reason)) };
    format!("{by} halted {place} at {}{reason} ({in_force})", order.at)
}

const fn effect_word(effect: HaltEffectDto) -> &'static str {
    match effect {
        HaltEffectDto::Calls => "calls",
        HaltEffectDto::Running => "running",
        HaltEffectDto::Requests => "requests",
    }
}

const fn stage_word(stage: RecoveryStageDto) -> &'static str {
    match stage {
        RecoveryStageDto::Acknowledged => "acknowledged",
        RecoveryStageDto::Requests => "requests",
        RecoveryStageDto::ReadOnly => "read-only",
        RecoveryStageDto::Calls => "calls",
    }
}

const fn stage_done(stage: RecoveryStageDto) -> &'static str {
    match stage {
        RecoveryStageDto::Acknowledged => "Acknowledged",
        RecoveryStageDto::Requests => "Answers allowed again",
        RecoveryStageDto::ReadOnly => "Read-only calls allowed again",
        RecoveryStageDto::Calls => "All calls allowed again",
    }
}

fn row(task: &HaltedTaskDto, screen: &Screen) -> Vec<table::TableCell> {
    let state = match task.state {
        HaltedTaskStateDto::Requested => "asked",
        HaltedTaskStateDto::Acknowledged => "acknowledged",
        HaltedTaskStateDto::Confirmed => "ended",
        HaltedTaskStateDto::NotConfirmed => "not confirmed",
        HaltedTaskStateDto::Open => "open",
    };
    vec![
        text(short_id(&task.id, !screen.is_terminal())),
        text(state),
        text(one_line(&task.server)),
        text(task.tool.as_deref().map_or_else(|| "-".into(), one_line)),
        text(task.agent.as_deref().map_or_else(|| "-".into(), one_line)),
        text(one_line(&task.evidence)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_attempt_that_asks_nothing_says_why_by_what_the_halt_covers() {
        let none = HaltedTaskCounts::default();
        for (counts, why) in [
            (none, "this halt covers no task."),
            (HaltedTaskCounts { confirmed: 3, ..none }, "every task that this halt covers has ended."),
            (HaltedTaskCounts { open: 1, confirmed: 3, ..none }, "this halt asked no task to cancel;"),
            (HaltedTaskCounts { requested: 1, open: 1, ..none }, "the servers that were asked may still answer."),
            (HaltedTaskCounts { not_confirmed: 1, requested: 1, ..none }, "a call without a task is asked only once"),
        ] {
            let told = nothing_to_ask(&counts);
            assert!(told.starts_with(&format!("Nothing could be asked again: {why}")), "{told}");
        }
    }

    #[test]
    fn a_tool_is_named_with_its_server() {
        let named = |server: &str, tool: &str| Some(ToolOfServer { server: server.into(), tool: tool.into() });
        assert_eq!(tool("ci/build").ok(), named("ci", "build"));
        assert_eq!(tool("ci/a/b").ok(), named("ci", "a/b"), "a slash may be part of a tool's name");
        for wrong in ["build", "/build", "ci/", ""] {
            assert_eq!(tool(wrong).map_err(|error| error.code), Err(Code::Usage), "{wrong}");
        }
    }
}
