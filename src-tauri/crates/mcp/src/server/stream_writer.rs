//! The writing end of a stream to a client: bounded, in order, and closed by its last answer.
//!
//! It writes notifications, requests and answers. A request over HTTP has a [`LazyStream`], which most never open. Which
//! request a stream belongs to is `response_stream.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::wire::message;

/// Messages that wait for one client's socket or pipe. Judgement: followers send the newest state only, so a few
/// are enough to keep a writer busy, and a client that does not read slows only what is said to it.
pub(crate) const STREAM_BUFFER: usize = 64;

/// The stream to the client is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the client's stream is gone")]
pub struct StreamGone;

/// A message on its way to the client.
pub(crate) struct StreamMessage {
    /// The message, one line.
    pub(crate) bytes: Vec<u8>,
    /// The HTTP status, in the answer that ends the stream.
    pub(crate) last: Option<u16>,
}

/// The writing end of one stream.
#[derive(Clone)]
pub(crate) struct StreamWriter(mpsc::Sender<StreamMessage>);

impl StreamWriter {
    /// A stream and its reading end.
    pub(crate) fn open() -> (Self, mpsc::Receiver<StreamMessage>) {
        let (to, from) = mpsc::channel(STREAM_BUFFER);
        (Self(to), from)
    }

    /// Sends a notification, waiting for room.
    pub(crate) async fn notify<P: Serialize + Sync + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<(), StreamGone> {
        match message::notification(method, Some(params)) {
            Ok(bytes) => self.say(bytes).await,
            Err(_) => Err(StreamGone),
        }
    }

    /// Sends a notification if there is room now.
    pub(crate) fn notify_now(&self, method: &str, params: &Value) {
        if let Ok(bytes) = message::notification(method, Some(params)) {
            // A client that does not read misses only a courtesy.
            drop(self.0.try_send(StreamMessage { bytes, last: None }));
        }
    }

    pub(crate) async fn say(&self, bytes: Vec<u8>) -> Result<(), StreamGone> {
        self.0.send(StreamMessage { bytes, last: None }).await.map_err(|_| StreamGone)
    }

    /// Waits for room for one message, so that it can be sent later without waiting.
    pub(crate) async fn room(&self) -> Result<WriteSlot<'_>, StreamGone> {
        self.0.reserve().await.map(WriteSlot).map_err(|_| StreamGone)
    }

    /// Resolves when the reading end is gone.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// A reference that does not keep the stream open.
    pub(crate) fn downgrade(&self) -> WeakStreamWriter {
        WeakStreamWriter(self.0.downgrade())
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }
}

/// Reserved room for one message on a stream.
pub(crate) struct WriteSlot<'a>(mpsc::Permit<'a, StreamMessage>);

impl WriteSlot<'_> {
    /// Sends a message.
    pub(crate) fn say(self, bytes: Vec<u8>) {
        self.0.send(StreamMessage { bytes, last: None });
    }

    /// Sends the answer that ends the stream, with its HTTP status.
    pub(crate) fn answer(self, bytes: Vec<u8>, status: u16) {
        self.0.send(StreamMessage { bytes, last: Some(status) });
    }
}

/// The writing end of a stream that may have ended.
pub(crate) struct WeakStreamWriter(mpsc::WeakSender<StreamMessage>);

impl WeakStreamWriter {
    pub(crate) fn upgrade(&self) -> Option<StreamWriter> {
        self.0.upgrade().map(StreamWriter)
    }
}

/// The stream of one request over HTTP. It is opened by the first that needs it: a request that is answered before
/// anything was said costs no channel. Clones are the same stream.
#[derive(Clone, Default)]
pub(crate) struct LazyStream(Arc<LazyEnds>);

#[derive(Default)]
struct LazyEnds {
    ends: Mutex<StreamEnds>,
    /// Spares the lock where nobody opened the stream.
    is_open: AtomicBool,
    /// Who waits for the stream to be opened.
    reader: AtomicWaker,
}

#[derive(Default)]
struct StreamEnds {
    writer: Option<StreamWriter>,
    /// The reading end, until it is taken.
    unread: Option<mpsc::Receiver<StreamMessage>>,
    /// The client went before the stream was opened or read.
    is_gone: bool,
}

impl LazyStream {
    /// The writing end; opens the stream.
    pub(crate) fn writer(&self) -> StreamWriter {
        let mut ends = self.0.ends.lock();
        if let Some(writer) = &ends.writer {
            return writer.clone();
        }
        let (writer, unread) = StreamWriter::open();
        ends.writer = Some(writer.clone());
        ends.unread = Some(unread).filter(|_| !ends.is_gone);
        drop(ends);
        self.0.is_open.store(true, Ordering::Release);
        self.0.reader.wake();
        writer
    }

    /// The reading end, once the stream is open; it is given once.
    pub(crate) fn poll_unread(&self, cx: &Context<'_>) -> Poll<mpsc::Receiver<StreamMessage>> {
        self.0.reader.register(cx.waker());
        match self.take_unread() {
            Some(unread) => Poll::Ready(unread),
            None => Poll::Pending,
        }
    }

    /// The reading end of an open stream, unless it was given before.
    pub(crate) fn take_unread(&self) -> Option<mpsc::Receiver<StreamMessage>> {
        if self.0.is_open.load(Ordering::Acquire) { self.0.ends.lock().unread.take() } else { None }
    }

    /// The client is gone: nobody reads what is written.
    pub(crate) fn close(&self) {
        let mut ends = self.0.ends.lock();
        ends.is_gone = true;
        ends.unread = None;
    }

    fn is_closed(&self) -> bool {
        let ends = self.0.ends.lock();
        ends.writer.as_ref().map_or(ends.is_gone, StreamWriter::is_closed)
    }
}

/// The writing end of a request's stream, open or opened when it is needed.
#[derive(Clone)]
pub(crate) enum RequestWriter {
    /// A stream that is open anyway: a pipe, or an event stream.
    Open(StreamWriter),
    /// The stream of a request over HTTP.
    Lazy(LazyStream),
}

impl RequestWriter {
    /// The writing end; opens the stream.
    pub(crate) fn open(&self) -> StreamWriter {
        match self {
            Self::Open(writer) => writer.clone(),
            Self::Lazy(stream) => stream.writer(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Open(writer) => writer.is_closed(),
            Self::Lazy(stream) => stream.is_closed(),
        }
    }
}

impl From<StreamWriter> for RequestWriter {
    fn from(writer: StreamWriter) -> Self {
        Self::Open(writer)
    }
}

impl From<LazyStream> for RequestWriter {
    fn from(stream: LazyStream) -> Self {
        Self::Lazy(stream)
    }
}
