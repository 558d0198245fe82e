//! One connection as the sweep sees it, and the wrappers that tell it what happens there.
//!
//! Everything is a few atomics, so that telling costs nothing on the way of a call. Times are milliseconds since the
//! connection was taken. What is too long is the policy's.

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

/// What connections may take, as the policy and the system say.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    pub(super) headers_max: usize,
    pub(super) head_bytes_max: usize,
    pub(super) head_limit: Duration,
    pub(super) idle_limit: Duration,
    pub(super) body_limit: Duration,
    pub(super) write_limit: Duration,
    pub(super) close_limit: Duration,
    pub(super) sweep_every: Duration,
}

impl Limits {
    /// Those of the policy, but no more connections than half of the files that this process may open.
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

    /// From so many connections on, idle ones are not kept for long.
    pub(super) fn crowd(&self) -> usize {
        self.connections_max / 2
    }
}

/// One connection.
pub(super) struct Line {
    taken: Instant,
    /// Requests that were read and not answered to the end.
    in_work: AtomicUsize,
    /// Since when nothing is in work.
    quiet_from: AtomicU64,
    /// Bytes of a next request arrived.
    is_asking: AtomicBool,
    /// Since when the peer takes nothing of what is written; 0 when it does.
    stuck_from: AtomicU64,
    end: CancellationToken,
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            taken: Instant::now(),
            in_work: AtomicUsize::new(0),
            quiet_from: AtomicU64::new(0),
            is_asking: AtomicBool::new(false),
            stuck_from: AtomicU64::new(0),
            end: CancellationToken::new(),
        }
    }

    /// A request begins; it ends when what is given back is dropped.
    pub(super) fn begin(line: &Arc<Self>) -> InWork {
        line.in_work.fetch_add(1, Relaxed);
        line.is_asking.store(false, Relaxed);
        InWork(Arc::clone(line))
    }

    /// Closes it.
    pub(super) fn end(&self) {
        self.end.cancel();
    }

    /// Returns when it is to be closed. Cancel-safe.
    pub(super) async fn ended(&self) {
        self.end.cancelled().await;
    }

    /// Since when nothing is in work on it; `None` while something is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let quiet = Duration::from_millis(self.quiet_from.load(Relaxed));
        (self.in_work.load(Relaxed) == 0).then(|| self.taken.checked_add(quiet).unwrap_or(self.taken))
    }

    /// Whether it is slow for too long, or, in a crowd, idle.
    pub(super) fn is_overdue(&self, limits: &Limits, is_crowded: bool) -> bool {
        let now = self.at();
        let stuck = self.stuck_from.load(Relaxed);
        if stuck != 0 && is_past(now, stuck, limits.write_limit) {
            return true;
        }
        if self.in_work.load(Relaxed) > 0 {
            return false;
        }
        let quiet = self.quiet_from.load(Relaxed);
        if self.is_asking.load(Relaxed) {
            is_past(now, quiet, limits.head_limit)
        } else {
            is_crowded && is_past(now, quiet, limits.idle_limit)
        }
    }

    fn at(&self) -> u64 {
        u64::try_from(self.taken.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn heard(&self) {
        if self.in_work.load(Relaxed) == 0 && !self.is_asking.swap(true, Relaxed) {
            self.quiet_from.store(self.at(), Relaxed);
        }
    }

    fn wrote(&self, is_pending: bool) {
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

/// A request in work.
pub(super) struct InWork(Arc<Line>);

impl Drop for InWork {
    fn drop(&mut self) {
        self.0.quiet_from.store(self.0.at(), Relaxed);
        self.0.in_work.fetch_sub(1, Relaxed);
    }
}

/// The socket, told of what is read and written.
pub(super) struct Watched<S> {
    stream: S,
    line: Arc<Line>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, line: Arc<Line>) -> Self {
        Self { stream, line }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.line.heard();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.line.wrote(written.is_pending());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.line.wrote(written.is_pending());
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

/// The body of a request, which must be there in time.
pub(super) struct Asked {
    body: Incoming,
    limit: Duration,
    /// Made when the body is first waited for: most bodies are there with their head.
    late: Option<Pin<Box<Sleep>>>,
}

impl Asked {
    pub(super) fn new(body: Incoming, limit: Duration) -> Self {
        Self { body, limit, late: None }
    }
}

impl HttpBody for Asked {
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

/// The body of an answer; its request is in work until it is sent or given up.
pub(super) struct Answered {
    body: Body,
    _in_work: InWork,
}

impl Answered {
    pub(super) fn new(body: Body, in_work: InWork) -> Self {
        Self { body, _in_work: in_work }
    }
}

impl HttpBody for Answered {
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
