//! Accepts connections, and bounds how many there are, how long they stay idle, and how slowly they may talk.
//!
//! One state per connection and one sweep over all of them. When there is no room, the longest idle connection is
//! closed; if none is idle, the new one is. hyper speaks HTTP/1.1, the router gives requests a meaning; nothing here
//! authenticates.
//!
//! It drives hyper itself instead of `axum::serve` or tower layers, because the limits of decision 0015 concern sockets
//! and not requests: a layer sees neither a connection that sends no head, nor one that does not read its reply, and
//! cannot close an idle one in favour of a new one. hyper-util's graceful shutdown only waits.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode, Version, header};
use axum::response::IntoResponse as _;
use engine::runtime::supervisor::Supervisor;
use engine::{Gauge, Gauges};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::agent_access::request_budget::ConnectionOwner;
use crate::http::connection::{ConnectionLimits, ConnectionState, ObservedStream, TimedBody, TrackedBody};

/// The number of headers that hyper reads without allocating; also its limit when none is set.
const HEADERS_ON_STACK: usize = 100;

/// When there is no room, this fraction of connections is closed at once. Judgement: closes few, and is rarely needed.
const CLOSED_FRACTION: usize = 64;

/// Where connections come from: TCP for agents and browsers, or the core's unix socket.
pub(crate) trait ConnectionSource: Send + Sync + 'static {
    /// The stream of one connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static;
    /// Who is at the other end; added to every request as `ConnectInfo`.
    type Peer: Clone + Send + Sync + 'static;
    /// Accepts the next connection; `None` as the peer means that it is refused.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<Self::Peer>)>> + Send;
    /// Waits until the peer has sent something.
    fn wait_for_data(stream: &Self::Stream) -> impl Future<Output = io::Result<()>> + Send;
}

impl ConnectionSource for TcpListener {
    type Stream = TcpStream;
    type Peer = ();

    async fn next(&self) -> io::Result<(TcpStream, Option<()>)> {
        let (stream, _) = self.accept().await?;
        // Replies are small and awaited: waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        Ok((stream, Some(())))
    }

    async fn wait_for_data(stream: &TcpStream) -> io::Result<()> {
        stream.readable().await
    }
}

/// Serves connections until the scope ends; active requests are finished, idle connections are closed.
pub(crate) fn serve<A: ConnectionSource>(
    listener: A,
    router: Router,
    limits: ConnectionLimits,
    supervisor: &Supervisor,
) -> Arc<OpenConnections> {
    let open = Arc::new(OpenConnections { limits, connections: Mutex::new(BTreeMap::new()) });
    let swept = Arc::clone(&open);
    supervisor.spawn("quiet connections", async move {
        loop {
            tokio::time::sleep(swept.limits.sweep_every).await;
            swept.sweep();
        }
    });
    let scope = supervisor.clone();
    let served = Arc::clone(&open);
    supervisor.spawn("listener", async move {
        let mut made = 0_u64;
        loop {
            match listener.next().await {
                Ok((_, None)) => {}
                Ok((stream, Some(peer))) => {
                    made = made.wrapping_add(1);
                    if let Some(state) = open.admit(made) {
                        let slot = ConnectionSlot { open: Arc::clone(&open), number: made };
                        let end = (peer, router.clone());
                        scope
                            .spawn_draining("connection", wait_and_serve::<A>(stream, state, slot, end, scope.clone()));
                    }
                }
                Err(error) if is_peer_error(&error) => {}
                Err(error) => {
                    // Most likely out of file descriptors: make room, and pause instead of spinning.
                    tracing::warn!(%error, "a connection could not be taken");
                    open.end_oldest_idle();
                    tokio::time::sleep(open.limits.sweep_every).await;
                }
            }
        }
    });
    served
}

/// Registers how many connections are open.
pub(crate) fn register(open: &Arc<OpenConnections>, name: &'static str, gauges: &Gauges) {
    let open = Arc::downgrade(open);
    gauges.add(move |rows| {
        let Some(open) = open.upgrade() else { return };
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let used = wide(open.connections.lock().len());
        rows.push(Gauge::count(name, "everyone", used, wide(open.limits.connections_max)));
    });
}

/// Whether the error concerns one connection that ended before it was accepted.
fn is_peer_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// All open connections and their limits.
pub(crate) struct OpenConnections {
    limits: ConnectionLimits,
    connections: Mutex<BTreeMap<u64, Arc<ConnectionState>>>,
}

impl OpenConnections {
    /// Makes room for one more; `None` if no connection is idle.
    fn admit(&self, number: u64) -> Option<Arc<ConnectionState>> {
        let is_full = self.connections.lock().len() >= self.limits.connections_max;
        if is_full && !self.end_oldest_idle() {
            return None;
        }
        let state = Arc::new(ConnectionState::new());
        self.connections.lock().insert(number, Arc::clone(&state));
        Some(state)
    }

    /// Closes the longest idle connections, a few at a time, so that a flood does not scan all of them for each new
    /// one; false if none is idle.
    fn end_oldest_idle(&self) -> bool {
        let mut connections = self.connections.lock();
        let mut idle: Vec<_> =
            connections.iter().filter_map(|(number, state)| Some((state.idle_since()?, *number))).collect();
        idle.sort_unstable();
        let few = self.limits.connections_max.div_ceil(CLOSED_FRACTION);
        idle.truncate(few);
        for (_, number) in &idle {
            if let Some(state) = connections.remove(number) {
                state.close();
            }
        }
        !idle.is_empty()
    }

    /// Closes connections that have been slow or idle for too long.
    fn sweep(&self) {
        let mut connections = self.connections.lock();
        let is_crowded = connections.len() > self.limits.crowd();
        connections.retain(|_, state| {
            let is_over = state.is_overdue(&self.limits, is_crowded);
            if is_over {
                state.close();
            }
            !is_over
        });
    }
}

/// The slot of one connection; released when dropped.
struct ConnectionSlot {
    open: Arc<OpenConnections>,
    number: u64,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.connections.lock().remove(&self.number);
    }
}

/// One connection, from its first byte to its end.
async fn wait_and_serve<A: ConnectionSource>(
    stream: A::Stream,
    state: Arc<ConnectionState>,
    slot: ConnectionSlot,
    end: (A::Peer, Router),
    scope: Supervisor,
) {
    let stop = scope.stopping();
    // Until the peer sends something, a connection costs neither a buffer nor the future that serves it.
    tokio::select! {
        ready = A::wait_for_data(&stream) => if ready.is_err() { return },
        () = state.closed() => return,
        () = stop.cancelled() => return,
    }
    Box::pin(serve_http1(stream, state, &slot.open.limits, end, stop)).await;
}

/// Serves a connection on which something has arrived.
async fn serve_http1<S, P>(
    stream: S,
    state: Arc<ConnectionState>,
    limits: &ConnectionLimits,
    end: (P, Router),
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    P: Clone + Send + Sync + 'static,
{
    let body_limit = limits.body_limit;
    let watched = Arc::clone(&state);
    let (peer, router) = end;
    let owner = Arc::new(ConnectionOwner::default());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (router, asked) = (router.clone(), ConnectionState::begin(&watched));
        request.extensions_mut().insert(ConnectInfo(peer.clone()));
        request.extensions_mut().insert(Arc::clone(&owner));
        async move {
            let response = match ambiguity(&request) {
                None => {
                    let request = request.map(|body| Body::new(TimedBody::new(body, body_limit)));
                    router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {})
                }
                Some(status) => closing(status),
            };
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, asked)))
        }
    });
    let mut builder = http1::Builder::new();
    builder.max_header_size(limits.head_bytes_max).header_read_timeout(None);
    if limits.headers_max != HEADERS_ON_STACK {
        builder.max_headers(limits.headers_max);
    }
    let stream = TokioIo::new(ObservedStream::new(stream, Arc::clone(&state)));
    let connection = builder.serve_connection(stream, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Errors of the peer need no handling here: hyper has replied where that is possible.
        _ = connection.as_mut() => {}
        () = state.closed() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(limits.close_limit, connection).await;
        }
    }
}

/// Refuses requests that two readers of the same bytes could understand differently (request smuggling): two ways to
/// say where the body ends, an address that contradicts `Host`, and methods meant for proxies.
fn ambiguity(request: &Request<Incoming>) -> Option<StatusCode> {
    let headers = request.headers();
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let coding = codings.next();
    let is_plain = coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if !is_plain || codings.next().is_some() || coding.is_some() && headers.contains_key(header::CONTENT_LENGTH) {
        return Some(StatusCode::BAD_REQUEST);
    }
    if request.method() == axum::http::Method::CONNECT || request.method() == axum::http::Method::TRACE {
        return Some(StatusCode::METHOD_NOT_ALLOWED);
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    let named = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let agrees = named.is_none_or(|named| host.is_some_and(|host| host.as_bytes() == named.as_bytes()));
    if hosts.next().is_some() || !agrees || request.version() == Version::HTTP_11 && host.is_none() {
        return Some(StatusCode::BAD_REQUEST);
    }
    None
}

/// A refusal that closes the connection.
fn closing(status: StatusCode) -> Response<Body> {
    (status, [(header::CONNECTION, "close")]).into_response()
}
