//! The report of a month: what the audit log amounts to, with the names of today.
//!
//! The figures are a fold over the rows (`domain::audit::report`), so each can be found again with a filter.

use std::collections::HashMap;

use domain::audit::report::{ListedRow, MonthReport, ReportMonth};
use domain::ports::MonthRead;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::core::report::{
    AuditReportDto, ReportAgentDto, ReportAnswersDto, ReportDayDto, ReportDecisionDto, ReportHaltDto, ReportRowDto,
    ReportServerDto,
};
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};

/// Halts that are looked at, from the newest on. Judgement: a year of more than two a day.
const HALTS_READ: u32 = 1_000;

/// Which month is reported on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReportAudit {
    /// A month in UTC, such as `2026-11`; the last whole month when null.
    pub month: Option<String>,
}

impl Api {
    fn report_month(&self, asked: Option<&str>) -> Result<ReportMonth, ApiError> {
        let this = ReportMonth::of(self.now());
        let month = match asked {
            Some(text) => ReportMonth::read(text),
            None => this.and_then(ReportMonth::before),
        };
        let Some(month) = month else {
            return Err(ApiError::new(
                Code::Usage,
                format!("`{}` is not a month", short(asked.unwrap_or_default())),
                "Give a month such as `2026-11`.",
            ));
        };
        match this {
            Some(this) if month > this => Err(ApiError::new(
                Code::Usage,
                format!("{month} has not begun"),
                format!("Give a month up to {this}; that one is reported as far as it has come."),
            )),
            _ => Ok(month),
        }
    }

    /// What the audit log says of a month.
    ///
    /// # Errors
    /// When the month cannot be read or has not begun, or the registry cannot be read.
    pub async fn audit_report(&self, _caller: &Caller, input: ReportAudit) -> Result<AuditReportDto, ApiError> {
        let month = self.report_month(input.month.as_deref())?;
        let Some((since, until)) = month.bounds() else {
            return Err(ApiError::new(Code::Usage, format!("{month} has no end"), "Give an earlier month."));
        };
        let MonthRead { report, first: first_kept, verified_to, changed } =
            self.registry.month_report(since, until).await?;
        // A row before the first that is there may have been of this month.
        let removed_to = (first_kept > 1 && (report.rows == 0 || report.first == first_kept)).then(|| first_kept - 1);
        let mut names = self.names().await?;
        let now = self.now();
        Ok(AuditReportDto {
            month: month.to_string(),
            since: iso(since),
            until: iso(until),
            made_at: iso(now),
            is_over: now >= until,
            rows: report.rows,
            first_row: report.first,
            last_row: report.last,
            removed_to,
            changed_rows: changed,
            verified_to: (report.first > 0 && report.first <= verified_to).then_some(verified_to),
            calls: report.calls,
            tasks: report.tasks,
            unconsidered: report.unconsidered(),
            days: report.days.iter().map(|(date, day)| ReportDayDto::of(date, *day)).collect(),
            decisions: self.report_decisions(&report, &mut names).await?,
            answers: ReportAnswersDto::of(&report.answers),
            servers: self.report_servers(&report, &mut names).await?,
            agents: self.report_agents(&report, &mut names).await?,
            over_limits: report.over_limits,
            alarms: report.alarms,
            halts: self.report_rows(&report.halts, &mut names).await?,
            halted_tasks: self.report_halts(since, until, &mut names).await?,
            tools: self.report_rows(&report.tools, &mut names).await?,
            gaps: self.report_rows(&report.gaps, &mut names).await?,
            unlisted: report.unlisted,
            ended: report.ended,
        })
    }

    async fn report_decisions(
        &self,
        report: &MonthReport,
        names: &mut Names,
    ) -> Result<Vec<ReportDecisionDto>, ApiError> {
        let mut all = Vec::with_capacity(report.decisions.len());
        for ((actor, kind), &count) in &report.decisions {
            let (kind, verb) = (kind.word().to_owned(), kind.verb().word().to_owned());
            all.push(ReportDecisionDto { actor: actor.clone(), who: self.who(actor, names).await?, kind, verb, count });
        }
        Ok(all)
    }

    async fn report_servers(&self, report: &MonthReport, names: &mut Names) -> Result<Vec<ReportServerDto>, ApiError> {
        let mut all = Vec::with_capacity(report.servers.len());
        for (id, figures) in &report.servers {
            let name = match id.as_str() {
                "" => None,
                id => Some(self.server_of(id, names).await?),
            };
            all.push(ReportServerDto::of(name, *figures, report.unfinished_cancels(id)));
        }
        all.sort_by(|a, b| a.server.cmp(&b.server));
        Ok(all)
    }

    async fn report_agents(&self, report: &MonthReport, names: &mut Names) -> Result<Vec<ReportAgentDto>, ApiError> {
        let known = self.registry.agents().await?;
        let programs: HashMap<String, Option<String>> =
            known.into_iter().map(|agent| (agent.id.to_string(), agent.client)).collect();
        let mut all = Vec::with_capacity(report.agents.len());
        for (id, &tasks) in &report.agents {
            let agent = match id.as_str() {
                "" => None,
                id => Some(self.agent_of(id, names).await?),
            };
            all.push(ReportAgentDto { agent, program: programs.get(id).cloned().flatten(), tasks });
        }
        all.sort_by(|a, b| a.agent.cmp(&b.agent));
        Ok(all)
    }

    /// What became of the tasks of the halts that began in this time.
    async fn report_halts(
        &self,
        since: Timestamp,
        until: Timestamp,
        names: &mut Names,
    ) -> Result<Vec<ReportHaltDto>, ApiError> {
        let mut all = Vec::new();
        for halt in self.registry.halts(HALTS_READ).await? {
            if halt.at() >= since && halt.at() < until {
                let (counts, removed) = self.halt_outcome(&halt, names).await?;
                let (id, at) = (halt.id.to_string(), iso(halt.at()));
                all.push(ReportHaltDto { id, at, is_over: halt.is_over(), counts, removed });
            }
        }
        Ok(all)
    }

    async fn report_rows(&self, rows: &[ListedRow], names: &mut Names) -> Result<Vec<ReportRowDto>, ApiError> {
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let who = self.who(&row.actor, names).await?;
            all.push(ReportRowDto::of(row, who));
        }
        Ok(all)
    }
}
