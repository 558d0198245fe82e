//! The part of the registry that stores routes of agent programs.

use crate::audit::AuditEvent;
use crate::ports::{PortFuture, RegistryError};
use crate::server::route::ClientRoute;

/// A route that is planned, applied or taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteUnit {
    pub route: ClientRoute,
    pub audit: Vec<AuditEvent>,
}

/// Stores what was routed, and reads back what is not undone.
pub trait RouteStore: Send + Sync {
    /// Stores a route with its facts. Not a change of the change log: no task, server or agent changes.
    fn put_route(&self, unit: RouteUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Routes that are not undone, the newest first.
    fn open_routes(&self) -> PortFuture<'_, Result<Vec<ClientRoute>, RegistryError>>;
}
