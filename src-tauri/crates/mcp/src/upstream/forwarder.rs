//! Forwards agents' requests over the engine's connections: any method, raw both ways.
//!
//! A [`Forwarder`] finds a connection by its id; [`Forward`] is what it offers. Ids were exchanged by the caller; only
//! what the link owns is set here (`transport/request_params.rs`). It decides nothing about access and keeps no
//! connection open.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::ConnectionId;
use domain::ports::{PortFuture, SendPermit};
use domain::server::Era;
use domain::task::payload::Payload;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::connection::Connection;
use crate::upstream::negotiation::Generation;
use crate::upstream::notifications::broadcast::BroadcastReceiver;
use crate::upstream::notifications::request_listeners::{RequestEvent, RequestListener, RequestListeners};
use crate::upstream::state::subscription_filter::SubscriptionFilter;
use crate::upstream::state::subscription_leases::SubscriptionLease;
use crate::upstream::transport::link::{Answer, ForwardedParams, LinkError, OutgoingRequest, RequestTag, Response};

/// A request to forward.
pub struct Forwarding {
    /// The JSON-RPC method.
    pub method: String,
    /// The params with the server's ids, an object; `None` when there were none.
    pub params: Option<Box<RawValue>>,
    /// The capabilities to declare in the modern era, a JSON object: what the agent has and what can be relayed.
    pub declares: Payload,
    /// Gets progress and stream messages of the request.
    pub heard: Option<mpsc::Sender<RequestEvent>>,
    /// Whether a progress token is sent.
    pub wants_progress: bool,
    /// Fails with [`LinkError::NoAnswer`] after this.
    pub limit: Option<Duration>,
}

/// A connection, as the gateway uses it.
pub trait Forward: Send + Sync + 'static {
    /// Forwards a request. Dropping the future cancels it at the server in the transport's way.
    fn request(&self, forwarding: Forwarding) -> PortFuture<'_, Result<Answer, LinkError>>;
    /// Forwards a notification.
    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>>;
    /// The `server/discover` or `initialize` result, raw.
    fn hello(&self) -> &RawValue;
    /// Answers a question that came as [`RequestEvent::Asked`].
    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>>;
    /// Which wire it is.
    fn era(&self) -> Era;
    /// The protocol version agreed.
    fn version(&self) -> &str;
    /// Notifications to everybody, from now on.
    fn unsolicited(&self) -> BroadcastReceiver;
    /// Subscribes to what `filter` names until the lease is dropped. One stream is shared by
    /// all leases, and notifications come through [`Forward::unsolicited`]. 2025 servers notify without it.
    fn listen(&self, filter: SubscriptionFilter) -> SubscriptionLease;
    /// The id of the connection.
    fn id(&self) -> ConnectionId;
}

/// Finds open connections by id.
#[derive(Clone, Default)]
pub struct Forwarder(Arc<Mutex<HashMap<ConnectionId, Weak<Connection>>>>);

impl Forwarder {
    /// The open connection with this id; never one whose link has ended.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<Arc<dyn Forward>> {
        let connection = self.0.lock().get(&id)?.upgrade()?;
        if connection.is_closed() {
            return None;
        }
        Some(connection)
    }

    pub(crate) fn add(&self, connection: &Arc<Connection>) {
        let mut connections = self.0.lock();
        connections.retain(|_, connection| connection.strong_count() > 0);
        connections.insert(connection.id, Arc::downgrade(connection));
    }
}

/// Removes a listener when its request ends.
struct Listens<'a>(&'a RequestListeners, RequestTag);

impl Drop for Listens<'_> {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

impl Connection {
    async fn forward(&self, forwarding: Forwarding) -> Result<Answer, LinkError> {
        let Forwarding { method, params, declares, heard, wants_progress, limit } = forwarding;
        let tag = self.next_tag();
        let set = if wants_progress { json!({"_meta": {"progressToken": tag.0}}) } else { Value::Null };
        let _ear = heard.map(|to| {
            self.listeners.put(tag, RequestListener::Forward(to));
            Listens(&self.listeners, tag)
        });
        let params = params.map_or_else(|| Payload::new("{}"), |params| Payload::new(params.get()));
        let outgoing = OutgoingRequest {
            method: method.into(),
            params: set,
            verbatim: Vec::new(),
            tag,
            limit,
            param_headers: Vec::new(),
            agent_params: Some(ForwardedParams {
                params,
                without: &[],
                declares: Some(declares),
                cancel_on_drop: true,
            }),
            permit: SendPermit::default(),
        };
        self.link.request(outgoing).await
    }
}

impl Forward for Connection {
    fn request(&self, forwarding: Forwarding) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(self.forward(forwarding))
    }

    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>> {
        self.link.notify(method, params)
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        self.link.respond(token, response)
    }

    fn hello(&self) -> &RawValue {
        &self.hello
    }

    fn era(&self) -> Era {
        self.era
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn unsolicited(&self) -> BroadcastReceiver {
        self.broadcast.join()
    }

    fn listen(&self, filter: SubscriptionFilter) -> SubscriptionLease {
        match self.generation {
            Generation::Extension2026 => self.leases.lease(filter, self.scope.stopping()),
            Generation::Experimental2025 => SubscriptionLease::idle(filter),
        }
    }

    fn id(&self) -> ConnectionId {
        self.id
    }
}
