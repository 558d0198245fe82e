//! Calls of agents that may be on their way, written ahead of them (ruling 21).
//!
//! An intent survives the death of the process but not of the machine: it is written without waiting and overlaps the
//! call. What is left over after a crash becomes an *unconfirmed* task; nothing is ever sent again because of it. The
//! durable record of tasks is the `Registry`.

use std::sync::Arc;

use super::PortFuture;
use super::registry_error::RegistryError;
use crate::ids::{AgentId, HandleId, HostId, ServerId};
use crate::time::Timestamp;

/// One call that may be on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The handle it gets, should it ever need one.
    pub id: HandleId,
    /// Where it goes.
    pub server: ServerId,
    /// On whose own connection.
    pub seat: Option<AgentId>,
    /// Whose it is.
    pub agent: AgentId,
    /// The tool.
    pub tool: Arc<str>,
    /// Hex SHA-256 of its canonical arguments.
    pub arguments_digest: Arc<str>,
    /// When it began.
    pub at: Timestamp,
    /// In which run of the core.
    pub host: HostId,
}

/// Where intents are written.
pub trait Intents: Send + Sync + 'static {
    /// A call begins. Returns at once; it is on its way to the file before anything else of the same thread is.
    fn begin(&self, intent: Intent);
    /// Its reply is here, or its handle is in the registry. Returns at once.
    fn end(&self, id: HandleId);
    /// What earlier runs began and did not end.
    fn left_over(&self) -> PortFuture<'_, Result<Vec<Intent>, RegistryError>>;
    /// What was left over has handles in the registry now, and is forgotten.
    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Waits until everything begun and ended before is in the file.
    fn flushed(&self) -> PortFuture<'_, ()>;
}
