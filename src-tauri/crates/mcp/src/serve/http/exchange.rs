//! One request on its way through HTTP: work in the background, an answer as JSON or as an event stream.
//!
//! An answer that comes first is plain JSON with its status. Anything said before it, or a long wait, turns the
//! response into an event stream that the answer ends. Closing the stream of a modern request drops its work; older
//! clients cancel by notification, and their work goes on.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use futures::{FutureExt, stream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::fault::{Fault, FaultKind};
use super::super::in_work::Place;
use super::super::seat::{Frame, GiveUp, GivenUp, Outlet, Seat, WeakOutlet};
use super::super::service::{Client, Request};
use super::super::session::Session;
use super::{Endpoint, ready};
use crate::message::Id;

/// When the work of a request ends besides its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// The client closes the response stream (modern).
    WithStream,
    /// Only by cancelling (older eras).
    Never,
}

impl Endpoint {
    /// Answers a request of a client that is known.
    pub(super) async fn exchange(self: Arc<Self>, client: Client, request: Request, ends: Ends) -> Response<Body> {
        let (outlet, mut frames) = Outlet::open();
        let watch = CancellationToken::new();
        let guard = (ends == Ends::WithStream).then(|| watch.clone().drop_guard());
        let (id, visitor) = (request.id.clone(), request.visitor);
        self.start(client, request, outlet, Some(watch));
        match tokio::time::timeout(self.keep_alive(), frames.recv()).await {
            Ok(Some(Frame { bytes, last: Some(status) })) => ready(bytes, status),
            Ok(Some(frame)) => self.stream(Some(frame), frames, guard),
            Ok(None) => match visitor.and_then(|visitor| self.service.expelled(visitor).now_or_never()) {
                // It came as its agent's access went, and its session with it.
                Some(fault) => refusal(super::status_of(&fault), Some(&id), &fault),
                // The work was cancelled, or the face ends: there is no answer to give.
                None => plain(StatusCode::SERVICE_UNAVAILABLE, "the request was given up"),
            },
            Err(_) => self.stream(None, frames, guard),
        }
    }

    fn stream(&self, first: Option<Frame>, rest: mpsc::Receiver<Frame>, guard: Option<DropGuard>) -> Response<Body> {
        let events = Events {
            first,
            rest,
            answers: 1,
            keep_alive: self.keep_alive(),
            ended: self.parts.supervisor.stopping(),
            _guard: guard,
            _standing: None,
        };
        events.response()
    }

    /// Begins the work of a request; its answer goes to `outlet`.
    pub(super) fn start(
        self: &Arc<Self>,
        client: Client,
        request: Request,
        outlet: Outlet,
        watch: Option<CancellationToken>,
    ) {
        let endpoint = self.clone();
        let scope = match &client {
            Client::Modern(_) => self.parts.supervisor.clone(),
            Client::Legacy(session) => session.scope().clone(),
        };
        scope.spawn("http request", async move {
            let id = request.id.clone();
            let modern = matches!(client, Client::Modern(_));
            let (answer, held) = match endpoint.places(&client, &id) {
                Ok((permit, place)) => {
                    let answer = endpoint.work(client, request, &outlet, watch, place.as_ref()).await;
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
            let Ok(room) = outlet.room().await else { return };
            // The id is free before the client can see the answer, and a session that ends when nothing is in work any
            // more finds the answer on the stream.
            drop(held);
            room.answer(bytes, status);
        });
    }

    fn places(&self, client: &Client, id: &Id) -> Result<(OwnedSemaphorePermit, Option<Place>), Fault> {
        let full = |_| Fault::new(FaultKind::Internal, "too many requests are in work here");
        let permit = self.in_work.clone().try_acquire_owned().map_err(full)?;
        match client {
            Client::Modern(_) => Ok((permit, None)),
            Client::Legacy(session) => Ok((permit, Some(session.in_work().take(id)?))),
        }
    }

    /// The answer as bytes; `None` when the request was given up.
    async fn work(
        &self,
        client: Client,
        request: Request,
        outlet: &Outlet,
        watch: Option<CancellationToken>,
        place: Option<&Place>,
    ) -> Option<Result<Vec<u8>, Fault>> {
        let id = request.id.clone();
        let session = match &client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(session.clone()),
        };
        // Closing the stream of a modern request is cancelling it (protocol.md §2.3).
        let closing_cancels = place.is_none() && watch.is_some();
        let how = place.map_or_else(GiveUp::default, |place| place.given_up.clone());
        let seat = Seat::new(outlet.clone(), session, how.clone(), closing_cancels);
        let given_up = async {
            match (&watch, place) {
                (_, Some(place)) => place.cancelled.cancelled().await,
                (Some(watch), None) => {
                    watch.cancelled().await;
                    how.set(GivenUp::Cancelled);
                }
                (None, None) => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            answer = self.service.request(client, request, seat) => answer,
            () = given_up => return None,
        };
        Some(answer.map(|result| result.write(&id)))
    }
}

/// Takes the standing stream out of its session when the response ends. The session alone keeps the stream open, so
/// that a newer one ends it.
pub(super) struct Standing {
    session: Arc<Session>,
    outlet: WeakOutlet,
}

impl Standing {
    /// Makes `outlet` the session's standing stream.
    pub(super) fn begin(session: Arc<Session>, outlet: Outlet) -> Self {
        let weak = outlet.downgrade();
        session.stand(outlet);
        Self { session, outlet: weak }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if let Some(outlet) = self.outlet.upgrade() {
            self.session.unstand(&outlet);
        }
        self.session.touch();
    }
}

/// The events of a response, in order.
struct Events {
    first: Option<Frame>,
    rest: mpsc::Receiver<Frame>,
    /// Answers still to come; 0 for a standing stream, which only ends from outside.
    answers: usize,
    keep_alive: Duration,
    ended: CancellationToken,
    _guard: Option<DropGuard>,
    _standing: Option<Standing>,
}

/// An event stream that ends with its last answer.
pub(super) fn event_stream(
    rest: mpsc::Receiver<Frame>,
    answers: usize,
    first: Option<Frame>,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<Body> {
    Events { first, rest, answers, keep_alive, ended, _guard: None, _standing: None }.response()
}

/// The standing stream of a session.
pub(super) fn standing_stream(
    rest: mpsc::Receiver<Frame>,
    standing: Standing,
    keep_alive: Duration,
    ended: CancellationToken,
) -> Response<Body> {
    Events { first: None, rest, answers: 0, keep_alive, ended, _guard: None, _standing: Some(standing) }.response()
}

impl Events {
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
        let frame = match self.first.take() {
            Some(frame) => frame,
            None => {
                let waited = tokio::select! {
                    waited = tokio::time::timeout(self.keep_alive, self.rest.recv()) => waited,
                    () = self.ended.cancelled() => return None,
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
        let mut piece = Vec::with_capacity(frame.bytes.len() + 32);
        piece.extend_from_slice(b"event: message\ndata: ");
        piece.extend_from_slice(&frame.bytes);
        piece.extend_from_slice(b"\n\n");
        Some(Bytes::from(piece))
    }

    fn is_done(&self) -> bool {
        self.rest.is_closed() && self.answers == 0 && self._standing.is_none()
    }
}

/// A JSON body.
pub(super) fn json_response(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error with a status of its own.
pub(super) fn refusal(status: StatusCode, id: Option<&Id>, fault: &Fault) -> Response<Body> {
    match fault.write(id) {
        Ok(bytes) => json_response(status, bytes),
        Err(_) => plain(status, "the request was refused"),
    }
}

/// A short text.
pub(super) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    if !text.is_empty() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}
