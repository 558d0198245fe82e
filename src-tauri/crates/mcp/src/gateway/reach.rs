//! The connection that a request of an agent takes to a server, and what is declared on it for the agent.
//!
//! Which connection it is, and that a legacy server has one for each agent, is the engine's decision (ruling 14); here it
//! is only asked for and looked at. What the server's greeting says it has is read from the raw text.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, ConnectionId, ServerId};
use domain::task::payload::Payload;
use domain::server::Era;
use engine::OpenConnection;
use serde_json::{Map, Value};

use super::guest::Guest;
use super::model_text::refused;
use super::route::ListKind;
use super::{Gate, service};
use crate::upstream::Forward;
use crate::wire::raw_json::member;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// One server within reach of one agent.
pub(super) struct Reach {
    /// The server.
    pub(super) server: ServerId,
    /// Its connection.
    pub(super) forward: Arc<dyn Forward>,
    /// While this is held, the agent's own line stays up.
    line: OpenConnection,
}

/// Finds the connection, waiting for it a short while.
///
/// # Errors
/// When there is none, in words for an agent.
pub(super) async fn reach(gate: &Gate, guest: &Guest, server: ServerId) -> Result<Reach, RequestError> {
    /// A connection may end between the moment it is named and the moment it is looked for; then the next one is.
    const TRIES: usize = 2;
    for _ in 0..TRIES {
        let line = gate.engine.line(server, guest.agent, guest.abilities()).await;
        let line = line.map_err(|error| service::fault(&error))?;
        if let Some(forward) = gate.forwarder.connection(line.connection) {
            return Ok(Reach { server, forward, line });
        }
    }
    Err(RequestError::new(RequestErrorKind::OfTool(-32_000), refused::not_connected()))
}

/// As [`reach`], for one server among many: those that are not there soon are left out.
pub(super) async fn reach_soon(gate: &Gate, guest: &Guest, server: ServerId, limit: Duration) -> Option<Reach> {
    tokio::time::timeout(limit, reach(gate, guest, server)).await.ok()?.ok()
}

impl Reach {
    /// Names the connection.
    pub(super) fn connection(&self) -> ConnectionId {
        self.line.connection
    }

    /// The agent whose own connection it is.
    pub(super) fn seat(&self) -> Option<AgentId> {
        self.line.seat
    }

    /// Whether it speaks 2026-07-28.
    pub(super) fn is_modern(&self) -> bool {
        match self.forward.era() {
            Era::Modern => true,
            Era::Legacy | Era::LegacySse => false,
        }
    }

    /// A capability of the server, as JSON text.
    pub(super) fn capability(&self, name: &str) -> Option<&str> {
        member(member(self.forward.hello().get(), "capabilities")?, name).filter(|text| text.starts_with('{'))
    }

    /// Whether a capability has this member set.
    pub(super) fn has(&self, capability: &str, flag: &str) -> bool {
        self.capability(capability).and_then(|text| member(text, flag)) == Some("true")
    }

    /// Whether the server may have something of this kind. Some list tools without a word about it.
    pub(super) fn may_list(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => true,
            ListKind::Prompts | ListKind::Resources | ListKind::Templates => self.capability(family(kind)).is_some(),
        }
    }
}

/// The capability that a list belongs to.
pub(super) const fn family(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources | ListKind::Templates => "resources",
    }
}

/// What is declared to a modern server with a forwarded request: what the agent can be asked by a result.
pub(super) fn declares(guest: &Guest) -> Payload {
    let has = guest.client.capabilities();
    let mut declared = Map::new();
    for name in ["elicitation", "sampling", "roots"] {
        if let Some(said @ Value::Object(_)) = has.get(name) {
            declared.insert(name.to_owned(), said.clone());
        }
    }
    Payload::new(Value::Object(declared).to_string())
}
