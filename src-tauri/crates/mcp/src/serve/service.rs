//! What stands behind a serving face: requests come in with who asks, results go out.
//!
//! The faces (`stdio.rs`, `http.rs`) know the wire: envelopes, headers, sessions, streams, cancelling. A [`Service`]
//! knows methods. It never sees transports, and a face never looks into results. `front.rs` is the service for tools
//! and tasks in both dialects; the gateway (`crate::gateway`) is the other one.

use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::ports::PortFuture;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answered::Answered;
use super::fault::{Fault, FaultKind};
use super::params::Params;
use super::seat::Seat;
use super::session::Session;
use crate::message::Id;

/// Who stands at the door, as its token proved, and which part of the house the door leads to. The host's token layer
/// puts it into the extensions of an HTTP request; the door of the unix socket gives it to `serve_pipes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Visitor {
    /// The agent.
    pub agent: AgentId,
    /// The one server behind this door; `None` for all of them.
    pub server: Option<ServerId>,
}

/// What a client says it is: a hint, never proof.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// `clientInfo.name`.
    pub name: String,
    /// `clientInfo.version`.
    pub version: String,
}

impl Program {
    /// Reads `clientInfo`, cut to `cap` characters of plain text each.
    pub(crate) fn read(info: Option<&Value>, cap: usize) -> Option<Self> {
        let info = info?;
        let said = |name: &str| info.get(name).and_then(Value::as_str);
        let plain = |text: &str| domain::policy::plain_text(text, cap);
        let name = said("name").map(plain).filter(|name| !name.is_empty())?;
        Some(Self { name, version: said("version").map(plain).unwrap_or_default() })
    }
}

/// A client that speaks a modern version: everything it says of itself comes with the request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModernClient {
    /// The version of this request.
    pub version: String,
    /// The capabilities of this request, an object.
    pub capabilities: Value,
    /// What it says it is.
    pub program: Option<Program>,
}

/// Who asks.
#[derive(Clone)]
pub enum Client {
    /// A self-contained request.
    Modern(Arc<ModernClient>),
    /// A request within a session that began with `initialize`.
    Legacy(Arc<Session>),
}

impl Client {
    /// What it declared.
    #[must_use]
    pub fn capabilities(&self) -> &Value {
        match self {
            Self::Modern(client) => &client.capabilities,
            Self::Legacy(session) => session.capabilities(),
        }
    }

    /// What it says it is.
    #[must_use]
    pub fn program(&self) -> Option<&Program> {
        match self {
            Self::Modern(client) => client.program.as_ref(),
            Self::Legacy(session) => session.program(),
        }
    }
}

/// One request.
pub struct Request {
    /// Its id, for what names it on the wire.
    pub id: Id,
    /// Method.
    pub method: String,
    /// Params, as they came.
    pub params: Params,
    /// Whom the door let in; `None` where doors ask nobody.
    pub visitor: Option<Visitor>,
    /// Parameters of a tool that a modern client mirrored into headers, name without prefix and plain value; `None`
    /// where nothing is mirrored: on pipes, and in the older eras.
    pub mirrored: Option<Vec<(String, String)>>,
}

/// A client is back for the answer to a request whose stream broke.
pub struct Resumed {
    /// The request's id.
    pub id: Id,
    /// What [`Seat::resume_at`] was told last.
    pub point: String,
    /// Whom the door let in.
    pub visitor: Option<Visitor>,
}

/// Answers requests. A request's future is dropped when the client cancels it; what must outlive it is spawned.
pub trait Service: Send + Sync + 'static {
    /// Answers one request. `initialize` comes with the session it opens.
    fn request(&self, client: Client, request: Request, seat: Seat) -> PortFuture<'_, Result<Answered, Fault>>;
    /// Takes in a notification of a session, all but `notifications/cancelled`, which ends requests by itself.
    fn notification<'a>(
        &'a self,
        session: &'a Arc<Session>,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> PortFuture<'a, ()> {
        let _ = (session, method, params);
        Box::pin(std::future::ready(()))
    }
    /// Resolves when whoever came in as this may not stay any longer, with the words for it.
    fn expelled(&self, visitor: Visitor) -> PortFuture<'_, Fault> {
        let _ = visitor;
        Box::pin(std::future::pending())
    }
    /// Answers a request again from the point that its seat was told, perhaps by an earlier core. The request itself is
    /// not at work any more.
    fn resume(&self, client: Client, resumed: Resumed, seat: Seat) -> PortFuture<'_, Result<Answered, Fault>> {
        let _ = (client, resumed, seat);
        let fault = Fault::new(FaultKind::InvalidRequest, "this answer cannot be asked for again");
        Box::pin(std::future::ready(Err(fault)))
    }
    /// A session that began with an earlier core goes on: its client does not say `initialize` again.
    fn session_taken_up(&self, session: &Arc<Session>) {
        let _ = session;
    }
    /// Whether something still runs for this session, so that it must not be ended for idleness.
    fn is_busy(&self, session: &Session) -> bool;
    /// The session is over: nobody can ask for its tasks any more.
    fn session_over(&self, session: &Session);
}
