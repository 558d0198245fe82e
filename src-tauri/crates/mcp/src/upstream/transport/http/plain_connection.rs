//! One plain HTTP/1.1 connection, driven by whoever waits for its response.
//!
//! hyper's connection future is polled together with the request, so that a call needs no task and no wake-up of
//! another thread. It parses heads, lengths and chunks with hyper's limits. Which connection is used, and for how long
//! it is kept, is decided in `plain_pool.rs`.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use domain::ports::SendPermit;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::coop::unconstrained;

/// What a request carries, and whether it may still leave.
#[derive(Debug, Clone)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    pub(crate) permit: SendPermit,
}

impl RequestBody {
    pub(crate) fn new(bytes: Vec<u8>, permit: SendPermit) -> Self {
        Self { bytes: bytes.into(), permit }
    }
}

/// The body of a request: all of it, in one piece.
#[derive(Debug)]
pub(crate) struct WholeBody {
    bytes: Option<Bytes>,
    permit: SendPermit,
}

impl WholeBody {
    pub(crate) fn new(body: Option<RequestBody>) -> Self {
        let (bytes, permit) = body.map_or_else(Default::default, |body| (Some(body.bytes), body.permit));
        Self { bytes: bytes.filter(|bytes| !bytes.is_empty()), permit }
    }

    /// Whether the request may leave now.
    pub(crate) fn is_permitted(&self) -> bool {
        self.permit.begin_sending()
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// An open connection that carries one request at a time.
pub(crate) struct PlainConnection {
    sender: SendRequest<WholeBody>,
    /// Gone when the connection has ended.
    driver: Option<Box<Connection<TokioIo<TcpStream>, WholeBody>>>,
    /// Where the socket is registered: it works elsewhere, but each use there would wake that runtime.
    pub(crate) runtime: Option<runtime::Id>,
}

/// The runtime that polls this.
pub(crate) fn this_runtime() -> Option<runtime::Id> {
    runtime::Handle::try_current().ok().map(|handle| handle.id())
}

impl PlainConnection {
    /// Begins HTTP on a socket of this runtime; nothing is sent.
    pub(crate) async fn new(socket: TokioIo<TcpStream>, runtime: Option<runtime::Id>) -> hyper::Result<Self> {
        let (sender, driver) = handshake(socket).await?;
        Ok(Self { sender, driver: Some(Box::new(driver)), runtime })
    }

    /// Sends a request and waits for the head of its response. An error holds the request if nothing of it was
    /// written.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<WholeBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<WholeBody>>> {
        // Only the driver completes the reply, and it is polled here: the reply need not wake this task, and must not
        // run out of tokio's budget without waking it.
        let mut reply = pin!(unconstrained(self.sender.try_send_request(request)));
        let driver = &mut self.driver;
        poll_fn(|cx| {
            drive(driver, cx);
            reply.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }

    /// Whether the connection is open and idle; it is not when the server closed it or sent what nobody asked for.
    pub(crate) fn is_idle(&mut self) -> bool {
        drive(&mut self.driver, &mut Context::from_waker(Waker::noop()));
        self.was_idle()
    }

    /// Whether it was open and idle when it was polled last.
    pub(crate) fn was_idle(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Reads and writes what can be; drops a connection that has ended, which fails what still waits for it.
fn drive(driver: &mut Option<Box<Connection<TokioIo<TcpStream>, WholeBody>>>, cx: &mut Context<'_>) {
    if let Some(open) = driver
        && Pin::new(open).poll(cx).is_ready()
    {
        *driver = None;
    }
}

/// A response body with the connection that it comes from.
pub(crate) struct PlainBody {
    incoming: Incoming,
    connection: PlainConnection,
    begun: bool,
}

impl PlainBody {
    pub(crate) const fn new(incoming: Incoming, connection: PlainConnection) -> Self {
        Self { incoming, connection, begun: false }
    }

    /// The length that the response declares.
    pub(crate) fn declared_length(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// Whether nothing follows, so that the connection can carry the next request.
    pub(crate) fn is_complete(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// The connection, for another request.
    pub(crate) fn into_connection(self) -> PlainConnection {
        self.connection
    }

    /// The next piece; `None` at the end. Trailers are skipped.
    pub(crate) async fn chunk(&mut self) -> hyper::Result<Option<Bytes>> {
        loop {
            match poll_fn(|cx| self.poll_frame(cx)).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        // Only the driver completes a frame: waiting for one need not wake this task. Neither need the first wish for
        // one, which wakes whoever drove last.
        let quiet = &mut Context::from_waker(Waker::noop());
        if !std::mem::replace(&mut self.begun, true) {
            drive(&mut self.connection.driver, quiet);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(quiet) {
            return Poll::Ready(frame);
        }
        drive(&mut self.connection.driver, cx);
        Pin::new(&mut self.incoming).poll_frame(quiet)
    }
}
