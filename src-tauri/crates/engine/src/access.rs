//! Which agents have access (`snapshot.rs`), which are connected (`presence.rs`) and through which sessions
//! (`sessions.rs`), and their tokens (`token.rs`). Control tokens are in `control.rs`.
//!
//! Taking access away is `decisions/revoke.rs`.

pub(crate) mod control;
pub(crate) mod halt_gate;
pub(crate) mod pause_gate;
pub(crate) mod presence;
pub(crate) mod sessions;
pub(crate) mod snapshot;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::ports::{Registry, RegistryError};
use domain::rule::ResolvedRule;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::access::presence::PresenceTable;
use crate::access::snapshot::AccessSnapshot;
use crate::engine::Engine;
use crate::error::EngineError;

/// Which agents have access, and which are connected.
pub(crate) struct Access {
    snapshot: RwLock<Arc<AccessSnapshot>>,
    /// Notified when the snapshot was replaced.
    changed: watch::Sender<()>,
    /// Why people revoked agents in this run, in their words.
    pub(crate) revocations: Mutex<HashMap<AgentId, Arc<str>>>,
    pub(crate) presences: PresenceTable,
}

impl Access {
    pub(crate) async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        Ok(Self {
            snapshot: RwLock::new(Arc::new(AccessSnapshot::read(registry).await?)),
            changed: watch::Sender::new(()),
            revocations: Mutex::default(),
            presences: PresenceTable::default(),
        })
    }

    /// Agents and rules of this moment.
    pub(crate) fn snapshot(&self) -> Arc<AccessSnapshot> {
        Arc::clone(&self.snapshot.read())
    }

    /// What holds for a call at this moment.
    pub(crate) fn resolve(&self, agent: AgentId, server: ServerId, tool: &str) -> ResolvedRule {
        self.snapshot.read().resolve(agent, server, tool)
    }

    /// Whether this agent has access at this moment.
    pub(crate) fn has_access(&self, agent: AgentId) -> bool {
        self.snapshot.read().has_access(agent)
    }

    /// Reads agents and rules again.
    pub(crate) async fn refresh(&self, registry: &dyn Registry) -> Result<(), RegistryError> {
        let snapshot = AccessSnapshot::read(registry).await?;
        *self.snapshot.write() = Arc::new(snapshot);
        self.changed.send_replace(());
        Ok(())
    }
}

impl Engine {
    /// Agents and rules of this moment.
    #[must_use]
    pub fn agents(&self) -> Arc<AccessSnapshot> {
        self.core.access.snapshot()
    }

    /// Notified whenever [`Engine::agents`] was read again: a level, so read after each.
    #[must_use]
    pub fn agents_watch(&self) -> watch::Receiver<()> {
        self.core.access.changed.subscribe()
    }

    /// Agents or rules were changed in the registry: reads them again.
    ///
    /// # Errors
    /// When the registry cannot be read; then the earlier ones hold.
    pub async fn agents_changed(&self) -> Result<(), EngineError> {
        self.core.refresh_access().await
    }

    /// Why a person revoked this agent, in that person's words; `None` without a reason, or when it was in an earlier run
    /// of the core.
    #[must_use]
    pub fn revocation_reason(&self, id: AgentId) -> Option<Arc<str>> {
        self.core.access.revocations.lock().get(&id).cloned()
    }
}
