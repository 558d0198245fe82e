//! Sinks of the audit log in memory.

use domain::audit::AuditEvent;
use domain::ports::{PortFuture, RegistryError, SinkNote, SinkStore, SinkUnit, StoredSinks};

use crate::memory_registry::MemoryRegistry;

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

    fn note_sink(&self, note: SinkNote) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| {
            let SinkNote { sink, signal, progress } = note;
            let stored = state.sinks.get_mut(&sink).and_then(|stored| stored.signals.get_mut(&signal));
            // What people chose stays as it is.
            stored.into_iter().for_each(|stored| stored.clone_from(&progress));
        });
        Box::pin(async move { done })
    }

    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>> {
        let found = self.with(|state, _| StoredSinks {
            sinks: state.sinks.values().cloned().collect(),
            origin: state.signed.origin(),
            last: state.audit.last().map_or(0, |row| row.number),
        });
        Box::pin(async move { found })
    }
}
