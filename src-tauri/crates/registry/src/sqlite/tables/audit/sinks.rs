//! Collectors that rows of the audit log are sent to, one row each, and one row for each of their signals.
//!
//! Values of headers are never here. Nothing is sent or decided here.

use std::collections::BTreeMap;

use domain::audit::AuditEvent;
use domain::audit::log_sink::{LogSink, SinkFailure, SinkProgress, SinkSignal};
use domain::ports::{RegistryError, SinkNote};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{StoreContext, unsigned, whole};

/// Sinks by id, a row for each of their signals, with the columns that [`read_all`] takes. People add a few; the limit only
/// keeps a damaged file from filling the memory.
pub(crate) const ALL: &str = "SELECT id, url, headers, signal, next_number, taken, failure, failing_since, paused, \
     skipped, rejected, rejected_since FROM otlp_sinks JOIN otlp_progress ON sink = id ORDER BY id, signal LIMIT 1000";

/// A change of a sink, ready to write.
#[derive(Debug)]
pub(crate) enum SinkWrite {
    Put(Box<SinkRow>, Vec<AuditEvent>),
    Remove(u32, Vec<AuditEvent>),
    /// How far a signal came, and what went wrong.
    Note(Box<SinkNote>),
}

/// A sink as its columns.
#[derive(Debug)]
pub(crate) struct SinkRow {
    sink: LogSink,
    /// As the JSON array of the column.
    headers: String,
}

impl SinkRow {
    pub(crate) fn of(sink: LogSink) -> Result<Box<Self>, RegistryError> {
        let unwritable = |error: serde_json::Error| RegistryError::Other {
            operation: "store a sink of the audit log",
            why: error.to_string(),
        };
        let headers = serde_json::to_string(&sink.headers).map_err(unwritable)?;
        Ok(Box::new(Self { sink, headers }))
    }
}

impl SinkWrite {
    /// The audit rows of this change.
    pub(crate) fn audit(&self) -> &[AuditEvent] {
        match self {
            Self::Put(_, audit) | Self::Remove(_, audit) => audit,
            Self::Note(_) => &[],
        }
    }

    /// Which statements it is written with.
    pub(crate) const fn shape(&self) -> u8 {
        match self {
            Self::Put(..) => 29,
            Self::Remove(..) => 30,
            Self::Note(_) => 31,
        }
    }

    /// How many signals it writes.
    pub(crate) fn signals(&self) -> usize {
        match self {
            Self::Put(row, _) => row.sink.signals.len(),
            Self::Remove(..) | Self::Note(_) => 0,
        }
    }

    /// Whether it ends something.
    pub(crate) const fn is_removal(&self) -> bool {
        matches!(self, Self::Remove(..))
    }

    /// Adds its statements.
    pub(crate) fn write(&self, batch: &mut StatementBatch) {
        match self {
            Self::Put(row, _) => {
                let LogSink { id, url, signals, .. } = &row.sink;
                batch
                    .add("INSERT OR REPLACE INTO otlp_sinks (id, url, headers) VALUES (?, ?, ?)")
                    .with(*id)
                    .with(url.clone())
                    .with(row.headers.clone());
                batch.add("DELETE FROM otlp_progress WHERE sink = ?").with(*id);
                for (signal, progress) in signals {
                    batch.add(
                        "INSERT INTO otlp_progress (next_number, taken, failure, failing_since, paused, skipped, \
                         rejected, rejected_since, sink, signal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    );
                    bind(batch, *id, *signal, progress);
                }
            }
            Self::Remove(id, _) => {
                batch.add("DELETE FROM otlp_sinks WHERE id = ?").with(*id);
                batch.add("DELETE FROM otlp_progress WHERE sink = ?").with(*id);
            }
            Self::Note(note) => {
                batch.add(
                    "UPDATE otlp_progress SET next_number = ?, taken = ?, failure = ?, failing_since = ?, paused = ?, \
                     skipped = ?, rejected = ?, rejected_since = ? WHERE sink = ? AND signal = ?",
                );
                bind(batch, note.sink, note.signal, &note.progress);
            }
        }
    }
}

/// The values from `next_number` to `rejected_since`, then those of the key.
fn bind(batch: &mut StatementBatch, sink: u32, signal: SinkSignal, progress: &SinkProgress) {
    let failure = progress.failure.as_ref();
    batch
        .with(whole(progress.next_number))
        .with(progress.taken.map(Timestamp::as_millis))
        .with(failure.map(|failure| failure.why.clone()))
        .with(failure.map(|failure| failure.since.as_millis()))
        .with(progress.is_paused())
        .with(whole(progress.skipped))
        .with(whole(progress.rejected))
        .with(progress.rejected_since.map(Timestamp::as_millis))
        .with(sink)
        .with(signal.word());
}

/// Sinks from the rows of [`ALL`].
pub(crate) fn read_all(base: &StoreContext, rows: &[SqliteRow]) -> Result<Vec<LogSink>, RegistryError> {
    let failed = || base.failed("read a sink of the audit log");
    let bad = |id: u32, column, why| {
        StoreContext::bad_row("read `otlp_sinks`", &id.to_string(), &DecodeError::new(column, why))
    };
    let mut sinks: BTreeMap<u32, LogSink> = BTreeMap::new();
    for row in rows {
        let id: u32 = row.try_get(0).map_err(failed())?;
        let headers: &str = row.try_get(2).map_err(failed())?;
        let headers = serde_json::from_str(headers).map_err(|_| bad(id, "headers", "is not a list"))?;
        let signal: &str = row.try_get(3).map_err(failed())?;
        let signal = SinkSignal::from_word(signal).ok_or_else(|| bad(id, "signal", "is not a known one"))?;
        let progress = read_progress(row).map_err(failed())?;
        let url = row.try_get(1).map_err(failed())?;
        let sink = sinks.entry(id).or_insert_with(|| LogSink { id, url, headers, signals: BTreeMap::new() });
        sink.signals.insert(signal, progress);
    }
    Ok(sinks.into_values().collect())
}

fn read_progress(row: &SqliteRow) -> Result<SinkProgress, sqlx::Error> {
    let moment = |at: Option<i64>| at.map(Timestamp::from_millis);
    let why: Option<String> = row.try_get(6)?;
    let since = moment(row.try_get(7)?).unwrap_or(Timestamp::EPOCH);
    let is_paused: bool = row.try_get(8)?;
    Ok(SinkProgress {
        next_number: unsigned(row.try_get(4)?),
        taken: moment(row.try_get(5)?),
        failure: why.map(|why| SinkFailure { why, since, is_paused }),
        skipped: unsigned(row.try_get(9)?),
        rejected: unsigned(row.try_get(10)?),
        rejected_since: moment(row.try_get(11)?),
    })
}
