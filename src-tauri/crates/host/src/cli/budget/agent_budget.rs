//! The budget of one agent on a terminal: its window by source, its program, results that will arrive, and its tools.
//!
//! Says what is not visible here and what only the program knows. How figures are written is in `budget.rs`.

use api::dto::{
    BudgetDto, BudgetShown, ExactnessDto, LongResultDto, PendingResultDto, PendingStateDto, ProgramDto, ProgramFromDto,
    ShownPartDto, WindowDto, moment,
};
use api::format::time;
use api::format::tokens::{grouped, share, token_count, tokens};

use super::{burn, gauge, history, loosest, measured, occupancy, was_full};
use crate::cli::input::amount;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line};

/// Tools shown of one agent. Judgement: what to look at first; `--json` has all.
const TOOLS: usize = 10;

pub(crate) fn show(shown: &BudgetShown, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(shown);
    }
    let budget = &shown.budget;
    screen.line(&format!("{}  {}", one_line(&budget.agent), measured(budget)));
    let moments = sentences::now();
    let ago = |at: &str| moment(at).map(|at| time::ago(at, moments)).unwrap_or_default();
    match &budget.now {
        None if shown.spent_today.iter().any(|part| part.tokens > 0) || !shown.earlier.is_empty() => {
            screen.line("  it has no open window");
        }
        None => screen.line("  nothing is known of it yet"),
        Some(window) => {
            let mut parts = Vec::new();
            let mark = if was_full(budget) { " +" } else { "" };
            parts.extend(share(budget).map(|percent| gauge(percent) + mark));
            let of = budget.window_tokens.map(|size| format!(" of {}", grouped(size))).unwrap_or_default();
            parts.push(format!("{}{of}", occupancy(window, budget.window_tokens)));
            parts.push(format!("began {}", ago(&window.began_at)));
            parts.extend(burn(budget));
            parts.extend(budget.full_in_ms.map(fullness));
            screen.line(&format!("  {}", parts.join(" · ")));
            if let Some(full) = full_times(window, &ago(&window.began_at)) {
                screen.line(&format!("  {full}"));
            }
            let passed = tokens(window.passed, window.passed_exactness);
            screen.line(&format!("  {passed} passed to its program; its model sees what is in the window"));
            let kept_out = tokens(window.kept_out, window.kept_out_exactness);
            screen.line(&format!("  {kept_out} kept out of it by tasks"));
        }
    }
    if budget.family.exactness == ExactnessDto::AtMost || budget.window_tokens.is_none() {
        let agent = sentences::shell_word(&budget.agent);
        screen.line(&format!("  its model is not known; set it: taskwarden budget set {agent} --model MODEL"));
    }
    for line in program(budget) {
        screen.line(&format!("  {line}"));
    }
    if let Some(limit) = budget.limit {
        let (limit, at) = (grouped(limit.tokens), amount::at_word(limit.at));
        screen.line(&format!("  limit of its window: {limit}, action {at}"));
    }
    for window in &budget.beside {
        let tokens = occupancy(window, budget.window_tokens);
        screen.line(&format!("  another window with {tokens}, last used {}", ago(&window.last_at)));
    }
    if let Some(window) = &budget.now {
        show_sources(window, budget.window_tokens, screen);
    }
    show_coming(&budget.coming, screen);
    show_tools(shown, screen);
    let today: u64 = shown.spent_today.iter().map(|part| part.tokens).fold(0, u64::saturating_add);
    let exactness = loosest(&shown.spent_today);
    let kept_out = tokens(shown.kept_out_today, shown.kept_out_exactness);
    screen.line(&format!("\nOver the last day: {} came in, {kept_out} kept out", tokens(today, exactness)));
    history::print_waste(&shown.waste, "\nOver the last day it wasted:", screen);
    if !shown.earlier.is_empty() {
        screen.line("\nEarlier windows:");
        for window in &shown.earlier {
            let (tokens, ended) = (occupancy(window, budget.window_tokens), window.ended_at.as_deref().map(ago));
            screen.line(&format!("  {tokens:>12}  emptied {}", ended.unwrap_or_default()));
        }
    }
    Ok(DONE)
}

fn show_sources(window: &WindowDto, size: Option<u64>, screen: &Screen) {
    screen.line(&format!("\n{:<28}{:>12}{:>10}{:>14}", "In its window:", "tokens", "share", "passed"));
    let rows = window.sources.iter().map(|part| {
        let share = size.filter(|size| *size > 0).map(|size| {
            let permille = u128::from(part.tokens) * 1_000 / u128::from(size);
            format!("{}.{} %", permille / 10, permille % 10)
        });
        (
            part.source.label(),
            tokens(part.tokens, part.exactness),
            share.unwrap_or_default(),
            tokens(part.passed, window.passed_exactness),
        )
    });
    for (label, tokens, share, passed) in rows {
        screen.line(&format!("  {label:<26}{tokens:>12}{share:>10}{passed:>14}"));
    }
    screen.line(&format!("  {:<26}{:>12}", "its own program's", "not seen here"));
}

fn show_coming(coming: &[PendingResultDto], screen: &Screen) {
    if coming.is_empty() {
        return;
    }
    screen.line("\nResults that will arrive:");
    for one in coming {
        let size = one.tokens.map_or_else(|| "not known".into(), |number| tokens(number, one.exactness));
        let state = match (one.state, one.percent) {
            (PendingStateDto::Held, _) => "held: waits for your decision".into(),
            (PendingStateDto::Slices, _) => "in parts, as it reads them".into(),
            (PendingStateDto::Working, percent) => {
                let phase = one.phase.map_or("open", |phase| phase.0.label());
                percent.map_or_else(|| phase.to_lowercase(), |percent| format!("{}, {percent} %", phase.to_lowercase()))
            }
            (PendingStateDto::Ready, _) => "delivered when the agent next reads".to_owned(),
        };
        let tool = one.tool.as_deref().map_or_else(|| "a task".into(), one_line);
        let id = sentences::short_id(&one.id, !screen.is_terminal());
        screen.line(&format!("  {size:>12}  {tool} on {}, {state}  {id}", one_line(&one.server)));
    }
}

fn show_tools(shown: &BudgetShown, screen: &Screen) {
    if shown.tools.is_empty() {
        return;
    }
    screen.line("\nTools, most expensive first:");
    for cost in shown.tools.iter().take(TOOLS) {
        screen.line(&format!("  {:>12}  {}", tokens(cost.tokens, cost.exactness), one_line(&cost.tool)));
    }
    let more = shown.tools.len().saturating_sub(TOOLS);
    if more > 0 {
        screen.line(&format!("  {more} more; `--json` lists all"));
    }
}

/// `full at least 4 times since it began 3 h ago`, and what that means.
fn full_times(window: &WindowDto, began: &str) -> Option<String> {
    let (times, what) = match window.full_times {
        0 => return None,
        1 => ("once".to_owned(), "its program compacted it, or this is a new conversation"),
        times => (format!("{times} times"), "its program compacted it, or these are several conversations"),
    };
    Some(format!("full at least {times} since it began {began}: {what}"))
}

/// How long until it is full, or at its limit where that is lower.
fn fullness(left_ms: u64) -> String {
    match left_ms {
        0 => "at its limit".into(),
        left_ms => format!("full in {}", time::span_ms(left_ms)),
    }
}

/// What is known about the program, and what only the program knows.
fn program(budget: &BudgetDto) -> Vec<String> {
    let ProgramDto { label, from, version, shows, long_result, result_tokens, .. } = &budget.program;
    let mut said = Vec::new();
    let agent = sentences::shell_word(&budget.agent);
    let version = if version.is_empty() { String::new() } else { format!(", as measured with {version}") };
    match from {
        ProgramFromDto::Set => said.push(format!("its program is {label}{version}")),
        ProgramFromDto::Client => said.push(format!(
            "its program says it is {label}{version}; limits use the larger figure until you confirm it: \
             taskwarden budget set {agent} --program {}",
            budget.program.id
        )),
        ProgramFromDto::Nobody => said.push(format!(
            "its program is not known, so everything passed to it counts; set it: taskwarden budget set {agent} --program PROGRAM"
        )),
    }
    let part = match shows {
        ShownPartDto::Both => None,
        ShownPartDto::StructuredFirst => Some("the structured content where there is one, otherwise the text"),
        ShownPartDto::Content => Some("the text only"),
    };
    if let Some(part) = part {
        let most = match (long_result, result_tokens) {
            (LongResultDto::Cut, Some(most)) => format!(", cut somewhere above {}", token_count(*most)),
            (LongResultDto::File, Some(most)) => format!("; above {} only the name of a file", token_count(*most)),
            (LongResultDto::Cut | LongResultDto::File, None) | (LongResultDto::Whole, _) => String::new(),
        };
        said.push(format!("of a result its model sees {part}{most}"));
    }
    if let Some(most) = result_tokens {
        said.push(if budget.program.holds_cut {
            format!(
                "results above the {} that {label} surely shows its model are held and read in parts",
                token_count(*most)
            )
        } else {
            format!("longer results are passed on and {label} cuts them; no rule holds them")
        });
    }
    let search = if budget.program.tools_searched { ", and which tool definitions its model searched for" } else { "" };
    said.push(format!("only the program knows when it compacted and how long its own prompt is{search}"));
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_full_is_not_full_in_no_time() {
        assert_eq!(fullness(176_000), "full in 2 min 56 s");
        assert_eq!(fullness(0), "at its limit");
    }
}
