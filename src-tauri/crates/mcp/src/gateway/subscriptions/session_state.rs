//! Per-session state for the older eras: the log level, and the resources that the session subscribed to.
//!
//! An older server knows one connection for all sessions of an agent, so its subscribers are counted by agent and
//! resource, and the last one unsubscribes. Nothing outlives the session. Sending is `session_listener.rs`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::server::Session;

/// Levels of log messages, the least urgent first (C25/server/utilities/logging.mdx).
pub(super) const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[derive(Default)]
pub(crate) struct SessionStates {
    sessions: Mutex<HashMap<String, SessionState>>,
    subscribers: Mutex<HashMap<(AgentId, ServerId, String), usize>>,
}

#[derive(Default)]
struct SessionState {
    level: Option<String>,
    servers: HashMap<ServerId, watch::Sender<BTreeSet<String>>>,
}

impl SessionStates {
    /// The URIs that a listener to this server passes on; `None` when the session has a listener.
    pub(crate) fn add_server(&self, session: &Session, server: ServerId) -> Option<watch::Receiver<BTreeSet<String>>> {
        let mut sessions = self.sessions.lock();
        let state = sessions.entry(session.id().to_owned()).or_default();
        if state.servers.contains_key(&server) {
            return None;
        }
        let (subscribed, uris) = watch::channel(BTreeSet::new());
        state.servers.insert(server, subscribed);
        Some(uris)
    }

    /// The session subscribes to this resource, or unsubscribes.
    pub(crate) fn set_subscribed(&self, session: &Session, server: ServerId, uri: &str, on: bool) {
        let sessions = self.sessions.lock();
        if let Some(subscribed) = sessions.get(session.id()).and_then(|state| state.servers.get(&server)) {
            subscribed.send_if_modified(|uris| if on { uris.insert(uri.to_owned()) } else { uris.remove(uri) });
        }
    }

    pub(crate) fn add_subscriber(&self, agent: AgentId, server: ServerId, uri: &str) {
        *self.subscribers.lock().entry((agent, server, uri.to_owned())).or_insert(0) += 1;
    }

    /// Returns whether this was the last subscriber.
    pub(crate) fn remove_subscriber(&self, agent: AgentId, server: ServerId, uri: &str) -> bool {
        let mut subscribers = self.subscribers.lock();
        let key = (agent, server, uri.to_owned());
        let Some(count) = subscribers.get_mut(&key) else { return false };
        *count = count.saturating_sub(1);
        let is_last = *count == 0;
        if is_last {
            subscribers.remove(&key);
        }
        is_last
    }

    /// The servers that the session has listeners to.
    pub(crate) fn servers(&self, session: &Session) -> Vec<ServerId> {
        let sessions = self.sessions.lock();
        sessions.get(session.id()).map(|state| state.servers.keys().copied().collect()).unwrap_or_default()
    }

    pub(crate) fn set_level(&self, session: &Arc<Session>, level: &str) {
        self.sessions.lock().entry(session.id().to_owned()).or_default().level = Some(level.to_owned());
    }

    pub(crate) fn level(&self, session: &Arc<Session>) -> Option<String> {
        self.sessions.lock().get(session.id())?.level.clone()
    }

    /// Whether a message of this level is for the session. Two sessions of an agent share its connection.
    pub(crate) fn wants_level(&self, session: &Arc<Session>, level: &str) -> bool {
        let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
        match self.level(session) {
            Some(asked) => rank(level).zip(rank(&asked)).is_none_or(|(level, asked)| level >= asked),
            None => true,
        }
    }

    pub(crate) fn remove(&self, session: &Session) {
        self.sessions.lock().remove(session.id());
    }
}
