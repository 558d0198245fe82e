//! Sinks of the audit log in JSON: where rows and ended tasks are sent to, how far each signal came, and why it waits.
//!
//! Values of headers are never here. Who sends is in the engine's `audit_log/sinks.rs`.

use domain::audit::log_sink::{LogSink, SinkProgress, SinkSignal};
use domain::tokens::grouped;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;

/// What a sink sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SignalDto {
    /// Each row as a log record.
    Logs,
    /// Each task that ended as a span.
    Traces,
}

impl SignalDto {
    pub(crate) const fn of(signal: SinkSignal) -> Self {
        match signal {
            SinkSignal::Logs => Self::Logs,
            SinkSignal::Traces => Self::Traces,
        }
    }

    pub(crate) const fn signal(self) -> SinkSignal {
        match self {
            Self::Logs => SinkSignal::Logs,
            Self::Traces => SinkSignal::Traces,
        }
    }
}

/// A collector, and what it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SinkDto {
    pub id: u32,
    /// Its address, in front of the paths of the signals.
    pub url: String,
    /// Names of its headers; their values are kept with the secrets.
    pub headers: Vec<String>,
    /// What it is sent; never empty.
    pub signals: Vec<SinkSignalDto>,
}

/// How far one signal of a sink came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SinkSignalDto {
    pub signal: SignalDto,
    /// The whole address that its requests are posted to.
    pub url: String,
    /// The row that is sent next; of traces, the row from which on tasks that ended are sent.
    pub next: u64,
    /// Rows that it did not take yet; of traces, rows in which tasks may have ended.
    pub waiting: u64,
    /// When it took anything last; null when it did not yet.
    pub taken: Option<String>,
    /// Why rows wait, as the second half of a sentence about the collector; null while it takes them.
    pub trouble: Option<String>,
    /// When the first of these attempts failed, with no success since; null while it takes rows.
    pub since: Option<String>,
    /// Whether nothing is sent until a person resumes the sink.
    pub paused: bool,
    /// Rows that retention removed before they were sent.
    pub skipped: u64,
    /// Rows, or tasks, that it rejected, although it took the rest: they are not there, and are not sent again.
    pub rejected: u64,
    /// When it rejected the first of these; null when it rejected none, or when that is not known.
    pub rejected_since: Option<String>,
}

fn count(many: u64, noun: &str) -> String {
    if many == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(many)) }
}

impl SinkDto {
    /// Of a log whose last row is this.
    pub(crate) fn of(sink: &LogSink, last: u64) -> Self {
        let signals = sink
            .signals
            .iter()
            .map(|(signal, progress)| SinkSignalDto::of(sink.address(*signal), *signal, progress, last));
        Self { id: sink.id, url: sink.url.clone(), headers: sink.headers.clone(), signals: signals.collect() }
    }

    /// For each signal the number of the sink, the address, and how far it came or why it waits.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.signals.iter().map(|signal| format!("{}  {}", self.id, signal.sentence())).collect()
    }

    /// Whether a signal waits for a person.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.signals.iter().any(|signal| signal.paused)
    }
}

impl SinkSignalDto {
    fn of(url: String, signal: SinkSignal, progress: &SinkProgress, last: u64) -> Self {
        let failure = progress.failure.as_ref();
        Self {
            signal: SignalDto::of(signal),
            url,
            next: progress.next_number,
            waiting: progress.waiting(last),
            taken: progress.taken.map(iso),
            trouble: failure.map(|failure| failure.why.clone()),
            since: failure.map(|failure| iso(failure.since)),
            paused: progress.is_paused(),
            skipped: progress.skipped,
            rejected: progress.rejected,
            rejected_since: progress.rejected_since.map(iso),
        }
    }

    /// Whether it took everything so far: it rejected nothing, and retention removed nothing before it was sent.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.rejected == 0 && self.skipped == 0
    }

    /// Its address, and how far it came or why it waits.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { url, next, waiting, trouble, since, paused, .. } = self;
        let rows = count(*waiting, "row");
        let wait = if *waiting == 1 { "waits" } else { "wait" };
        let before = next.saturating_sub(1);
        let (all, some, noun) = match self.signal {
            SignalDto::Logs => ("every row up to", "rows up to", "row"),
            SignalDto::Traces => ("every task that ended up to row", "tasks that ended up to row", "task"),
        };
        let state = match (trouble, since) {
            (Some(why), Some(since)) if *paused => format!("{why}; paused since {since}, and {rows} {wait}"),
            (Some(why), Some(since)) => format!("{why}; {rows} {wait} since {since}"),
            // What it rejected or retention removed is not there, so it was only sent the rest.
            _ if *waiting == 0 && self.is_complete() => format!("has {all} {before}"),
            _ if *waiting == 0 => format!("was sent {some} {before}"),
            _ if self.taken.is_none() => format!("got nothing yet; {rows} {wait}"),
            _ if !self.is_complete() => format!("was sent {some} {before}; {rows} {wait}"),
            _ => format!("has {some} {before}; {rows} {wait}"),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            1 => "; 1 row was removed by retention before it was sent".to_owned(),
            many => format!("; {many} rows were removed by retention before they were sent"),
        };
        let since = self.rejected_since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
        let rejected = match self.rejected {
            0 => String::new(),
            1 => format!("; it rejected 1 {noun}{since}, which is not there and is not sent again"),
            many => format!("; it rejected {many} {noun}s{since}, which are not there and are not sent again"),
        };
        format!("`{url}` {state}{skipped}{rejected}")
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
        let mut progress = SinkProgress::new(5);
        let said =
            |progress: &SinkProgress, last| SinkSignalDto::of(url.into(), SinkSignal::Logs, progress, last).sentence();
        assert_eq!(said(&progress, 5), format!("`{url}` got nothing yet; 1 row waits"));
        progress.taken = Some(Timestamp::EPOCH);
        assert_eq!(said(&progress, 4), format!("`{url}` has every row up to 4"));
        assert_eq!(said(&progress, 7), format!("`{url}` has rows up to 4; 3 rows wait"));
        (progress.rejected, progress.rejected_since) = (3, Some(Timestamp::EPOCH));
        let rejected = "it rejected 3 rows since 1970-01-01T00:00:00.000Z, which are not there and are not sent again";
        assert_eq!(said(&progress, 4), format!("`{url}` was sent rows up to 4; {rejected}"), "it has not every row");
        assert_eq!(said(&progress, 5), format!("`{url}` was sent rows up to 4; 1 row waits; {rejected}"));
        (progress.skipped, progress.rejected, progress.rejected_since) = (2, 1, None);
        let failure = SinkFailure { why: "answered 401".into(), since: Timestamp::EPOCH, is_paused: true };
        progress.failure = Some(failure);
        assert_eq!(
            said(&progress, 7),
            format!(
                "`{url}` answered 401; paused since 1970-01-01T00:00:00.000Z, and 3 rows wait; 2 rows were removed by \
                 retention before they were sent; it rejected 1 row, which is not there and is not sent again"
            )
        );
    }

    #[test]
    fn each_signal_of_a_sink_has_a_sentence_of_its_own() {
        let mut sink = LogSink::new(2, "https://collector.example".into(), Vec::new(), &SinkSignal::ALL, 5);
        if let Some(traces) = sink.signals.get_mut(&SinkSignal::Traces) {
            (traces.next_number, traces.taken) = (8, Some(Timestamp::EPOCH));
        }
        let said = |sink: &LogSink| SinkDto::of(sink, 7).sentences();
        assert_eq!(
            said(&sink),
            [
                "2  `https://collector.example/v1/logs` got nothing yet; 3 rows wait",
                "2  `https://collector.example/v1/traces` has every task that ended up to row 7",
            ]
        );
        if let Some(traces) = sink.signals.get_mut(&SinkSignal::Traces) {
            traces.rejected = 1;
        }
        let rejected = "was sent tasks that ended up to row 7; it rejected 1 task, which is not there";
        assert!(said(&sink).iter().any(|sentence| sentence.contains(rejected)), "{:?}", said(&sink));
    }
}
