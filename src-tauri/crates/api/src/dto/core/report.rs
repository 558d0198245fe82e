//! The report of a month in JSON: figures of the audit log with names beside the ids.
//!
//! Nothing is counted here; `domain::audit::report` does that, and `calls/core/report.rs` looks the names up.

use std::collections::BTreeMap;

use domain::audit::report::{AnswerFigures, DayFigures, ListedRow, ServerFigures};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::halt::HaltedTaskCounts;
use crate::dto::{iso, millis};

/// What the audit log says of a month in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditReportDto {
    /// Such as `2026-11`.
    pub month: String,
    /// Its first moment.
    pub since: String,
    /// The first moment after it.
    pub until: String,
    /// When the report was made. Before the end of the month it covers the month so far.
    pub made_at: String,
    pub is_over: bool,
    /// Rows of the month, and the first and the last of them; 0 without any.
    pub rows: u64,
    pub first_row: u64,
    pub last_row: u64,
    /// Rows up to this one were removed by retention, and some of them may be of this month; null when none is.
    pub removed_to: Option<u64>,
    /// Rows behind `verified_to` whose fields do not give their hash: somebody changed them.
    pub changed_rows: u64,
    /// Rows up to this one were verified before, and their hashes were not computed again for the report; null when that is
    /// no row of the month.
    pub verified_to: Option<u64>,
    /// Calls of agents that left a receipt, quick and refused ones included.
    pub calls: u64,
    /// Tasks that began.
    pub tasks: u64,
    /// Of these, tasks about which no person, rule or supervisor program decided anything.
    pub unconsidered: u64,
    /// Tasks that ended in the month, by the word of their end.
    pub ended: BTreeMap<String, u64>,
    /// Days with calls, tasks or decisions, in order.
    pub days: Vec<ReportDayDto>,
    /// Who decided what, and how often.
    pub decisions: Vec<ReportDecisionDto>,
    pub answers: ReportAnswersDto,
    /// Servers with tasks or cancels, by name.
    pub servers: Vec<ReportServerDto>,
    /// Agents with tasks, by name.
    pub agents: Vec<ReportAgentDto>,
    /// Tasks and windows that went past a limit.
    pub over_limits: u64,
    /// Alarms about agents that did the same thing again and again.
    pub alarms: u64,
    /// Halts, and what people resumed.
    pub halts: Vec<ReportRowDto>,
    /// What became of the tasks of the month's halts, the newest halt first.
    pub halted_tasks: Vec<ReportHaltDto>,
    /// Servers that changed their tools, and people who marked them as seen.
    pub tools: Vec<ReportRowDto>,
    /// What is missing in the log, and new keys.
    pub gaps: Vec<ReportRowDto>,
    /// Halts, gaps and changes of tools beyond those that are listed.
    pub unlisted: u64,
}

/// A day in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportDayDto {
    /// Such as `2026-11-21`.
    pub date: String,
    /// Calls of agents that left a receipt.
    pub calls: u64,
    /// Tasks that began.
    pub tasks: u64,
    pub decisions: u64,
}

impl ReportDayDto {
    pub(crate) fn of(date: &str, day: DayFigures) -> Self {
        let DayFigures { calls, tasks, decisions } = day;
        Self { date: date.to_owned(), calls, tasks, decisions }
    }
}

/// How often somebody decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportDecisionDto {
    /// As rows have it.
    pub actor: String,
    /// The name of that actor.
    pub who: String,
    /// `answered`, `declined`, `cancelled`, `revoked`, `released`, `withheld`, `limitLifted`, `escalated`, `halted`,
    /// `resumed`, `paused`, `pauseEnded`, `toolsSeen`, `serverEnded` or `serverRestarted`.
    pub kind: String,
    /// The verb of its rows.
    pub verb: String,
    pub count: u64,
}

/// Questions, and how long they waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportAnswersDto {
    pub asked: u64,
    /// Answers to questions of this month.
    pub answered: u64,
    /// Answers to questions of an earlier month, which are not in the times.
    pub asked_before: u64,
    /// Questions of this month that nobody answered before they were withdrawn.
    pub withdrawn: u64,
    /// Half of the answers came within this; null without answers.
    pub median_ms: Option<u64>,
    /// 95 of 100 answers came within this.
    pub p95_ms: Option<u64>,
}

impl ReportAnswersDto {
    pub(crate) fn of(answers: &AnswerFigures) -> Self {
        Self {
            asked: answers.asked,
            answered: answers.answered(),
            asked_before: answers.asked_before,
            withdrawn: answers.withdrawn,
            median_ms: answers.wait_at(50).map(millis),
            p95_ms: answers.wait_at(95).map(millis),
        }
    }
}

/// What a server did with its tasks and cancels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportServerDto {
    /// Its name; null for rows that name none.
    pub server: Option<String>,
    /// Tasks that began.
    pub tasks: u64,
    /// Tasks that it was asked to cancel.
    pub cancels: u64,
    pub acknowledged: u64,
    pub refused: u64,
    /// Cancels that could not be sent.
    pub unsent: u64,
    /// Tasks that it says it cancelled, after it was asked to.
    pub stopped: u64,
    /// Tasks that ended in another way, after it was asked to cancel them.
    pub finished_anyway: u64,
    /// Tasks that had not ended by the end of the month, or by now, although it was asked to cancel them.
    pub not_confirmed: u64,
    /// Tasks that became unreachable for good.
    pub lost: u64,
    /// Tasks of which it took back that they had ended.
    pub contradictions: u64,
}

impl ReportServerDto {
    pub(crate) fn of(server: Option<String>, figures: ServerFigures, not_confirmed: u64) -> Self {
        let ServerFigures {
            tasks,
            cancels,
            acknowledged,
            refused,
            unsent,
            stopped,
            finished_anyway,
            lost,
            contradictions,
        } = figures;
        Self {
            server,
            tasks,
            cancels,
            acknowledged,
            refused,
            unsent,
            stopped,
            finished_anyway,
            not_confirmed,
            lost,
            contradictions,
        }
    }
}

/// An agent that started tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportAgentDto {
    /// Its name; null for tasks that no agent started.
    pub agent: Option<String>,
    /// What its program says it is; null when it never said.
    pub program: Option<String>,
    /// Tasks that began.
    pub tasks: u64,
}

/// What became of the tasks that a halt covered, as is known when the report is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportHaltDto {
    pub id: String,
    /// When it began.
    pub at: String,
    /// Whether people let all of it begin again.
    pub is_over: bool,
    pub counts: HaltedTaskCounts,
    /// Tasks of it that retention removed.
    pub removed: u64,
}

/// A row that is listed as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReportRowDto {
    /// The number of the row.
    pub row: u64,
    pub at: String,
    pub who: String,
    pub verb: String,
    /// Empty when it was erased.
    pub note: String,
}

impl ReportRowDto {
    pub(crate) fn of(row: &ListedRow, who: String) -> Self {
        let ListedRow { number, at, actor: _, verb, note } = row;
        Self { row: *number, at: iso(*at), who, verb: verb.clone(), note: note.clone() }
    }
}
