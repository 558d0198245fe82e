//! `taskwarden audit calls`: what each call of an agent left behind.
//!
//! Only prints; what a filter means is decided in the core. What a receipt proves is described in `docs/audit.md`.

use api::calls::core::receipts::{ListReceipts, ReceiptFilterDto};
use api::dto::core::receipt::{ReceiptDto, ReceiptListDto};
use api::format::time::span_ms;
use clap::Args;
use domain::policy::plain_text;

use crate::app::core_client::CoreClient;
use crate::cli::input::run_time::moment;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, short_id};
use crate::cli::output::table::{self, TableLayout, text};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// Only calls answered from this time on, such as `2026-11-21`, `2026-11-21T22:00:00Z`, or `2h` for two hours ago.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only calls answered before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only calls of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only calls to this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only calls of this tool, by the whole name that its server has for it.
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only calls with this verdict: allowed, or why it was refused. Can be repeated.
    #[arg(long, value_name = "VERDICT")]
    verdict: Vec<String>,
    /// Only calls with this outcome: what the agent got first. Can be repeated.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Vec<String>,
    /// Only calls that made this task or joined it.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Most calls in a page, at most 1,000.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Continue after a page: its `next` value.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
}

impl CallsArgs {
    fn filter(&self) -> ReceiptFilterDto {
        let Self { since, until, agent, server, tool, verdict, outcome, task, limit: _, before: _ } = self;
        ReceiptFilterDto {
            since: since.as_deref().map(moment),
            until: until.as_deref().map(moment),
            agent: agent.clone(),
            server: server.clone(),
            tool: tool.clone(),
            verdicts: verdict.clone(),
            outcomes: outcome.clone(),
            task: task.clone(),
        }
    }
}

pub(super) async fn list(command: CallsArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let filter = command.filter();
    let mut rows = Vec::new();
    let mut before = command.before;
    // One request looks at a limited number of receipts; a filter that matches few needs several.
    let page = loop {
        let left = command.limit.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        let input = ListReceipts { filter: filter.clone(), before, limit: Some(left) };
        let mut page: ReceiptListDto = core.request("audit.calls", &input).await?;
        rows.append(&mut page.rows);
        before = page.next;
        if page.next.is_none() || u32::try_from(rows.len()).is_ok_and(|found| found >= command.limit) {
            break ReceiptListDto { rows, ..page };
        }
    };
    if screen.is_json() {
        return screen.json(&page);
    }
    if page.rows.is_empty() {
        screen.line(if page.last == 0 {
            "No receipt of a call is stored. Each call of an agent leaves one, within about a second."
        } else {
            "No call matches."
        });
        return Ok(DONE);
    }
    let header = ["CALL", "TIME", "AGENT", "SERVER", "TOOL", "VERDICT", "OUTCOME", "TOOK", "TASK"];
    table::print(
        screen,
        TableLayout { header: &header, cut: &["TOOL", "AGENT"], spare: &["TASK", "TOOK", "SERVER"] },
        page.rows.iter().map(line).collect(),
    );
    if let Some(broken) = page.rows.iter().find(|call| !call.fits) {
        screen.warning(&format!("Receipt {} does not match its hash: it was changed.", broken.number));
    }
    if let Some(next) = page.next {
        screen.note(&format!("More: add `--before {next}`."));
    }
    Ok(DONE)
}

/// Longest name of a tool in the table; `--json` has it whole. An agent may call a tool that no server has by any name.
/// Judgement: programs allow their models names of 64 characters.
const TOOL_CHARS: usize = 64;

fn shown_tool(name: &str) -> String {
    plain_text(&one_line(name), TOOL_CHARS)
}

fn line(call: &ReceiptDto) -> Vec<table::TableCell> {
    vec![
        text(call.number.to_string()),
        text(call.at.clone()),
        text(one_line(&call.agent)),
        text(call.server.as_deref().map(one_line).unwrap_or_default()),
        text(shown_tool(&call.tool)),
        text(one_line(&call.verdict)),
        text(one_line(&call.outcome)),
        text(span_ms(call.took_ms)),
        text(call.handle.as_deref().map(|id| short_id(id, false).to_owned()).unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_any_name_leaves_the_table_readable() {
        assert_eq!(shown_tool("hash_tree"), "hash_tree");
        let long = shown_tool(&"x".repeat(256));
        assert_eq!((long.chars().count(), long.ends_with('…')), (TOOL_CHARS + 1, true), "{long}");
    }
}
