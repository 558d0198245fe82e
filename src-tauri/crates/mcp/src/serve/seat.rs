//! Where a request sits: the stream its answer goes to, for saying things before the answer.
//!
//! Everything said here reaches the client before the answer, in order. On HTTP the first thing said turns the
//! response into an event stream. It does not know who listens, and holds nothing back: the channel is bounded and
//! saying waits.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::asks::AskError;
use super::session::Session;
use crate::message;

/// Messages that wait for one client's socket or pipe. Judgement: followers send the newest state only, so a few
/// are enough to keep a writer busy, and a client that does not read slows only what is said to it.
pub(crate) const STREAM_BUFFER: usize = 64;

/// The stream to the client is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the client's stream is gone")]
pub struct Gone;

/// One message on its way to the client.
pub(crate) struct Frame {
    /// The message, one line.
    pub(crate) bytes: Vec<u8>,
    /// The HTTP status, in the answer that ends the stream.
    pub(crate) last: Option<u16>,
}

/// The writing end of one stream.
#[derive(Clone)]
pub(crate) struct Outlet(mpsc::Sender<Frame>);

impl Outlet {
    /// A stream and its reading end.
    pub(crate) fn open() -> (Self, mpsc::Receiver<Frame>) {
        let (to, from) = mpsc::channel(STREAM_BUFFER);
        (Self(to), from)
    }

    /// Says a notification.
    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), Gone> {
        match message::notification(method, Some(params)) {
            Ok(bytes) => self.say(bytes).await,
            Err(_) => Err(Gone),
        }
    }

    /// Says a notification if there is room for it at once.
    pub(crate) fn notify_now(&self, method: &str, params: &Value) {
        if let Ok(bytes) = message::notification(method, Some(params)) {
            // A client that does not read misses a courtesy, nothing it waits for.
            drop(self.0.try_send(Frame { bytes, last: None }));
        }
    }

    pub(crate) async fn say(&self, bytes: Vec<u8>) -> Result<(), Gone> {
        self.0.send(Frame { bytes, last: None }).await.map_err(|_| Gone)
    }

    /// Says the answer.
    pub(crate) async fn answer(&self, bytes: Vec<u8>, status: u16) -> Result<(), Gone> {
        self.0.send(Frame { bytes, last: Some(status) }).await.map_err(|_| Gone)
    }

    /// Resolves when nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// A hold on the stream that does not keep it open.
    pub(crate) fn downgrade(&self) -> WeakOutlet {
        WeakOutlet(self.0.downgrade())
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }
}

/// The writing end of a stream that may be over.
pub(crate) struct WeakOutlet(mpsc::WeakSender<Frame>);

impl WeakOutlet {
    pub(crate) fn upgrade(&self) -> Option<Outlet> {
        self.0.upgrade().map(Outlet)
    }
}

/// A request's own stream.
#[derive(Clone)]
pub struct Seat {
    outlet: Outlet,
    session: Option<Arc<Session>>,
}

impl Seat {
    pub(crate) fn new(outlet: Outlet, session: Option<Arc<Session>>) -> Self {
        Self { outlet, session }
    }

    /// Says a notification before the answer.
    ///
    /// # Errors
    /// When the client's stream is gone.
    pub async fn notify(&self, method: &str, params: &Value) -> Result<(), Gone> {
        self.outlet.notify(method, params).await
    }

    /// Asks the client, in a session of the older eras. Dropping the future withdraws the question.
    ///
    /// # Errors
    /// When the client refuses, its stream is gone, or it is of the modern era, where servers ask nothing.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, AskError> {
        match &self.session {
            Some(session) => session.asks().ask(&self.outlet, method, params).await,
            None => Err(AskError::Gone),
        }
    }
}
