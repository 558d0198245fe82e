//! Taking connections: how many, how long they may be quiet, and how slowly they may speak.
//!
//! One line of state a connection: whether a request is in work, since when, whether a head or an answer is stuck half
//! way. One sweep looks at all of them; when there is no room, the one that is idle longest goes, and when none is idle
//! the new one does. HTTP/1.1 is hyper's; what a request means is the router's. It authenticates nobody.

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

use super::line::{Answered, Asked, Limits, Line, Watched};
use crate::request_budget::ConnectionOwner;

/// Header lines that hyper reads without an allocation; also its limit when none is set.
const HEADERS_ON_STACK: usize = 100;

/// One of so many connections goes at once when there is no room. Judgement: few are hit, and looking is rare.
const SHARE: usize = 64;

/// A kind of listener: TCP for agents and browsers, a unix socket for the core's own door.
pub(crate) trait Accept: Send + Sync + 'static {
    /// One connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static;
    /// Who is at its other end; put into every request as `ConnectInfo`.
    type Peer: Clone + Send + Sync + 'static;
    /// Takes the next connection; `None` for a peer that may not come at all.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<Self::Peer>)>> + Send;
    /// Waits until the peer says something.
    fn heard(stream: &Self::Stream) -> impl Future<Output = io::Result<()>> + Send;
}

impl Accept for TcpListener {
    type Stream = TcpStream;
    type Peer = ();

    async fn next(&self) -> io::Result<(TcpStream, Option<()>)> {
        let (stream, _) = self.accept().await?;
        // Answers are small and awaited: waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        Ok((stream, Some(())))
    }

    async fn heard(stream: &TcpStream) -> io::Result<()> {
        stream.readable().await
    }
}

/// Serves what arrives until the scope ends; requests in work are finished, idle connections are closed.
pub(crate) fn serve<A: Accept>(listener: A, router: Router, limits: Limits, supervisor: &Supervisor) -> Arc<Open> {
    let open = Arc::new(Open { limits, lines: Mutex::new(BTreeMap::new()) });
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
                    if let Some(line) = open.room(made) {
                        let place = Place { open: Arc::clone(&open), number: made };
                        let end = (peer, router.clone());
                        scope.spawn_draining("connection", attend::<A>(stream, line, place, end, scope.clone()));
                    }
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    // Out of file descriptors, most likely: make room and breathe instead of spinning.
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
pub(crate) fn register(open: &Arc<Open>, name: &'static str, gauges: &Gauges) {
    let open = Arc::downgrade(open);
    gauges.add(move |rows| {
        let Some(open) = open.upgrade() else { return };
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let used = wide(open.lines.lock().len());
        rows.push(Gauge::count(name, "everyone", used, wide(open.limits.connections_max)));
    });
}

/// Whether the error is of one connection that is gone before it was taken.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// All open connections.
pub(crate) struct Open {
    limits: Limits,
    lines: Mutex<BTreeMap<u64, Arc<Line>>>,
}

impl Open {
    /// A place for one more; `None` when all are in work.
    fn room(&self, number: u64) -> Option<Arc<Line>> {
        let is_full = self.lines.lock().len() >= self.limits.connections_max;
        if is_full && !self.end_oldest_idle() {
            return None;
        }
        let line = Arc::new(Line::new());
        self.lines.lock().insert(number, Arc::clone(&line));
        Some(line)
    }

    /// Closes the connections that are idle longest, a few at a time so that a flood does not have all of them looked
    /// through for each newcomer; false when none is idle.
    fn end_oldest_idle(&self) -> bool {
        let mut lines = self.lines.lock();
        let mut idle: Vec<_> = lines.iter().filter_map(|(number, line)| Some((line.idle_since()?, *number))).collect();
        idle.sort_unstable();
        let few = self.limits.connections_max.div_ceil(SHARE);
        idle.truncate(few);
        for (_, number) in &idle {
            if let Some(line) = lines.remove(number) {
                line.end();
            }
        }
        !idle.is_empty()
    }

    /// Closes what is slow or quiet for too long.
    fn sweep(&self) {
        let mut lines = self.lines.lock();
        let is_crowded = lines.len() > self.limits.crowd();
        lines.retain(|_, line| {
            let is_over = line.is_overdue(&self.limits, is_crowded);
            if is_over {
                line.end();
            }
            !is_over
        });
    }
}

/// The place of one connection; given back when it is dropped.
struct Place {
    open: Arc<Open>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.lines.lock().remove(&self.number);
    }
}

/// One connection, from its first byte to its end.
async fn attend<A: Accept>(
    stream: A::Stream,
    line: Arc<Line>,
    place: Place,
    end: (A::Peer, Router),
    scope: Supervisor,
) {
    let stop = scope.stopping();
    // A connection that says nothing costs no buffer, and not the room for what speaks on it.
    tokio::select! {
        ready = A::heard(&stream) => if ready.is_err() { return },
        () = line.ended() => return,
        () = stop.cancelled() => return,
    }
    Box::pin(speak(stream, line, &place.open.limits, end, stop)).await;
}

/// A connection on which something was said.
async fn speak<S, P>(stream: S, line: Arc<Line>, limits: &Limits, end: (P, Router), stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    P: Clone + Send + Sync + 'static,
{
    let body_limit = limits.body_limit;
    let watched = Arc::clone(&line);
    let (peer, router) = end;
    let owner = Arc::new(ConnectionOwner::default());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (router, asked) = (router.clone(), Line::begin(&watched));
        request.extensions_mut().insert(ConnectInfo(peer.clone()));
        request.extensions_mut().insert(Arc::clone(&owner));
        async move {
            let response = match smells(&request) {
                None => {
                    let request = request.map(|body| Body::new(Asked::new(body, body_limit)));
                    router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {})
                }
                Some(status) => closing(status),
            };
            Ok::<_, Infallible>(response.map(|body| Answered::new(body, asked)))
        }
    });
    let mut builder = http1::Builder::new();
    builder.max_header_size(limits.head_bytes_max).header_read_timeout(None);
    if limits.headers_max != HEADERS_ON_STACK {
        builder.max_headers(limits.headers_max);
    }
    let stream = TokioIo::new(Watched::new(stream, Arc::clone(&line)));
    let connection = builder.serve_connection(stream, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A peer that breaks off or speaks no HTTP is its own affair; hyper answers what can be answered.
        _ = connection.as_mut() => {}
        () = line.ended() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(limits.close_limit, connection).await;
        }
    }
}

/// What two readers of the same bytes could take differently is refused, whichever of them is right: a second way to
/// say where the body ends, an address that contradicts `Host`, and methods that are for proxies.
fn smells(request: &Request<Incoming>) -> Option<StatusCode> {
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

/// A refusal after which nothing more is read from this connection.
fn closing(status: StatusCode) -> Response<Body> {
    (status, [(header::CONNECTION, "close")]).into_response()
}
