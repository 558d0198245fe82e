//! What a sink is sent next: rows as log records, or the tasks whose end is among them as spans.
//!
//! Only reads. What a record and a span say is in `log_records.rs` and `task_spans.rs`; how far a signal came is kept by
//! `sender.rs`.

use domain::audit::log_sink::SinkSignal;
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, RegistryError};

use super::known_sinks::SentSignal;
use crate::core::EngineCore;
use crate::tasks::audit_log::log_records::{self, LogRequest};
use crate::tasks::audit_log::task_spans::{self, RowSpan, SpanReader};

/// Rows from this one on, at most `limit`.
pub(super) fn rows_from(first: u64, limit: u32) -> AuditQuery {
    let behind = Some(first.saturating_sub(1));
    AuditQuery { filter: AuditFilter::default(), order: AuditOrder::OldestFirst, behind, limit }
}

/// The next request of a signal.
pub(super) struct NextRequest {
    /// The first row that it is about; rows before it are gone.
    pub(super) first: u64,
    /// The row from which on there is more, after it was taken.
    pub(super) next: u64,
    /// Its records or spans.
    pub(super) items: usize,
    /// `None` where no task ended in these rows.
    pub(super) body: Option<String>,
}

/// The next request from this row on, with at most `most` records or spans; `None` when there is nothing to
/// send.
pub(super) async fn next_request(
    core: &EngineCore,
    of: SentSignal,
    next_number: u64,
    most: u32,
) -> Result<Option<NextRequest>, RegistryError> {
    match of.signal {
        SinkSignal::Logs => next_records(core, next_number, most).await,
        SinkSignal::Traces => next_spans(core, next_number, most).await,
    }
}

async fn next_records(core: &EngineCore, next_number: u64, most: u32) -> Result<Option<NextRequest>, RegistryError> {
    let found = core.registry.audit_rows(rows_from(next_number, most)).await?;
    let Some(first) = found.rows.first().map(|row| row.number) else { return Ok(None) };
    let LogRequest { body, rows } = log_records::request(&core.sinks.log(), &found.rows, core.policy.audit.sink_bytes);
    let next = found.rows.get(rows.saturating_sub(1)).map_or(first, |last| last.number + 1);
    Ok(Some(NextRequest { first, next, items: rows, body: Some(body) }))
}

async fn next_spans(core: &EngineCore, next_number: u64, most: u32) -> Result<Option<NextRequest>, RegistryError> {
    let policy = &core.policy.audit;
    let found = core.registry.audit_rows(rows_from(next_number, policy.sink_rows)).await?;
    let Some(first) = found.rows.first().map(|row| row.number) else { return Ok(None) };
    let mut next = found.rows.last().map_or(first, |last| last.number + 1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut spans, mut bytes) = (Vec::new(), 0);
    let log = core.sinks.log();
    let mut reader = SpanReader::new(core, &log);
    for row in &found.rows {
        let span = match reader.span_ended_by(row).await? {
            RowSpan::None => continue,
            RowSpan::Ended(span) => span,
            // The commit that brings its result wakes the sender; without a result, one says so after a while.
            RowSpan::NotYet => {
                next = row.number;
                break;
            }
        };
        // A span is sent however long it is, and never more than may be.
        if !spans.is_empty() && (spans.len() >= most || bytes + span.len() > policy.sink_bytes) {
            next = row.number;
            break;
        }
        bytes += span.len();
        spans.push(span);
    }
    let items = spans.len();
    if items == 0 && next <= next_number {
        return Ok(None);
    }
    let body = (items > 0).then(|| task_spans::request(&log, &spans));
    Ok(Some(NextRequest { first, next, items, body }))
}
