//! The connection that a request takes to a server, and what is declared on it for the agent.
//!
//! Which connection that is, and that an older server has one for each agent, is the engine's decision (ruling 14). The
//! server's capabilities are read from its raw greeting.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{AgentId, ConnectionId, ServerId};
use domain::server::Era;
use domain::task::payload::Payload;
use engine::OpenConnection;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::gateway::engine_errors;
use crate::gateway::engine_errors::SERVER_ERROR;
use crate::gateway::model_text::refused;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::upstream::transport::link::{Answer, LinkError};
use crate::upstream::{Forward, Forwarding, SubscriptionFilter};
use crate::wire::raw_json::member;

/// One server as one agent reaches it.
pub(crate) struct GatewayConnection {
    pub(crate) server: ServerId,
    pub(crate) forward: Arc<dyn Forward>,
    /// While this is held, the agent's own connection stays open.
    line: OpenConnection,
}

/// Connects to a server, waiting for the connection a short while.
///
/// # Errors
/// When there is none, in words for an agent.
pub(crate) async fn connect(context: &RequestContext, server: ServerId) -> Result<GatewayConnection, RequestError> {
    /// A connection may end between the moment it is named and the moment it is looked up; the next one is used then.
    const TRIES: usize = 2;
    let state = &context.state;
    for _ in 0..TRIES {
        let line = state.engine.line(server, context.agent, context.abilities()).await;
        let line = line.map_err(|error| engine_errors::fault(&error))?;
        if let Some(forward) = state.forwarder.connection(line.connection) {
            return Ok(GatewayConnection { server, forward, line });
        }
    }
    Err(RequestError::new(RequestErrorKind::OfTool(SERVER_ERROR), refused::not_connected()))
}

/// As [`connect`], for one server of many: one that is not there in time is left out.
pub(crate) async fn connect_in_time(context: &RequestContext, server: ServerId) -> Option<GatewayConnection> {
    tokio::time::timeout(context.state.policy.gateway.merge_wait, connect(context, server)).await.ok()?.ok()
}

impl GatewayConnection {
    pub(crate) fn id(&self) -> ConnectionId {
        self.line.connection
    }

    /// The agent that has this connection to itself.
    pub(crate) fn own_agent(&self) -> Option<AgentId> {
        self.line.seat
    }

    pub(crate) fn is_modern(&self) -> bool {
        match self.forward.era() {
            Era::Modern => true,
            Era::Legacy | Era::LegacySse => false,
        }
    }

    /// A capability of the server, as JSON text.
    pub(crate) fn capability(&self, name: &str) -> Option<&str> {
        member(member(self.forward.hello().get(), "capabilities")?, name).filter(|text| text.starts_with('{'))
    }

    /// Whether a capability has this member set.
    pub(crate) fn has(&self, capability: &str, flag: &str) -> bool {
        self.capability(capability).and_then(|text| member(text, flag)) == Some("true")
    }

    /// The lists whose changes the server notifies of.
    pub(crate) fn notified_lists(&self) -> SubscriptionFilter {
        let notifies = |kind| self.has(capability_of(kind), "listChanged");
        SubscriptionFilter {
            tools: notifies(ListKind::Tools),
            prompts: notifies(ListKind::Prompts),
            resources: notifies(ListKind::Resources),
            uris: BTreeSet::new(),
        }
    }

    /// Whether the server may have something of this kind. Some list tools without declaring them.
    pub(crate) fn may_list(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => true,
            ListKind::Prompts | ListKind::Resources | ListKind::Templates => {
                self.capability(capability_of(kind)).is_some()
            }
        }
    }

    /// Sends an [`own_request`].
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(crate) async fn request(
        &self,
        context: &RequestContext,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> Result<Answer, LinkError> {
        self.forward.request(own_request(context, method, params)).await
    }
}

/// The capability that a list belongs to.
pub(crate) const fn capability_of(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources | ListKind::Templates => "resources",
    }
}

/// What a forwarded request declares to a modern server: what the agent can be asked by a result.
pub(crate) fn declared_capabilities(context: &RequestContext) -> Payload {
    let has = context.client.capabilities();
    let mut declared = Map::new();
    for name in ["elicitation", "sampling", "roots"] {
        if let Some(said @ Value::Object(_)) = has.get(name) {
            declared.insert(name.to_owned(), said.clone());
        }
    }
    Payload::new(Value::Object(declared).to_string())
}

/// A request of the gateway's own, about which the client hears nothing on the way.
pub(crate) fn own_request(context: &RequestContext, method: &str, params: Option<Box<RawValue>>) -> Forwarding {
    Forwarding {
        method: method.to_owned(),
        params,
        declares: declared_capabilities(context),
        heard: None,
        wants_progress: false,
        limit: Some(context.state.policy.reply_limit),
    }
}
