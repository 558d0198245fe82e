//! What sessions of the older eras stand for: the level of log messages they asked for, and the resources they follow.
//!
//! By session, and counted by agent and resource where a server knows only the agent's connection: the last one who
//! follows a resource takes it back. Nothing outlives the session. Who hears what of it is `subscribe.rs`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::server::Session;

/// Levels of log messages, the least urgent first (C25/server/utilities/logging.mdx).
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// All sessions.
#[derive(Default)]
pub(crate) struct Standing {
    sessions: Mutex<HashMap<String, Seated>>,
    followed: Mutex<HashMap<(AgentId, ServerId, String), usize>>,
}

#[derive(Default)]
struct Seated {
    level: Option<String>,
    servers: HashMap<ServerId, watch::Sender<BTreeSet<String>>>,
}

impl Standing {
    /// The session hears this server from now on. `None` when it does already.
    pub(super) fn begin(&self, session: &Session, server: ServerId) -> Option<watch::Receiver<BTreeSet<String>>> {
        let mut sessions = self.sessions.lock();
        let seated = sessions.entry(session.id().to_owned()).or_default();
        if seated.servers.contains_key(&server) {
            return None;
        }
        let (wanted, wants) = watch::channel(BTreeSet::new());
        seated.servers.insert(server, wanted);
        Some(wants)
    }

    /// The session follows this resource, or not any more. Returns whether that is news.
    pub(super) fn follow(&self, session: &Session, server: ServerId, uri: &str, on: bool) -> bool {
        let sessions = self.sessions.lock();
        let Some(wanted) = sessions.get(session.id()).and_then(|seated| seated.servers.get(&server)) else {
            return false;
        };
        wanted.send_if_modified(|uris| if on { uris.insert(uri.to_owned()) } else { uris.remove(uri) })
    }

    /// One more of the agent follows a resource. Returns whether it is the first.
    pub(super) fn one_more(&self, agent: AgentId, server: ServerId, uri: &str) -> bool {
        let mut followed = self.followed.lock();
        let count = followed.entry((agent, server, uri.to_owned())).or_insert(0);
        *count += 1;
        *count == 1
    }

    /// One less. Returns whether it was the last.
    pub(super) fn one_less(&self, agent: AgentId, server: ServerId, uri: &str) -> bool {
        let mut followed = self.followed.lock();
        let key = (agent, server, uri.to_owned());
        let Some(count) = followed.get_mut(&key) else { return false };
        *count = count.saturating_sub(1);
        let is_last = *count == 0;
        if is_last {
            followed.remove(&key);
        }
        is_last
    }

    /// Servers that the session hears.
    pub(super) fn reached(&self, session: &Session) -> Vec<ServerId> {
        let sessions = self.sessions.lock();
        sessions.get(session.id()).map(|seated| seated.servers.keys().copied().collect()).unwrap_or_default()
    }

    /// The session wants log messages from this level on.
    pub(super) fn set_level(&self, session: &Arc<Session>, level: &str) {
        self.sessions.lock().entry(session.id().to_owned()).or_default().level = Some(level.to_owned());
    }

    /// The level that the session asked for.
    pub(super) fn level(&self, session: &Arc<Session>) -> Option<String> {
        self.sessions.lock().get(session.id())?.level.clone()
    }

    /// Whether a message of this level is for the session. Two sessions of an agent share its connection.
    pub(super) fn wants(&self, session: &Arc<Session>, level: &str) -> bool {
        let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
        match self.level(session) {
            Some(asked) => rank(level).zip(rank(&asked)).is_none_or(|(level, asked)| level >= asked),
            None => true,
        }
    }

    /// The session is over.
    pub(super) fn end(&self, session: &Session) {
        self.sessions.lock().remove(session.id());
    }
}
