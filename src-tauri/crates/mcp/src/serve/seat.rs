//! Where a request sits: the stream its answer goes to, for saying things before the answer.
//!
//! Everything said here reaches the client before the answer, in order. On HTTP the first thing said turns the
//! response into an event stream. It does not know who listens, and holds nothing back: the channel is bounded and
//! saying waits.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::asks::AskError;
use super::session::Session;
use crate::message::{self, Answer};

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
    pub(crate) async fn notify<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<(), Gone> {
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

    /// Waits for room for one message. What is said with it is on the stream at once, without another wait.
    pub(crate) async fn room(&self) -> Result<Room<'_>, Gone> {
        self.0.reserve().await.map(Room).map_err(|_| Gone)
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

/// Room for one message on a stream.
pub(crate) struct Room<'a>(mpsc::Permit<'a, Frame>);

impl Room<'_> {
    /// Says a message.
    pub(crate) fn say(self, bytes: Vec<u8>) {
        self.0.send(Frame { bytes, last: None });
    }

    /// Says the answer that ends the stream, with its HTTP status.
    pub(crate) fn answer(self, bytes: Vec<u8>, status: u16) {
        self.0.send(Frame { bytes, last: Some(status) });
    }
}

/// The writing end of a stream that may be over.
pub(crate) struct WeakOutlet(mpsc::WeakSender<Frame>);

impl WeakOutlet {
    pub(crate) fn upgrade(&self) -> Option<Outlet> {
        self.0.upgrade().map(Outlet)
    }
}

/// How a client gave a request up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// It asked for the work to stop.
    Cancelled,
    /// It ran out of patience, and said so; whether the work should stop it did not say (ruling 24).
    TimedOut,
}

/// Where the face writes how a request was given up.
#[derive(Clone, Default)]
pub(crate) struct GiveUp(Arc<Mutex<Option<GivenUp>>>);

impl GiveUp {
    /// The first word counts: opencode sends a timeout, and an abort of the same request a moment later.
    pub(crate) fn set(&self, how: GivenUp) {
        self.0.lock().get_or_insert(how);
    }
}

/// Where the service says at which point the answer of a broken stream can be asked for again.
#[derive(Clone)]
pub(crate) struct ResumePoint(watch::Sender<Option<Arc<str>>>);

impl ResumePoint {
    pub(crate) fn new(to: watch::Sender<Option<Arc<str>>>) -> Self {
        Self(to)
    }

    pub(crate) fn set(&self, point: &str) {
        self.0.send_replace(Some(Arc::from(point)));
    }
}

/// A request's own stream.
#[derive(Clone)]
pub struct Seat {
    outlet: Outlet,
    session: Option<Arc<Session>>,
    given_up: GiveUp,
    closing_cancels: bool,
    point: Option<ResumePoint>,
}

impl Seat {
    pub(crate) fn new(outlet: Outlet, session: Option<Arc<Session>>, given_up: GiveUp, closing_cancels: bool) -> Self {
        Self { outlet, session, given_up, closing_cancels, point: None }
    }

    /// A stream whose client may come back after it broke.
    pub(crate) fn resumable(self, point: Option<ResumePoint>) -> Self {
        Self { point, ..self }
    }

    /// Whether the client may come back for its answer after the stream broke.
    #[must_use]
    pub const fn may_resume(&self) -> bool {
        self.point.is_some()
    }

    /// From here the answer can be had again, by this core or the next: what [`super::Service::resume`] gets.
    pub fn resume_at(&self, point: &str) {
        if let Some(to) = &self.point {
            to.set(point);
        }
    }

    /// How the client gave the request up, if it did: known when the request's future is dropped. A stream that broke
    /// says nothing, except where closing it is cancelling.
    #[must_use]
    pub fn given_up(&self) -> Option<GivenUp> {
        *self.given_up.0.lock()
    }

    /// Whether closing the stream cancels the request (2026-07-28 over HTTP).
    #[must_use]
    pub const fn closing_cancels(&self) -> bool {
        self.closing_cancels
    }

    /// Whether nobody reads the stream any more: an answer would reach nobody.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.outlet.is_closed()
    }

    /// Resolves when nobody reads the stream any more.
    pub async fn gone(&self) {
        self.outlet.closed().await;
    }

    /// Says a notification before the answer.
    ///
    /// # Errors
    /// When the client's stream is gone.
    pub async fn notify<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<(), Gone> {
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

    /// As [`Seat::ask`], with the client's reply as it came, be it a result or an error.
    ///
    /// # Errors
    /// When the stream is gone, too many questions wait, or the client is of the modern era.
    pub async fn ask_raw<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<Answer, AskError> {
        match &self.session {
            Some(session) => session.asks().ask_raw(&self.outlet, method, params).await,
            None => Err(AskError::Gone),
        }
    }
}
