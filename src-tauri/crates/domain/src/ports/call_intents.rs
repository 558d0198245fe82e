//! Calls of agents that may be in flight, written before they are sent (ruling 21).
//!
//! A call intent survives the death of the process but not of the machine: it is written without waiting and overlaps
//! the call. What a crash leaves becomes an *unconfirmed* task; nothing is ever sent again because of it.

use std::sync::Arc;

use super::PortFuture;
use crate::ids::{AgentId, HandleId, HostId, ServerId};
use crate::ports::registry::error::RegistryError;
use crate::time::Timestamp;

/// One call that may be on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIntent {
    /// The handle it gets, should it ever need one.
    pub id: HandleId,
    /// Where it goes.
    pub server: ServerId,
    /// On whose own connection.
    pub seat: Option<AgentId>,
    /// Whose it is.
    pub agent: AgentId,
    pub tool: Arc<str>,
    /// Hex SHA-256 of its canonical arguments.
    pub arguments_digest: Arc<str>,
    /// When it began.
    pub at: Timestamp,
    /// In which run of the core.
    pub host: HostId,
}

/// Where intents are written.
pub trait CallIntents: Send + Sync + 'static {
    /// A call begins. Returns at once; it is on its way to the file before anything else of the same thread is.
    fn begin(&self, intent: CallIntent);
    /// Its reply is here, or its handle is in the registry. Returns at once.
    fn end(&self, id: HandleId);
    /// What earlier runs began and did not end.
    fn left_over(&self) -> PortFuture<'_, Result<Vec<CallIntent>, RegistryError>>;
    /// What was left over has handles in the registry now, and is forgotten.
    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Waits until everything begun and ended before is in the file.
    fn flushed(&self) -> PortFuture<'_, ()>;
}
