//! Kill points around pauses of agents and servers.

use domain::ids::Seq;
use domain::ports::{PauseStore, PauseUnit, PortFuture, RegistryError};
use domain::server::pause::Pause;

use super::registry::KillPointRegistry;

impl PauseStore for KillPointRegistry {
    fn put_pause(&self, unit: PauseUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(self.write("registry.put_pause", move || self.inner.put_pause(unit)))
    }

    fn pauses(&self) -> PortFuture<'_, Result<Vec<Pause>, RegistryError>> {
        self.inner.pauses()
    }
}
