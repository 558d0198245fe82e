//! All connections to servers by key, and the names of the servers.
//!
//! Which connection a request takes is decided in `servers/open_connection.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::policy::Policy;
use domain::server::Server;
use domain::task::TaskHandle;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::connections::connection::ServerConnection;
use crate::connections::connection_key::ConnectionKey;
use crate::connections::observed::ObservedServer;
use crate::connections::server_names::ServerNameIndex;

/// Every connection, open or not.
#[derive(Default)]
pub(crate) struct ConnectionPool {
    connections: RwLock<HashMap<ConnectionKey, Arc<ServerConnection>>>,
    /// Replaced as a whole when a server is added, renamed or removed.
    names: RwLock<Arc<ServerNameIndex>>,
    /// Wakes whoever waits for another set of servers.
    pub(crate) servers_changed: watch::Sender<()>,
    /// What was seen of each server, over all its connections.
    observed: RwLock<HashMap<ServerId, Arc<ObservedServer>>>,
}

impl ConnectionPool {
    pub(crate) fn get(&self, key: ConnectionKey) -> Option<Arc<ServerConnection>> {
        self.connections.read().get(&key).cloned()
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
        self.connections.read().values().filter(|connection| connection.server == server).cloned().collect()
    }

    /// What was seen of a server, over all its connections.
    pub(crate) fn observed(&self, server: ServerId, policy: &Policy) -> Arc<ObservedServer> {
        let mut observed = self.observed.write();
        Arc::clone(observed.entry(server).or_insert_with(|| Arc::new(ObservedServer::new(policy))))
    }

    /// Adds a connection, unless there is one with its key; returns the one that counts, and whether it is the new one.
    pub(crate) fn insert_if_new(&self, connection: Arc<ServerConnection>) -> (Arc<ServerConnection>, bool) {
        {
            let mut connections = self.connections.write();
            if let Some(known) = connections.get(&connection.key) {
                return (Arc::clone(known), false);
            }
            connections.insert(connection.key, Arc::clone(&connection));
        }
        self.update_names();
        (connection, true)
    }

    /// Hands all connections to a server its new configuration.
    pub(crate) fn reconfigure(&self, server: &Server) {
        for connection in self.of_server(server.id) {
            connection.reconfigure(server.clone());
        }
        self.update_names();
    }

    /// The followed servers and their names.
    pub(crate) fn names(&self) -> Arc<ServerNameIndex> {
        Arc::clone(&self.names.read())
    }

    /// Reads the names again under the lock of the snapshot, so that the last change is never replaced by an earlier
    /// reading.
    fn update_names(&self) {
        let mut names = self.names.write();
        let connections = self.connections.read();
        let shared = connections.values().filter(|connection| connection.key.seat.is_none());
        *names = Arc::new(ServerNameIndex::new(shared.map(|connection| (connection.server, connection.name()))));
        self.servers_changed.send_replace(());
    }

    /// Calls in flight over all connections to a server.
    pub(crate) fn in_flight_count(&self, server: ServerId) -> usize {
        let connections = self.connections.read();
        let of_server = connections.values().filter(|connection| connection.server == server);
        of_server.map(|connection| connection.in_flight_count()).sum()
    }

    /// Removes this connection, but not another one with its key.
    pub(crate) fn forget(&self, connection: &Arc<ServerConnection>) {
        let mut connections = self.connections.write();
        if connections.get(&connection.key).is_some_and(|known| Arc::ptr_eq(known, connection)) {
            connections.remove(&connection.key);
        }
    }

    /// How many agents' own connections there are.
    pub(crate) fn agent_connections(&self) -> usize {
        self.connections.read().keys().filter(|key| key.seat.is_some()).count()
    }

    pub(crate) fn of_agent(&self, agent: AgentId) -> usize {
        self.connections.read().keys().filter(|key| key.seat == Some(agent)).count()
    }

    /// Removes all connections to a server.
    pub(crate) fn remove_server(&self, server: ServerId) -> Vec<Arc<ServerConnection>> {
        let removed: HashMap<_, _> = self.connections.write().extract_if(|key, _| key.server == server).collect();
        self.observed.write().remove(&server);
        self.update_names();
        removed.into_values().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.connections.read().values().cloned().collect()
    }
}
