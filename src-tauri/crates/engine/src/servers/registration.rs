//! Servers that people add, change or remove while the engine runs.
//!
//! The configuration itself is stored by the api.

use domain::ids::ServerId;
use domain::task::status::GoneWhy;
use futures::stream::{self, StreamExt};

use crate::connections::kept_processes;
use crate::engine::Engine;
use crate::error::{EngineError, LedgerError};
use crate::servers::open_connection;

/// Handles of a removed server that are closed at a time, so that their commits share fsyncs.
const CLOSED_AT_ONCE: usize = 64;

impl Engine {
    /// The configuration of a server changed, or it is new: (re)connect when it has consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn server_changed(&self, id: ServerId) -> Result<(), EngineError> {
        let configured = self.core.registry.servers().await?;
        let server = configured.into_iter().find(|server| server.id == id).ok_or(EngineError::UnknownServer)?;
        if self.core.connections.shared(id).is_none() {
            open_connection::open_shared(&self.core, server);
        } else {
            self.core.connections.reconfigure(&server);
        }
        self.core.effects.commits.committed(self.core.registry.newest_seq().await?);
        Ok(())
    }

    /// A server was removed: disconnect; its open tasks are gone with that reason.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn server_removed(&self, id: ServerId) -> Result<(), EngineError> {
        for connection in self.core.connections.remove_server(id) {
            connection.leave.cancel();
            if let Some(live) = connection.live() {
                connection.set_live(None);
                live.upstream.close(false).await;
            } else {
                // It may be on the way to a process that a keeper holds.
                let why = "was not connected yet when its server was removed";
                kept_processes::end(&self.core, connection.key, why).await;
            }
        }
        let core = &self.core;
        let closed: Vec<_> = stream::iter(core.ledger.of_server(id))
            .map(|handle| async move {
                core.ledger.apply(handle.id, |handle, now| handle.gone(&GoneWhy::ServerRemoved, now)).await
            })
            .buffer_unordered(CLOSED_AT_ONCE)
            .collect()
            .await;
        for outcome in closed {
            if let Err(LedgerError::Registry(error)) = outcome {
                return Err(error.into());
            }
        }
        self.core.effects.commits.committed(self.core.registry.newest_seq().await?);
        self.core.effects.commits.health_changed(id);
        Ok(())
    }
}
