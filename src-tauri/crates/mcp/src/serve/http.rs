//! The serving face over Streamable HTTP: one loopback endpoint, both eras.
//!
//! `guard.rs` keeps strangers out (Host, Origin, media types), `headers.rs` compares the mirrored headers with the
//! body, `sessions.rs` is the table of older clients, `exchange.rs` turns one request into JSON or an event stream. What
//! outlives a restart is in `session_name.rs` and `event_id.rs`.
//! It does not authenticate: whoever needs that puts a layer before [`router`].

mod event_id;
mod exchange;
mod guard;
mod headers;
mod session_name;
mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request as HttpRequest, Response, StatusCode, header, request};
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::exchange::{Asked, Ends, Watched, json_response, plain, refusal};
use self::guard::Guard;
use self::sessions::{SESSION_HEADER, Sessions};
use super::fault::{Fault, FaultKind};
use super::modern;
use super::params::Params;
use super::seat::Outlet;
use super::service::{Client, Request, Resumed, Service, Visitor};
use super::session::{Door, Opening, Session};
use super::stdio::{FaceParts, cancelled};
use super::version;
use crate::message::{self, Id, Incoming, Limits, Message};

/// Why HTTP could not be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address can be reached from other machines.
    #[error("`{0}` is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The port is taken, or may not be used.
    #[error("`{address}` cannot be listened on")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
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
    parts: FaceParts,
    address: SocketAddr,
    announce: impl FnOnce(&str) + Send,
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    let bind = |source| HttpError::Bind { address, source };
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
        served = serving => served.map_err(HttpError::Serve),
        () = forced => Ok(()),
    }
}

/// Where the endpoint is.
pub const PATH: &str = "/mcp";

/// The endpoint as a router under these paths, for putting layers before it. A layer that knows who asks puts a
/// [`Visitor`] into the extensions of the request.
pub fn router(service: Arc<dyn Service>, parts: FaceParts, bound: SocketAddr, paths: &[&str]) -> Router {
    let limits = parts.limits();
    let sessions = Sessions::new(&parts.policy);
    let in_work = Arc::new(Semaphore::new(parts.policy.serving.requests_in_work_max));
    let endpoint =
        Arc::new(Endpoint { service, limits, sessions, in_work, guard: Guard::of(bound), parts: parts.clone() });
    let swept = endpoint.clone();
    parts.supervisor.spawn("http sessions", async move {
        loop {
            tokio::time::sleep(swept.parts.policy.serving.sweep_every).await;
            swept.sessions.sweep(&*swept.service);
        }
    });
    let routed = paths.iter().fold(Router::new(), |routed, path| routed.route(path, axum::routing::any(any)));
    routed.with_state(endpoint)
}

struct Endpoint {
    service: Arc<dyn Service>,
    parts: FaceParts,
    limits: Limits,
    sessions: Sessions,
    in_work: Arc<Semaphore>,
    guard: Guard,
}

async fn any(State(endpoint): State<Arc<Endpoint>>, request: HttpRequest<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    if let Err((status, why)) = endpoint.guard.check(&head) {
        return plain(status, why);
    }
    match head.method {
        Method::POST => {
            let cap = endpoint.limits.bytes;
            let read = axum::body::to_bytes(body, cap);
            match tokio::time::timeout(endpoint.parts.policy.body_idle_limit, read).await {
                Ok(Ok(body)) => endpoint.post(&head, body).await,
                Ok(Err(_)) => plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or broke off"),
                Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
            }
        }
        Method::GET => endpoint.get(&head),
        Method::DELETE => endpoint.delete(&head),
        _ => not_allowed(),
    }
}

fn not_allowed() -> Response<Body> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

fn no_session() -> Response<Body> {
    let fault = Fault::new(FaultKind::InvalidRequest, "there is no such session");
    refusal(StatusCode::NOT_FOUND, None, &fault)
}

type Head = request::Parts;

/// Whom the layer before us let in.
fn visitor(head: &Head) -> Option<Visitor> {
    head.extensions.get::<Visitor>().copied()
}

impl Endpoint {
    async fn post(self: Arc<Self>, head: &Head, body: Bytes) -> Response<Body> {
        let session = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        // A modern request may carry a stale one, which means nothing there (protocol.md §2.3).
        let is_modern = headers::modern_version(&head.headers);
        let session = match session.map(|name| self.session(name, visitor(head), is_modern)) {
            None => None,
            Some(Some(session)) => Some(session),
            Some(None) if is_modern => None,
            Some(None) => return no_session(),
        };
        let message = match message::parse(&body, &self.limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(members)) => return self.batch(head, session, members).await,
            Err(bad) => return bad_message(&bad),
        };
        match message {
            Message::Request { id, method, params } => self.request(head, session, id, method, params).await,
            Message::Notification { method, params } => {
                self.notification(session.as_ref(), &method, params.as_deref()).await;
                plain(StatusCode::ACCEPTED, "")
            }
            Message::Response { id, answer } => {
                let Some(session) = session else {
                    let fault = Fault::new(FaultKind::InvalidRequest, "a response needs a session");
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

    /// The session of this name. One that began with an earlier core, or was ended for idleness, goes on.
    fn session(&self, name: &str, visitor: Option<Visitor>, is_modern: bool) -> Option<Arc<Session>> {
        if let Some(session) = self.sessions.get(name, visitor) {
            return Some(session);
        }
        let key = self.parts.key.as_ref().filter(|_| !is_modern && !self.sessions.is_ended(name))?;
        let opening = session_name::read(key, name, visitor, &self.parts.policy.serving)?;
        let scope = self.parts.supervisor.scope();
        let fresh = Session::open(opening, Door::Http, scope, &self.parts.policy.serving);
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
            session.in_work().cancel(&id, how);
        }
    }

    async fn request(
        self: Arc<Self>,
        head: &Head,
        session: Option<Arc<Session>>,
        id: Id,
        method: String,
        raw: Option<Box<RawValue>>,
    ) -> Response<Body> {
        let params = match Params::open(raw) {
            Ok(params) => params,
            Err(fault) => return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault),
        };
        let mut request = Request { id: id.clone(), method, params, visitor: visitor(head), mirrored: None };
        if request.method == "initialize" && !modern::opens_modern(&request.params) {
            return self.initialize(request).await;
        }
        if let Some(session) = session.filter(|_| !modern::opens_modern(&request.params)) {
            if let Err(fault) = headers::legacy_version(&head.headers) {
                return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault);
            }
            session.touch();
            return self.exchange(Client::Legacy(session), request, Ends::Never).await;
        }
        let client = headers::name_check(&head.headers, &request)
            .and_then(|()| {
                request.mirrored = Some(headers::mirrored(&head.headers)?);
                modern::read(&request.params)
            })
            .map_err(|fault| refusal(status_of(&fault), Some(&id), &fault));
        match client {
            Ok(client) => self.exchange(Client::Modern(client), request, Ends::WithStream).await,
            Err(response) => response,
        }
    }

    async fn initialize(self: Arc<Self>, request: Request) -> Response<Body> {
        let id = request.id.clone();
        let scope = self.parts.supervisor.scope();
        let serving = &self.parts.policy.serving;
        let opened = Opening::read(self.parts.session_id(), &request.params, request.visitor).and_then(|opening| {
            let session = Session::open(opening, Door::Http, scope, serving);
            let name = session_name::write(self.parts.key.as_ref(), &session, serving);
            Ok((self.sessions.add(&name, session, &*self.service)?, name))
        });
        let (session, name) = match opened {
            Ok(opened) => opened,
            Err(fault) => return refusal(StatusCode::BAD_REQUEST, Some(&id), &fault),
        };
        let mut response = self.clone().exchange(Client::Legacy(session), request, Ends::Never).await;
        match HeaderValue::from_str(&name) {
            Ok(value) => {
                response.headers_mut().insert(SESSION_HEADER, value);
                response
            }
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the session could not be named"),
        }
    }

    /// Batches exist in 2025-03-26 alone; each member is answered in its turn, in one list.
    async fn batch(
        self: Arc<Self>,
        head: &Head,
        session: Option<Arc<Session>>,
        members: Vec<Result<Message, message::BadMessage>>,
    ) -> Response<Body> {
        let session = session.filter(|session| session.version() == version::LEGACY_ASSUMED);
        let Some(session) = session else {
            let fault = Fault::new(FaultKind::InvalidRequest, "batches are not served in this version");
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        };
        if let Err(fault) = headers::legacy_version(&head.headers) {
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        }
        session.touch();
        let (outlet, frames) = Outlet::open();
        let mut open = 0_usize;
        for member in members {
            match member {
                Ok(Message::Request { id, method, params: raw }) => {
                    let Ok(params) = Params::open(raw) else { continue };
                    open += 1;
                    let request = Request { id, method, params, visitor: visitor(head), mirrored: None };
                    self.start(
                        Client::Legacy(session.clone()),
                        Asked::New(request),
                        outlet.clone(),
                        Watched::default(),
                    );
                }
                Ok(Message::Notification { method, params }) => {
                    self.notification(Some(&session), &method, params.as_deref()).await;
                }
                Ok(Message::Response { id, answer }) => {
                    if let Some(id) = id {
                        session.asks().deliver(&id, answer);
                    }
                }
                Err(bad) => return bad_message(&bad),
            }
        }
        drop(outlet);
        if open == 0 {
            return plain(StatusCode::ACCEPTED, "");
        }
        let keep_alive = self.parts.policy.serving.keep_alive;
        exchange::event_stream(frames, open, None, keep_alive, self.parts.supervisor.stopping())
    }

    fn get(self: Arc<Self>, head: &Head) -> Response<Body> {
        let Some(id) = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) else { return not_allowed() };
        let Some(session) = self.session(id, visitor(head), false) else { return no_session() };
        if let Err(fault) = headers::legacy_version(&head.headers) {
            return refusal(StatusCode::BAD_REQUEST, None, &fault);
        }
        session.touch();
        if let (Some(key), Some(last)) = (&self.parts.key, headers::last_event(&head.headers)) {
            if last == event_id::END {
                return not_allowed();
            }
            if let Some(awaited) = event_id::read(key, &session, last, &self.parts.policy) {
                let resumed = Resumed { id: awaited.id, point: awaited.point, visitor: visitor(head) };
                return self.resume(key, session, resumed);
            }
        }
        let (outlet, frames) = Outlet::open();
        let standing = exchange::Standing::begin(session.clone(), outlet);
        exchange::standing_stream(frames, standing, self.parts.policy.serving.keep_alive, session.scope().stopping())
    }

    fn delete(self: Arc<Self>, head: &Head) -> Response<Body> {
        let Some(id) = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) else { return not_allowed() };
        if self.sessions.end(id, visitor(head), &*self.service) {
            plain(StatusCode::NO_CONTENT, "")
        } else {
            no_session()
        }
    }

    fn keep_alive(&self) -> Duration {
        self.parts.policy.serving.keep_alive
    }
}

fn bad_message(bad: &message::BadMessage) -> Response<Body> {
    let fault = Fault::new(FaultKind::OfTool(bad.code()), bad.to_string());
    refusal(StatusCode::BAD_REQUEST, bad.id.as_ref(), &fault)
}

fn status_of(fault: &Fault) -> StatusCode {
    StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A ready answer as a JSON response.
fn ready(bytes: Vec<u8>, status: u16) -> Response<Body> {
    json_response(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), bytes)
}
