//! The state of one connection as the sweep sees it, and the wrappers around socket and bodies that update it.
//!
//! A few atomics and one waker, so that updating and watching cost nothing on the path of a call. Times are milliseconds
//! since the connection was accepted. What is too long is the policy's; closing is `listener.rs`.
//!
//! The connection's own threads write, the sweep reads on another one. Where one value says since when another one holds,
//! the time is written first and read last, and the other is released and acquired. A time that stands alone is `Relaxed`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use domain::policy::Policy;
use futures::task::AtomicWaker;
use hyper::body::{Frame, Incoming, SizeHint};
use mcp::server::ReplyBody;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

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

/// In place of the number of active requests: the connection is closed, and no request begins on it any more.
const CLOSED: usize = usize::MAX;

/// What one connection is doing.
pub(crate) struct ConnectionState {
    accepted: Instant,
    /// Requests whose reply is not completely written, or [`CLOSED`].
    active: AtomicUsize,
    /// Since when no request is active, and while one is being received, since when that is.
    quiet_from: AtomicU64,
    /// Whether bytes of the next request have arrived.
    is_receiving: AtomicBool,
    /// Since when the peer does not accept what is written; 0 while it does.
    stuck_from: AtomicU64,
    /// An [`EndSignal`] as a number; 0 while there is none.
    signal: AtomicU8,
    /// The task that serves the connection.
    task: AtomicWaker,
}

/// What the listener wants of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// The core ends: the request in work is finished.
    Drain,
    /// It is in the way: it is closed at once.
    Close,
}

impl EndSignal {
    const fn number(self) -> u8 {
        match self {
            Self::Drain => 1,
            Self::Close => 2,
        }
    }
}

/// How long a connection may stay as it is: zero when its time is over, `None` while nothing runs against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeLeft {
    /// Until its peer has not accepted what is written for too long.
    pub(crate) stuck: Option<Duration>,
    /// Until it has had no request for too long.
    pub(crate) quiet: Option<Duration>,
}

impl TimeLeft {
    /// The sooner of both.
    pub(crate) fn soonest(self) -> Option<Duration> {
        self.stuck.into_iter().chain(self.quiet).min()
    }
}

impl ConnectionState {
    pub(crate) fn new() -> Self {
        Self {
            accepted: Instant::now(),
            active: AtomicUsize::new(0),
            quiet_from: AtomicU64::new(0),
            is_receiving: AtomicBool::new(false),
            stuck_from: AtomicU64::new(0),
            signal: AtomicU8::new(0),
            task: AtomicWaker::new(),
        }
    }

    /// Starts a request; it ends when the returned guard is dropped. `None` when the connection was closed for being
    /// quiet: nothing of the request is begun.
    pub(crate) fn begin(state: &Arc<Self>) -> Option<ActiveRequest> {
        let with_one = |active: usize| (active != CLOSED).then(|| active + 1);
        state.active.fetch_update(AcqRel, Acquire, with_one).ok()?;
        // Whoever reads that nothing is received any more reads the request that it became.
        state.is_receiving.store(false, Release);
        Some(ActiveRequest(Arc::clone(state)))
    }

    /// Closes a connection on which no request is active; false when one has begun meanwhile. Of a request that comes and
    /// a close, one sees the other: a call is never dropped because its connection was quiet before it.
    pub(crate) fn close_quiet(&self) -> bool {
        let was_quiet = self.active.compare_exchange(0, CLOSED, AcqRel, Acquire).is_ok();
        if was_quiet {
            self.end(EndSignal::Close);
        }
        was_quiet
    }

    /// Tells the connection to end. The stronger signal stays.
    pub(crate) fn end(&self, signal: EndSignal) {
        self.signal.fetch_max(signal.number(), AcqRel);
        self.task.wake();
    }

    /// The signal for this connection, if there is one; its task is woken by the next. Only one task may ask.
    pub(crate) fn poll_signal(&self, cx: &Context<'_>) -> Poll<EndSignal> {
        self.task.register(cx.waker());
        match self.signal.load(Acquire) {
            0 => Poll::Pending,
            1 => Poll::Ready(EndSignal::Drain),
            _ => Poll::Ready(EndSignal::Close),
        }
    }

    /// Since when no request is active; `None` while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        // Read first: who sees that the last request has ended sees when.
        if self.active.load(Acquire) != 0 {
            return None;
        }
        let quiet = Duration::from_millis(self.quiet_from.load(Relaxed));
        Some(self.accepted.checked_add(quiet).unwrap_or(self.accepted))
    }

    /// How long until it has been slow for too long, or idle for too long while there are many connections.
    pub(crate) fn time_left(&self, limits: &ConnectionLimits, is_crowded: bool) -> TimeLeft {
        let now = self.at();
        let left = |from: u64, limit: Duration| limit.saturating_sub(Duration::from_millis(now.saturating_sub(from)));
        let stuck = self.stuck_from.load(Relaxed);
        // In this order: a request that is received becomes an active one, and both are newer than the time.
        let is_receiving = self.is_receiving.load(Acquire);
        let quiet_limit = match (self.active.load(Acquire), is_receiving) {
            (0, true) => Some(limits.head_limit),
            (0, false) => is_crowded.then_some(limits.idle_limit),
            (_, _) => None,
        };
        TimeLeft {
            stuck: (stuck != 0).then(|| left(stuck, limits.write_limit)),
            quiet: quiet_limit.map(|limit| left(self.quiet_from.load(Relaxed), limit)),
        }
    }

    fn at(&self) -> u64 {
        u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Bytes arrived. For the one task that reads.
    pub(super) fn note_read(&self) {
        if self.active.load(Relaxed) == 0 && !self.is_receiving.load(Relaxed) {
            // Before the flag: a head that has just begun must not count from the end of the last request.
            self.quiet_from.store(self.at(), Relaxed);
            self.is_receiving.store(true, Release);
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

/// A request whose reply is not completely written; ends when dropped.
pub(crate) struct ActiveRequest(Arc<ConnectionState>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        // Before the count: who sees that no request is active must not see when an earlier one ended.
        self.0.quiet_from.store(self.0.at(), Relaxed);
        self.0.active.fetch_sub(1, Release);
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
    body: ReplyBody,
    _request: ActiveRequest,
}

impl TrackedBody {
    pub(crate) fn new(body: ReplyBody, request: ActiveRequest) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_has_as_much_time_as_what_it_is_doing_may_take() {
        let (state, limits) = (Arc::new(ConnectionState::new()), ConnectionLimits::of(&Policy::default(), 1_024));
        let left = |is_crowded| state.time_left(&limits, is_crowded).soonest();
        assert_eq!(
            (left(false), left(true)),
            (None, Some(limits.idle_limit)),
            "an idle one may stay, but not among many"
        );
        state.note_read();
        let second = Duration::from_secs(1);
        tokio::time::advance(second).await;
        assert_eq!(left(false), Some(limits.head_limit - second), "the rest of a head has to come");
        let request = ConnectionState::begin(&state).expect("it is open");
        assert_eq!(left(true), None, "a request in work takes its time");
        state.note_write(true);
        tokio::time::advance(limits.write_limit).await;
        assert_eq!(left(false), Some(Duration::ZERO), "a peer that takes nothing is slow");
        state.note_write(false);
        drop(request);
        assert_eq!(left(false), None, "until it takes something");
    }
    #[test]
    fn a_connection_is_closed_for_being_quiet_or_begins_a_request_and_never_both() {
        let state = Arc::new(ConnectionState::new());
        let request = ConnectionState::begin(&state).expect("it is open");
        assert!(!state.close_quiet() && state.idle_since().is_none(), "a request is active");
        drop(request);
        assert!(state.idle_since().is_some() && state.close_quiet(), "now it is quiet");
        assert!(ConnectionState::begin(&state).is_none() && state.idle_since().is_none(), "and closed for good");

        const ROUNDS: usize = 2_000;
        for _ in 0..ROUNDS {
            let (state, together) = (Arc::new(ConnectionState::new()), std::sync::Barrier::new(2));
            let (began, closed) = std::thread::scope(|scope| {
                let begins = scope.spawn(|| {
                    together.wait();
                    ConnectionState::begin(&state)
                });
                together.wait();
                let closed = state.close_quiet();
                (begins.join().expect("it runs"), closed)
            });
            assert_ne!(began.is_some(), closed, "one of the two");
        }
    }
}
