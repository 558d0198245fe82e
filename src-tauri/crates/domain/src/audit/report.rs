//! What the rows of a month amount to, for the report that people read.
//!
//! A pure fold over rows in the order of their numbers. It looks nothing up: names, and what is not in the log, are for
//! whoever shows the report. A task counts in the month in which it began, a decision in the month in which it was made.

mod cancels;
mod figures;
mod month;

use std::collections::{BTreeMap, HashMap, HashSet};

use self::cancels::{CancelAnswer, CancelTally, CancelledEnd, TaskCancel};
use super::Verb;
use crate::time::Timestamp;

pub use figures::{AnswerFigures, DayFigures, DecisionKind, ListedRow, ReportedRow, RowsFound, ServerFigures};
pub use month::ReportMonth;

/// Milliseconds of a day in UTC, which has no leap seconds here.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Rows in each of the lists, at most. Judgement: a month with more halts and gaps is read in the log itself.
const LISTED_MAX: usize = 100;

/// A month of the audit log, row by row.
#[derive(Debug, Default)]
pub struct MonthReport {
    /// Rows that were read, and the first and the last of them; 0 without any.
    pub rows: u64,
    pub first: u64,
    pub last: u64,
    /// By date in UTC; days without tasks and decisions are absent.
    pub days: BTreeMap<String, DayFigures>,
    /// Calls of agents that left a receipt, quick and refused ones included.
    pub calls: u64,
    /// Tasks that began.
    pub tasks: u64,
    /// Tasks that ended, by the word of their end, whenever they began.
    pub ended: BTreeMap<String, u64>,
    /// How many decisions of a kind an actor made; actors as rows have them.
    pub decisions: BTreeMap<(String, DecisionKind), u64>,
    pub answers: AnswerFigures,
    /// By the id in the row; empty for rows that name no server.
    pub servers: BTreeMap<String, ServerFigures>,
    /// Tasks that began, by the id of their agent; empty for those that no agent started.
    pub agents: BTreeMap<String, u64>,
    /// Tasks and windows that went past a limit, and alarms about agents.
    pub over_limits: u64,
    pub alarms: u64,
    /// Halts and what people resumed.
    pub halts: Vec<ListedRow>,
    /// What is missing in the log or was signed anew.
    pub gaps: Vec<ListedRow>,
    /// Tools that servers changed, and tools that people marked as seen.
    pub tools: Vec<ListedRow>,
    /// Halts, gaps and changes of tools that are counted and not listed.
    pub unlisted: u64,
    /// The day of the row before, with its date: most rows are of the same.
    today: Option<(i64, String)>,
    began: HashSet<String>,
    considered: HashSet<String>,
    asked: HashMap<String, Timestamp>,
    cancels: CancelTally,
}

impl MonthReport {
    /// Whether rows with this verb say more than that they are there: [`MonthReport::take`] wants those, and only those.
    #[must_use]
    pub fn reads(verb: Verb) -> bool {
        let is_figure = matches!(
            verb,
            Verb::Admitted
                | Verb::Asked
                | Verb::Withdrawn
                | Verb::CancelEnded
                | Verb::Ended
                | Verb::Lost
                | Verb::Contradiction
                | Verb::OverLimit
                | Verb::AlarmRaised
                | Verb::ToolsChanged
                | Verb::Called
                | Verb::SegmentRemoved
                | Verb::SigningKeyReplaced
                | Verb::ReceiptsMissing
                | Verb::EpochBegun
        );
        is_figure || DecisionKind::of(verb, "").is_some()
    }

    /// Counts the next rows of the month, whatever they say.
    pub fn count(&mut self, found: RowsFound) {
        if found.rows == 0 {
            return;
        }
        self.rows = self.rows.saturating_add(found.rows);
        if self.first == 0 {
            self.first = found.first;
        }
        self.last = found.last;
    }

    /// Takes in what a row says that is counted already; rows in the order of their numbers.
    pub fn take(&mut self, row: &ReportedRow<'_>) {
        let verb = Verb::from_word(row.verb);
        match verb {
            Verb::Admitted => self.began(row),
            Verb::Asked => self.asked(row),
            Verb::Withdrawn if self.asked.remove(row.subject).is_some() => self.answers.withdrawn += 1,
            Verb::CancelBegun => self.cancel(row, |cancel| cancel.is_asked = true),
            Verb::CancelEnded => {
                let answer = match row.note {
                    "acknowledged" => Some(CancelAnswer::Acknowledged),
                    "refused" => Some(CancelAnswer::Refused),
                    "notSent" => Some(CancelAnswer::Unsent),
                    _ => None,
                };
                if answer.is_some() {
                    self.cancel(row, |cancel| cancel.answer = answer);
                }
            }
            Verb::Ended => self.ended(row),
            Verb::Lost => self.server(row).lost += 1,
            Verb::Contradiction => self.server(row).contradictions += 1,
            Verb::OverLimit => self.over_limits += 1,
            Verb::AlarmRaised => self.alarms += 1,
            Verb::Halted | Verb::Resumed => self.list(row, RowList::Halts),
            Verb::ToolsChanged | Verb::ToolsSeen => self.list(row, RowList::Tools),
            Verb::Called => self.called(row),
            Verb::SegmentRemoved | Verb::SigningKeyReplaced | Verb::ReceiptsMissing | Verb::EpochBegun => {
                self.list(row, RowList::Gaps);
            }
            _ => {}
        }
        // What an earlier core left is ended by Taskwarden, which decides nothing by that.
        let is_leftover = verb == Verb::ProcessEnded && row.actor.starts_with("system:");
        if let Some(kind) = DecisionKind::of(verb, row.note).filter(|_| !is_leftover) {
            self.decided(row, kind);
        }
    }

    /// Tasks that began and about which no person, rule or supervisor program decided anything.
    #[must_use]
    pub fn unconsidered(&self) -> u64 {
        let considered = self.began.iter().filter(|task| self.considered.contains(*task)).count();
        self.tasks.saturating_sub(u64::try_from(considered).unwrap_or(u64::MAX))
    }

    /// Cancels whose task had not ended at the end of the month, by server.
    #[must_use]
    pub fn unfinished_cancels(&self, server: &str) -> u64 {
        u64::try_from(self.cancels.unfinished(server)).unwrap_or(u64::MAX)
    }

    fn called(&mut self, row: &ReportedRow<'_>) {
        let calls = receipts(row.note).unwrap_or_default();
        self.calls = self.calls.saturating_add(calls);
        let day = self.day(row);
        day.calls = day.calls.saturating_add(calls);
    }

    fn began(&mut self, row: &ReportedRow<'_>) {
        self.tasks += 1;
        self.day(row).tasks += 1;
        self.server(row).tasks += 1;
        *self.agents.entry(row.agent.to_owned()).or_default() += 1;
        self.began.insert(handle(row).to_owned());
    }

    fn asked(&mut self, row: &ReportedRow<'_>) {
        // A question that may be of several tasks has a row for each of them, and is none of theirs.
        if row.subject.starts_with(REQUEST) {
            self.answers.asked += 1;
            self.asked.insert(row.subject.to_owned(), row.at);
        }
    }

    fn ended(&mut self, row: &ReportedRow<'_>) {
        let how = row.note.rsplit_once(" -> ").map_or("", |(_, to)| to).to_owned();
        if self.cancels.is_asked(handle(row)) {
            let end = match how.as_str() {
                "cancelled" => CancelledEnd::Stopped,
                "not sent" | "sign-in refused" | "asked to wait" => CancelledEnd::NeverSent,
                _ => CancelledEnd::FinishedAnyway,
            };
            self.cancel(row, |cancel| cancel.end = Some(end));
        }
        *self.ended.entry(how).or_default() += 1;
    }

    fn cancel(&mut self, row: &ReportedRow<'_>, change: impl FnOnce(&mut TaskCancel)) {
        let figures = self.servers.entry(row.server.to_owned()).or_default();
        self.cancels.change(handle(row), row.server, figures, change);
    }

    fn decided(&mut self, row: &ReportedRow<'_>, kind: DecisionKind) {
        *self.decisions.entry((row.actor.to_owned(), kind)).or_default() += 1;
        self.day(row).decisions += 1;
        // An agent that answers its own question considers nothing.
        if !row.actor.starts_with("agent:") {
            self.considered.insert(handle(row).to_owned());
        }
        if matches!(kind, DecisionKind::Answered | DecisionKind::Declined) {
            match self.asked.remove(row.subject) {
                Some(asked) => self.answers.waited(row.at.since(asked)),
                None => self.answers.asked_before += 1,
            }
        }
    }

    fn list(&mut self, row: &ReportedRow<'_>, list: RowList) {
        let listed = match list {
            RowList::Halts => &mut self.halts,
            RowList::Tools => &mut self.tools,
            RowList::Gaps => &mut self.gaps,
        };
        if listed.len() < LISTED_MAX {
            listed.push(ListedRow::of(row));
        } else {
            self.unlisted += 1;
        }
    }

    fn day(&mut self, row: &ReportedRow<'_>) -> &mut DayFigures {
        let day = row.at.as_millis().div_euclid(DAY_MS);
        let date = match self.today.take() {
            Some((today, date)) if today == day => date,
            _ => month::date(row.at),
        };
        self.today = Some((day, date.clone()));
        self.days.entry(date).or_default()
    }

    fn server(&mut self, row: &ReportedRow<'_>) -> &mut ServerFigures {
        self.servers.entry(row.server.to_owned()).or_default()
    }
}

/// Which list a row is in.
#[derive(Clone, Copy)]
enum RowList {
    Halts,
    Tools,
    Gaps,
}

/// How the subjects of questions begin.
const REQUEST: &str = "request:";

/// The task that a row is about; the whole subject where it is about something else.
fn handle<'a>(row: &ReportedRow<'a>) -> &'a str {
    match row.subject.split_once(':') {
        Some(("handle", id)) => id,
        Some(("request", rest)) => rest.split(':').next().unwrap_or(rest),
        _ => row.subject,
    }
}

/// How many receipts a batch has, from the note of its row: `receipts 1 to 256, 256 in all, root ...`.
fn receipts(note: &str) -> Option<u64> {
    let (_, rest) = note.strip_prefix("receipts ")?.split_once(", ")?;
    rest.split_once(" in all")?.0.parse().ok()
}

#[cfg(test)]
mod tests;
