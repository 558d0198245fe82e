//! All connections to servers, by key.
//!
//! Which connection a request takes is decided in `servers/open_connection.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::task::TaskHandle;
use parking_lot::RwLock;

use crate::connections::connection::ServerConnection;
use crate::connections::connection_key::ConnectionKey;

/// Every connection, open or not.
#[derive(Default)]
pub(crate) struct ConnectionPool(RwLock<HashMap<ConnectionKey, Arc<ServerConnection>>>);

impl ConnectionPool {
    pub(crate) fn get(&self, key: ConnectionKey) -> Option<Arc<ServerConnection>> {
        self.0.read().get(&key).cloned()
    }

    /// The connection that people and modern agents share; every server has one.
    pub(crate) fn shared(&self, server: ServerId) -> Option<Arc<ServerConnection>> {
        self.get(ConnectionKey::shared(server))
    }

    /// The connection on which a task lives.
    pub(crate) fn of(&self, handle: &TaskHandle) -> Option<Arc<ServerConnection>> {
        self.get(ConnectionKey::of(handle))
    }

    pub(crate) fn of_server(&self, server: ServerId) -> Vec<Arc<ServerConnection>> {
        self.0.read().values().filter(|connection| connection.server == server).cloned().collect()
    }

    /// Adds a connection, unless there is one with its key; returns the one that counts, and whether it is the new one.
    pub(crate) fn insert_if_new(&self, connection: Arc<ServerConnection>) -> (Arc<ServerConnection>, bool) {
        let mut connections = self.0.write();
        match connections.get(&connection.key) {
            Some(known) => (Arc::clone(known), false),
            None => {
                connections.insert(connection.key, Arc::clone(&connection));
                (connection, true)
            }
        }
    }

    /// Removes this connection, but not another one with its key.
    pub(crate) fn forget(&self, connection: &Arc<ServerConnection>) {
        let mut connections = self.0.write();
        if connections.get(&connection.key).is_some_and(|known| Arc::ptr_eq(known, connection)) {
            connections.remove(&connection.key);
        }
    }

    /// How many agents' own connections there are.
    pub(crate) fn agent_connections(&self) -> usize {
        self.0.read().keys().filter(|key| key.seat.is_some()).count()
    }

    pub(crate) fn of_agent(&self, agent: AgentId) -> usize {
        self.0.read().keys().filter(|key| key.seat == Some(agent)).count()
    }

    /// Removes all connections to a server.
    pub(crate) fn remove_server(&self, server: ServerId) -> Vec<Arc<ServerConnection>> {
        self.0.write().extract_if(|key, _| key.server == server).map(|(_, connection)| connection).collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.0.read().values().cloned().collect()
    }
}
