//! The part of the registry that stores sinks of the audit log, and how far each of their signals came.

use crate::audit::AuditEvent;
use crate::audit::log_sink::{LogSink, SinkProgress, SinkSignal};
use crate::ports::{PortFuture, RegistryError};

/// A sink that a person adds or resumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkUnit {
    pub sink: LogSink,
    pub audit: Vec<AuditEvent>,
}

/// How far one signal of a sink came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkNote {
    pub sink: u32,
    pub signal: SinkSignal,
    pub progress: SinkProgress,
}

/// All sinks, with what their rows are counted against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSinks {
    /// The one with the lowest id first.
    pub sinks: Vec<LogSink>,
    /// The name of the log, `taskwarden/LOG_ID`.
    pub origin: String,
    /// The last row that was written; 0 without rows.
    pub last: u64,
}

/// Stores sinks of the audit log.
pub trait SinkStore: Send + Sync {
    /// Adds a sink or replaces the one with its id, with the facts. Not a change of the change log.
    fn put_sink(&self, unit: SinkUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Forgets a sink, with the facts.
    fn remove_sink(&self, id: u32, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Stores how far a signal came, and what went wrong; a sink that was removed meanwhile stays removed.
    fn note_sink(&self, note: SinkNote) -> PortFuture<'_, Result<(), RegistryError>>;
    /// All sinks, as of one moment with the last row.
    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>>;
}
