//! What came into windows over hours and days, and what was wasted, as tables and as comma-separated values.
//!
//! Sums are the core's; points are at whole hours in UTC. The current state is in `budget.rs`.

use api::calls::Nothing;
use api::dto::{
    BudgetList, BudgetShown, ExactnessDto, OneAgent, SeriesDto, SeriesPoint, ShowSeries, ShowWaste, SourcePart,
    WasteDto, WasteList,
};
use api::format::time::count;
use api::format::tokens::tokens;
use api::{ApiError, Code};
use serde::Serialize;

use super::super::output::screen::Screen;
use super::super::output::sentences::one_line;
use super::super::output::table::{TableLayout, text};
use super::super::output::{sentences, table};
use super::{loosest, note_more};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// The core sums by the hour.
const HOUR_MS: u64 = 3_600_000;
/// Hours in a point that stands for a day.
const DAY: u64 = 24;
/// Days that are shown by the hour on a screen. Judgement: a screenful. Files have as many points as the core gives.
const DAYS_BY_HOUR: u64 = 3;

/// What came in over this many whole hours and the current one.
pub(super) async fn series(
    agent: Option<String>,
    hours: u64,
    csv: bool,
    core: &CoreClient,
    config: &Config,
    screen: &Screen,
) -> CommandResult {
    let counting = &config.policy.counting;
    let kept = u64::try_from(counting.series_kept.as_millis()).unwrap_or(u64::MAX) / HOUR_MS;
    if hours > kept {
        return Err(ApiError::new(
            Code::Usage,
            format!("history of {} is not kept", count(hours, "hour")),
            format!("History is kept for {}; ask for at most that many.", count(kept, "hour")),
        ));
    }
    let points = u64::try_from(counting.points_max).unwrap_or(u64::MAX);
    let by_hour = if csv || screen.is_json() { points } else { points.min(DAYS_BY_HOUR * DAY) };
    let step = if hours <= by_hour { 1 } else { DAY };
    let query = ShowSeries { agent, span_ms: hours * HOUR_MS, step_ms: step * HOUR_MS };
    let series: SeriesDto = core.request("budgets.series", &query).await?;
    if screen.is_json() {
        return screen.json(&series);
    }
    if csv {
        print_csv(&series, screen);
        return Ok(DONE);
    }
    let shown: Vec<&SeriesPoint> =
        series.points.iter().filter(|point| point.messages > 0 || point.kept_out > 0).collect();
    if shown.is_empty() {
        screen.line("Nothing came in during this time.");
        return Ok(DONE);
    }
    let rows = shown
        .into_iter()
        .map(|point| {
            let at = point.at.get(..16).unwrap_or(&point.at).replace('T', " ");
            let sum: u64 = point.sources.iter().map(|part| part.tokens).fold(0, u64::saturating_add);
            vec![
                text(at),
                text(tokens(sum, loosest(&point.sources))),
                text(source(&point.sources, 0, 2)),
                text(source(&point.sources, 2, 1)),
                text(source(&point.sources, 3, 1)),
                text(source(&point.sources, 4, 1)),
                text(source(&point.sources, 5, 1)),
                text(tokens(point.kept_out, series.exactness)),
                text(point.messages.to_string()),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &[
            "FROM (UTC)",
            "CAME IN",
            "TOOLS",
            "ARGUMENTS",
            "RESULTS",
            "HANDLES",
            "PROMPTS",
            "KEPT OUT",
            "MESSAGES",
        ],
        cut: &[],
        spare: &["MESSAGES", "PROMPTS", "ARGUMENTS", "HANDLES", "TOOLS"],
    };
    table::print(screen, layout, rows);
    let each = if step == 1 { "Hours" } else { "Days" };
    let families: Vec<&str> = series.families.iter().map(|word| sentences::family(word)).collect();
    screen.note(&format!("Counted as: {}. {each} without traffic are left out.", families.join("; ")));
    Ok(DONE)
}

/// The sum of some sources in a row.
fn source(parts: &[SourcePart], from: usize, many: usize) -> String {
    let parts: Vec<SourcePart> = parts.iter().skip(from).take(many).copied().collect();
    tokens(parts.iter().map(|part| part.tokens).fold(0, u64::saturating_add), loosest(&parts))
}

fn print_csv(series: &SeriesDto, screen: &Screen) {
    let exactness = match series.exactness {
        ExactnessDto::Exact => "exact",
        ExactnessDto::About => "about",
        ExactnessDto::AtMost => "atMost",
    };
    screen.line("at,tools,ownTools,arguments,results,handles,prompts,keptOut,messages,exactness,families");
    for point in &series.points {
        let sources: Vec<String> = point.sources.iter().map(|part| part.tokens.to_string()).collect();
        // Only our own words, none of which needs quoting: no CSV library is needed.
        let families = series.families.join(" ");
        let (at, kept_out, messages) = (&point.at, point.kept_out, point.messages);
        screen.line(&format!("{at},{},{kept_out},{messages},{exactness},{families}", sources.join(",")));
    }
}

pub(super) async fn waste(agent: Option<String>, core: &CoreClient, config: &Config, screen: &Screen) -> CommandResult {
    let day = config.policy.counting.day.as_millis();
    let query = ShowWaste { agent, span_ms: u64::try_from(day).unwrap_or(u64::MAX) };
    let list: WasteList = core.request("budgets.waste", &query).await?;
    if screen.is_json() {
        screen.json(&list)?;
    } else if list.servers.is_empty() {
        screen.line("Nothing was wasted over the last day.");
    } else {
        print_waste(&list.servers, "Over the last day:", screen);
    }
    Ok(DONE)
}

pub(super) fn print_waste(servers: &[WasteDto], head: &str, screen: &Screen) {
    if servers.is_empty() {
        return;
    }
    screen.line(head);
    let rows = servers
        .iter()
        .map(|waste| {
            let share = (waste.empty * 100).checked_div(waste.looks);
            vec![
                text(one_line(&waste.server)),
                text(waste.looks.to_string()),
                text(waste.empty.to_string()),
                text(share.map_or_else(|| "-".into(), |share| format!("{share} %"))),
                text(waste.hasty.to_string()),
                text(waste.stalled.to_string()),
                text(waste.lost.to_string()),
                text(waste.unread.to_string()),
                text(waste.disobeyed.to_string()),
                text(tokens(waste.tokens, waste.exactness)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &[
            "SERVER",
            "LOOKS",
            "NOTHING NEW",
            "SHARE",
            "TOO SOON",
            "STALLED",
            "LOST",
            "UNREAD",
            "NOT STOPPED",
            "TOKENS",
        ],
        cut: &[],
        spare: &["SHARE", "LOOKS", "TOO SOON", "STALLED", "LOST", "NOT STOPPED", "UNREAD"],
    };
    table::print(screen, layout, rows);
    for waste in servers {
        if let Some(advice) = &waste.advice {
            screen.line(&format!("  {}: {advice}", one_line(&waste.server)));
        }
    }
}

/// What came in over the last day, of the agents that are shown.
#[derive(Serialize)]
struct Today {
    agents: Vec<BudgetShown>,
    /// Agents that are not shown.
    more: u64,
}

pub(super) async fn today(agent: Option<String>, core: &CoreClient, screen: &Screen) -> CommandResult {
    if let Some(agent) = agent {
        let shown: BudgetShown = core.request("budgets.show", &OneAgent { agent }).await?;
        if screen.is_json() {
            screen.json(&shown)?;
        } else {
            print_today(&[shown], screen);
        }
        return Ok(DONE);
    }
    let list: BudgetList = core.request("budgets.list", &Nothing {}).await?;
    let mut today = Today { agents: Vec::with_capacity(list.budgets.len()), more: list.more };
    for budget in list.budgets {
        today.agents.push(core.request("budgets.show", &OneAgent { agent: budget.agent }).await?);
    }
    if screen.is_json() {
        screen.json(&today)?;
    } else if today.agents.is_empty() {
        screen.line("Nothing has been counted yet.");
    } else {
        print_today(&today.agents, screen);
        note_more(today.more, screen);
    }
    Ok(DONE)
}

fn print_today(shown: &[BudgetShown], screen: &Screen) {
    let rows = shown
        .iter()
        .map(|one| {
            let parts = &one.spent_today;
            let sum: u64 = parts.iter().map(|part| part.tokens).fold(0, u64::saturating_add);
            vec![
                text(one_line(&one.budget.agent)),
                text(tokens(sum, loosest(parts))),
                text(source(parts, 0, 2)),
                text(source(parts, 2, 1)),
                text(source(parts, 3, 1)),
                text(source(parts, 4, 1)),
                text(source(parts, 5, 1)),
                text(tokens(one.kept_out_today, one.kept_out_exactness)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &["AGENT", "CAME IN", "TOOLS", "ARGUMENTS", "RESULTS", "HANDLES", "PROMPTS", "KEPT OUT"],
        cut: &[],
        spare: &["PROMPTS", "ARGUMENTS", "HANDLES", "TOOLS"],
    };
    table::print(screen, layout, rows);
    screen.note("What came in over the last day, all windows together. This is usage over time, not the current state of a window.");
}
