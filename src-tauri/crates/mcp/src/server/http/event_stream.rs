//! A response as an event stream: its messages in order, a comment while there is none, event ids where its client can
//! come back.
//!
//! It ends with its last answer, or from outside. Which responses are streams is decided in `exchange.rs`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, header};
use futures::stream;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::session::Session;
use super::event_id::{END, EventIds};
use super::reply_body::ReplyBody;
use crate::server::stream_writer::{StreamMessage, StreamWriter, WeakStreamWriter};

/// Takes the standing stream out of its session when the response ends. The session alone keeps the stream open, so
/// that a newer one ends it.
pub(crate) struct SessionStreamGuard {
    session: Arc<Session>,
    writer: WeakStreamWriter,
}

impl SessionStreamGuard {
    /// Makes `writer` the session's standing stream.
    pub(crate) fn begin(session: Arc<Session>, writer: StreamWriter) -> Self {
        let weak = writer.downgrade();
        session.stand(writer);
        Self { session, writer: weak }
    }
}

impl Drop for SessionStreamGuard {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.upgrade() {
            self.session.unstand(&writer);
        }
        self.session.touch();
    }
}

/// The events of a response, in order.
pub(crate) struct EventBody {
    first: Option<StreamMessage>,
    rest: mpsc::Receiver<StreamMessage>,
    /// Answers still to come; 0 for a standing stream, which only ends from outside.
    answers: usize,
    keep_alive: Duration,
    ended: CancellationToken,
    ids: Option<EventIds>,
    _guard: Option<DropGuard>,
    _standing: Option<SessionStreamGuard>,
}

/// The events that answer one request.
pub(crate) struct RequestEvents {
    /// A message that was read already.
    pub(crate) first: Option<StreamMessage>,
    pub(crate) rest: mpsc::Receiver<StreamMessage>,
    /// Dropped with the stream: tells the work that its client is gone.
    pub(crate) guard: Option<DropGuard>,
    pub(crate) ids: Option<EventIds>,
}

/// The event stream that answers one request.
pub(crate) fn request_stream(
    events: RequestEvents,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<ReplyBody> {
    let RequestEvents { first, rest, guard, ids } = events;
    EventBody { first, rest, answers: 1, keep_alive, ended, ids, _guard: guard, _standing: None }.response()
}

/// An event stream that ends with the last of some answers.
pub(crate) fn event_stream(
    rest: mpsc::Receiver<StreamMessage>,
    answers: usize,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<ReplyBody> {
    EventBody { first: None, rest, answers, keep_alive, ended, ids: None, _guard: None, _standing: None }.response()
}

/// The standing stream of a session.
pub(crate) fn standing_stream(
    rest: mpsc::Receiver<StreamMessage>,
    standing: SessionStreamGuard,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<ReplyBody> {
    let standing = Some(standing);
    EventBody { first: None, rest, answers: 0, keep_alive, ended, ids: None, _guard: None, _standing: standing }
        .response()
}

impl EventBody {
    fn response(self) -> Response<ReplyBody> {
        // A comment at once: the client sees the headers now, not with the first event.
        let opening = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b":\n\n")) });
        let events = stream::unfold(Some(self), |state| async {
            let mut events = state?;
            let piece = events.next().await?;
            let more = !events.is_done();
            Some((Ok(piece), more.then_some(events)))
        });
        let mut response =
            Response::new(ReplyBody::from(Body::from_stream(futures::StreamExt::chain(opening, events))));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        response
    }

    /// The next piece of the body; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(event) = self.ids.as_mut().and_then(EventIds::event) {
            return Some(Bytes::from(event));
        }
        let frame = match self.first.take() {
            Some(frame) => frame,
            None => {
                let Self { ids, rest, .. } = self;
                let news = async {
                    match ids {
                        Some(ids) => ids.changed().await,
                        None => std::future::pending().await,
                    }
                };
                let waited = tokio::select! {
                    biased;
                    waited = tokio::time::timeout(self.keep_alive, rest.recv()) => waited,
                    () = self.ended.cancelled() => return None,
                    () = news => return self.ids.as_mut().and_then(EventIds::event).map(Bytes::from),
                };
                match waited {
                    Ok(frame) => frame?,
                    Err(_) => return Some(Bytes::from_static(b":\n\n")),
                }
            }
        };
        if frame.last.is_some() {
            self.answers = self.answers.saturating_sub(1);
            if self.answers == 0 {
                self.rest.close();
            }
        }
        let mut piece = Vec::with_capacity(frame.bytes.len() + 48);
        piece.extend_from_slice(b"event: message\n");
        if let Some(ids) = &mut self.ids {
            if frame.last.is_none() {
                piece.extend_from_slice(ids.fields().unwrap_or_default().as_bytes());
            } else if ids.is_said() {
                piece.extend_from_slice(format!("id: {END}\n").as_bytes());
            }
        }
        piece.extend_from_slice(b"data: ");
        piece.extend_from_slice(&frame.bytes);
        piece.extend_from_slice(b"\n\n");
        Some(Bytes::from(piece))
    }

    fn is_done(&self) -> bool {
        self.rest.is_closed() && self.answers == 0 && self._standing.is_none()
    }
}
