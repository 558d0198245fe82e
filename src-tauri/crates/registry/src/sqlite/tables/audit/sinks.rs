//! Collectors that rows of the audit log are sent to, one row each.
//!
//! Values of headers are never here. Nothing is sent or decided here.

use domain::audit::AuditEvent;
use domain::audit::log_sink::{LogSink, SinkFailure};
use domain::ports::RegistryError;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{StoreContext, unsigned, whole};

/// Sinks by id, with the columns that [`read`] takes. People add a few; the limit only keeps a damaged file from filling the
/// memory.
pub(crate) const ALL: &str = "SELECT id, url, headers, next_number, taken, failure, failing_since, paused, skipped, \
     rejected, rejected_since FROM otlp_sinks ORDER BY id LIMIT 1000";

/// A change of a sink, ready to write.
#[derive(Debug)]
pub(crate) enum SinkWrite {
    Put(Box<SinkRow>, Vec<AuditEvent>),
    Remove(u32, Vec<AuditEvent>),
    /// How far rows came, and what went wrong.
    Note(Box<SinkRow>),
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

    /// Whether it ends something.
    pub(crate) const fn is_removal(&self) -> bool {
        matches!(self, Self::Remove(..))
    }

    /// Adds its statements.
    pub(crate) fn write(&self, batch: &mut StatementBatch) {
        match self {
            Self::Put(row, _) => {
                let LogSink { id, url, .. } = &row.sink;
                batch
                    .add(
                        "INSERT OR REPLACE INTO otlp_sinks (id, url, headers, next_number, taken, failure, \
                         failing_since, paused, skipped, rejected, rejected_since) \
                         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    )
                    .with(*id)
                    .with(url.clone())
                    .with(row.headers.clone());
                bind_progress(batch, &row.sink);
            }
            Self::Remove(id, _) => batch.add("DELETE FROM otlp_sinks WHERE id = ?").add_value(*id),
            Self::Note(row) => {
                batch.add(
                    "UPDATE otlp_sinks SET next_number = ?, taken = ?, failure = ?, failing_since = ?, paused = ?, \
                     skipped = ?, rejected = ?, rejected_since = ? WHERE id = ?",
                );
                bind_progress(batch, &row.sink);
                batch.add_value(row.sink.id);
            }
        }
    }
}

/// The values from `next_number` to `rejected_since`.
fn bind_progress(batch: &mut StatementBatch, sink: &LogSink) {
    let failure = sink.failure.as_ref();
    batch
        .with(whole(sink.next_number))
        .with(sink.taken.map(Timestamp::as_millis))
        .with(failure.map(|failure| failure.why.clone()))
        .with(failure.map(|failure| failure.since.as_millis()))
        .with(sink.is_paused())
        .with(whole(sink.skipped))
        .with(whole(sink.rejected))
        .with(sink.rejected_since.map(Timestamp::as_millis));
}

pub(crate) fn read(base: &StoreContext, row: &SqliteRow) -> Result<LogSink, RegistryError> {
    let failed = || base.failed("read a sink of the audit log");
    let id: u32 = row.try_get(0).map_err(failed())?;
    let headers: &str = row.try_get(2).map_err(failed())?;
    let headers = serde_json::from_str(headers).map_err(|_| {
        StoreContext::bad_row("read `otlp_sinks`", &id.to_string(), &DecodeError::new("headers", "is not a list"))
    })?;
    let moment = |at: Option<i64>| at.map(Timestamp::from_millis);
    let why: Option<String> = row.try_get(5).map_err(failed())?;
    let since = moment(row.try_get(6).map_err(failed())?).unwrap_or(Timestamp::EPOCH);
    let is_paused: bool = row.try_get(7).map_err(failed())?;
    Ok(LogSink {
        id,
        url: row.try_get(1).map_err(failed())?,
        headers,
        next_number: unsigned(row.try_get(3).map_err(failed())?),
        taken: moment(row.try_get(4).map_err(failed())?),
        failure: why.map(|why| SinkFailure { why, since, is_paused }),
        skipped: unsigned(row.try_get(8).map_err(failed())?),
        rejected: unsigned(row.try_get(9).map_err(failed())?),
        rejected_since: moment(row.try_get(10).map_err(failed())?),
    })
}
