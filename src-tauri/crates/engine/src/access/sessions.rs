//! The open sessions of an agent: through which door each came, since when, and what its program calls itself.
//!
//! Bridges are known here; sessions of the older eras are listed by whoever serves agents. A program of the modern era
//! over HTTP has no session: it is one row for as long as it counts as connected. Nothing is stored.

use std::sync::Arc;

use domain::ids::AgentId;
use domain::time::Timestamp;

use crate::engine::Engine;

/// How an agent's program reaches the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentDoor {
    /// `taskwarden connect`, over the core's own socket.
    Command,
    /// The HTTP listener.
    Http,
}

/// One open session of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSession {
    /// Through which door it came.
    pub door: AgentDoor,
    /// What the program says it is, `name version`; `None` where it said nothing of itself in this session.
    pub program: Option<String>,
    /// When it was opened, or restored by this core.
    pub opened: Timestamp,
    /// When its last request came; `None` when that is not known.
    pub last_request: Option<Timestamp>,
}

/// Lists the open sessions of the older eras, over pipes and over HTTP.
pub(crate) type ListSessions = Arc<dyn Fn(AgentId) -> Vec<AgentSession> + Send + Sync>;

impl Engine {
    /// Says how to list the sessions of an agent. Whoever serves agents calls it once.
    pub fn set_agent_sessions(&self, sessions: impl Fn(AgentId) -> Vec<AgentSession> + Send + Sync + 'static) {
        self.core.access.presences.set_sessions(Arc::new(sessions));
    }

    /// The open sessions of an agent, the oldest first; none while it is not connected, and one at least while it is.
    #[must_use]
    pub fn agent_sessions(&self, id: AgentId) -> Vec<AgentSession> {
        let Some(presence) = self.presence(id).filter(|presence| presence.connected) else { return Vec::new() };
        let presences = &self.core.access.presences;
        let mut open = presences.sessions(id);
        let mut bridges = presences.bridges(id);
        bridges.sort_unstable();
        open.sort_by_key(|session| session.opened);
        // The session of a bridge begins right after its bridge: the last one opened before it is its own.
        for session in open.iter_mut().filter(|session| session.door == AgentDoor::Command) {
            let own = bridges.iter().rposition(|opened| *opened <= session.opened);
            if let Some(own) = own {
                session.opened = bridges.remove(own);
            }
        }
        let modern =
            |door, opened| AgentSession { door, program: presence.client.clone(), opened, last_request: presence.seen };
        open.extend(bridges.into_iter().map(|opened| modern(AgentDoor::Command, opened)));
        if open.is_empty() {
            let since = presence.connected_since.or(presence.seen);
            open.extend(since.map(|since| modern(presence.door.unwrap_or(AgentDoor::Http), since)));
        }
        open.sort_by_key(|session| session.opened);
        if let [only] = open.as_mut_slice() {
            only.last_request = only.last_request.or(presence.seen);
        }
        open
    }
}
