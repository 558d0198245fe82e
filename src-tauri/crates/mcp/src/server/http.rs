//! MCP over Streamable HTTP: one loopback endpoint, both eras.
//!
//! `guard.rs` checks Host, Origin and media types, `headers.rs` compares mirrored headers with the body, `sessions.rs`
//! is the table of 2025 clients, `exchange.rs` turns one request into JSON or an event stream. `session_name.rs` and
//! `event_id.rs` are what outlives a restart. It does not authenticate: put a layer before [`router`] for that.

mod client_connection;
mod event_id;
mod event_stream;
mod exchange;
mod guard;
mod headers;
mod inline_request;
mod reply_body;
mod request_body;
mod session_name;
mod sessions;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request as HttpRequest, Response, StatusCode, header, request};
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub use self::client_connection::ClientConnection;
pub use self::guard::{ForeignRequest, check_fetch_site, check_host_and_origin, takes_post};
pub use self::reply_body::ReplyBody;
use self::reply_body::{json_response, plain, refusal};
use self::sessions::SESSION_HEADER;
use super::principal::Principal;
use super::service::{Client, Request, ResumeRequest, Service};
use super::session::{Session, SessionStart, SessionTransport};
use super::stdio::{ServerParts, cancelled};
use super::version;
use crate::server::http::event_stream::{SessionStreamGuard, event_stream, standing_stream};
use crate::server::http::exchange::ServiceCall;
use crate::server::http::inline_request::WorkEnds;
use crate::server::http::sessions::SessionTable;
use crate::server::request_meta;
use crate::server::request_params::RequestParams;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::stream_writer::StreamWriter;
use crate::wire::message::{self, Incoming, Message, MessageLimits, RequestFrame, SharedRequest};

/// Why HTTP could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeHttpError {
    /// The address can be reached from other machines.
    #[error("`{0}` is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The port is taken, or may not be used.
    #[error("`{address}` cannot be listened on")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Serving broke off.
    #[error("serving HTTP broke off")]
    Serve(#[source] std::io::Error),
}

/// Serves on a loopback address until the supervisor stops. `announce` gets the URL once it is open.
///
/// # Errors
/// When the address is not loopback or cannot be bound.
pub async fn serve_http(
    service: Arc<dyn Service>,
    parts: ServerParts,
    address: SocketAddr,
    announce: impl FnOnce(&str) + Send,
) -> Result<(), ServeHttpError> {
    if !address.ip().is_loopback() {
        return Err(ServeHttpError::NotLoopback(address));
    }
    let bind = |source| ServeHttpError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind)?;
    let bound = listener.local_addr().map_err(bind)?;
    let stopping = parts.supervisor.stopping();
    let limit = parts.policy.drain_limit;
    let app = router(service, parts, bound, &[PATH]);
    announce(&format!("http://{bound}{PATH}"));
    let serving = axum::serve(listener, app).with_graceful_shutdown(stopping.clone().cancelled_owned());
    let forced = async {
        stopping.cancelled().await;
        tokio::time::sleep(limit).await;
    };
    tokio::select! {
        served = serving => served.map_err(ServeHttpError::Serve),
        () = forced => Ok(()),
    }
}

/// Where the endpoint is.
pub const PATH: &str = "/mcp";

/// The endpoint as a router under these paths.
fn router(service: Arc<dyn Service>, parts: ServerParts, bound: SocketAddr, paths: &[&str]) -> Router {
    HttpEndpoint::new(service, parts, bound).router(paths)
}

/// The endpoint: for a router with layers before it, or for requests that a host has read itself. A layer that knows who
/// asks puts a [`Principal`] into the extensions of the request.
#[derive(Clone)]
pub struct HttpEndpoint(Arc<Endpoint>);

impl HttpEndpoint {
    /// The endpoint of this service at the bound address.
    pub fn new(service: Arc<dyn Service>, parts: ServerParts, bound: SocketAddr) -> Self {
        let limits = parts.limits();
        let sessions = SessionTable::new(&parts.policy);
        let in_flight = Arc::new(Semaphore::new(parts.policy.serving.requests_in_work_max));
        let endpoint =
            Arc::new(Endpoint { service, limits, sessions, in_flight, port: bound.port(), parts: parts.clone() });
        let swept = endpoint.clone();
        parts.supervisor.spawn("http sessions", async move {
            swept.sessions.sweep(&*swept.service).await;
        });
        Self(endpoint)
    }

    /// Routes to it under these paths.
    pub fn router(&self, paths: &[&str]) -> Router {
        let routed = paths.iter().fold(Router::new(), |routed, path| routed.route(path, axum::routing::any(any)));
        routed.with_state(self.0.clone())
    }

    /// Answers a POST whose `Host`, `Origin` and media types the caller has checked, and whose sender it knows.
    pub async fn post<B>(&self, head: &request::Parts, body: B, sender: RequestSender) -> Response<ReplyBody>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let endpoint = Arc::clone(&self.0);
        match request_body::read(body, endpoint.limits.bytes, endpoint.parts.policy.body_idle_limit).await {
            Ok(body) => endpoint.post(head, body, &sender).await,
            Err(refused) => refused,
        }
    }
}

/// Who sent a request, and on which connection.
#[derive(Clone, Default)]
pub struct RequestSender {
    /// Whom the layer before us let in.
    pub principal: Option<Principal>,
    /// What the host keeps for the connection.
    pub connection: Arc<ClientConnection>,
    /// What the host counts for the body.
    pub body: Option<BodyHold>,
}

/// What a host counts for the body of a request. It is dropped when the work on the request ends, which may be long after
/// its response began: until then the body is in memory.
#[derive(Clone)]
pub struct BodyHold {
    _held: Arc<dyn Any + Send + Sync>,
}

impl BodyHold {
    /// Keeps this until the work ends.
    pub fn new(held: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _held: held }
    }
}

impl RequestSender {
    /// What the layers before us say.
    fn of(head: &Head) -> Self {
        let connection = head.extensions.get::<Arc<ClientConnection>>().cloned();
        let body = head.extensions.get::<BodyHold>().cloned();
        Self { principal: principal(head), connection: connection.unwrap_or_default(), body }
    }
}

struct Endpoint {
    service: Arc<dyn Service>,
    parts: ServerParts,
    limits: MessageLimits,
    sessions: SessionTable,
    in_flight: Arc<Semaphore>,
    port: u16,
}

async fn any(State(endpoint): State<Arc<Endpoint>>, request: HttpRequest<Body>) -> Response<Body> {
    answer(endpoint, request).await.map(Body::new)
}

async fn answer(endpoint: Arc<Endpoint>, request: HttpRequest<Body>) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    if let Err((status, why)) = guard::check(&head, endpoint.port) {
        return plain(status, why);
    }
    match head.method {
        Method::POST => {
            match request_body::read(body, endpoint.limits.bytes, endpoint.parts.policy.body_idle_limit).await {
                Ok(body) => endpoint.post(&head, body, &RequestSender::of(&head)).await,
                Err(refused) => refused,
            }
        }
        Method::GET => endpoint.get(&head),
        Method::DELETE => endpoint.delete(&head),
        _ => not_allowed(),
    }
}

fn not_allowed() -> Response<ReplyBody> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

fn no_session() -> Response<ReplyBody> {
    let fault = RequestError::new(RequestErrorKind::InvalidRequest, "there is no such session");
    refusal(StatusCode::NOT_FOUND, None, &fault)
}

type Head = request::Parts;

/// Whom the layer before us let in.
fn principal(head: &Head) -> Option<Principal> {
    head.extensions.get::<Principal>().copied()
}

impl Endpoint {
    async fn post(self: Arc<Self>, head: &Head, body: Bytes, sender: &RequestSender) -> Response<ReplyBody> {
        let session = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        // A modern request may carry a stale one, which means nothing there (protocol.md §2.3).
        let is_modern = headers::modern_version(&head.headers);
        let session = match session.map(|name| self.session(name, sender.principal, is_modern)) {
            None => None,
            Some(Some(session)) => Some(session),
            Some(None) if is_modern => None,
            Some(None) => return no_session(),
        };
        let message = match message::parse_request(&body, &self.limits) {
            Ok(RequestFrame::Request(request)) => return self.request(head, sender, session, request).await,
            Ok(RequestFrame::Other(Incoming::One(message))) => message,
            Ok(RequestFrame::Other(Incoming::Batch(members))) => {
                return self.batch(head, sender, session, members).await;
            }
            Err(bad) => return bad_message(&bad),
        };
        match message {
            // Requests were taken out above.
            Message::Request { .. } => not_allowed(),
            Message::Notification { method, params } => {
                self.notification(session.as_ref(), &method, params.as_deref()).await;
                plain(StatusCode::ACCEPTED, "")
            }
            Message::Response { id, answer } => {
                let Some(session) = session else {
                    let fault = RequestError::new(RequestErrorKind::InvalidRequest, "a response needs a session");
                    return refusal(StatusCode::BAD_REQUEST, None, &fault);
                };
                session.touch();
                if let Some(id) = id {
                    session.asks().deliver(&id, answer);
                }
                plain(StatusCode::ACCEPTED, "")
            }
        }
    }

    /// The session with this name, restored if it is of an earlier core or was ended for idleness.
    fn session(&self, name: &str, principal: Option<Principal>, is_modern: bool) -> Option<Arc<Session>> {
        if let Some(session) = self.sessions.get(name, principal) {
            return Some(session);
        }
        let key = self.parts.key.as_ref().filter(|_| !is_modern && !self.sessions.is_ended(name))?;
        let opening = session_name::read(key, name, principal, &self.parts.policy.serving)?;
        let scope = self.parts.supervisor.scope();
        let fresh = Session::open(opening, SessionTransport::Http, scope, &self.parts.policy.serving);
        let session = self.sessions.add(name, fresh.clone(), &*self.service).ok()?;
        if Arc::ptr_eq(&session, &fresh) {
            tracing::debug!("a session of an earlier core goes on");
            self.service.session_taken_up(&session);
        }
        Some(session)
    }

    async fn notification(&self, session: Option<&Arc<Session>>, method: &str, params: Option<&RawValue>) {
        let Some(session) = session else { return };
        session.touch();
        if method != "notifications/cancelled" {
            self.service.notification(session, method, params).await;
        } else if let Some((id, how)) = cancelled(params, self.parts.policy.rpc_id_cap_bytes) {
            session.in_flight().cancel(&id, how);
        }
    }

    async fn request(
        self: Arc<Self>,
        head: &Head,
        sender: &RequestSender,
        session: Option<Arc<Session>>,
        message: SharedRequest,
    ) -> Response<ReplyBody> {
        let SharedRequest { id, method, params } = message;
        let params = match RequestParams::open_shared(params, |meta| sender.connection.meta(meta)) {
            Ok(params) => params,
            Err(fault) => return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault),
        };
        let mut request = Request { id: id.clone(), method, params, principal: sender.principal, mirrored: None };
        if request.method == "initialize" && !request_meta::opens_modern(&request.params) {
            return self.initialize(sender, request).await;
        }
        if let Some(session) = session.filter(|_| !request_meta::opens_modern(&request.params)) {
            if let Err(fault) = headers::legacy_version(&head.headers) {
                return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault);
            }
            session.touch();
            return self.exchange(Client::Legacy(session), request, WorkEnds::Never, sender).await;
        }
        let client = headers::name_check(&head.headers, &request)
            .and_then(|()| {
                request.mirrored = Some(headers::mirrored(&head.headers)?);
                request_meta::read(&request.params)
            })
            .map_err(|fault| refusal(status_of(&fault), Some(&id), &fault));
        match client {
            Ok(client) => self.exchange(Client::Modern(client), request, WorkEnds::WithStream, sender).await,
            Err(response) => response,
        }
    }

    async fn initialize(self: Arc<Self>, sender: &RequestSender, request: Request) -> Response<ReplyBody> {
        let id = request.id.clone();
        let scope = self.parts.supervisor.scope();
        let serving = &self.parts.policy.serving;
        let opened =
            SessionStart::read(self.parts.session_id(), &request.params, request.principal).and_then(|opening| {
                let session = Session::open(opening, SessionTransport::Http, scope, serving);
                let name = session_name::write(self.parts.key.as_ref(), &session, serving);
                Ok((self.sessions.add(&name, session, &*self.service)?, name))
            });
        let (session, name) = match opened {
            Ok(opened) => opened,
            Err(fault) => return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault),
        };
        let client = Client::Legacy(session);
        let mut response = self.clone().exchange(client, request, WorkEnds::Never, sender).await;
        match HeaderValue::from_str(&name) {
            Ok(value) => {
                response.headers_mut().insert(SESSION_HEADER, value);
                response
            }
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the session could not be named"),
        }
    }

    /// Batches exist over HTTP in 2025-03-26 alone. Each request among the members has an answer of its own on one event
    /// stream, and so has each member that is no message; where nothing is in work, those are one list.
    async fn batch(
        self: Arc<Self>,
        head: &Head,
        sender: &RequestSender,
        session: Option<Arc<Session>>,
        members: Vec<Result<Message, message::BadMessage>>,
    ) -> Response<ReplyBody> {
        let session = session.filter(|session| session.version() == version::LEGACY_ASSUMED);
        let Some(session) = session else {
            let fault = RequestError::new(RequestErrorKind::InvalidRequest, "batches are not served in this version");
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        };
        if let Err(fault) = headers::legacy_version(&head.headers) {
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        }
        session.touch();
        let (writer, frames) = StreamWriter::open();
        let (mut open, mut faults, whole) = (0_usize, Vec::new(), members.len());
        for member in members {
            match member {
                Ok(Message::Request { id, method, params: raw }) => {
                    let params = match RequestParams::open(raw).and_then(|params| check_batched(&method, params)) {
                        Ok(params) => params,
                        Err(fault) => {
                            faults.extend(fault.write(Some(&id)));
                            continue;
                        }
                    };
                    open += 1;
                    let request = Request { id, method, params, principal: sender.principal, mirrored: None };
                    let client = Client::Legacy(session.clone());
                    self.start(client, ServiceCall::New(request, sender.body.clone()), writer.clone(), None);
                }
                Ok(Message::Notification { method, params }) => {
                    self.notification(Some(&session), &method, params.as_deref()).await;
                }
                Ok(Message::Response { id, answer }) => {
                    if let Some(id) = id {
                        session.asks().deliver(&id, answer);
                    }
                }
                Err(bad) => faults.extend(fault_of(&bad).write(bad.id.as_ref())),
            }
        }
        if open == 0 {
            return match faults.len() {
                0 => plain(StatusCode::ACCEPTED, ""),
                all if all == whole => json_response(StatusCode::BAD_REQUEST, list(&faults).into()),
                _ => json_response(StatusCode::OK, list(&faults).into()),
            };
        }
        let answers = open + faults.len();
        // The stream is read only once this has returned, and has room for a few messages.
        session.scope().spawn("http batch", async move {
            for fault in faults {
                // A client that is gone needs no answer.
                let Ok(room) = writer.room().await else { return };
                room.answer(fault, StatusCode::OK.as_u16());
            }
        });
        let keep_alive = self.parts.policy.serving.keep_alive;
        event_stream(frames, answers, keep_alive, self.parts.supervisor.stopping())
    }

    fn get(self: Arc<Self>, head: &Head) -> Response<ReplyBody> {
        let Some(id) = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) else { return not_allowed() };
        let Some(session) = self.session(id, principal(head), false) else { return no_session() };
        if let Err(fault) = headers::legacy_version(&head.headers) {
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        }
        session.touch();
        if let (Some(key), Some(last)) = (&self.parts.key, headers::last_event(&head.headers)) {
            if last == event_id::END {
                return not_allowed();
            }
            if let Some(awaited) = event_id::read(key, &session, last, &self.parts.policy) {
                let resumed = ResumeRequest { id: awaited.id, point: awaited.point, principal: principal(head) };
                return self.resume(key, session, resumed);
            }
        }
        let (writer, frames) = StreamWriter::open();
        let standing = SessionStreamGuard::begin(session.clone(), writer);
        standing_stream(frames, standing, self.parts.policy.serving.keep_alive, session.scope().stopping())
    }

    fn delete(self: Arc<Self>, head: &Head) -> Response<ReplyBody> {
        let Some(id) = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) else { return not_allowed() };
        if self.sessions.end(id, principal(head), &*self.service) {
            plain(StatusCode::NO_CONTENT, "")
        } else {
            no_session()
        }
    }
}

/// The params of a request in a batch, which may be any but the one that begins the session.
fn check_batched(method: &str, params: RequestParams) -> Result<RequestParams, RequestError> {
    if method == "initialize" {
        return Err(RequestError::new(RequestErrorKind::InvalidRequest, "`initialize` cannot be part of a batch"));
    }
    Ok(params)
}

/// Messages as a JSON list.
fn list(messages: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &messages.join(&b','), b"]"].concat()
}

fn fault_of(bad: &message::BadMessage) -> RequestError {
    RequestError::new(RequestErrorKind::OfTool(bad.code()), bad.to_string())
}

fn bad_message(bad: &message::BadMessage) -> Response<ReplyBody> {
    refusal(StatusCode::BAD_REQUEST, bad.id.as_ref(), &fault_of(bad))
}

fn status_of(fault: &RequestError) -> StatusCode {
    StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
