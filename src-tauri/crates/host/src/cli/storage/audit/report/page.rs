//! The report as one HTML page: no script, nothing from elsewhere, and readable on paper.
//!
//! Below each part stands the command that lists the rows behind its figures. Everything that a server, an agent or a
//! person wrote is escaped.

use std::fmt::Write as _;

use api::dto::core::report::{AuditReportDto, ReportRowDto, ReportServerDto};
use api::format::shell_word::shell_quote;
use api::format::time::{count, span_ms};
use api::format::tokens::grouped;
use domain::audit::Verb;
use domain::policy::plain_text;

use super::{caveats, chart, halted_words, kind_words, verb_words, verified_words};

/// Characters of a text that somebody else wrote.
const TEXT_CHARS: usize = 160;

const STYLE: &str = "\
:root{color-scheme:light;--ink:#1c1d22;--soft:#61636e;--line:#dcdde3;--bar:#4c5fd5}\
body{font:15px/1.5 Inter,system-ui,sans-serif;color:var(--ink);max-width:52rem;margin:2.5rem auto;padding:0 1.5rem}\
h1{font-size:1.7rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:2rem 0 .4rem;break-after:avoid}\
p{margin:.3rem 0}.soft,.axis{color:var(--soft)}.axis{font-size:11px;fill:var(--soft)}\
.figures{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;margin:1.2rem 0}.figures b{display:block;font-size:1.6rem}\
table{border-collapse:collapse;width:100%;margin:.4rem 0}th{text-align:left;font-weight:600}\
td:first-child,th:first-child{min-width:6.5rem}th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr{break-inside:avoid}\
code{font:12px/1.4 ui-monospace,monospace;color:var(--soft);overflow-wrap:anywhere}\
svg{width:100%;height:auto}rect{fill:var(--bar)}line{stroke:var(--line)}\
.note{border-left:3px solid #c98a00;padding:.2rem .8rem;margin:.6rem 0}\
@media print{body{margin:0;max-width:none;padding:0}}";

/// The whole page.
pub(super) fn page(report: &AuditReportDto) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Taskwarden report {month}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>What agents did in {month}</h1>\n<p class=\"soft\">From the audit log of Taskwarden, {rows}. Times \
         are UTC. Made {made}.</p>\n",
        month = safe(&report.month),
        rows = match report.rows {
            0 => "which has no rows of this month".to_owned(),
            rows => format!("rows {} to {} ({})", report.first_row, report.last_row, count(rows, "row")),
        },
        made = safe(&report.made_at),
    );
    for sentence in caveats(report) {
        add(&mut page, &format!("<p class=\"note\">{}</p>", safe(&sentence)));
    }
    page.push_str(&at_a_glance(report));
    page.push_str(&days(report));
    page.push_str(&decisions(report));
    page.push_str(&questions(report));
    page.push_str(&servers(report));
    page.push_str(&agents(report));
    page.push_str(&rows(
        "Halts",
        &report.halts,
        "No work was halted.",
        &command(report, &["--verb", "halted", "--verb", "resumed"]),
    ));
    page.push_str(&halted_tasks(report));
    page.push_str(&rows(
        "Tools that servers changed",
        &report.tools,
        "No server changed its tools, and nobody marked any as seen.",
        &command(report, &["--verb", "toolsChanged", "--verb", "toolsSeen"]),
    ));
    page.push_str(&rows(
        "Gaps in the log",
        &report.gaps,
        "No row was removed, no key was replaced, the log did not go on from an older copy, and no core ended before its \
         records were written.",
        &command(
            report,
            &["receiptsMissing", "segmentRemoved", "signingKeyReplaced", "epochBegun"].map(|verb| ["--verb", verb]).concat(),
        ),
    ));
    if let Some(row) = report.verified_to {
        add(&mut page, &format!("<p class=\"soft\">Verified: {}.</p>", safe(&verified_words(row))));
    }
    add(
        &mut page,
        "<p class=\"soft\">This page proves nothing by itself. An export of the same rows does: <code>taskwarden audit \
         export</code>, checked with <code>taskwarden-verify</code>.</p>\n</body>\n</html>",
    );
    page
}

fn add(page: &mut String, line: &str) {
    page.push_str(line);
    page.push('\n');
}

/// A text of somebody else, capped and escaped.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in plain_text(text, TEXT_CHARS).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The command that lists the rows behind a figure.
fn command(report: &AuditReportDto, filter: &[&str]) -> String {
    let words: Vec<String> = filter.iter().map(|word| shell_quote(word)).collect();
    let (since, until) = dates(report);
    format!("taskwarden audit list --since {since} --until {until} {}", words.join(" "))
}

fn calls_command(report: &AuditReportDto) -> String {
    let (since, until) = dates(report);
    format!("taskwarden audit calls --since {since} --until {until}")
}

/// The first day of the month, and that of the next one.
fn dates(report: &AuditReportDto) -> (&str, &str) {
    (report.since.split_once('T').unwrap_or_default().0, report.until.split_once('T').unwrap_or_default().0)
}

fn find(command: &str) -> String {
    format!("<p><code>{}</code></p>\n", safe(command))
}

fn at_a_glance(report: &AuditReportDto) -> String {
    let decisions: u64 = report.decisions.iter().map(|decision| decision.count).sum();
    let mut part = String::from("<div class=\"figures\">\n");
    for (figure, what) in [
        (report.calls, "calls of agents"),
        (report.tasks, "tasks began"),
        (report.unconsidered, "of them ran without a decision of anybody"),
        (decisions, "decisions"),
        (report.over_limits, "limits reached"),
        (report.alarms, "alarms"),
    ] {
        add(&mut part, &format!("<div><b>{}</b>{what}</div>", grouped(figure)));
    }
    part.push_str("</div>\n");
    part
}

fn days(report: &AuditReportDto) -> String {
    let mut part = String::from("<h2>Calls a day</h2>\n");
    add(&mut part, &chart::bars("Calls of agents, by day of the month", &report.days, |day| day.calls));
    add(&mut part, "<p class=\"soft\">Quick calls and refused ones included.</p>");
    part.push_str(&find(&calls_command(report)));
    part.push_str("<h2>Tasks a day</h2>\n");
    add(&mut part, &chart::bars("Tasks that began, by day of the month", &report.days, |day| day.tasks));
    part.push_str(&find(&command(report, &["--verb", "admitted"])));
    part.push_str("<h2>Decisions a day</h2>\n");
    add(&mut part, &chart::bars("Decisions, by day of the month", &report.days, |day| day.decisions));
    if !report.ended.is_empty() {
        let ended: Vec<String> =
            report.ended.iter().map(|(how, many)| format!("{} {}", grouped(*many), safe(how))).collect();
        add(&mut part, &format!("<p>Tasks ended: {}.</p>", ended.join(", ")));
        part.push_str(&find(&command(report, &["--verb", "ended"])));
    }
    part
}

fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = String::from("<table>\n<tr>");
    // What stands first is a name, the rest are figures.
    let class = |column: usize| if column == 0 { "" } else { " class=\"n\"" };
    for (column, name) in header.iter().enumerate() {
        // Writing to a text never fails.
        let _ = write!(table, "<th{}>{name}</th>", class(column));
    }
    table.push_str("</tr>\n");
    for row in rows {
        table.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(table, "<td{}>{cell}</td>", class(column));
        }
        table.push_str("</tr>\n");
    }
    table.push_str("</table>\n");
    table
}

fn decisions(report: &AuditReportDto) -> String {
    let mut part = String::from("<h2>Who decided what</h2>\n");
    if report.decisions.is_empty() {
        part.push_str("<p>Nobody decided anything.</p>\n");
        return part;
    }
    part.push_str("<table>\n<tr><th>Who</th><th>What</th><th class=\"n\">How often</th><th>Rows</th></tr>\n");
    for decision in &report.decisions {
        let who = if decision.actor == "system:rule" { "a rule".to_owned() } else { safe(&decision.who) };
        let rows = command(report, &["--actor", &decision.actor, "--verb", &decision.verb]);
        // Writing to a text never fails.
        let _ = writeln!(
            part,
            "<tr><td>{who}</td><td>{}</td><td class=\"n\">{}</td><td><code>{}</code></td></tr>",
            safe(kind_words(&decision.kind)),
            grouped(decision.count),
            safe(&rows)
        );
    }
    part.push_str("</table>\n");
    part
}

fn questions(report: &AuditReportDto) -> String {
    let answers = &report.answers;
    let mut part = format!(
        "<h2>Questions</h2>\n<p>Servers asked {}; {} were answered and {} withdrawn.",
        count(answers.asked, "question"),
        grouped(answers.answered),
        grouped(answers.withdrawn)
    );
    if let (Some(median), Some(p95)) = (answers.median_ms, answers.p95_ms) {
        // Writing to a text never fails.
        let _ = write!(part, " Half were answered within {}, 95 of 100 within {}.", span_ms(median), span_ms(p95));
    }
    part.push_str("</p>\n");
    part.push_str(&find(&command(report, &["--verb", "asked", "--verb", "answerBegun", "--verb", "withdrawn"])));
    part
}

/// Whether the server does not do what it was asked.
fn disobeys(server: &ReportServerDto) -> bool {
    server.refused + server.finished_anyway + server.not_confirmed + server.contradictions > 0
}

fn servers(report: &AuditReportDto) -> String {
    let mut part = String::from("<h2>Servers and cancels</h2>\n");
    if report.servers.is_empty() {
        part.push_str("<p>No server had a task.</p>\n");
        return part;
    }
    let header =
        ["Server", "Tasks", "Asked to cancel", "Stopped", "Finished anyway", "Refused", "Not confirmed", "Lost"];
    let row = |server: &ReportServerDto| {
        let name = safe(server.server.as_deref().unwrap_or("not named"));
        let name = if disobeys(server) { format!("<b>{name}</b>") } else { name };
        let figures = [
            server.tasks,
            server.cancels,
            server.stopped,
            server.finished_anyway,
            server.refused,
            server.not_confirmed,
            server.lost,
        ];
        std::iter::once(name).chain(figures.map(grouped)).collect()
    };
    let rows: Vec<Vec<String>> = report.servers.iter().map(row).collect();
    part.push_str(&table(&header, &rows));
    let bold = report.servers.iter().filter(|server| disobeys(server)).count();
    if bold > 0 {
        part.push_str("<p class=\"soft\">Bold: a cancel was refused, came to nothing, or was not confirmed.</p>\n");
    }
    part.push_str(&find(&command(
        report,
        &["--verb", Verb::CancelBegun.word(), "--verb", Verb::CancelEnded.word(), "--verb", Verb::Ended.word()],
    )));
    part
}

fn agents(report: &AuditReportDto) -> String {
    let mut part = String::from("<h2>Agents</h2>\n");
    if report.agents.is_empty() {
        part.push_str("<p>No task began.</p>\n");
        return part;
    }
    part.push_str("<table>\n<tr><th>Agent</th><th>Its program</th><th class=\"n\">Tasks</th></tr>\n");
    for agent in &report.agents {
        let name = agent.agent.as_deref().map_or_else(|| "people".to_owned(), safe);
        let program = agent.program.as_deref().map_or_else(|| "not said".to_owned(), safe);
        // Writing to a text never fails.
        let _ =
            writeln!(part, "<tr><td>{name}</td><td>{program}</td><td class=\"n\">{}</td></tr>", grouped(agent.tasks));
    }
    part.push_str("</table>\n");
    part.push_str(&find(&command(report, &["--verb", "admitted", "--actor", "agent"])));
    part
}

/// What became of the tasks of each halt; nothing when no halt began in the month.
fn halted_tasks(report: &AuditReportDto) -> String {
    let mut part = String::new();
    for halt in &report.halted_tasks {
        add(&mut part, &format!("<p>Halt of {}: {}.</p>", safe(&halt.at), safe(&halted_words(halt))));
    }
    part
}

fn rows(title: &str, rows: &[ReportRowDto], none: &str, command: &str) -> String {
    let mut part = format!("<h2>{title}</h2>\n");
    if rows.is_empty() {
        add(&mut part, &format!("<p>{none}</p>"));
    } else {
        part.push_str("<table>\n<tr><th>Row</th><th>When</th><th>Who</th><th>What</th></tr>\n");
        for row in rows {
            let verb = verb_words(&row.verb);
            let what = if row.note.is_empty() { verb.to_owned() } else { format!("{verb}: {}", row.note) };
            // Writing to a text never fails.
            let _ = writeln!(
                part,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                row.row,
                safe(&row.at),
                safe(&row.who),
                safe(&what)
            );
        }
        part.push_str("</table>\n");
    }
    part.push_str(&find(command));
    part
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use api::dto::core::report::{ReportAgentDto, ReportAnswersDto, ReportDecisionDto};

    use super::*;

    fn empty() -> AuditReportDto {
        AuditReportDto {
            month: "2026-11".into(),
            since: "2026-11-01T00:00:00.000Z".into(),
            until: "2026-12-01T00:00:00.000Z".into(),
            made_at: "2026-12-02T08:00:00.000Z".into(),
            is_over: true,
            rows: 0,
            first_row: 0,
            last_row: 0,
            removed_to: None,
            changed_rows: 0,
            verified_to: None,
            calls: 0,
            tasks: 0,
            unconsidered: 0,
            ended: BTreeMap::new(),
            days: Vec::new(),
            decisions: Vec::new(),
            answers: ReportAnswersDto {
                asked: 0,
                answered: 0,
                asked_before: 0,
                withdrawn: 0,
                median_ms: None,
                p95_ms: None,
            },
            servers: Vec::new(),
            agents: Vec::new(),
            over_limits: 0,
            alarms: 0,
            halts: Vec::new(),
            halted_tasks: Vec::new(),
            tools: Vec::new(),
            gaps: Vec::new(),
            unlisted: 0,
        }
    }

    #[test]
    fn what_others_wrote_is_text_on_the_page_and_in_its_commands() {
        let evil = "<script>alert('x')</script>\u{202e}&\"";
        let mut report = empty();
        report.agents = vec![ReportAgentDto { agent: Some(evil.into()), program: Some(evil.into()), tasks: 1 }];
        report.halts = vec![ReportRowDto {
            row: 7,
            at: report.since.clone(),
            who: evil.into(),
            verb: "halted".into(),
            note: evil.repeat(100),
        }];
        report.decisions = vec![ReportDecisionDto {
            actor: format!("person:{evil}"),
            who: evil.into(),
            kind: evil.into(),
            verb: "halted".into(),
            count: 1,
        }];
        let page = page(&report);
        assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
        assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), "it is shown as it is: {page}");
        assert!(page.len() < 20_000, "a long text is cut: {} bytes", page.len());
    }

    #[test]
    fn a_month_with_nothing_says_so_in_each_part_and_what_cannot_be_known_comes_first() {
        let mut report = empty();
        report.removed_to = Some(900);
        report.changed_rows = 1;
        report.verified_to = Some(950);
        let page = page(&report);
        for sentence in [
            "which has no rows of this month",
            "Rows up to 900 were removed by retention",
            "Somebody changed 1 row of this month",
            "Verified: rows up to 950 before this report, and not again for it",
            "Nobody decided anything.",
            "No server had a task.",
            "No task began.",
            "No work was halted.",
            "No server changed its tools, and nobody marked any as seen.",
        ] {
            assert!(page.contains(sentence), "`{sentence}` is in {page}");
        }
        assert!(page.contains("--since 2026-11-01 --until 2026-12-01 --verb admitted"), "{page}");
    }
}
