//! The port to collectors of the audit log: sends log records and spans over OTLP/HTTP, with headers that nobody else
//! reads.
//!
//! What these say is the engine's (`log_records.rs` and `task_spans.rs` in `tasks/audit_log`), and so is when one is sent.

use std::time::Duration;

use crate::audit::log_sink::{CollectorHeaderError, LogSink, SinkSignal};
use crate::ports::{PortFuture, Secret};

/// Sends to collectors. Keeps the values of their headers with the other secrets.
pub trait LogCollectors: Send + Sync + 'static {
    /// Sends one request: an `ExportLogsServiceRequest` or `ExportTraceServiceRequest` in the JSON encoding of OTLP. Ends
    /// by itself after a while. Dropped early, the collector may have taken it.
    fn send(&self, sink: &LogSink, signal: SinkSignal, request: String) -> PortFuture<'_, CollectorReply>;
    /// Stores the values of headers of a sink, in place of earlier ones of these names.
    ///
    /// # Errors
    /// When a header cannot be sent or its value cannot be stored; then none is stored.
    fn keep_headers(&self, sink: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError>;
    /// Forgets headers of a sink; forgetting what is not there is fine.
    fn forget_headers(&self, sink: u32, names: &[String]);
}

/// What became of a request. Reasons are the second half of a sentence about the collector, without any text of its answer:
/// it can repeat the values of headers, whole or in parts, in any encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectorReply {
    /// It took the records or spans, except so many that it rejected for good.
    Taken {
        /// Those that it rejected, by its own count.
        rejected: u64,
    },
    /// It cannot be reached or cannot take anything now; the same request may succeed later.
    Later {
        why: String,
        /// How long it asks to be left alone.
        wait: Option<Duration>,
    },
    /// The request has more bytes than it takes.
    TooLarge { why: String },
    /// It refuses the request and will refuse it again, or what answered is no collector.
    Refused { why: String },
}
