//! One `subscriptions/listen` stream: opened, acknowledged, closed, and how long to wait before the next attempt.
//!
//! What is subscribed, and what follows from an acknowledgement, is in `tasks.rs` and `agents.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::SendPermit;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::upstream::connection::Connection;
use crate::upstream::transport::link::{Answer, LinkError, OutgoingRequest, RequestTag};
use crate::wire::dialect::extension2026;

/// An acknowledged stream, with what was asked and what the server accepted.
pub(super) struct SubscriptionStream<W, A> {
    pub(super) asked: W,
    pub(super) tag: RequestTag,
    pub(super) accepted: A,
    since: Instant,
    ended: oneshot::Receiver<Result<Answer, LinkError>>,
}

/// Why no stream was opened.
pub(super) enum OpenFailure {
    /// The server refused, or did not answer.
    Refused,
    /// The connection failed; a later attempt may succeed.
    Failed,
}

impl<W, A> SubscriptionStream<W, A> {
    /// Sends the request under `tag` and waits until `acknowledged` brings what the server accepted.
    pub(super) async fn open(
        connection: &Arc<Connection>,
        asked: W,
        tag: RequestTag,
        params: Value,
        acknowledged: oneshot::Receiver<A>,
    ) -> Result<Self, OpenFailure> {
        let (gone, mut ended) = oneshot::channel();
        let sender = Arc::clone(connection);
        connection.scope.spawn("mcp subscription", async move {
            let outgoing = OutgoingRequest {
                method: extension2026::LISTEN.into(),
                params,
                verbatim: Vec::new(),
                tag,
                limit: None,
                param_headers: Vec::new(),
                agent_params: None,
                permit: SendPermit::default(),
            };
            drop(gone.send(sender.link.request(outgoing).await));
        });
        let outcome = tokio::select! {
            biased;
            accepted = acknowledged => accepted.map_err(|_| OpenFailure::Failed),
            end = &mut ended => Err(failure(end.ok())),
            () = tokio::time::sleep(connection.policy.reply_limit) => Err(OpenFailure::Refused),
        };
        match outcome {
            Ok(accepted) => Ok(Self { asked, tag, accepted, since: Instant::now(), ended }),
            Err(failure) => {
                drop(connection.link.cancel(tag, None).await);
                Err(failure)
            }
        }
    }

    pub(super) async fn close(self, connection: &Connection) {
        drop(connection.link.cancel(self.tag, None).await);
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.ended.try_recv().is_ok()
    }
}

fn failure(end: Option<Result<Answer, LinkError>>) -> OpenFailure {
    match end {
        Some(Err(
            LinkError::Broken { .. } | LinkError::NoAnswer(_) | LinkError::GivenUp | LinkError::RateLimited(_),
        ))
        | None => OpenFailure::Failed,
        Some(Ok(Answer::Result(_) | Answer::Error(_))) => OpenFailure::Refused,
        Some(Err(LinkError::Unauthorized { .. } | LinkError::Unreadable { .. })) => OpenFailure::Refused,
    }
}

/// Resolves when the running stream ends; never without one.
pub(super) async fn end_of<W, A>(running: &mut Option<SubscriptionStream<W, A>>) {
    match running {
        Some(running) => drop((&mut running.ended).await),
        None => std::future::pending().await,
    }
}

/// When the next stream may be opened. A server that ends every stream at once is asked less and less often.
pub(super) struct Backoff {
    first: Duration,
    last: Duration,
    wait: Duration,
    pub(super) earliest: Instant,
}

impl Backoff {
    pub(super) fn new(policy: &Policy) -> Self {
        let (first, last) = (policy.backoff_first, policy.backoff_last);
        Self { first, last, wait: Duration::ZERO, earliest: Instant::now() }
    }

    /// The running stream ended by itself.
    pub(super) fn stream_ended<W, A>(&mut self, stream: Option<SubscriptionStream<W, A>>) {
        let lived = stream.map_or(Duration::ZERO, |stream| stream.since.elapsed());
        if lived > self.last {
            self.wait = Duration::ZERO;
        }
        self.attempt_failed();
    }

    /// No stream was opened.
    pub(super) fn attempt_failed(&mut self) {
        self.wait = self.wait.saturating_mul(2).clamp(self.first, self.last);
        self.earliest = Instant::now() + self.wait;
    }
}
