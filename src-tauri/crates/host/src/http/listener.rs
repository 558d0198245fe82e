//! Accepts connections, and bounds how many there are, how long they stay idle, and how slowly they may talk.
//!
//! One state per connection and one sweep over all of them. When there is no room, the longest idle connection is
//! closed; if none is idle, the new one is. hyper speaks HTTP/1.1, the router gives requests a meaning; calls of agents
//! go to `agent_routes.rs` without it. Nothing here authenticates. A connection is served on a door thread, or where its
//! listener is.
//!
//! It drives hyper itself instead of `axum::serve` or tower layers, because the limits of decision 0015 concern sockets
//! and not requests: a layer sees neither a connection that sends no head, nor one that does not read its reply, and
//! cannot close an idle one in favour of a new one. hyper-util's graceful shutdown only waits.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

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
use mcp::server::{ClientConnection, ReplyBody};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tower::ServiceExt as _;

use crate::agent_access::request_budget::ConnectionOwner;
use crate::http::agent_routes::AgentRoutes;
use crate::http::connection::{ConnectionLimits, ConnectionState, EndSignal, ObservedStream, TimedBody, TrackedBody};
use crate::http::door_threads::{DoorThreads, MovableStream};

/// The number of headers that hyper reads without allocating; also its limit when none is set.
const HEADERS_ON_STACK: usize = 100;

/// When there is no room, this fraction of connections is closed at once. Judgement: closes few, and is rarely needed.
const CLOSED_FRACTION: usize = 64;

/// Where connections come from: TCP for agents and browsers, or the core's unix socket.
pub(crate) trait ConnectionSource: Send + Sync + 'static {
    /// The stream of one connection.
    type Stream: AsyncRead + AsyncWrite + MovableStream + Unpin + Send + Sync + 'static;
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

/// What a listener serves.
#[derive(Clone)]
pub(crate) struct Routes {
    /// Gives requests a meaning.
    pub(crate) router: Router,
    /// Takes calls of agents before the router.
    pub(crate) agents: Option<AgentRoutes>,
}

impl From<Router> for Routes {
    fn from(router: Router) -> Self {
        Self { router, agents: None }
    }
}

/// Serves connections until the scope ends; active requests are finished, idle connections are closed.
pub(crate) fn serve<A: ConnectionSource>(
    listener: A,
    routes: impl Into<Routes>,
    limits: ConnectionLimits,
    supervisor: &Supervisor,
) -> Arc<OpenConnections> {
    serve_on(None, listener, routes.into(), limits, supervisor)
}

/// As [`serve`], on these threads.
pub(crate) fn serve_on<A: ConnectionSource>(
    doors: Option<Arc<DoorThreads>>,
    listener: A,
    routes: Routes,
    limits: ConnectionLimits,
    supervisor: &Supervisor,
) -> Arc<OpenConnections> {
    let open = Arc::new(OpenConnections { limits, connections: Mutex::default(), more: Notify::new() });
    let swept = Arc::clone(&open);
    supervisor.spawn("quiet connections", async move { swept.sweep().await });
    let (stop, ended) = (supervisor.stopping(), Arc::clone(&open));
    supervisor.spawn_draining("end of connections", async move {
        stop.cancelled().await;
        ended.drain();
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
                        let end = ConnectionEnd { peer, routes: routes.clone() };
                        start::<A>(doors.as_deref(), stream, ServedConnection { state, slot, end }, &scope);
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

/// Starts to serve a connection, on the next door thread if there are any.
fn start<A: ConnectionSource>(
    doors: Option<&DoorThreads>,
    stream: A::Stream,
    connection: ServedConnection<A::Peer>,
    scope: &Supervisor,
) {
    const TASK: &str = "connection";
    let Some(runtime) = doors.and_then(DoorThreads::next) else {
        return scope.spawn_draining(TASK, wait_and_serve::<A>(stream, connection));
    };
    let Ok(socket) = stream.leave() else { return };
    scope.spawn_draining_on(runtime, TASK, async move {
        // A socket that the system does not let in has no connection any more.
        if let Ok(stream) = A::Stream::enter(socket) {
            wait_and_serve::<A>(stream, connection).await;
        }
    });
}

/// Registers how many connections are open.
pub(crate) fn register(open: &Arc<OpenConnections>, name: &'static str, gauges: &Gauges) {
    let open = Arc::downgrade(open);
    gauges.add(move |rows| {
        let Some(open) = open.upgrade() else { return };
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let used = wide(open.connections.lock().states.len());
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
    connections: Mutex<Connections>,
    /// Wakes the sweep: a connection came while it slept, or there are many from now on.
    more: Notify,
}

#[derive(Default)]
struct Connections {
    states: BTreeMap<u64, Arc<ConnectionState>>,
    /// The core ends, and every connection with it.
    is_draining: bool,
    /// The sweep sleeps, because there was no connection.
    is_unwatched: bool,
}

impl OpenConnections {
    /// Makes room for one more; `None` if no connection is idle.
    fn admit(&self, number: u64) -> Option<Arc<ConnectionState>> {
        let is_full = self.connections.lock().states.len() >= self.limits.connections_max;
        if is_full && !self.end_oldest_idle() {
            return None;
        }
        let state = Arc::new(ConnectionState::new());
        let mut connections = self.connections.lock();
        if connections.is_draining {
            state.end(EndSignal::Drain);
        }
        connections.states.insert(number, Arc::clone(&state));
        let becomes_crowded = connections.states.len() == self.limits.crowd() + 1;
        let was_unwatched = std::mem::take(&mut connections.is_unwatched);
        drop(connections);
        if was_unwatched || becomes_crowded {
            self.more.notify_one();
        }
        Some(state)
    }

    /// Closes the longest idle connections, a few at a time, so that a flood does not scan all of them for each new
    /// one; false if none is idle.
    fn end_oldest_idle(&self) -> bool {
        let states = &mut self.connections.lock().states;
        let mut idle: Vec<_> =
            states.iter().filter_map(|(number, state)| Some((state.idle_since()?, *number))).collect();
        idle.sort_unstable();
        let few = self.limits.connections_max.div_ceil(CLOSED_FRACTION);
        idle.truncate(few);
        let mut has_closed = false;
        for (_, number) in &idle {
            // A request may have begun since.
            if states.get(number).is_some_and(|state| state.close_quiet()) {
                states.remove(number);
                has_closed = true;
            }
        }
        has_closed
    }

    /// Closes connections that have been slow or idle for too long, for ever. Wakes when the first of them can be due.
    async fn sweep(&self) {
        loop {
            let Some(left) = self.close_overdue() else {
                self.more.notified().await;
                continue;
            };
            // Both arms may be dropped: a permit of `more` stays, a sleep has no effect.
            tokio::select! {
                () = tokio::time::sleep(left.max(self.limits.sweep_every)) => {}
                () = self.more.notified() => {}
            }
        }
    }

    /// Closes what is overdue. Returns when the next can be; `None` without connections.
    fn close_overdue(&self) -> Option<Duration> {
        let mut connections = self.connections.lock();
        let Connections { states, is_unwatched, .. } = &mut *connections;
        let is_crowded = states.len() > self.limits.crowd();
        // What becomes slow after this look is overdue after its limit at the earliest.
        let mut next = self.limits.write_limit.min(self.limits.head_limit);
        states.retain(|_, state| {
            let left = state.time_left(&self.limits, is_crowded);
            if left.stuck.is_some_and(|left| left.is_zero()) {
                state.end(EndSignal::Close);
                return false;
            }
            // A request may have begun since; then it is looked at next time.
            if left.quiet.is_some_and(|left| left.is_zero()) {
                return !state.close_quiet();
            }
            next = left.soonest().map_or(next, |left| next.min(left));
            true
        });
        *is_unwatched = states.is_empty();
        (!*is_unwatched).then_some(next)
    }

    /// Has every connection finish what is in work and end.
    fn drain(&self) {
        let mut connections = self.connections.lock();
        connections.is_draining = true;
        connections.states.values().for_each(|state| state.end(EndSignal::Drain));
    }
}

/// The slot of one connection; released when dropped.
struct ConnectionSlot {
    open: Arc<OpenConnections>,
    number: u64,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.connections.lock().states.remove(&self.number);
    }
}

/// Both ends of a connection: who is there, and what they are served.
struct ConnectionEnd<P> {
    peer: P,
    routes: Routes,
}

/// A connection that was admitted.
struct ServedConnection<P> {
    state: Arc<ConnectionState>,
    slot: ConnectionSlot,
    end: ConnectionEnd<P>,
}

/// One connection, from its first byte to its end.
async fn wait_and_serve<A: ConnectionSource>(stream: A::Stream, connection: ServedConnection<A::Peer>) {
    let ServedConnection { state, slot, end } = connection;
    // Until the peer sends something, a connection costs neither a buffer nor the future that serves it.
    tokio::select! {
        ready = A::wait_for_data(&stream) => if ready.is_err() { return },
        _ = poll_fn(|cx| state.poll_signal(cx)) => return,
    }
    Box::pin(serve_http1(stream, state, &slot.open.limits, end)).await;
}

/// What answers the requests of one connection.
struct ConnectionService<P> {
    end: ConnectionEnd<P>,
    state: Arc<ConnectionState>,
    owner: Arc<ConnectionOwner>,
    client: Arc<ClientConnection>,
    body_limit: Duration,
}

impl<P: Clone + Send + Sync + 'static> ConnectionService<P> {
    async fn answer(self: Arc<Self>, mut request: Request<Incoming>) -> Response<ReplyBody> {
        if let Some(status) = ambiguity(&request) {
            return closing(status).map(ReplyBody::from);
        }
        let Routes { router, agents } = &self.end.routes;
        if let Some(agents) = agents
            && let Some(caller) = agents.admit(&request, &self.owner)
        {
            return agents.call(caller, request, &self.client, self.body_limit).await;
        }
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(self.end.peer.clone()));
        extensions.insert(Arc::clone(&self.owner));
        extensions.insert(Arc::clone(&self.client));
        let request = request.map(|body| Body::new(TimedBody::new(body, self.body_limit)));
        // Boxed, so that a call of an agent does not carry the space for everything else.
        let routed = Box::pin(router.clone().oneshot(request));
        routed.await.unwrap_or_else(|never: Infallible| match never {}).map(ReplyBody::from)
    }
}

/// Serves a connection on which something has arrived.
async fn serve_http1<S, P>(stream: S, state: Arc<ConnectionState>, limits: &ConnectionLimits, end: ConnectionEnd<P>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    P: Clone + Send + Sync + 'static,
{
    let served = Arc::new(ConnectionService {
        end,
        state: Arc::clone(&state),
        owner: Arc::default(),
        client: Arc::default(),
        body_limit: limits.body_limit,
    });
    let service = service_fn(move |request: Request<Incoming>| {
        let (served, active) = (Arc::clone(&served), ConnectionState::begin(&served.state));
        async move {
            // Closed just before, because it was quiet: nothing of this request is begun.
            let Some(active) = active else { return Err(io::Error::from(io::ErrorKind::ConnectionAborted)) };
            let response = served.answer(request).await;
            Ok(response.map(|body| TrackedBody::new(body, active)))
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
    let signal = poll_fn(|cx| match connection.as_mut().poll(cx) {
        // Errors of the peer need no handling here: hyper has replied where that is possible.
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => state.poll_signal(cx).map(Some),
    });
    match signal.await {
        None | Some(EndSignal::Close) => {}
        Some(EndSignal::Drain) => {
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

#[cfg(test)]
mod tests {
    use domain::policy::Policy;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_ends_its_connection_in_time_though_nothing_ticks() {
        let limits = ConnectionLimits::of(&Policy::default(), 1_024);
        let (head_limit, sweep_every) = (limits.head_limit, limits.sweep_every);
        let open = OpenConnections { limits, connections: Mutex::default(), more: Notify::new() };
        let connecting = async {
            // The sweep sleeps without a timer by then.
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            let quiet = open.admit(1).expect("there is room");
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            let slow = open.admit(2).expect("there is room");
            let begun = Instant::now();
            slow.note_read();
            let ended = poll_fn(|cx| slow.poll_signal(cx)).await;
            (ended, begun.elapsed(), poll_fn(|cx| Poll::Ready(quiet.poll_signal(cx).is_pending())).await)
        };
        let (ended, after, is_quiet_open) = tokio::select! {
            () = open.sweep() => panic!("it sweeps for ever"),
            seen = connecting => seen,
        };
        assert_eq!(ended, EndSignal::Close);
        assert!((head_limit..=head_limit + sweep_every).contains(&after), "after {after:?}");
        assert!(is_quiet_open, "the one that is only quiet stays");
    }
}
