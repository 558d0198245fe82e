//! What stands behind a serving face: requests come in with who asks, results go out.
//!
//! The faces (`stdio.rs`, `http.rs`) know the wire: envelopes, headers, sessions, streams, cancelling. A [`Service`]
//! knows methods. It never sees transports, and a face never looks into results. `front.rs` is the service for tools
//! and tasks in both dialects; the gateway will bring its own.

use std::sync::Arc;

use domain::ports::PortFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::seat::Seat;
use super::session::Session;
use crate::message::Id;

/// A client that speaks a modern version: everything it says of itself comes with the request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModernClient {
    /// The version of this request.
    pub version: String,
    /// The capabilities of this request, an object.
    pub capabilities: Value,
}

/// Who asks.
#[derive(Clone)]
pub enum Client {
    /// A self-contained request.
    Modern(Arc<ModernClient>),
    /// A request within a session that began with `initialize`.
    Legacy(Arc<Session>),
}

/// One request.
pub struct Request {
    /// Its id, for what names it on the wire.
    pub id: Id,
    /// Method.
    pub method: String,
    /// Params, empty when absent.
    pub params: Map<String, Value>,
    /// Params as they came, for those who forward them.
    pub raw: Option<Box<RawValue>>,
}

/// Answers requests. A request's future is dropped when the client cancels it; what must outlive it is spawned.
pub trait Service: Send + Sync + 'static {
    /// Answers one request. `initialize` comes with the session it opens.
    fn request(&self, client: Client, request: Request, seat: Seat) -> PortFuture<'_, Result<Box<RawValue>, Fault>>;
    /// Whether something still runs for this session, so that it must not be ended for idleness.
    fn is_busy(&self, session: &Session) -> bool;
    /// The session is over: nobody can ask for its tasks any more.
    fn session_over(&self, session: &Session);
}
