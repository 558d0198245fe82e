//! Kill points around sinks of the audit log.

use domain::audit::AuditEvent;
use domain::audit::log_sink::LogSink;
use domain::ports::{PortFuture, RegistryError, SinkStore, SinkUnit, StoredSinks};

use super::registry::KillPointRegistry;

impl SinkStore for KillPointRegistry {
    fn put_sink(&self, unit: SinkUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.put_sink", self.inner.put_sink(unit)))
    }

    fn remove_sink(&self, id: u32, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.remove_sink", self.inner.remove_sink(id, audit)))
    }

    fn note_sink(&self, sink: LogSink) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.note_sink", self.inner.note_sink(sink)))
    }

    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>> {
        self.inner.sinks()
    }
}
