//! `taskwarden servers tools`: the tools of a server, and what changed in them since a person last looked.
//!
//! The comparison is the core's. Marking as seen names the list that was shown, so that a later change stays in sight.

use api::calls::servers::tools::{OneChangedTool, SeeTools, ServerTools};
use api::calls::{Done, OneServer};
use api::dto::moment;
use api::dto::server::NotOfferedWhy;
use api::dto::server::tools::{DiffLine, DiffLineKind, ToolChangeKind, ToolChangesDto, ToolDiff};
use api::dto::{NotOfferedDto, NotOfferedToolsDto, ToolDto};
use api::format::time;
use api::{ApiError, Code};
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{now, one_line};
use crate::cli::output::table::{self, TableLayout, text};
use crate::config::Config;

/// Tools that are not offered, named at once. Judgement: a server with more of them is broken as a whole.
const NAMED: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The server's name.
    name: String,
    /// Show only what changed since a person last looked, line by line.
    #[arg(long)]
    changed: bool,
    /// Mark the changes as seen, after showing them.
    #[arg(long)]
    mark_seen: bool,
}

pub(crate) async fn tools(input: ToolsArgs, config: &Config, screen: &Screen) -> CommandResult {
    let ToolsArgs { name, changed, mark_seen } = input;
    let core = CoreClient::attach(config)?;
    let list: ServerTools = core.request("servers.tools", &OneServer { name: name.clone() }).await?;
    if changed || mark_seen {
        show_changes(&core, &name, list.changes.as_ref(), config, screen).await?;
    } else if screen.is_json() {
        screen.json(&list)?;
    } else {
        show(&list, &name, screen);
    }
    if mark_seen && let Some(changes) = &list.changes {
        let seen = SeeTools { name, digest: changes.digest.clone() };
        let Done {} = core.request("servers.toolsSeen", &seen).await?;
        screen.note("Marked as seen.");
    }
    Ok(DONE)
}

fn show(list: &ServerTools, name: &str, screen: &Screen) {
    if list.tools.is_empty() {
        screen.line("This server has no tools.");
        return;
    }
    let rows = list
        .tools
        .iter()
        .map(|tool| {
            let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            vec![text(shown_name(tool)), text(tool.task_support.clone()), text(effect(tool)), text(one_line(words))]
        })
        .collect();
    let layout = TableLayout {
        header: &["TOOL", "TASK", "EFFECT", "DESCRIPTION"],
        cut: &["DESCRIPTION"],
        spare: &["TASK", "EFFECT"],
    };
    table::print(screen, layout, rows);
    if let Some(words) = not_offered_tools(&list.tools) {
        screen.note(&words);
    }
    if let Some(changes) = list.changes.as_ref().filter(|changes| !changes.tools.is_empty()) {
        screen.note(&format!("{}. `taskwarden servers tools {name} --changed` shows how.", sentence(changes)));
    }
}

/// The name of a tool; of one that is not offered with everything hidden spelled out.
fn shown_name(tool: &ToolDto) -> String {
    tool.not_offered.as_ref().map_or_else(|| one_line(&tool.name), |not_offered| not_offered.escaped_name.clone())
}

/// The tools that agents are not offered, each with the reason, for a note below the list.
pub(crate) fn not_offered_tools(tools: &[ToolDto]) -> Option<String> {
    let of: Vec<&NotOfferedDto> = tools.iter().filter_map(|tool| tool.not_offered.as_ref()).collect();
    if of.is_empty() {
        return None;
    }
    let mut lines = vec![format!("Not offered to agents: {}.", time::count(wide(of.len()), "tool"))];
    for tool in of.iter().take(NAMED) {
        let why = match tool.why {
            NotOfferedWhy::InvalidName => "its name is not 1 to 128 of the characters A-Z a-z 0-9 _ - .",
            NotOfferedWhy::Duplicate => "an earlier tool has the same name",
        };
        lines.push(format!("  \"{}\": {why}", tool.escaped_name));
    }
    if of.len() > NAMED {
        lines.push(format!("  and {} more", of.len().saturating_sub(NAMED)));
    }
    Some(lines.join("\n"))
}

/// `3 not offered to agents (2 with a name that MCP does not allow, 1 with the name of an earlier tool)`.
pub(crate) fn not_offered_counts(counts: &NotOfferedToolsDto) -> String {
    let NotOfferedToolsDto { invalid_names, duplicates } = *counts;
    let reasons =
        [(invalid_names, "with a name that MCP does not allow"), (duplicates, "with the name of an earlier tool")];
    let reasons: Vec<String> =
        reasons.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    let all = invalid_names.saturating_add(duplicates);
    format!("{all} not offered to agents ({})", reasons.join(", "))
}

/// `3 tools changed since ada looked 2 days ago`.
fn sentence(changes: &ToolChangesDto) -> String {
    let when = moment(&changes.seen_at).map(|at| time::ago(at, now())).unwrap_or_default();
    let since = match &changes.seen_by {
        Some(by) => format!("since {} looked {when}", one_line(by)),
        None => format!("since they were first listed {when}"),
    };
    format!("{} changed {since}", time::count(wide(changes.tools.len()), "tool"))
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

async fn show_changes(
    core: &CoreClient,
    name: &str,
    changes: Option<&ToolChangesDto>,
    config: &Config,
    screen: &Screen,
) -> Result<(), ApiError> {
    let Some(changes) = changes else {
        return Err(ApiError::new(
            Code::Failed,
            "what was seen of its tools could not be read",
            "`taskwarden doctor` checks the registry.",
        ));
    };
    let most = config.policy.tool_memory.changes_shown;
    let mut diffs: Vec<ToolDiff> = Vec::new();
    for tool in changes.tools.iter().take(most) {
        let one = OneChangedTool { name: name.to_owned(), tool: tool.name.clone() };
        diffs.push(core.request("servers.toolDiff", &one).await?);
    }
    if screen.is_json() {
        screen.json(&serde_json::json!({ "changes": changes, "diffs": diffs }))?;
        return Ok(());
    }
    if changes.tools.is_empty() {
        screen.line("Nothing changed since its tools were last looked at.");
        return Ok(());
    }
    screen.line(&format!("{}.", sentence(changes)));
    for diff in &diffs {
        screen.line("");
        screen.line(&format!("{}: {}", one_line(&diff.name), word(diff.change)));
        if diff.is_too_long {
            screen.line("  Its definition is too long to be compared line by line.");
        }
        for line in &diff.lines {
            screen.line(&shown(line));
        }
    }
    for tool in changes.tools.iter().skip(most) {
        screen.line(&format!("{}: {}", one_line(&tool.name), word(Some(tool.change))));
    }
    if changes.left_out > 0 {
        screen.note(&format!("{} are not compared: the server lists too many.", time::count(changes.left_out, "tool")));
    }
    Ok(())
}

const fn word(change: Option<ToolChangeKind>) -> &'static str {
    match change {
        Some(ToolChangeKind::Added) => "added",
        Some(ToolChangeKind::Removed) => "removed",
        Some(ToolChangeKind::Changed) => "changed",
        None => "the same again",
    }
}

/// A line of the server's behind its sign, so that it never looks like a line of ours.
fn shown(line: &DiffLine) -> String {
    let words = one_line(&line.text);
    // The indentation says what belongs to what.
    let indent: String = line.text.chars().take_while(|c| *c == ' ').collect();
    match line.kind {
        DiffLineKind::Same => format!("    | {indent}{words}"),
        DiffLineKind::Removed => format!("  - | {indent}{words}"),
        DiffLineKind::Added => format!("  + | {indent}{words}"),
        DiffLineKind::Skipped => match &*words {
            "1" => "      (1 line is the same)".to_owned(),
            many => format!("      ({many} lines are the same)"),
        },
    }
}

fn effect(tool: &ToolDto) -> &'static str {
    match (tool.read_only, tool.destructive) {
        (Some(true), _) => "read only",
        (_, Some(true)) => "destructive",
        _ => "-",
    }
}
