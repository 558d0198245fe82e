//! The state of one connection as the sweep sees it, and the wrappers around socket and bodies that update it.
//!
//! A few atomics, so that updating costs nothing on the path of a call. Times are milliseconds since the connection was
//! accepted. What is too long is the policy's; closing is `listener.rs`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use domain::policy::Policy;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// Limits of connections, from the policy and the operating system.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections_max: usize,
    pub(crate) headers_max: usize,
    pub(crate) head_bytes_max: usize,
    pub(crate) head_limit: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) body_limit: Duration,
    pub(crate) write_limit: Duration,
    pub(crate) close_limit: Duration,
    pub(crate) sweep_every: Duration,
}

impl ConnectionLimits {
    /// The limits of the policy, with at most half as many connections as this process may open files.
    pub(crate) fn of(policy: &Policy, files: usize) -> Self {
        let (gateway, doorway) = (&policy.gateway, &policy.hosting.doorway);
        Self {
            connections_max: gateway.connections_max.min(files / 2).max(1),
            headers_max: gateway.headers_max,
            head_bytes_max: gateway.headers_cap_bytes,
            head_limit: gateway.header_limit,
            idle_limit: gateway.idle_connection,
            body_limit: gateway.body_limit,
            write_limit: doorway.write_limit,
            close_limit: doorway.close_limit,
            sweep_every: doorway.sweep_every,
        }
    }

    /// Above this many connections, idle ones are closed soon.
    pub(crate) fn crowd(&self) -> usize {
        self.connections_max / 2
    }
}

/// What one connection is doing.
pub(crate) struct ConnectionState {
    accepted: Instant,
    /// Requests whose reply is not completely written.
    active: AtomicUsize,
    /// Since when no request is active.
    quiet_from: AtomicU64,
    /// Whether bytes of the next request have arrived.
    is_receiving: AtomicBool,
    /// Since when the peer does not accept what is written; 0 while it does.
    stuck_from: AtomicU64,
    end: CancellationToken,
}

impl ConnectionState {
    pub(crate) fn new() -> Self {
        Self {
            accepted: Instant::now(),
            active: AtomicUsize::new(0),
            quiet_from: AtomicU64::new(0),
            is_receiving: AtomicBool::new(false),
            stuck_from: AtomicU64::new(0),
            end: CancellationToken::new(),
        }
    }

    /// Starts a request; it ends when the returned guard is dropped.
    pub(crate) fn begin(state: &Arc<Self>) -> ActiveRequest {
        state.active.fetch_add(1, Relaxed);
        state.is_receiving.store(false, Relaxed);
        ActiveRequest(Arc::clone(state))
    }

    pub(crate) fn close(&self) {
        self.end.cancel();
    }

    /// Returns when the connection is to be closed. Cancel-safe.
    pub(crate) async fn closed(&self) {
        self.end.cancelled().await;
    }

    /// Since when no request is active; `None` while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let quiet = Duration::from_millis(self.quiet_from.load(Relaxed));
        (self.active.load(Relaxed) == 0).then(|| self.accepted.checked_add(quiet).unwrap_or(self.accepted))
    }

    /// Whether it has been slow for too long, or idle for too long while there are many connections.
    pub(crate) fn is_overdue(&self, limits: &ConnectionLimits, is_crowded: bool) -> bool {
        let now = self.at();
        let stuck = self.stuck_from.load(Relaxed);
        if stuck != 0 && is_past(now, stuck, limits.write_limit) {
            return true;
        }
        if self.active.load(Relaxed) > 0 {
            return false;
        }
        let quiet = self.quiet_from.load(Relaxed);
        if self.is_receiving.load(Relaxed) {
            is_past(now, quiet, limits.head_limit)
        } else {
            is_crowded && is_past(now, quiet, limits.idle_limit)
        }
    }

    fn at(&self) -> u64 {
        u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note_read(&self) {
        if self.active.load(Relaxed) == 0 && !self.is_receiving.swap(true, Relaxed) {
            self.quiet_from.store(self.at(), Relaxed);
        }
    }

    fn note_write(&self, is_pending: bool) {
        if !is_pending {
            self.stuck_from.store(0, Relaxed);
        } else if self.stuck_from.load(Relaxed) == 0 {
            self.stuck_from.store(self.at().max(1), Relaxed);
        }
    }
}

fn is_past(now: u64, from: u64, limit: Duration) -> bool {
    Duration::from_millis(now.saturating_sub(from)) > limit
}

/// A request whose reply is not completely written; ends when dropped.
pub(crate) struct ActiveRequest(Arc<ConnectionState>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.quiet_from.store(self.0.at(), Relaxed);
        self.0.active.fetch_sub(1, Relaxed);
    }
}

/// A socket that reports reads and writes to the state of its connection.
pub(crate) struct ObservedStream<S> {
    stream: S,
    state: Arc<ConnectionState>,
}

impl<S> ObservedStream<S> {
    pub(crate) fn new(stream: S, state: Arc<ConnectionState>) -> Self {
        Self { stream, state }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.state.note_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.state.note_write(written.is_pending());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.state.note_write(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The body of a request, which has to arrive in time.
pub(crate) struct TimedBody {
    body: Incoming,
    limit: Duration,
    /// Created when the body is first waited for, because most bodies arrive together with their head.
    late: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(crate) fn new(body: Incoming, limit: Duration) -> Self {
        Self { body, limit, late: None }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        let limit = self.limit;
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        late.as_mut().poll(cx).map(|()| Some(Err(io::ErrorKind::TimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a reply; its request is active until the body is sent or dropped.
pub(crate) struct TrackedBody {
    body: Body,
    _request: ActiveRequest,
}

impl TrackedBody {
    pub(crate) fn new(body: Body, request: ActiveRequest) -> Self {
        Self { body, _request: request }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
