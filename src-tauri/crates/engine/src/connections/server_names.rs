//! The names of the followed servers at one moment, for finding a server by its name and the other way round.
//!
//! Never changed: the pool replaces it as a whole (`pool.rs`), because names are read by every request and change when a
//! person edits a server.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::ServerId;

/// All followed servers by name and by id.
#[derive(Debug, Default)]
pub(crate) struct ServerNameIndex {
    /// Sorted by name.
    sorted: Vec<(ServerId, Arc<str>)>,
    ids: HashMap<Arc<str>, ServerId>,
    names: HashMap<ServerId, Arc<str>>,
}

impl ServerNameIndex {
    pub(crate) fn new(servers: impl Iterator<Item = (ServerId, Arc<str>)>) -> Self {
        let mut sorted: Vec<_> = servers.collect();
        sorted.sort_by(|(id, name), (other_id, other_name)| (name, id).cmp(&(other_name, other_id)));
        let (mut ids, mut names) = (HashMap::new(), HashMap::new());
        for (id, name) in &sorted {
            ids.entry(Arc::clone(name)).or_insert(*id);
            names.insert(*id, Arc::clone(name));
        }
        Self { sorted, ids, names }
    }

    /// All servers, sorted by name.
    pub(crate) fn sorted(&self) -> &[(ServerId, Arc<str>)] {
        &self.sorted
    }

    /// The server with this name.
    pub(crate) fn id(&self, name: &str) -> Option<ServerId> {
        self.ids.get(name).copied()
    }

    /// The name of this server.
    pub(crate) fn name(&self, id: ServerId) -> Option<Arc<str>> {
        self.names.get(&id).cloned()
    }
}
