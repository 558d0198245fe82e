//! Kill points around the routes of agent programs.

use domain::ports::{PortFuture, RegistryError, RouteStore, RouteUnit};
use domain::server::route::ClientRoute;

use super::registry::KillPointRegistry;

impl RouteStore for KillPointRegistry {
    fn put_route(&self, unit: RouteUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.put_route", move || self.inner.put_route(unit)))
    }

    fn open_routes(&self) -> PortFuture<'_, Result<Vec<ClientRoute>, RegistryError>> {
        self.inner.open_routes()
    }
}
