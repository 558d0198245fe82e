//! Receipts of agents' calls by filter, and whether they are those that the audit log vouches for.
//!
//! Receipts are shown as they are stored; names are looked up beside them and never replace them.

use domain::audit::receipt::{ReceiptOutcome, ReceiptVerdict};
use domain::ports::{ReceiptFilter, ReceiptQuery, ReceiptRow};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use ts_rs::TS;

use super::audit::{PAGE_ROWS, time};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::core::receipt::{ReceiptDto, ReceiptListDto, ReceiptsVerifiedDto};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};
use crate::suggestion::did_you_mean;

/// Which receipts; what is null lets every one pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReceiptFilterDto {
    /// From this time on: ISO 8601, or a date in UTC.
    pub since: Option<String>,
    /// Before this time: ISO 8601, or a date in UTC.
    pub until: Option<String>,
    /// The name or id of an agent.
    pub agent: Option<String>,
    /// The name or id of a server.
    pub server: Option<String>,
    /// The whole name of a tool, as its server has it.
    pub tool: Option<String>,
    /// One of these words; every verdict when empty.
    pub verdicts: Vec<String>,
    /// One of these words; every outcome when empty.
    pub outcomes: Vec<String>,
    /// The handle of a task or a unique beginning of it: calls that made it or joined it.
    pub task: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListReceipts {
    pub filter: ReceiptFilterDto,
    /// Continue after a page: its `next` value.
    pub before: Option<u64>,
    pub limit: Option<u32>,
}

/// A check of receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VerifyReceipts {
    /// Go on after a call that stopped: its `next` value.
    pub after: u64,
}

fn check_words<const N: usize>(what: &str, words: &[String], known: [&'static str; N]) -> Result<(), ApiError> {
    let Some(word) = words.iter().find(|word| !known.contains(&word.as_str())) else { return Ok(()) };
    let hint = did_you_mean(word, known);
    let hint = hint.unwrap_or_else(|| format!("Use one of {}.", known.map(|word| format!("`{word}`")).join(", ")));
    Err(ApiError::new(Code::Usage, format!("there is no {what} `{}`", short(word)), hint))
}

impl Api {
    async fn receipt_filter(&self, input: ReceiptFilterDto) -> Result<ReceiptFilter, ApiError> {
        let ReceiptFilterDto { since, until, agent, server, tool, verdicts, outcomes, task } = input;
        check_words("verdict", &verdicts, ReceiptVerdict::ALL.map(ReceiptVerdict::word))?;
        check_words("outcome", &outcomes, ReceiptOutcome::ALL.map(ReceiptOutcome::word))?;
        Ok(ReceiptFilter {
            first: None,
            last: None,
            since: time("since", since.as_deref())?,
            until: time("until", until.as_deref())?,
            agent: match agent {
                Some(name) => Some(self.agent_named(&name).await?),
                None => None,
            },
            server: match server {
                Some(name) => Some(self.server_named(&name).await?),
                None => None,
            },
            tool,
            verdicts,
            outcomes,
            task: match task {
                Some(id) => Some(self.find_id(&id).await?),
                None => None,
            },
        })
    }

    /// Receipts of calls, newest first.
    ///
    /// # Errors
    /// When the filter cannot be read, or the registry cannot.
    pub async fn audit_calls(&self, _caller: &Caller, input: ListReceipts) -> Result<ReceiptListDto, ApiError> {
        let query = ReceiptQuery {
            filter: self.receipt_filter(input.filter).await?,
            before: input.before,
            limit: input.limit.unwrap_or(PAGE_ROWS),
        };
        let page = self.registry.receipts(query).await?;
        let mut names = Names::default();
        let mut calls = Vec::with_capacity(page.rows.len());
        for row in &page.rows {
            calls.push(self.receipt_dto(row, &mut names).await?);
        }
        Ok(ReceiptListDto { rows: calls, next: page.next, first: page.first, last: page.last })
    }

    async fn receipt_dto(&self, row: &ReceiptRow, names: &mut Names) -> Result<ReceiptDto, ApiError> {
        let agent = self.agent_of(&row.agent, names).await?;
        let server = match row.server.as_str() {
            "" => None,
            id => Some(self.server_of(id, names).await?),
        };
        Ok(ReceiptDto::of(row, agent, server))
    }

    /// Checks receipts against the rows of the audit log that vouch for them, in stretches; many in several calls.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn audit_verify_receipts(
        &self,
        _caller: &Caller,
        input: VerifyReceipts,
    ) -> Result<ReceiptsVerifiedDto, ApiError> {
        let until = Instant::now() + self.policy.asking.verify_limit;
        let mut found = ReceiptsVerifiedDto::default();
        let mut after = input.after;
        loop {
            let check = self.registry.check_receipts(after, self.policy.audit.receipt_batches_checked).await?;
            found.add(&check);
            // Without a core each command is one process, and has the time that it needs.
            let is_late = self.is_running() && Instant::now() >= until;
            match check.next {
                Some(next) if check.broken.is_none() && !is_late => after = next,
                _ => return Ok(found),
            }
        }
    }

    /// Checks receipts for a limited time. A core goes on where it stopped the last time, so that all of them are looked at in
    /// a few rounds; without one it begins where the last core stopped.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(crate) async fn audit_recheck_receipts(&self) -> Result<ReceiptsVerifiedDto, ApiError> {
        let until = Instant::now() + self.policy.audit.reverify_limit;
        let mut found = ReceiptsVerifiedDto::default();
        let mut after = None;
        loop {
            let check = self.registry.recheck_receipts(after, self.policy.audit.receipt_batches_checked).await?;
            found.add(&check);
            match check.next {
                Some(next) if check.broken.is_none() && Instant::now() < until => after = Some(next),
                _ => return Ok(found),
            }
        }
    }
}
