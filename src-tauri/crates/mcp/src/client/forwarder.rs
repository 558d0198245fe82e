//! Requests of agents on the connections that the engine holds: any method, raw both ways.
//!
//! A [`Forwarder`] finds a connection by its id; [`Forward`] is its face. Only what the link owns is set on the way
//! (`transport/params.rs`); identities were exchanged before, and are exchanged back after. It decides nothing about
//! who may ask what, keeps no connection alive, and knows neither tools nor tasks: those are the engine's.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::ConnectionId;
use domain::task::payload::Payload;
use domain::ports::PortFuture;
use domain::server::Era;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::aside::{Ear, Ears, Heard};
use super::connection::Connection;
use super::greeting::Generation;
use super::relay::Listening;
use super::unasked::Hearing;
use crate::link::{Answer, LinkError, Outgoing, Passenger, Response, Tag};

/// A request to forward.
pub struct Forwarding {
    /// Its method.
    pub method: String,
    /// Its params in the server's identities, an object; nothing when there were none.
    pub params: Option<Box<RawValue>>,
    /// The capabilities to declare in the modern era, a JSON object: what the agent has and what can be relayed.
    pub declares: Payload,
    /// Who hears what the server says on the way.
    pub heard: Option<mpsc::Sender<Heard>>,
    /// Whether a progress token is sent.
    pub wants_progress: bool,
    /// Fails with [`LinkError::NoAnswer`] after this.
    pub limit: Option<Duration>,
}

/// One connection, for forwarding.
pub trait Forward: Send + Sync + 'static {
    /// Forwards a request. Dropping the future cancels it at the server in the transport's way.
    fn request(&self, forwarding: Forwarding) -> PortFuture<'_, Result<Answer, LinkError>>;
    /// Forwards a notification.
    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>>;
    /// The `server/discover` or `initialize` result, raw.
    fn hello(&self) -> &RawValue;
    /// Answers a question that came as [`Heard::Asked`].
    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>>;
    /// Which wire it is.
    fn era(&self) -> Era;
    /// The protocol version agreed.
    fn version(&self) -> &str;
    /// What the server says to everybody, from now on.
    fn unsolicited(&self) -> Hearing;
    /// Sees to it that a modern server says what `filter` names, until the hold is dropped. One stream is shared by
    /// all holds. What it says comes through [`Forward::unsolicited`]. Servers of the older eras say it unasked.
    fn listen(&self, filter: super::relay::Filter) -> Listening;
    /// Names the connection.
    fn id(&self) -> ConnectionId;
}

/// Finds connections.
#[derive(Clone, Default)]
pub struct Forwarder(Arc<Mutex<HashMap<ConnectionId, Weak<Connection>>>>);

impl Forwarder {
    /// The open connection with this id. One whose link is over is not given out, whoever still names it.
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

/// An ear that is taken away with the request.
struct Listens<'a>(&'a Ears, Tag);

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
            self.ears.put(tag, Ear::Forward(to));
            Listens(&self.ears, tag)
        });
        let params = params.map_or_else(|| Payload::new("{}"), |params| Payload::new(params.get()));
        let outgoing = Outgoing {
            method: method.into(),
            params: set,
            verbatim: Vec::new(),
            tag,
            limit,
            param_headers: Vec::new(),
            agent_params: Some(Passenger { params, without: &[], declares: Some(declares), cancel_on_drop: true }),
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

    fn unsolicited(&self) -> Hearing {
        self.unasked.join()
    }

    fn listen(&self, filter: super::relay::Filter) -> Listening {
        match self.generation {
            Generation::Extension2026 => self.relay.hold(filter, self.scope.stopping()),
            Generation::Experimental2025 => Listening::idle(filter),
        }
    }

    fn id(&self) -> ConnectionId {
        self.id
    }
}
