//! Routes of agent programs in memory.

use domain::ports::{PortFuture, RegistryError, RouteStore, RouteUnit};
use domain::server::route::ClientRoute;

use super::MemoryRegistry;

impl RouteStore for MemoryRegistry {
    fn put_route(&self, unit: RouteUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        let done = self.with(|state, _| {
            let RouteUnit { route, audit } = unit;
            state.routes.insert(route.id, route);
            state.facts(audit);
        });
        Box::pin(async move { done })
    }

    fn open_routes(&self) -> PortFuture<'_, Result<Vec<ClientRoute>, RegistryError>> {
        let found = self.with(|state, _| {
            let mut open: Vec<ClientRoute> = state.routes.values().filter(|route| route.is_open()).cloned().collect();
            open.sort_by_key(|route| std::cmp::Reverse((route.at, route.id)));
            open
        });
        Box::pin(async move { found })
    }
}
