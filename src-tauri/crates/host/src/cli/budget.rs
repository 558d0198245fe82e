//! `taskwarden budget`: how full the context windows of agents are, and how tokens are counted.
//!
//! Every figure carries its mark (`≈` measured error, `≤` upper bound) or is exact. What an agent's program adds to its
//! window is not visible here, and the output says so. History and waste are in `budget/history.rs`, prices in
//! `budget/price.rs`.

mod agent_budget;
mod history;
mod price;

use anstyle::AnsiColor;
use api::calls::Nothing;
use api::dto::{
    BudgetDto, BudgetList, ExactnessDto, FamilyDto, OneAgent, PendingResultDto, SetBudget, SizeFromDto, SourcePart,
    WindowDto,
};
use api::format::time;
use api::format::tokens::{marked_tokens, share, short, tokens};
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use domain::tokens::Family;

use super::input::amount;
use super::output::screen::Screen;
use super::output::sentences::one_line;
use super::output::table;
use super::output::table::{TableCell, TableLayout, text, toned};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Letters of a gauge. Judgement: a tenth of a window each.
const GAUGE: u64 = 10;

/// Examples below the help.
const EXAMPLES: &str = "\
Examples:
  taskwarden budget                        how full all windows are now
  taskwarden budget claude                 one window, by source
  taskwarden budget claude --history 48    what it received over two days
  taskwarden budget --history 720 --csv    one month, for a spreadsheet
  taskwarden budget set claude --model claude-opus-4-7
  taskwarden budget price gpt-5 --input 1.25 --output 10 --currency USD

All figures are tokens. `taskwarden rules set` sets limits.";

/// Examples below the help of `set`.
const SET_EXAMPLES: &str = "\
Examples:
  taskwarden budget set claude --program claude-code --model claude-opus-4-7
  taskwarden budget set codex --tokenizer o200k --window 272k
  taskwarden budget set claude --window auto

`auto` instead of a value means: as the agent's program reports it.";

/// What to show, or to change.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct BudgetArgs {
    #[command(subcommand)]
    change: Option<Change>,
    /// Show one agent, by name or id: sources, tools, and results that will arrive.
    agent: Option<String>,
    /// Show what came in over the last day instead of the current state.
    #[arg(long, conflicts_with_all = ["history", "waste"])]
    today: bool,
    /// Show what came in over this many hours, such as `48`: hour by hour, or day by day for long periods.
    #[arg(long, value_name = "HOURS", value_parser = amount::hours, allow_negative_numbers = true)]
    history: Option<u64>,
    /// Print the history as comma-separated values (CSV).
    #[arg(long, requires = "history", conflicts_with_all = ["json", "today", "waste"])]
    csv: bool,
    /// Show what cost tokens or time over the last day without any use, by server.
    #[arg(long, conflicts_with = "history")]
    waste: bool,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Set how tokens of an agent are counted.
    #[command(after_help = SET_EXAMPLES)]
    Set(Set),
    /// Record that an agent's window is empty because its program started over.
    Empty {
        /// The agent's name or id.
        agent: String,
    },
    /// Show or set what tokens of a model cost.
    Price(price::PriceArgs),
}

/// How tokens of an agent are counted; `auto` means as its client reports it.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["program", "model", "tokenizer", "window"])))]
struct Set {
    /// The agent's name or id.
    agent: String,
    /// Its program, such as `codex`: decides which part of a result its model sees, and the usual tokenizer and window.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<String>,
    /// Its model, such as `claude-opus-4-7` or `gpt-5`: decides tokenizer and window size.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The family of its tokenizer. `unknown` counts most cautiously.
    #[arg(long, value_name = "FAMILY", value_parser = families())]
    tokenizer: Option<String>,
    /// The size of its window in tokens, such as `200k`.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    window: Option<String>,
}

/// The words of all families, and the one that takes the choice back.
fn families() -> PossibleValuesParser {
    PossibleValuesParser::new(Family::ALL.map(Family::word).into_iter().chain(["auto"]))
}

pub(crate) async fn run(command: BudgetArgs, config: &Config, screen: &Screen) -> CommandResult {
    let BudgetArgs { change, agent, today, history, csv, waste } = command;
    match change {
        Some(Change::Set(input)) => return set(input, config, screen).await,
        Some(Change::Price(input)) => return price::run(input, config, screen).await,
        Some(Change::Empty { agent }) => {
            let budget: BudgetDto = CoreClient::attach(config)?.request("budgets.empty", &OneAgent { agent }).await?;
            let left = budget.now.as_ref().filter(|window| window.tokens > 0).map(|window| {
                let left = marked_tokens(window.tokens, window.exactness);
                format!(
                    "Its window now counts as empty, but for {left} of tool definitions that its program still has."
                )
            });
            return changed(&budget, left.as_deref().unwrap_or("Its window now counts as empty."), screen);
        }
        None => {}
    }
    let core = CoreClient::attach_or_read(config).await?;
    match (history, agent) {
        (Some(hours), agent) => history::series(agent, hours, csv, &core, config, screen).await?,
        (None, agent) if waste => history::waste(agent, &core, config, screen).await?,
        (None, agent) if today => history::today(agent, &core, screen).await?,
        (None, Some(agent)) => agent_budget::show(&core.request("budgets.show", &OneAgent { agent }).await?, screen)?,
        (None, None) => list(&core.request("budgets.list", &Nothing {}).await?, screen)?,
    };
    if core.is_read_only() && !screen.is_json() {
        screen.note("No core is running; these are the last counts. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

async fn set(input: Set, config: &Config, screen: &Screen) -> CommandResult {
    let Set { agent, program, model, tokenizer, window } = input;
    let said = |text: String| if text == "auto" { None } else { Some(text) };
    let window_tokens = match window {
        Some(text) if text == "auto" => Some(None),
        Some(text) => Some(Some(amount::tokens(&text)?)),
        None => None,
    };
    let input = SetBudget {
        agent,
        model: model.map(said),
        family: tokenizer.map(said),
        window_tokens,
        program: program.map(said),
    };
    let budget: BudgetDto = CoreClient::attach(config)?.request("budgets.set", &input).await?;
    changed(&budget, &format!("Counted as {}.", measured(&budget)), screen)
}

fn changed(budget: &BudgetDto, text: &str, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.json(budget)?;
    } else {
        screen.line(text);
    }
    Ok(DONE)
}

fn list(list: &BudgetList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    if list.budgets.is_empty() {
        screen
            .line("Nothing has been counted yet. Budgets appear here when an agent uses a server through Taskwarden.");
        return Ok(DONE);
    }
    let rows = list.budgets.iter().map(|budget| row(budget, list)).collect();
    let layout = TableLayout {
        header: &[
            "AGENT",
            "TOKENIZER",
            "SHARE OF ITS WINDOW",
            "IN IT",
            "OF",
            "PASSED",
            "COMING",
            "KEPT OUT",
            "RATE",
            "FULL IN",
        ],
        cut: &["TOKENIZER"],
        spare: &["RATE", "KEPT OUT", "TOKENIZER", "FULL IN", "PASSED", "COMING"],
    };
    table::print(screen, layout, rows);
    note_more(list.more, screen);
    screen.note(
        "No mark: exact. ≈: measured error. ≤: upper bound. +: the window was full before, and its program compacted it.",
    );
    screen.note(
        "IN IT is the part of PASSED that the program shows its model. Its own prompt and compaction are not visible here.",
    );
    Ok(DONE)
}

/// Says that a list is longer than what is shown of it.
fn note_more(more: u64, screen: &Screen) {
    if more > 0 {
        screen.note(&format!("{}: taskwarden budget AGENT", time::count(more, "more agent")));
    }
}

fn row(budget: &BudgetDto, list: &BudgetList) -> Vec<TableCell> {
    let unknown = || "-".to_owned();
    let now = budget.now.as_ref();
    vec![
        text(one_line(&budget.agent)),
        text(family(&budget.family)),
        match share(budget) {
            Some(_) if was_full(budget) => toned(format!("{} +", gauge(100)), AnsiColor::Red),
            Some(percent) if percent >= u64::from(list.full_percent) => toned(gauge(percent), AnsiColor::Red),
            Some(percent) if percent >= u64::from(list.warn_percent) => toned(gauge(percent), AnsiColor::Yellow),
            Some(percent) => text(gauge(percent)),
            None => text("-"),
        },
        text(now.map_or_else(unknown, |window| occupancy(window, budget.window_tokens))),
        text(budget.window_tokens.map_or_else(unknown, short)),
        text(now.map_or_else(unknown, |window| tokens(window.passed, window.passed_exactness))),
        text(pending_sum(&budget.coming).unwrap_or_else(unknown)),
        text(now.map_or_else(unknown, |window| tokens(window.kept_out, window.kept_out_exactness))),
        text(burn(budget).unwrap_or_else(unknown)),
        text(match budget.full_in_ms {
            _ if was_full(budget) => "full".into(),
            Some(0) => "now".into(),
            Some(left) => time::span_ms(left),
            None => unknown(),
        }),
    ]
}

/// Whether more came in than its window holds.
fn was_full(budget: &BudgetDto) -> bool {
    budget.now.as_ref().is_some_and(|window| window.full_times > 0)
}

/// The tokens in a window: never more than its size, and an upper bound once it was full.
fn occupancy(window: &WindowDto, size: Option<u64>) -> String {
    let exactness = if window.full_times > 0 { ExactnessDto::AtMost } else { window.exactness };
    tokens(window.tokens.min(size.unwrap_or(u64::MAX)), exactness)
}

/// `████████░░ 82 %`.
fn gauge(percent: u64) -> String {
    let full = (percent.min(100) * GAUGE + 50) / 100;
    let letters = |letter: &str, many: u64| letter.repeat(usize::try_from(many).unwrap_or(0));
    format!("{}{} {percent} %", letters("█", full), letters("░", GAUGE - full))
}

/// `GPT o200k, exact`, `Claude 4.7 and later, ≈ ±4 %`.
fn family(family: &FamilyDto) -> String {
    let how = match (family.exactness, family.error_percent) {
        (ExactnessDto::Exact, _) => "exact".to_owned(),
        (ExactnessDto::About, error) => format!("≈ ±{error} %"),
        (ExactnessDto::AtMost, _) => "≤".to_owned(),
    };
    format!("{}, {how}", family.label)
}

/// How fast it fills; nothing while it does not.
fn burn(budget: &BudgetDto) -> Option<String> {
    if budget.burn_too_early {
        return Some("not enough data yet".into());
    }
    let exactness = budget.now.as_ref().filter(|_| budget.burn_per_minute > 0)?.exactness;
    Some(format!("{}/min", tokens(budget.burn_per_minute, exactness)))
}

/// The size of results that will arrive, as far as it is known.
fn pending_sum(coming: &[PendingResultDto]) -> Option<String> {
    let known: Vec<(u64, ExactnessDto)> = coming.iter().filter_map(|one| Some((one.tokens?, one.exactness))).collect();
    let sum = known.iter().map(|(tokens, _)| *tokens).fold(0, u64::saturating_add);
    let loosest = known.iter().map(|(_, exactness)| *exactness).max_by_key(|exactness| rank(*exactness));
    loosest.map(|exactness| tokens(sum, exactness))
}

/// `GPT o200k, exact, in a window of 200k`.
fn measured(budget: &BudgetDto) -> String {
    let size = match (budget.window_tokens, budget.window_from) {
        (Some(size), Some(SizeFromDto::Set)) => format!("in a window of {}", short(size)),
        (Some(size), Some(SizeFromDto::Model)) => format!("in a window of {}, as for its model", short(size)),
        (Some(size), Some(SizeFromDto::Client) | None) => {
            format!("in a window of {}, as usual for its client", short(size))
        }
        (None, _) => "in a window of unknown size".into(),
    };
    format!("{}, {size}", family(&budget.family))
}

/// How exact a sum of these is.
fn loosest(parts: &[SourcePart]) -> ExactnessDto {
    let counted = parts.iter().filter(|part| part.tokens > 0).map(|part| part.exactness);
    counted.max_by_key(|exactness| rank(*exactness)).unwrap_or(ExactnessDto::Exact)
}

const fn rank(exactness: ExactnessDto) -> u8 {
    match exactness {
        ExactnessDto::Exact => 0,
        ExactnessDto::About => 1,
        ExactnessDto::AtMost => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_as_full_as_its_window() {
        assert_eq!(gauge(0), "░░░░░░░░░░ 0 %");
        assert_eq!(gauge(82), "████████░░ 82 %");
        assert_eq!(gauge(100), "██████████ 100 %");
    }
}
