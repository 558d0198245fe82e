//! The stream of one request: notifications and questions to the client before the answer.
//!
//! Everything written here reaches the client before the answer, in order. Over HTTP the first message opens the stream
//! and turns the response into an event stream. Writing waits when the client does not read.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::client_requests::ClientRequestError;
use super::session::Session;
use crate::wire::message::Answer;

pub(crate) use super::in_flight::{CancelReason, CancelReasonCell};
pub(crate) use super::stream_writer::{RequestWriter, StreamGone};
#[cfg(test)]
pub(crate) use super::stream_writer::{StreamMessage, StreamWriter};

/// Where the service sets the point from which an answer can be asked for again.
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

/// The stream of one request.
#[derive(Clone)]
pub struct ResponseStream {
    writer: RequestWriter,
    session: Option<Arc<Session>>,
    given_up: CancelReasonCell,
    closing_cancels: bool,
    point: Option<ResumePoint>,
}

impl ResponseStream {
    pub(crate) fn new(
        writer: impl Into<RequestWriter>,
        session: Option<Arc<Session>>,
        given_up: CancelReasonCell,
        closing_cancels: bool,
    ) -> Self {
        Self { writer: writer.into(), session, given_up, closing_cancels, point: None }
    }

    /// Makes the stream resumable after a break.
    pub(crate) fn resumable(self, point: Option<ResumePoint>) -> Self {
        Self { point, ..self }
    }

    /// Whether the client can ask for its answer again after a break.
    #[must_use]
    pub const fn may_resume(&self) -> bool {
        self.point.is_some()
    }

    /// Sets the point that [`super::Service::resume`] gets, in this core or the next.
    pub fn resume_at(&self, point: &str) {
        if let Some(to) = &self.point {
            to.set(point);
        }
    }

    /// How the client cancelled the request, if it did: known when the request's future is dropped. A broken stream
    /// is no cancel, except where closing cancels.
    #[must_use]
    pub fn given_up(&self) -> Option<CancelReason> {
        self.given_up.get()
    }

    /// Whether closing the stream cancels the request (2026-07-28 over HTTP).
    #[must_use]
    pub const fn closing_cancels(&self) -> bool {
        self.closing_cancels
    }

    /// Whether the client has gone, so that an answer would reach nobody.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.writer.is_closed()
    }

    /// Resolves when the client has gone.
    pub async fn gone(&self) {
        self.writer.open().closed().await;
    }

    /// Sends a notification before the answer.
    ///
    /// # Errors
    /// When the client's stream is gone.
    pub async fn notify<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<(), StreamGone> {
        self.writer.open().notify(method, params).await
    }

    /// Sends a request to a 2025 client. Dropping the future cancels it.
    ///
    /// # Errors
    /// When the client refuses, its stream is gone, or it is of the modern era, where servers ask nothing.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, ClientRequestError> {
        match &self.session {
            Some(session) => session.asks().ask(&self.writer.open(), method, params).await,
            None => Err(ClientRequestError::Gone),
        }
    }

    /// As [`ResponseStream::ask`], with the client's reply as it came, be it a result or an error.
    ///
    /// # Errors
    /// When the stream is gone, too many questions wait, or the client is of the modern era.
    pub async fn ask_raw<P: Serialize + Sync + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Answer, ClientRequestError> {
        match &self.session {
            Some(session) => session.asks().ask_raw(&self.writer.open(), method, params).await,
            None => Err(ClientRequestError::Gone),
        }
    }
}
