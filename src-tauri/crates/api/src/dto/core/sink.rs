//! Sinks of the audit log in JSON: where rows are sent to, how far they came, and why they wait.
//!
//! Values of headers are never here. Who sends is in the engine's `audit_log/sinks.rs`.

use domain::audit::log_sink::LogSink;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;

/// A collector that rows of the audit log are sent to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SinkDto {
    pub id: u32,
    /// The whole address that log records are posted to.
    pub url: String,
    /// Names of its headers; their values are kept with the secrets.
    pub headers: Vec<String>,
    /// The row that is sent next.
    pub next: u64,
    /// Rows that it did not take yet.
    pub waiting: u64,
    /// When it took rows last; null when it did not yet.
    pub taken: Option<String>,
    /// Why rows wait, as the second half of a sentence about the collector; null while it takes them.
    pub trouble: Option<String>,
    /// When the first of these attempts failed, with no success since; null while it takes rows.
    pub since: Option<String>,
    /// Whether nothing is sent until a person resumes it.
    pub paused: bool,
    /// Rows that retention removed before they were sent.
    pub skipped: u64,
    /// Rows that it rejected, although it took the rest: they are not there, and are not sent again.
    pub rejected: u64,
    /// When it rejected the first of these; null when it rejected none, or when that is not known.
    pub rejected_since: Option<String>,
}

fn count(many: u64, noun: &str) -> String {
    if many == 1 { format!("1 {noun}") } else { format!("{many} {noun}s") }
}

impl SinkDto {
    /// Of a log whose last row is this.
    pub(crate) fn of(sink: LogSink, last: u64) -> Self {
        let (waiting, paused) = (sink.waiting(last), sink.is_paused());
        let LogSink { id, url, headers, next_number, taken, failure, skipped, rejected, rejected_since } = sink;
        let since = failure.as_ref().map(|failure| iso(failure.since));
        let trouble = failure.map(|failure| failure.why);
        let taken = taken.map(iso);
        Self {
            id,
            url,
            headers,
            next: next_number,
            waiting,
            taken,
            trouble,
            since,
            paused,
            skipped,
            rejected,
            rejected_since: rejected_since.map(iso),
        }
    }

    /// Whether it took every row so far: it rejected none, and retention removed none before it was sent.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.rejected == 0 && self.skipped == 0
    }

    /// Its number, its address, and how far rows came or why they wait.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { id, url, next, waiting, trouble, since, paused, .. } = self;
        let rows = count(*waiting, "row");
        let wait = if *waiting == 1 { "waits" } else { "wait" };
        let before = next.saturating_sub(1);
        let state = match (trouble, since) {
            (Some(why), Some(since)) if *paused => format!("{why}; paused since {since}, and {rows} {wait}"),
            (Some(why), Some(since)) => format!("{why}; {rows} {wait} since {since}"),
            // Rows that it rejected or that retention removed are not there, so it was only sent the others.
            _ if *waiting == 0 && self.is_complete() => format!("has every row up to {before}"),
            _ if *waiting == 0 => format!("was sent rows up to {before}"),
            _ if self.taken.is_none() => format!("got nothing yet; {rows} {wait}"),
            _ if !self.is_complete() => format!("was sent rows up to {before}; {rows} {wait}"),
            _ => format!("has rows up to {before}; {rows} {wait}"),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            1 => "; 1 row was removed by retention before it was sent".to_owned(),
            many => format!("; {many} rows were removed by retention before they were sent"),
        };
        let since = self.rejected_since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
        let rejected = match self.rejected {
            0 => String::new(),
            1 => format!("; it rejected 1 row{since}, which is not there and is not sent again"),
            many => format!("; it rejected {many} rows{since}, which are not there and are not sent again"),
        };
        format!("{id}  `{url}` {state}{skipped}{rejected}")
    }
}

/// All sinks by number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SinkList {
    pub sinks: Vec<SinkDto>,
}

#[cfg(test)]
mod tests {
    use domain::audit::log_sink::SinkFailure;
    use domain::time::Timestamp;

    use super::*;

    #[test]
    fn the_sentence_says_how_far_rows_came_and_why_they_wait() {
        let url = "https://collector.example/v1/logs";
        let mut sink = LogSink::new(1, url.into(), Vec::new(), 5);
        let said = |sink: &LogSink, last| SinkDto::of(sink.clone(), last).sentence();
        assert_eq!(said(&sink, 5), format!("1  `{url}` got nothing yet; 1 row waits"));
        sink.taken = Some(Timestamp::EPOCH);
        assert_eq!(said(&sink, 4), format!("1  `{url}` has every row up to 4"));
        assert_eq!(said(&sink, 7), format!("1  `{url}` has rows up to 4; 3 rows wait"));
        (sink.rejected, sink.rejected_since) = (3, Some(Timestamp::EPOCH));
        let rejected = "it rejected 3 rows since 1970-01-01T00:00:00.000Z, which are not there and are not sent again";
        assert_eq!(said(&sink, 4), format!("1  `{url}` was sent rows up to 4; {rejected}"), "it has not every row");
        assert_eq!(said(&sink, 5), format!("1  `{url}` was sent rows up to 4; 1 row waits; {rejected}"));
        (sink.skipped, sink.rejected, sink.rejected_since) = (2, 1, None);
        let failure = SinkFailure { why: "answered 401".into(), since: Timestamp::EPOCH, is_paused: true };
        sink.failure = Some(failure);
        assert_eq!(
            said(&sink, 7),
            format!(
                "1  `{url}` answered 401; paused since 1970-01-01T00:00:00.000Z, and 3 rows wait; 2 rows were removed by \
                 retention before they were sent; it rejected 1 row, which is not there and is not sent again"
            )
        );
    }
}
