//! Who asks: the agent that the door let in, the part of the house behind that door, and what its client can do.
//!
//! The agent comes from its token alone; what the client says of itself is used for patience and for words, never for
//! rights. Made anew for every request, so that a change of the agent shows at once.

use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::ports::Abilities;
use serde_json::Value;

use crate::server::{Client, ResponseStream, Session, SessionTransport};

/// One asking agent.
#[derive(Clone)]
pub(crate) struct Guest {
    /// The agent.
    pub(crate) agent: AgentId,
    /// The one server behind the door; `None` for all of them.
    pub(crate) server: Option<ServerId>,
    /// Whether it may be offered the four task tools.
    pub(crate) task_tools: bool,
    /// Its client.
    pub(crate) client: Client,
}

impl Guest {
    /// Its session, when it is of the older eras.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        match &self.client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(session),
        }
    }

    /// The name of its session, to tell it from others; never for logs.
    pub(crate) fn session_name(&self) -> Option<Arc<str>> {
        self.session().map(|session| Arc::from(session.id()))
    }

    /// Which way its program is reached. A modern request says no more of it than what closing its stream means.
    pub(crate) fn door(&self, seat: &ResponseStream) -> SessionTransport {
        match self.session() {
            Some(session) => session.door(),
            None if seat.closing_cancels() => SessionTransport::Http,
            None => SessionTransport::Stdio,
        }
    }

    /// Whether it is of the modern era.
    pub(crate) fn is_modern(&self) -> bool {
        self.session().is_none()
    }

    /// Whether a result may be a task of 2026-07-28: this very request declares the extension (protocol.md §0.1).
    pub(crate) fn takes_tasks(&self) -> bool {
        match &self.client {
            Client::Modern(client) => client.has_tasks(),
            Client::Legacy(_) => false,
        }
    }

    /// Whether the client has any way to tasks of the protocol.
    pub(crate) fn knows_tasks(&self) -> bool {
        match &self.client {
            Client::Modern(client) => client.has_tasks(),
            Client::Legacy(session) => session.has_tasks() && self.declares("tasks"),
        }
    }

    /// Whether the four task tools are offered (ruling 23): by token and setting, and by what the client declares.
    pub(crate) fn wants_own_tools(&self) -> bool {
        self.task_tools && !self.knows_tasks()
    }

    /// Whether the client declares this capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.client.capabilities().get(capability).is_some_and(Value::is_object)
    }

    /// What the agent can be asked by a server.
    pub(crate) fn abilities(&self) -> Abilities {
        Abilities {
            elicitation: self.shows("form") || self.shows("url"),
            sampling: self.declares("sampling"),
            roots: self.declares("roots"),
        }
    }

    /// Whether the client shows questions of this mode (`form`, `url`); an empty declaration means forms.
    pub(crate) fn shows(&self, mode: &str) -> bool {
        let declared = self.client.capabilities().get("elicitation").and_then(Value::as_object);
        declared.is_some_and(|modes| modes.contains_key(mode) || (modes.is_empty() && mode == "form"))
    }
}
