//! A request whose work is polled by the task of its connection, without a task or a channel of its own.
//!
//! Most requests are answered so. What lasts, or says something before its answer, is given to the supervisor and its
//! response becomes an event stream (`exchange.rs`). Dropped in between, because the client is gone, the work ends or goes
//! on as the era has it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::{Response, StatusCode};
use engine::runtime::supervisor::Supervisor;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::reply_body::{ReplyBody, json_response};
use crate::server::in_flight::{CancelReason, CancelReasonCell, InFlightRequest};
use crate::server::raw_result::RawResult;
use crate::server::rpc_error::RequestError;
use crate::server::stream_writer::{LazyStream, StreamWriter};
use crate::wire::message::Id;

/// The name of the work in logs.
pub(super) const TASK: &str = "http request";

/// When the work of a request ends besides its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkEnds {
    /// The client closes the response stream (modern).
    WithStream,
    /// Only by cancelling (older eras).
    Never,
}

/// What a request holds while it is in work.
pub(super) struct HeldPlaces {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) place: Option<InFlightRequest>,
}

/// An answered request.
pub(super) struct Finished {
    pub(super) id: Id,
    pub(super) is_modern: bool,
    pub(super) answer: Result<RawResult, RequestError>,
    /// Dropped before the client can see the answer, so that its id is free then.
    pub(super) held: Option<HeldPlaces>,
}

impl Finished {
    const fn status(&self) -> u16 {
        match &self.answer {
            Err(fault) if self.is_modern => fault.status(),
            Ok(_) | Err(_) => StatusCode::OK.as_u16(),
        }
    }

    /// The answer as a whole response; `None` when it cannot be written.
    pub(super) fn reply(self) -> Option<Response<ReplyBody>> {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        drop(self.held);
        let body = match self.answer {
            Ok(result) => ReplyBody::pieces(result.pieces(&self.id)),
            Err(fault) => fault.write(Some(&self.id)).ok()?.into(),
        };
        Some(json_response(status, body))
    }

    /// Sends the answer on an event stream.
    pub(super) async fn send(self, writer: &StreamWriter) {
        let status = self.status();
        let bytes = match self.answer {
            Ok(result) => result.write(&self.id),
            Err(fault) => match fault.write(Some(&self.id)) {
                Ok(bytes) => bytes,
                Err(_) => return,
            },
        };
        // A client that is gone needs no answer.
        let Ok(room) = writer.room().await else { return };
        // The id is free before the client can see the answer, and a session that ends when nothing is in work any more
        // finds the answer on the stream.
        drop(self.held);
        room.answer(bytes, status);
    }
}

/// The work on a request: its answer, or `None` when it was given up.
pub(super) type RequestWork = Pin<Box<dyn Future<Output = Option<Finished>> + Send>>;

/// A request in work on the task of its connection.
pub(super) struct InlineRequest {
    /// `None` when it is over or has gone to the supervisor.
    work: Option<RequestWork>,
    stream: LazyStream,
    given_up: CancelReasonCell,
    scope: Supervisor,
    ends: WorkEnds,
}

impl InlineRequest {
    pub(super) const fn new(
        work: RequestWork,
        stream: LazyStream,
        given_up: CancelReasonCell,
        scope: Supervisor,
        ends: WorkEnds,
    ) -> Self {
        Self { work: Some(work), stream, given_up, scope, ends }
    }

    /// Works on the request. A panic in the work gives it up, and nothing else of the connection.
    pub(super) fn poll_finished(&mut self, cx: &mut Context<'_>) -> Poll<Option<Finished>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        let finished = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(finished)) => finished,
            Err(_) => {
                tracing::error!(task.name = TASK, "a background task panicked");
                None
            }
        };
        self.work = None;
        Poll::Ready(finished)
    }

    /// Ends the work without an answer.
    pub(super) fn end(&mut self) {
        self.work = None;
    }

    /// Takes the answer back that [`Self::poll_finished`] gave, because messages go before it.
    pub(super) fn put_back(&mut self, finished: Finished) {
        self.work = Some(Box::pin(std::future::ready(Some(finished))));
    }

    /// Lets the work go on as a task of the supervisor, which sends its answer on the stream. The guard is dropped when
    /// the client closes that.
    pub(super) fn detach(mut self) -> Option<DropGuard> {
        let work = self.work.take()?;
        let writer = self.stream.writer();
        let (closed, how) = (CancellationToken::new(), self.given_up.clone());
        let guard = (self.ends == WorkEnds::WithStream).then(|| closed.clone().drop_guard());
        self.scope.spawn(TASK, async move {
            let mut work = work;
            let finished = tokio::select! {
                biased;
                finished = &mut work => finished,
                () = closed.cancelled() => {
                    // Closing the stream of a modern request is cancelling it (protocol.md §2.3). The work learns how it
                    // was given up when it is dropped, so this is known before.
                    how.set(CancelReason::Cancelled);
                    None
                }
            };
            if let Some(finished) = finished {
                finished.send(&writer).await;
            }
        });
        guard
    }
}

impl Drop for InlineRequest {
    /// The client is gone: its connection has ended, and with it the future that awaited the answer.
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        self.stream.close();
        match self.ends {
            WorkEnds::WithStream => {
                self.given_up.set(CancelReason::Cancelled);
                drop(work);
            }
            WorkEnds::Never => self.scope.spawn(TASK, async move { drop(work.await) }),
        }
    }
}
