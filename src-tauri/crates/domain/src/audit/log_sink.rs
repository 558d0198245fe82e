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

/// Why headers of a collector are not stored. Texts name the header, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorHeaderError {
    /// A request cannot have it: its name or its value, or because it is there twice.
    #[error("{0}")]
    Unusable(String),
    /// Its value cannot be stored.
    #[error("{0}")]
    NotStored(String),
}

/// Why a sink is not added, changed or found. Where the input is at fault, the text begins with its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkRefused {
    /// There is none with this number, or it was removed.
    #[error("`id`: there is no sink {0}")]
    Unknown(u32),
    /// This sink sends rows there.
    #[error("`url`: sink {0} sends rows to this address already")]
    SameAddress(u32),
    /// There are as many as may be.
    #[error("rows are sent to {most} sinks already, as many as may be")]
    TooMany {
        /// The most that may be.
        most: usize,
    },
    /// The first row to send is 0.
    #[error("`first`: rows are numbered from 1")]
    FirstIsZero,
    /// The first row to send lies beyond the log.
    #[error("`first`: row {first} is not written yet; the newest one is {last}")]
    NotWritten {
        /// The row that was asked for.
        first: u64,
        /// The newest row.
        last: u64,
    },
    /// A sink would have more headers than may be.
    #[error("`headers`: sink {id} would have more than {most}")]
    TooManyHeaders {
        /// The sink that would have them.
        id: u32,
        /// The most that may be.
        most: usize,
    },
    /// A header cannot be sent, or its value cannot be stored.
    #[error("`headers`: {0}")]
    Headers(#[from] CollectorHeaderError),
    /// The way to collectors is not there.
    #[error("this core sends no rows to collectors")]
    NoCollectors,
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
