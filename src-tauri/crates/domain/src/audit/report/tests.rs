//! A month of rows adds up to what happened in it.
//!
//! Rows are written out by their words, so that a word that changes is noticed here.

use std::time::Duration;

use super::*;

const MINUTE: i64 = 60_000;

/// A row of a server's task, minutes after the month began.
fn row<'a>(minute: i64, (actor, verb, subject, note): (&'a str, &'a str, &'a str, &'a str)) -> ReportedRow<'a> {
    let begins = ReportMonth::read("2026-11").and_then(ReportMonth::bounds).unwrap().0;
    let number = u64::try_from(minute).unwrap() + 1;
    ReportedRow { number, at: begins.shifted(minute * MINUTE), actor, verb, subject, server: "ci", agent: "bot", note }
}

fn add(report: &mut MonthReport, row: &ReportedRow<'_>) {
    report.count(RowsFound { rows: 1, first: row.number, last: row.number });
    report.take(row);
}

fn report(rows: &[(&str, &str, &str, &str)]) -> MonthReport {
    let mut report = MonthReport::default();
    for (minute, words) in (0..).zip(rows) {
        add(&mut report, &row(minute, *words));
    }
    report
}

#[test]
fn a_month_is_read_with_its_bounds_and_its_neighbours() {
    let december = ReportMonth::read("2026-12").unwrap();
    let (begins, ends) = december.bounds().unwrap();
    assert_eq!(
        (begins.to_string(), ends.to_string()),
        ("2026-12-01T00:00:00.000Z".into(), "2027-01-01T00:00:00.000Z".into())
    );
    assert_eq!(december.before().map(|month| month.to_string()).as_deref(), Some("2026-11"));
    assert_eq!(ReportMonth::read("2026-01").and_then(ReportMonth::before), ReportMonth::read("2025-12"));
    assert_eq!((ReportMonth::of(begins), ReportMonth::of(ends)), (Some(december), ReportMonth::read("2027-01")));
    for none in ["", "2026", "2026-13", "2026-00", "26-11", "2026-1", "+026-11", "2026-11-01", "1969-12"] {
        assert_eq!(ReportMonth::read(none), None, "`{none}` is no month");
    }
}

#[test]
fn rows_that_are_not_read_would_change_no_figure_and_every_other_would() {
    for verb in Verb::ALL {
        let subject = match verb {
            Verb::Withdrawn => "request:a:1",
            Verb::Asked => "request:b:1",
            _ => "handle:a",
        };
        let mut report = MonthReport::default();
        add(&mut report, &row(0, ("server:ci", "asked", "request:a:1", "form")));
        let before = format!("{report:?}");
        report.take(&row(1, ("person:ada", verb.word(), subject, "acknowledged")));
        assert_eq!(format!("{report:?}") != before, MonthReport::reads(verb), "{}", verb.word());
    }
}

#[test]
fn answers_wait_from_their_question_on_and_those_of_an_earlier_month_have_no_wait() {
    let report = report(&[
        ("server:ci", "asked", "request:a:1", "form"),
        ("server:ci", "asked", "request:b:1", "form"),
        ("person:ada", "answerBegun", "request:a:1", "accept"),
        ("person:ada", "answerBegun", "request:b:1", "decline"),
        ("person:ada", "answerBegun", "request:c:1", "accept"),
        ("server:ci", "asked", "request:d:1", "form"),
        ("server:ci", "withdrawn", "request:d:1", "the task ended"),
    ]);
    let answers = &report.answers;
    assert_eq!((answers.asked, answers.answered(), answers.asked_before, answers.withdrawn), (3, 2, 1, 1));
    assert_eq!(answers.wait_at(50), Some(Duration::from_secs(120)), "both waited two minutes");
    assert_eq!(AnswerFigures::default().wait_at(95), None);
    let by = |kind| report.decisions.get(&("person:ada".to_owned(), kind)).copied();
    assert_eq!((by(DecisionKind::Answered), by(DecisionKind::Declined)), (Some(2), Some(1)));
}

#[test]
fn a_cancel_is_kept_against_what_the_task_became() {
    let report = report(&[
        ("agent:bot", "admitted", "handle:a", ""),
        ("agent:bot", "admitted", "handle:b", ""),
        ("agent:bot", "admitted", "handle:c", ""),
        ("person:ada", "stopBegun", "handle:a", "runaway"),
        ("server:ci", "stopEnded", "handle:a", "acknowledged"),
        ("person:ada", "stopBegun", "handle:b", ""),
        ("person:ada", "stopBegun", "handle:c", ""),
        ("server:ci", "stopEnded", "handle:b", "refused"),
        ("server:ci", "ended", "handle:a", "working -> cancelled"),
        ("server:ci", "ended", "handle:b", "working -> completed"),
        ("agent:bot", "admitted", "handle:d", "waits, paused"),
        ("person:ada", "stopBegun", "handle:d", "left out when the pause ended"),
        ("system:call", "ended", "handle:d", "call -> not sent"),
    ]);
    let ci = report.servers["ci"];
    assert_eq!(
        (ci.tasks, ci.cancels, ci.acknowledged, ci.refused),
        (4, 3, 1, 1),
        "it was not asked about what it never got"
    );
    assert_eq!((ci.stopped, ci.finished_anyway, report.unfinished_cancels("ci")), (1, 1, 1));
    let ended = [("cancelled", 1), ("completed", 1), ("not sent", 1)].map(|(how, many)| (how.to_owned(), many));
    assert_eq!(report.ended, BTreeMap::from(ended));
}

#[test]
fn a_task_that_was_asked_to_cancel_again_counts_once_with_its_last_answer() {
    let report = report(&[
        ("agent:bot", "admitted", "handle:a", ""),
        ("agent:bot", "admitted", "handle:b", ""),
        ("person:ada", "stopBegun", "handle:a", ""),
        ("server:ci", "stopEnded", "handle:a", "refused"),
        ("person:ada", "stopBegun", "handle:a", "again"),
        ("server:ci", "stopEnded", "handle:a", "acknowledged"),
        ("person:ada", "stopBegun", "handle:b", ""),
        ("person:ada", "stopBegun", "handle:b", "again"),
        ("server:ci", "stopEnded", "handle:b", "notSent"),
        ("server:ci", "ended", "handle:a", "working -> cancelled"),
    ]);
    let ci = report.servers["ci"];
    assert_eq!((ci.cancels, ci.acknowledged, ci.refused, ci.unsent), (2, 1, 0, 1), "tasks, not asks");
    assert_eq!((ci.stopped, ci.finished_anyway, report.unfinished_cancels("ci")), (1, 0, 1));
    let asks = report.decisions.get(&("person:ada".to_owned(), DecisionKind::Cancelled)).copied();
    assert_eq!(asks, Some(4), "each is a decision of its own");
}

#[test]
fn a_task_counts_as_considered_only_when_somebody_else_than_an_agent_decided() {
    let report = report(&[
        ("agent:bot", "admitted", "handle:a", ""),
        ("agent:bot", "admitted", "handle:b", ""),
        ("agent:bot", "admitted", "handle:c", ""),
        ("agent:bot", "answerBegun", "request:a:1", "forwarded"),
        ("system:rule", "answerBegun", "request:b:1:2", "accept by rule sta_1 version 1"),
        ("person:ada", "stopBegun", "handle:of an earlier month", ""),
    ]);
    assert_eq!((report.tasks, report.unconsidered()), (3, 2));
    assert_eq!(report.days["2026-11-01"], DayFigures { calls: 0, tasks: 3, decisions: 3 });
    assert_eq!(report.agents["bot"], 3);
}

#[test]
fn calls_are_those_of_the_batches_of_receipts() {
    let report = report(&[
        ("system:receipts", "called", "store", "receipts 1 to 256, 256 in all, root 00ff"),
        ("system:receipts", "called", "store", "receipts 257 to 257, 1 in all, root 00ff"),
        ("system:receipts", "called", "store", "words of another version"),
    ]);
    assert_eq!((report.calls, report.days["2026-11-01"].calls), (257, 257));
}

#[test]
fn halts_tools_and_gaps_are_listed_row_by_row_up_to_a_number() {
    let mut rows = vec![("system:registry", "receiptsMissing", "store", "from 10:00 to 10:01")];
    rows.extend(vec![("person:ada", "halted", "store", "calls"); LISTED_MAX + 5]);
    rows.push(("server:ci", "aWordOfLater", "handle:a", ""));
    rows.push(("server:ci", "toolsChanged", "server:ci", "changed: deploy"));
    rows.push(("person:ada", "toolsSeen", "server:ci", "changed: deploy"));
    let report = report(&rows);
    assert_eq!((report.gaps.len(), report.halts.len(), report.unlisted), (1, LISTED_MAX, 5));
    assert_eq!(report.tools.iter().map(|row| &*row.verb).collect::<Vec<_>>(), ["toolsChanged", "toolsSeen"]);
    let seen = ("person:ada".to_owned(), DecisionKind::ToolsSeen);
    assert_eq!(report.decisions.get(&seen), Some(&1), "to mark as seen is a decision");
    assert_eq!((report.rows, report.first, report.last), (109, 1, 109), "a word of a newer version counts as a row");
    assert_eq!(report.halts[0].number, 2);
}

#[test]
fn servers_that_people_ended_and_restarted_are_decisions_and_leftovers_are_not() {
    let report = report(&[
        ("person:ada", "processEnded", "server:ci", "files [4711], 2 open tasks"),
        ("person:ada", "serverRestarted", "server:ci", ""),
        ("person:ada", "processEnded", "server:ci", "files [4712], 0 open tasks"),
        ("system:compose", "processEnded", "server:ci", "left by an earlier run"),
    ]);
    let by = |actor: &str, kind| report.decisions.get(&(actor.to_owned(), kind)).copied();
    assert_eq!(by("person:ada", DecisionKind::ServerEnded), Some(2));
    assert_eq!(by("person:ada", DecisionKind::ServerRestarted), Some(1));
    assert_eq!(by("system:compose", DecisionKind::ServerEnded), None, "nobody decided that");
}
