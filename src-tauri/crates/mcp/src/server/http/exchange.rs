//! One request over HTTP: its work in the background, its answer as JSON or as an event stream.
//!
//! An answer that comes first is plain JSON with its status. A message before it, or a long wait, makes the response an
//! event stream. Closing the stream of a modern request drops its work; 2025 clients cancel by notification, and may
//! come back for the answer (`event_id.rs`).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use futures::{FutureExt, stream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::service::{Client, Request, ResumeRequest};
use super::super::session::Session;
use super::event_id::{END, EventIds};
use super::{Endpoint, ready};
use crate::server::in_flight::InFlightRequest;
use crate::server::in_flight::{CancelReason, CancelReasonCell};
use crate::server::response_stream::{ResponseStream, ResumePoint};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::signing::SigningKey;
use crate::server::stream_writer::{StreamMessage, StreamWriter, WeakStreamWriter};
use crate::wire::message::Id;

/// When the work of a request ends besides its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkEnds {
    /// The client closes the response stream (modern).
    WithStream,
    /// Only by cancelling (older eras).
    Never,
}

/// What the service is asked.
pub(crate) enum ServiceCall {
    /// A new request.
    New(Request),
    /// The answer to a request whose stream broke.
    Again(ResumeRequest),
}

impl ServiceCall {
    fn id(&self) -> Id {
        match self {
            Self::New(request) => request.id.clone(),
            Self::Again(resumed) => resumed.id.clone(),
        }
    }
}

/// How the response stream and the work on the request know of each other.
#[derive(Default)]
pub(crate) struct StreamLinks {
    /// Cancelled when a modern client closes the stream.
    closed: Option<CancellationToken>,
    /// Where the answer can be had again.
    point: Option<ResumePoint>,
}

impl Endpoint {
    /// Answers a request of a client that is known.
    pub(crate) async fn exchange(self: Arc<Self>, client: Client, request: Request, ends: WorkEnds) -> Response<Body> {
        let (writer, mut frames) = StreamWriter::open();
        let watch = CancellationToken::new();
        let guard = (ends == WorkEnds::WithStream).then(|| watch.clone().drop_guard());
        let (id, principal) = (request.id.clone(), request.principal);
        let (mut ids, point) = match (&client, &self.parts.key) {
            (Client::Legacy(session), Some(key)) => {
                let (ids, point) = EventIds::new(key, session, &request.id, self.parts.policy.serving.stream_retry);
                (Some(ids), Some(point))
            }
            (Client::Legacy(_), None) | (Client::Modern(_), _) => (None, None),
        };
        self.start(client, ServiceCall::New(request), writer, StreamLinks { closed: Some(watch), point });
        let first = tokio::select! {
            biased;
            first = frames.recv() => first,
            () = self.becomes_stream(ids.as_mut()) => return self.stream(None, frames, guard, ids),
        };
        match first {
            Some(StreamMessage { bytes, last: Some(status) }) => ready(bytes, status),
            Some(frame) => self.stream(Some(frame), frames, guard, ids),
            None => match principal.and_then(|principal| self.service.expelled(principal).now_or_never()) {
                // It came as its agent's access went, and its session with it.
                Some(fault) => refusal(super::status_of(&fault), Some(&id), &fault),
                // The work was cancelled, or the face ends: there is no answer to give.
                None => plain(StatusCode::SERVICE_UNAVAILABLE, "the request was given up"),
            },
        }
    }

    /// Resolves when a response that is not there becomes an event stream: after a while, or as soon as its client could
    /// come back for the answer.
    async fn becomes_stream(&self, ids: Option<&mut EventIds>) {
        let resumable = async {
            match ids {
                Some(ids) => {
                    tokio::time::sleep(self.parts.policy.serving.stream_after).await;
                    ids.changed().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep(self.keep_alive()) => {}
            () = resumable => {}
        }
    }

    /// Answers a request again whose stream broke. What is still at work on it is taken back first.
    pub(crate) fn resume(
        self: &Arc<Self>,
        key: &SigningKey,
        session: Arc<Session>,
        resumed: ResumeRequest,
    ) -> Response<Body> {
        let (writer, frames) = StreamWriter::open();
        let (ids, point) = EventIds::new(key, &session, &resumed.id, self.parts.policy.serving.stream_retry);
        let watched = StreamLinks { closed: None, point: Some(point) };
        self.start(Client::Legacy(session), ServiceCall::Again(resumed), writer, watched);
        self.stream(None, frames, None, Some(ids))
    }

    fn stream(
        &self,
        first: Option<StreamMessage>,
        rest: mpsc::Receiver<StreamMessage>,
        guard: Option<DropGuard>,
        ids: Option<EventIds>,
    ) -> Response<Body> {
        let events = EventBody {
            first,
            rest,
            answers: 1,
            keep_alive: self.keep_alive(),
            ended: self.parts.supervisor.stopping(),
            ids,
            _guard: guard,
            _standing: None,
        };
        events.response()
    }

    /// Begins the work of a request; its answer goes to `writer`.
    pub(crate) fn start(
        self: &Arc<Self>,
        client: Client,
        asked: ServiceCall,
        writer: StreamWriter,
        watched: StreamLinks,
    ) {
        let endpoint = self.clone();
        let scope = match &client {
            Client::Modern(_) => self.parts.supervisor.clone(),
            Client::Legacy(session) => session.scope().clone(),
        };
        scope.spawn("http request", async move {
            let id = asked.id();
            if let (ServiceCall::Again(_), Client::Legacy(session)) = (&asked, &client) {
                session.in_flight().take_back(&id).await;
            }
            let modern = matches!(client, Client::Modern(_));
            let (answer, held) = match endpoint.places(&client, &id) {
                Ok((permit, place)) => {
                    let answer = endpoint.work(client, asked, &writer, watched, place.as_ref()).await;
                    (answer, Some((permit, place)))
                }
                Err(fault) => (Some(Err(fault)), None),
            };
            let ok = StatusCode::OK.as_u16();
            let (bytes, status) = match answer {
                None => return,
                Some(Ok(bytes)) => (bytes, ok),
                Some(Err(fault)) => match fault.write(Some(&id)) {
                    Ok(bytes) => (bytes, if modern { fault.status() } else { ok }),
                    Err(_) => return,
                },
            };
            // A client that is gone needs no answer.
            let Ok(room) = writer.room().await else { return };
            // The id is free before the client can see the answer, and a session that ends when nothing is in work any
            // more finds the answer on the stream.
            drop(held);
            room.answer(bytes, status);
        });
    }

    fn places(
        &self,
        client: &Client,
        id: &Id,
    ) -> Result<(OwnedSemaphorePermit, Option<InFlightRequest>), RequestError> {
        let full = |_| RequestError::new(RequestErrorKind::Internal, "too many requests are in work here");
        let permit = self.in_flight.clone().try_acquire_owned().map_err(full)?;
        match client {
            Client::Modern(_) => Ok((permit, None)),
            Client::Legacy(session) => Ok((permit, Some(session.in_flight().take(id)?))),
        }
    }

    /// The answer as bytes; `None` when the request was given up.
    async fn work(
        &self,
        client: Client,
        asked: ServiceCall,
        writer: &StreamWriter,
        watched: StreamLinks,
        place: Option<&InFlightRequest>,
    ) -> Option<Result<Vec<u8>, RequestError>> {
        let (id, StreamLinks { closed: watch, point }) = (asked.id(), watched);
        let session = match &client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(session.clone()),
        };
        // Closing the stream of a modern request is cancelling it (protocol.md §2.3).
        let closing_cancels = place.is_none() && watch.is_some();
        let how = place.map_or_else(CancelReasonCell::default, |place| place.given_up.clone());
        let seat = ResponseStream::new(writer.clone(), session, how.clone(), closing_cancels).resumable(point);
        let given_up = async {
            match (&watch, place) {
                (_, Some(place)) => place.cancelled.cancelled().await,
                (Some(watch), None) => {
                    watch.cancelled().await;
                    how.set(CancelReason::Cancelled);
                }
                (None, None) => std::future::pending().await,
            }
        };
        let answering = match asked {
            ServiceCall::New(request) => self.service.request(client, request, seat),
            ServiceCall::Again(resumed) => self.service.resume(client, resumed, seat),
        };
        let answer = tokio::select! {
            answer = answering => answer,
            () = given_up => return None,
        };
        Some(answer.map(|result| result.write(&id)))
    }
}

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
struct EventBody {
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

/// An event stream that ends with its last answer.
pub(crate) fn event_stream(
    rest: mpsc::Receiver<StreamMessage>,
    answers: usize,
    first: Option<StreamMessage>,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<Body> {
    EventBody { first, rest, answers, keep_alive, ended, ids: None, _guard: None, _standing: None }.response()
}

/// The standing stream of a session.
pub(crate) fn standing_stream(
    rest: mpsc::Receiver<StreamMessage>,
    standing: SessionStreamGuard,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<Body> {
    let standing = Some(standing);
    EventBody { first: None, rest, answers: 0, keep_alive, ended, ids: None, _guard: None, _standing: standing }
        .response()
}

impl EventBody {
    fn response(self) -> Response<Body> {
        // A comment at once: the client sees the headers now, not with the first event.
        let opening = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b":\n\n")) });
        let events = stream::unfold(Some(self), |state| async {
            let mut events = state?;
            let piece = events.next().await?;
            let more = !events.is_done();
            Some((Ok(piece), more.then_some(events)))
        });
        let mut response = Response::new(Body::from_stream(futures::StreamExt::chain(opening, events)));
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

/// A JSON body.
pub(crate) fn json_response(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error with a status of its own.
pub(crate) fn refusal(status: StatusCode, id: Option<&Id>, fault: &RequestError) -> Response<Body> {
    match fault.write(id) {
        Ok(bytes) => json_response(status, bytes),
        Err(_) => plain(status, "the request was refused"),
    }
}

/// A short text.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    if !text.is_empty() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}
