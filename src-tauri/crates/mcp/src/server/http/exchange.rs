//! One request over HTTP: worked on by the task of its connection, answered as JSON or as an event stream.
//!
//! An answer that comes first is plain JSON with its status. A message before it, or a long wait, makes the response an
//! event stream (`event_stream.rs`), and the work goes on as a task of the supervisor (`inline_request.rs`). Closing the
//! stream of a modern request drops its work; 2025 clients cancel by notification, and may come back for the answer
//! (`event_id.rs`).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::http::{Response, StatusCode};
use engine::runtime::supervisor::Supervisor;
use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::service::{Client, Request, ResumeRequest};
use super::super::session::Session;
use super::event_id::EventIds;
use super::event_stream::{RequestEvents, request_stream};
use super::inline_request::{Finished, HeldPlaces, InlineRequest, TASK, WorkEnds};
use super::reply_body::{ReplyBody, plain, refusal};
use super::{BodyHold, Endpoint, RequestSender};
use crate::server::in_flight::CancelReasonCell;
use crate::server::response_stream::{RequestWriter, ResponseStream, ResumePoint};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::signing::SigningKey;
use crate::server::stream_writer::{LazyStream, StreamMessage, StreamWriter};
use crate::wire::message::Id;

/// What the service is asked.
pub(crate) enum ServiceCall {
    /// A new request, and what the host counts for its body.
    New(Request, Option<BodyHold>),
    /// The answer to a request whose stream broke.
    Again(ResumeRequest),
}

impl ServiceCall {
    fn id(&self) -> Id {
        match self {
            Self::New(request, _) => request.id.clone(),
            Self::Again(resumed) => resumed.id.clone(),
        }
    }
}

/// What the work on a request writes to, and where it says how far it is.
struct WorkLinks {
    writer: RequestWriter,
    /// How a modern client gave the request up.
    given_up: CancelReasonCell,
    /// Where the answer can be had again.
    point: Option<ResumePoint>,
}

/// How the wait of a connection for the work on its request ended.
enum Turn {
    /// The work is over; without an answer it was given up.
    Over(Option<Finished>),
    /// The response is an event stream from now on, and begins with this message if there is one.
    Streams(Option<StreamMessage>),
}

impl Endpoint {
    /// Answers a request of a client that is known.
    pub(crate) async fn exchange(
        self: Arc<Self>,
        client: Client,
        request: Request,
        ends: WorkEnds,
        sender: &RequestSender,
    ) -> Response<ReplyBody> {
        let (stream, given_up) = (LazyStream::default(), CancelReasonCell::default());
        let (id, principal) = (request.id.clone(), request.principal);
        let (mut ids, point) = match (&client, &self.parts.key) {
            (Client::Legacy(session), Some(key)) => {
                let (ids, point) = EventIds::new(key, session, &request.id, self.parts.policy.serving.stream_retry);
                (Some(ids), Some(point))
            }
            (Client::Legacy(_), None) | (Client::Modern(_), _) => (None, None),
        };
        let scope = self.scope(&client);
        // Only a session ends while the core runs on.
        let session_end = (ends == WorkEnds::Never).then(|| scope.stopping());
        let links = WorkLinks { writer: stream.clone().into(), given_up: given_up.clone(), point };
        let work = Box::pin(Arc::clone(&self).work(client, ServiceCall::New(request, sender.body.clone()), links));
        let mut inline = InlineRequest::new(work, stream.clone(), given_up, scope, ends);
        let mut unread: Option<mpsc::Receiver<StreamMessage>> = None;
        let mut timer = sender.connection.take_timer();
        let begun = Instant::now();
        let lasts_at = begun + self.keep_alive().min(self.parts.policy.serving.stream_after);
        let turn = {
            let mut has_lasted = false;
            let mut lasting = pin!(self.becomes_stream(begun, ids.as_mut()));
            let mut session_ended = pin!(session_end.as_ref().map(CancellationToken::cancelled));
            poll_fn(|cx| {
                let over = inline.poll_finished(cx);
                if unread.is_none()
                    && let Poll::Ready(opened) = stream.poll_unread(cx)
                {
                    unread = Some(opened);
                }
                // What the work said goes before its answer, whichever is seen first. With the answer there it is read
                // outside of tokio's budget, which could hide it.
                let said = unread.as_mut().and_then(|said| {
                    if over.is_ready() {
                        return said.try_recv().ok();
                    }
                    match said.poll_recv(cx) {
                        Poll::Ready(first) => first,
                        Poll::Pending => None,
                    }
                });
                if let Some(first) = said {
                    if let Poll::Ready(Some(finished)) = over {
                        inline.put_back(finished);
                    }
                    return Poll::Ready(Turn::Streams(Some(first)));
                }
                if let Poll::Ready(finished) = over {
                    return Poll::Ready(Turn::Over(finished));
                }
                if session_ended.as_mut().as_pin_mut().is_some_and(|ended| ended.poll(cx).is_ready()) {
                    inline.end();
                    return Poll::Ready(Turn::Over(None));
                }
                has_lasted = has_lasted || timer.is_past(lasts_at, cx);
                if !has_lasted {
                    return Poll::Pending;
                }
                lasting.as_mut().poll(cx).map(|streams| {
                    if streams {
                        return Turn::Streams(None);
                    }
                    inline.end();
                    Turn::Over(None)
                })
            })
            .await
        };
        sender.connection.keep_timer(timer);
        match turn {
            Turn::Over(finished) => match finished.and_then(Finished::reply) {
                Some(response) => response,
                None => match principal.and_then(|principal| self.service.expelled(principal).now_or_never()) {
                    // It came as its agent's access went, and its session with it.
                    Some(fault) => refusal(super::status_of(&fault), Some(&id), &fault),
                    // The work was cancelled, or the core shuts down: there is no answer to give.
                    None => plain(StatusCode::SERVICE_UNAVAILABLE, "the request was given up"),
                },
            },
            Turn::Streams(first) => {
                let guard = inline.detach();
                let Some(rest) = unread.or_else(|| stream.take_unread()) else {
                    return plain(StatusCode::SERVICE_UNAVAILABLE, "the request was given up");
                };
                self.streamed(RequestEvents { first, rest, guard, ids })
            }
        }
    }

    /// Resolves when a response that is not there becomes an event stream: after a while, or as soon as its client could
    /// come back for the answer. False when the core shuts down.
    async fn becomes_stream(&self, begun: Instant, ids: Option<&mut EventIds>) -> bool {
        let resumable = async {
            match ids {
                Some(ids) => {
                    tokio::time::sleep_until(begun + self.parts.policy.serving.stream_after).await;
                    ids.changed().await;
                }
                None => std::future::pending().await,
            }
        };
        let stop = self.parts.supervisor.stopping();
        tokio::select! {
            () = tokio::time::sleep_until(begun + self.keep_alive()) => true,
            () = resumable => true,
            () = stop.cancelled() => false,
        }
    }

    /// Answers a request again whose stream broke. What is still at work on it is taken back first.
    pub(crate) fn resume(
        self: &Arc<Self>,
        key: &SigningKey,
        session: Arc<Session>,
        resumed: ResumeRequest,
    ) -> Response<ReplyBody> {
        let (writer, rest) = StreamWriter::open();
        let (ids, point) = EventIds::new(key, &session, &resumed.id, self.parts.policy.serving.stream_retry);
        self.start(Client::Legacy(session), ServiceCall::Again(resumed), writer, Some(point));
        self.streamed(RequestEvents { first: None, rest, guard: None, ids: Some(ids) })
    }

    fn streamed(&self, events: RequestEvents) -> Response<ReplyBody> {
        request_stream(events, self.keep_alive(), self.parts.supervisor.stopping())
    }

    /// Begins the work of a request of a session as a task; its answer goes to `writer`.
    pub(crate) fn start(
        self: &Arc<Self>,
        client: Client,
        asked: ServiceCall,
        writer: StreamWriter,
        point: Option<ResumePoint>,
    ) {
        let scope = self.scope(&client);
        let links = WorkLinks { writer: writer.clone().into(), given_up: CancelReasonCell::default(), point };
        let work = Arc::clone(self).work(client, asked, links);
        scope.spawn(TASK, async move {
            if let Some(finished) = work.await {
                finished.send(&writer).await;
            }
        });
    }

    /// The scope that a request of this client ends with.
    fn scope(&self, client: &Client) -> Supervisor {
        match client {
            Client::Modern(_) => self.parts.supervisor.clone(),
            Client::Legacy(session) => session.scope().clone(),
        }
    }

    fn places(&self, client: &Client, id: &Id) -> Result<HeldPlaces, RequestError> {
        let full = |_| RequestError::new(RequestErrorKind::Internal, "too many requests are in work here");
        let permit = self.in_flight.clone().try_acquire_owned().map_err(full)?;
        let place = match client {
            Client::Modern(_) => None,
            Client::Legacy(session) => Some(session.in_flight().take(id)?),
        };
        Ok(HeldPlaces { _permit: permit, place })
    }

    /// Has the service answer; `None` when the request was given up.
    async fn work(self: Arc<Self>, client: Client, asked: ServiceCall, links: WorkLinks) -> Option<Finished> {
        let id = asked.id();
        if let (ServiceCall::Again(_), Client::Legacy(session)) = (&asked, &client) {
            session.in_flight().take_back(&id).await;
        }
        let (is_modern, session) = match &client {
            Client::Modern(_) => (true, None),
            Client::Legacy(session) => (false, Some(session.clone())),
        };
        let held = match self.places(&client, &id) {
            Ok(held) => held,
            Err(fault) => {
                if let ServiceCall::New(request, _) = asked {
                    self.service.refused(client, request, &fault);
                }
                return Some(Finished { id, is_modern, answer: Err(fault), held: None });
            }
        };
        let WorkLinks { writer, given_up, point } = links;
        let given_up = held.place.as_ref().map_or(given_up, |place| place.given_up.clone());
        // Closing the stream of a modern request is cancelling it (protocol.md §2.3).
        let stream = ResponseStream::new(writer, session, given_up, is_modern).resumable(point);
        // What is counted for the body counts until the work ends, wherever it goes on.
        let (answering, _body) = match asked {
            ServiceCall::New(request, body) => (self.service.request(client, request, stream), body),
            ServiceCall::Again(resumed) => (self.service.resume(client, resumed, stream), None),
        };
        let answer = match &held.place {
            None => answering.await,
            Some(place) => tokio::select! {
                answer = answering => answer,
                () = place.cancelled.cancelled() => return None,
            },
        };
        Some(Finished { id, is_modern, answer, held: Some(held) })
    }

    fn keep_alive(&self) -> Duration {
        self.parts.policy.serving.keep_alive
    }
}
