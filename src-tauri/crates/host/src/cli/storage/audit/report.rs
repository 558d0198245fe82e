//! `taskwarden audit report`: what the audit log says of a month, on the screen or as a page that can be printed.
//!
//! The figures are the core's (`api::calls::core::report`); the page is made here and written with the rights of whoever
//! runs the command.

mod chart;
mod page;

use std::fmt::Write as _;
use std::path::PathBuf;

use api::calls::core::report::ReportAudit;
use api::dto::core::report::{AuditReportDto, ReportDecisionDto, ReportHaltDto};
use api::format::time::{count, span_ms};
use api::format::tokens::grouped;
use clap::Args;
use domain::audit::Verb;

use super::export_file::ExportFile;
use crate::app::core_client::CoreClient;
use crate::cli::halt::counted_tasks;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The month in UTC, such as `2026-11`. The last whole month unless said otherwise.
    #[arg(long, value_name = "MONTH")]
    month: Option<String>,
    /// Write a page that a browser shows and prints. A file of this name is replaced when the new one is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) async fn report(command: ReportArgs, config: &Config, screen: &Screen) -> CommandResult {
    let ReportArgs { month, output } = command;
    let core = CoreClient::attach_or_read(config).await?;
    let report: AuditReportDto = core.request("audit.report", &ReportAudit { month }).await?;
    if let Some(path) = output {
        let mut file = ExportFile::create(&path, config.paths.home())?;
        file.write(&page::page(&report))?;
        file.finish()?;
        screen.note(&format!("Wrote the report of {} to {}.", report.month, path.display()));
        if !screen.is_json() {
            return Ok(DONE);
        }
    }
    if screen.is_json() {
        return screen.json(&report);
    }
    lines(&report).iter().for_each(|line| screen.line(line));
    caveats(&report).iter().for_each(|sentence| screen.warning(sentence));
    Ok(DONE)
}

/// The report in short.
fn lines(report: &AuditReportDto) -> Vec<String> {
    let so_far = if report.is_over { "" } else { ", so far" };
    let mut lines = vec![format!("{}{so_far}: {}", report.month, count(report.rows, "audit row"))];
    if report.rows == 0 {
        return lines;
    }
    lines.push(format!("Calls      {} of agents", grouped(report.calls)));
    lines.push(format!(
        "Tasks      {} began, {} of them without a decision of anybody or any rule",
        grouped(report.tasks),
        grouped(report.unconsidered)
    ));
    let ended: Vec<String> =
        report.ended.iter().map(|(how, many)| format!("{} {}", grouped(*many), one_line(how))).collect();
    if !ended.is_empty() {
        lines.push(format!("Ended      {}", ended.join(", ")));
    }
    for decision in &report.decisions {
        lines.push(format!("Decisions  {}", one_line(&decided(decision))));
    }
    lines.push(format!("Questions  {}", questions(report)));
    for server in report.servers.iter().filter(|server| server.cancels > 0) {
        let name = server.server.as_deref().unwrap_or("no server named");
        lines.push(format!(
            "Cancels    {}: {} asked, {} stopped, {} finished anyway, {} not confirmed",
            one_line(name),
            grouped(server.cancels),
            grouped(server.stopped),
            grouped(server.finished_anyway),
            grouped(server.not_confirmed)
        ));
    }
    for halt in &report.halted_tasks {
        lines.push(format!("Halt       of {}: {}", halt.at, halted_words(halt)));
    }
    if let Some(row) = report.verified_to {
        lines.push(format!("Verified   {}", verified_words(row)));
    }
    for row in report.halts.iter().chain(&report.tools).chain(&report.gaps) {
        let (who, verb, note) = (one_line(&row.who), one_line(verb_words(&row.verb)), one_line(&row.note));
        lines.push(format!("Row {}  {}  {who} · {verb} · {note}", row.row, row.at));
    }
    lines
}

/// What became of the tasks of a halt.
fn halted_words(halt: &ReportHaltDto) -> String {
    let mut words = counted_tasks(&halt.counts).unwrap_or_else(|| "no task is known".into());
    if halt.removed > 0 {
        // Writing to a text never fails.
        let _ = write!(words, ", {} removed by retention", halt.removed);
    }
    if !halt.is_over {
        words.push_str("; the halt is still in force");
    }
    words
}

/// What happened in a row, as people say it; a word of a newer version as it stands there.
fn verb_words(verb: &str) -> &str {
    match Verb::from_word(verb) {
        Verb::Halted => "halted work",
        Verb::Resumed => "resumed halted work",
        Verb::ToolsChanged => "changed its tools",
        Verb::ToolsSeen => "marked the tools as seen",
        Verb::ReceiptsMissing => "some calls may have no receipt",
        Verb::SegmentRemoved => "removed old rows",
        Verb::SigningKeyReplaced => "signs with a new key",
        Verb::EpochBegun => "let the log go on from an older copy",
        _ => verb,
    }
}

fn decided(decision: &ReportDecisionDto) -> String {
    let ReportDecisionDto { who, actor, kind, count, .. } = decision;
    let who = if actor == "system:rule" { "a rule" } else { who };
    format!("{who}: {} ({})", kind_words(kind), grouped(*count))
}

/// What somebody did, as people say it.
fn kind_words(kind: &str) -> &str {
    match kind {
        "answered" => "answered a question",
        "declined" => "declined or dismissed a question",
        "cancelled" => "cancelled a task",
        "revoked" => "revoked a task from its agent",
        "released" => "released a held result",
        "withheld" => "withheld a result",
        "limitLifted" => "allowed more time or tokens",
        "escalated" => "took a further step to end a task",
        "halted" => "halted work",
        "resumed" => "resumed halted work",
        "paused" => "paused an agent or froze a server",
        "pauseEnded" => "ended a pause",
        "toolsSeen" => "marked the tools of a server as seen",
        "serverEnded" => "ended the process of a server",
        "serverRestarted" => "restarted a server",
        other => other,
    }
}

fn questions(report: &AuditReportDto) -> String {
    let answers = &report.answers;
    let times = match (answers.median_ms, answers.p95_ms) {
        (Some(median), Some(p95)) => {
            format!("; half were answered within {}, 95 of 100 within {}", span_ms(median), span_ms(p95))
        }
        _ => String::new(),
    };
    format!(
        "{} asked, {} answered, {} withdrawn{times}",
        grouped(answers.asked),
        grouped(answers.answered),
        grouped(answers.withdrawn)
    )
}

/// Which rows the report took as they are stored.
fn verified_words(row: u64) -> String {
    format!(
        "rows up to {row} before this report, and not again for it; `taskwarden audit verify` verifies the whole log"
    )
}

/// What the report cannot say, in sentences.
fn caveats(report: &AuditReportDto) -> Vec<String> {
    let mut all = Vec::new();
    if !report.is_over {
        all.push(format!("The month is not over: the report covers it until {}.", report.made_at));
    }
    if let Some(row) = report.removed_to {
        all.push(format!("Rows up to {row} were removed by retention; some of them may be of this month."));
    }
    if report.changed_rows > 0 {
        let changed = count(report.changed_rows, "row");
        all.push(format!("Somebody changed {changed} of this month; `taskwarden audit verify` names the first."));
    }
    if report.unlisted > 0 {
        let more = count(report.unlisted, "further row");
        all.push(format!("Not listed: {more} about halts, tools and gaps. `taskwarden audit list` has them all."));
    }
    if report.answers.asked_before > 0 {
        let earlier = count(report.answers.asked_before, "answer");
        all.push(format!("The times leave out {earlier} to questions of an earlier month."));
    }
    all
}
