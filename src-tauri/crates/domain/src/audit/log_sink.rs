//! Sinks of the audit log: collectors that get every row as an OpenTelemetry log record, ended tasks as spans, or both.
//!
//! A sink says where these go and how far they came; values of its headers are secrets and never here. Who sends is the
//! engine (`tasks/audit_log/sinks.rs`), what a record and a span look like is in `docs/audit.md`.

use std::collections::BTreeMap;

use crate::time::Timestamp;

/// What a sink sends. A signal of OTLP: each has a path of its own on the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SinkSignal {
    /// Each row as a log record.
    Logs,
    /// Each task that ended as a span.
    Traces,
}

impl SinkSignal {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Logs, Self::Traces];

    /// The word for JSON, commands and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Traces => "traces",
        }
    }

    /// Reads [`SinkSignal::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.word() == word)
    }

    /// Its path on a collector. OTLP specification, section OTLP/HTTP Request.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Logs => "/v1/logs",
            Self::Traces => "/v1/traces",
        }
    }
}

/// A collector that a person named, and how far each of its signals has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSink {
    /// What people call it by.
    pub id: u32,
    /// The address in front of the paths of the signals; without a user name, a password, a query and a slash at its end.
    pub url: String,
    /// Names of the headers whose values are kept with the secrets.
    pub headers: Vec<String>,
    /// What it gets, and how far that came; never empty.
    pub signals: BTreeMap<SinkSignal, SinkProgress>,
}

/// How far one signal of a sink came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkProgress {
    /// The row that is sent next; of traces, the row from which on tasks that ended are sent. Moves only after the
    /// collector took what is before it.
    pub next_number: u64,
    /// When the collector took anything last.
    pub taken: Option<Timestamp>,
    /// Why rows wait; `None` while they are taken.
    pub failure: Option<SinkFailure>,
    /// Rows that retention removed before they were sent.
    pub skipped: u64,
    /// Records or spans that the collector reported as rejected, although it took the rest.
    pub rejected: u64,
    /// When it rejected the first of these; `None` when it rejected none, or when that is not known.
    pub rejected_since: Option<Timestamp>,
}

/// Why a sink does not get what it should.
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
    /// A sink whose signals begin with this row.
    #[must_use]
    pub fn new(id: u32, url: String, headers: Vec<String>, signals: &[SinkSignal], next_number: u64) -> Self {
        let signals = signals.iter().map(|signal| (*signal, SinkProgress::new(next_number))).collect();
        Self { id, url, headers, signals }
    }

    /// The whole address that requests of this signal are posted to.
    #[must_use]
    pub fn address(&self, signal: SinkSignal) -> String {
        format!("{}{}", self.url, signal.path())
    }
}

impl SinkProgress {
    /// Nothing was sent yet, and this row is the first.
    #[must_use]
    pub const fn new(next_number: u64) -> Self {
        Self { next_number, taken: None, failure: None, skipped: 0, rejected: 0, rejected_since: None }
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
    /// This sink sends the same there.
    #[error("`url`: sink {id} sends {} to this address already", .signal.word())]
    SameAddress {
        /// The sink that is there.
        id: u32,
        /// What both would send.
        signal: SinkSignal,
    },
    /// It would send nothing.
    #[error("`signals`: none is given")]
    NoSignals,
    /// There are as many as may be.
    #[error("there are {most} sinks already, as many as may be")]
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
        let progress = SinkProgress::new(5);
        assert_eq!([3, 4, 5, 9].map(|last| progress.waiting(last)), [0, 0, 1, 5]);
    }

    #[test]
    fn each_signal_has_an_address_of_its_own() {
        let sink = LogSink::new(1, "https://collector.example/otlp".into(), Vec::new(), &SinkSignal::ALL, 5);
        let addresses = SinkSignal::ALL.map(|signal| sink.address(signal));
        let expected =
            ["https://collector.example/otlp/v1/logs", "https://collector.example/otlp/v1/traces"].map(String::from);
        assert_eq!(addresses, expected);
        assert!(SinkSignal::ALL.into_iter().all(|signal| SinkSignal::from_word(signal.word()) == Some(signal)));
    }
}
