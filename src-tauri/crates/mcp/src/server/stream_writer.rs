//! The writing end of a stream to a client: bounded, in order, and closed by its last answer.
//!
//! It writes notifications, requests and answers. Which request a stream belongs to is `response_stream.rs`.

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
