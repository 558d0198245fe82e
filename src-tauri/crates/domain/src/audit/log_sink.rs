//! Sinks of the audit log: collectors that get every row as an OpenTelemetry log record.
//!
//! A sink says where rows go and how far they came; values of its headers are secrets and never here. Who sends is the
//! engine (`tasks/audit_log/sinks.rs`), what a record looks like is in `docs/audit.md`.

use crate::time::Timestamp;

/// A collector that a person named, and how far rows have come to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSink {
    /// What people call it by.
    pub id: u32,
    /// The whole address that log records are posted to; without a user name, a password and a query.
    pub url: String,
    /// Names of the headers whose values are kept with the secrets.
    pub headers: Vec<String>,
    /// The row that is sent next. Moves only after the collector took the rows before it.
    pub next_number: u64,
    /// When the collector took rows last.
    pub taken: Option<Timestamp>,
    /// Why rows wait; `None` while they are taken.
    pub failure: Option<SinkFailure>,
    /// Rows that retention removed before they were sent.
    pub skipped: u64,
    /// Records that the collector reported as rejected, although it took the rest.
    pub rejected: u64,
    /// When it rejected the first of these; `None` when it rejected none, or when that is not known.
    pub rejected_since: Option<Timestamp>,
}

/// Why a sink does not get rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkFailure {
    /// The second half of a sentence about the collector, in our own words.
    pub why: String,
    /// When the first of these attempts failed, with no success since.
    pub since: Timestamp,
    /// Whether nothing is sent until a person resumes it.
    pub is_paused: bool,
}

impl LogSink {
    /// A sink that begins with this row.
    #[must_use]
    pub const fn new(id: u32, url: String, headers: Vec<String>, next_number: u64) -> Self {
        Self {
            id,
            url,
            headers,
            next_number,
            taken: None,
            failure: None,
            skipped: 0,
            rejected: 0,
            rejected_since: None,
        }
    }

    /// Whether nothing is sent until a person resumes it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_paused)
    }

    /// How many rows up to row `last` were not taken yet.
    #[must_use]
    pub const fn waiting(&self, last: u64) -> u64 {
        (last + 1).saturating_sub(self.next_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_from_the_next_one_to_the_last() {
        let sink = LogSink::new(1, "https://collector.example/v1/logs".into(), Vec::new(), 5);
        assert_eq!([3, 4, 5, 9].map(|last| sink.waiting(last)), [0, 0, 1, 5]);
    }
}
