//! Sinks of the audit log in memory.

use domain::audit::AuditEvent;
use domain::audit::log_sink::LogSink;
use domain::ports::{PortFuture, RegistryError, SinkStore, SinkUnit, StoredSinks};

use crate::memory_registry::MemoryRegistry;
use crate::memory_registry::checkpoints::ORIGIN;

impl SinkStore for MemoryRegistry {
    fn put_sink(&self, unit: SinkUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| {
            state.sinks.insert(unit.sink.id, unit.sink);
            state.facts(unit.audit);
        });
        Box::pin(async move { done })
    }

    fn remove_sink(&self, id: u32, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| {
            state.sinks.remove(&id);
            state.facts(audit);
        });
        Box::pin(async move { done })
    }

    fn note_sink(&self, sink: LogSink) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| {
            if let Some(stored) = state.sinks.get_mut(&sink.id) {
                // What people chose stays as it is.
                let (url, headers) = (stored.url.clone(), stored.headers.clone());
                *stored = LogSink { url, headers, ..sink };
            }
        });
        Box::pin(async move { done })
    }

    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>> {
        let found = self.with(|state, _| StoredSinks {
            sinks: state.sinks.values().cloned().collect(),
            origin: ORIGIN.into(),
            last: state.audit.last().map_or(0, |row| row.number),
        });
        Box::pin(async move { found })
    }
}
