//! Who asks, and with what: the agent, its endpoint, what its client can do, and the state of the gateway.
//!
//! The agent comes from its token alone. What a client says of itself decides how long it is waited for and which words
//! it gets, never what it may do. Made anew for every request, so that a change of the agent shows at once.

use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::ports::Abilities;
use serde_json::Value;

use crate::gateway::clients::agent_meter::AgentMeter;
use crate::gateway::state::GatewayState;
use crate::server::{Client, ResponseStream, Session, SessionTransport};

/// What every part needs to answer a request.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) state: Arc<GatewayState>,
    pub(crate) agent: AgentId,
    /// The server of the endpoint; `None` at the endpoint of all servers.
    pub(crate) server: Option<ServerId>,
    /// Whether the agent had access when the request came.
    pub(crate) has_access: bool,
    /// Whether the agent's token allows the four task tools.
    pub(crate) task_tools: bool,
    /// Tells sessions of one agent apart; never for logs.
    pub(crate) session_name: Option<Arc<str>>,
    /// What the agent has in use.
    pub(crate) meter: Arc<AgentMeter>,
    pub(crate) client: Client,
}

impl RequestContext {
    /// The context of what happens in a session without a request.
    pub(crate) fn of_session(state: &Arc<GatewayState>, session: &Arc<Session>) -> Option<Self> {
        let principal = session.principal()?.agent()?;
        let client = Client::Legacy(Arc::clone(session));
        Some(Self {
            state: Arc::clone(state),
            agent: principal.agent,
            server: principal.server,
            has_access: true,
            task_tools: false,
            session_name: Self::name_of_session(&client),
            meter: state.limits.meter(principal.agent),
            client,
        })
    }

    /// The servers at the endpoint: one, or all of them.
    pub(crate) fn servers(&self) -> Vec<ServerId> {
        match self.server {
            Some(server) => vec![server],
            None => self.state.server_ids(),
        }
    }

    /// The session of a client of an older era.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        match &self.client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(session),
        }
    }

    pub(crate) fn name_of_session(client: &Client) -> Option<Arc<str>> {
        match client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(Arc::from(session.id())),
        }
    }

    /// How the client is connected. Of a modern request only what closing its stream means is known.
    pub(crate) fn door(&self, stream: &ResponseStream) -> SessionTransport {
        match self.session() {
            Some(session) => session.door(),
            None if stream.closing_cancels() => SessionTransport::Http,
            None => SessionTransport::Stdio,
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.session().is_none()
    }

    /// Whether a result may be a task of 2026-07-28: this very request declares the extension (protocol.md §0.1).
    pub(crate) fn accepts_tasks(&self) -> bool {
        match &self.client {
            Client::Modern(client) => client.has_tasks(),
            Client::Legacy(_) => false,
        }
    }

    /// Whether the client has tasks in any dialect.
    pub(crate) fn knows_tasks(&self) -> bool {
        match &self.client {
            Client::Modern(client) => client.has_tasks(),
            Client::Legacy(session) => session.has_tasks() && self.declares("tasks"),
        }
    }

    /// Whether the four task tools are offered (ruling 23): the token allows them and the client has no tasks.
    pub(crate) fn has_task_tools(&self) -> bool {
        self.task_tools && !self.knows_tasks()
    }

    /// Whether the client declares this capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.client.capabilities().get(capability).is_some_and(Value::is_object)
    }

    /// What a server may ask of the agent.
    pub(crate) fn abilities(&self) -> Abilities {
        Abilities {
            elicitation: self.can_show("form") || self.can_show("url"),
            sampling: self.declares("sampling"),
            roots: self.declares("roots"),
        }
    }

    /// Whether the client shows elicitations of this mode (`form`, `url`); an empty declaration means forms.
    fn can_show(&self, mode: &str) -> bool {
        let declared = self.client.capabilities().get("elicitation").and_then(Value::as_object);
        declared.is_some_and(|modes| modes.contains_key(mode) || (modes.is_empty() && mode == "form"))
    }
}
