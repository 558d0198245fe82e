//! Who sends a request: the agent or the supervisor program that a token proved, and what its program says about itself.
//!
//! Authentication happens in the host before anything comes here; a program's own words are a hint and prove nothing.

use domain::ids::{AgentId, ControlTokenId, ServerId};
use serde_json::Value;

use super::rpc_error::TASKS_EXTENSION;

/// Longest name or version of a client that is kept, in characters. Judgement: for people, on one line.
pub(crate) const PROGRAM_CHARS_MAX: usize = 80;

/// Whom a token proved. The host's token layer puts it into the extensions of an HTTP request; the unix socket passes it
/// to `serve_pipes`. Each service serves one kind and refuses the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An agent, at the gateway.
    Agent(AgentPrincipal),
    /// A supervisor program with this control token.
    Supervisor(ControlTokenId),
}

impl Principal {
    /// The agent; `None` for a supervisor program.
    #[must_use]
    pub const fn agent(self) -> Option<AgentPrincipal> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Supervisor(_) => None,
        }
    }

    /// Whether both have the same token, whichever servers their URLs reach.
    pub(crate) fn has_token_of(self, other: Self) -> bool {
        match (self, other) {
            (Self::Agent(one), Self::Agent(other)) => one.agent == other.agent,
            (Self::Supervisor(one), Self::Supervisor(other)) => one == other,
            _ => false,
        }
    }
}

impl From<AgentPrincipal> for Principal {
    fn from(agent: AgentPrincipal) -> Self {
        Self::Agent(agent)
    }
}

/// An agent, and the servers that its URL reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AgentPrincipal {
    /// The agent that the token belongs to.
    pub agent: AgentId,
    /// The one server that is reachable; `None` for all of the agent's servers.
    pub server: Option<ServerId>,
}

/// What a client says about its program: a hint, never proof.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientProgram {
    /// The name from `clientInfo`.
    pub name: String,
    /// The version from `clientInfo`.
    pub version: String,
}

impl ClientProgram {
    /// Reads `clientInfo`, each text cut to one line.
    pub(crate) fn read(info: Option<&Value>) -> Option<Self> {
        let info = info?;
        let said = |name: &str| info.get(name).and_then(Value::as_str);
        let plain = |text: &str| domain::policy::plain_text(text, PROGRAM_CHARS_MAX);
        let name = said("name").map(plain).filter(|name| !name.is_empty())?;
        Some(Self { name, version: said("version").map(plain).unwrap_or_default() })
    }
}

/// A modern client: everything it says about itself comes with each request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModernClient {
    /// The version of this request.
    pub version: String,
    /// The capabilities of this request, an object.
    pub capabilities: Value,
    /// The client's program, as it says.
    pub program: Option<ClientProgram>,
}

impl ModernClient {
    /// Whether this request declares the tasks extension.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        let extensions = self.capabilities.get("extensions");
        extensions.and_then(|all| all.get(TASKS_EXTENSION)).is_some_and(Value::is_object)
    }
}
