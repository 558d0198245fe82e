//! Kill points around sinks of the audit log.

use domain::audit::AuditEvent;
use domain::ports::{PortFuture, RegistryError, SinkNote, SinkStore, SinkUnit, StoredSinks};

use super::registry::KillPointRegistry;

impl SinkStore for KillPointRegistry {
    fn put_sink(&self, unit: SinkUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.put_sink", move || self.inner.put_sink(unit)))
    }

    fn remove_sink(&self, id: u32, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.remove_sink", move || self.inner.remove_sink(id, audit)))
    }

    fn note_sink(&self, note: SinkNote) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.note_sink", move || self.inner.note_sink(note)))
    }

    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>> {
        self.inner.sinks()
    }
}
