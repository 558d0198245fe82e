//! The [`Service`] behind a transport: it gets requests with their sender and returns results.
//!
//! The transports (`stdio.rs`, `http.rs`) know envelopes, headers, sessions, streams and cancelling; a service knows
//! methods. Neither looks into the other.

use std::sync::Arc;

use domain::ports::PortFuture;
use serde_json::Value;
use serde_json::value::RawValue;

use super::principal::{ClientProgram, ModernClient, Principal};
use super::session::Session;
use crate::server::raw_result::RawResult;
use crate::server::request_params::RequestParams;
use crate::server::response_stream::ResponseStream;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::wire::message::Id;

/// The client that sent a request.
#[derive(Clone)]
pub enum Client {
    /// A self-contained request.
    Modern(Arc<ModernClient>),
    /// A request within a session that began with `initialize`.
    Legacy(Arc<Session>),
}

impl Client {
    /// The capabilities that it declared.
    #[must_use]
    pub fn capabilities(&self) -> &Value {
        match self {
            Self::Modern(client) => &client.capabilities,
            Self::Legacy(session) => session.capabilities(),
        }
    }

    /// The client's program, as it says.
    #[must_use]
    pub fn program(&self) -> Option<&ClientProgram> {
        match self {
            Self::Modern(client) => client.program.as_ref(),
            Self::Legacy(session) => session.program(),
        }
    }
}

/// One request, with its sender.
pub struct Request {
    /// Its id, for what names it on the wire.
    pub id: Id,
    /// The JSON-RPC method.
    pub method: String,
    /// The params, as they came.
    pub params: RequestParams,
    /// Whom a token proved; `None` where nothing authenticates.
    pub principal: Option<Principal>,
    /// Parameters of a tool that a modern client mirrored into headers, name without prefix and plain value; `None`
    /// where nothing is mirrored: on pipes, and in the older eras.
    pub mirrored: Option<Vec<(String, String)>>,
}

/// A client asks again for the answer to a request whose stream broke.
pub struct ResumeRequest {
    /// The request's id.
    pub id: Id,
    /// The last point given to [`ResponseStream::resume_at`].
    pub point: String,
    /// Whom a token proved.
    pub principal: Option<Principal>,
}

/// Answers requests. A request's future is dropped when the client cancels it; what must outlive it is spawned.
pub trait Service: Send + Sync + 'static {
    /// Answers one request. `initialize` comes with the session it opens.
    fn request(
        &self,
        client: Client,
        request: Request,
        stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>>;
    /// A request that the transport refused, before anybody worked on it: its id is in use, or too many are in work.
    fn refused(&self, client: Client, request: Request, fault: &RequestError) {
        let _ = (client, request, fault);
    }
    /// Handles a notification of a session, except `notifications/cancelled`, which cancels requests by itself.
    fn notification<'a>(
        &'a self,
        session: &'a Arc<Session>,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> PortFuture<'a, ()> {
        let _ = (session, method, params);
        Box::pin(std::future::ready(()))
    }
    /// Resolves with an error when this client must be disconnected.
    fn expelled(&self, principal: Principal) -> PortFuture<'_, RequestError> {
        let _ = principal;
        Box::pin(std::future::pending())
    }
    /// Answers a request again from its resume point, which an earlier core may have set. The request itself is
    /// no longer running.
    fn resume(
        &self,
        client: Client,
        resumed: ResumeRequest,
        stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        let _ = (client, resumed, stream);
        let fault = RequestError::new(RequestErrorKind::InvalidRequest, "this answer cannot be asked for again");
        Box::pin(std::future::ready(Err(fault)))
    }
    /// A session of an earlier core was restored: its client does not send `initialize` again.
    fn session_taken_up(&self, session: &Arc<Session>) {
        let _ = session;
    }
    /// Whether something still runs for this session, so that it must not be ended for idleness.
    fn is_busy(&self, session: &Session) -> bool;
    /// The session has ended: nobody can ask for its tasks any more.
    fn session_over(&self, session: &Session);
}
