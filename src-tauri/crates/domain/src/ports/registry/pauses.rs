//! The part of the registry that stores pauses of agents and servers.

use super::super::PortFuture;
use super::error::RegistryError;
use crate::audit::AuditEvent;
use crate::ids::Seq;
use crate::server::pause::Pause;

/// A pause that begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseUnit {
    pub pause: Pause,
    /// Pauses that are over and kept at most; the oldest go.
    pub kept: u32,
    pub audit: Vec<AuditEvent>,
}

/// Stores pauses, and reads them back.
pub trait PauseStore: Send + Sync {
    /// Stores a pause with its facts, as a change of the agent or server that it is about. At most one of each is in
    /// force.
    fn put_pause(&self, unit: PauseUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// All pauses that are in force, and those that are kept, the newest first.
    fn pauses(&self) -> PortFuture<'_, Result<Vec<Pause>, RegistryError>>;
}
