//! The engine's subscription: pushes of the tasks that are watched (2026; protocol.md §2.7, §7.4, statement 26).
//!
//! It is only an optimisation: tasks that are not accepted, or whose stream broke, are polled. A server that refused is
//! not asked again on this connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ports::UpstreamEvent;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::stream::{Backoff, OpenFailure, SubscriptionStream, end_of};
use crate::upstream::connection::Connection;
use crate::upstream::state::task_subscription::{WaitingForAck, WatchedTasks};
use crate::upstream::transport::link::RequestTag;
use crate::wire::dialect::extension2026;
use crate::wire::view::JsonFields;

/// A stream, with the number of accepted tasks.
type TaskStream = SubscriptionStream<WatchedTasks, usize>;

impl Connection {
    /// Takes the acknowledgement of a task subscription.
    pub(super) fn tasks_acknowledged(&self, params: &JsonFields<'_>, on: Option<RequestTag>) {
        let waiting = {
            let mut waiting = self.task_subscription.waiting.lock();
            waiting.take_if(|waiting| on.is_none_or(|tag| tag == waiting.tag))
        };
        let Some(waiting) = waiting else { return };
        let accepted: Vec<_> =
            extension2026::accepted(params).into_iter().filter(|id| waiting.asked.contains(id)).collect();
        if waiting.accepted.send(accepted.len()).is_err() {
            return;
        }
        let now = (waiting.tag, accepted.iter().cloned().collect());
        let (_, covered) = self.task_subscription.running.lock().replace(now).unzip();
        let covered: BTreeSet<_> = covered.unwrap_or_default();
        self.events.push(UpstreamEvent::Subscribed(accepted.clone()));
        // Nothing is replayed, so each task that no subscription covered until now is polled once.
        let new = accepted.into_iter().filter(|id| !covered.contains(id));
        new.map(UpstreamEvent::PollSoon).for_each(|look| self.events.push(look));
    }

    /// Over stdio a server ends a subscription by cancelling it; it is the only request of ours it may cancel.
    pub(crate) async fn subscription_cancelled(&self, on: Option<RequestTag>) {
        let running = self.task_subscription.running.lock().take_if(|(tag, _)| on.is_none_or(|on| on == *tag));
        if let Some(tag) = running.map(|(tag, _)| tag).or(on) {
            drop(self.link.cancel(tag, None).await);
        }
    }

    fn unsubscribed(&self) {
        *self.task_subscription.running.lock() = None;
        self.events.push(UpstreamEvent::Subscribed(Vec::new()));
    }

    async fn subscribe_to(self: &Arc<Self>, wanted: WatchedTasks) -> Result<TaskStream, OpenFailure> {
        let tag = self.next_tag();
        let (accepted, acknowledged) = oneshot::channel();
        let asked = wanted.iter().cloned().collect();
        *self.task_subscription.waiting.lock() = Some(WaitingForAck { tag, asked, accepted });
        let params = extension2026::listen_params(&wanted, self.tells_tool_changes);
        let opened = SubscriptionStream::open(self, wanted, tag, params, acknowledged).await;
        self.task_subscription.waiting.lock().take_if(|waiting| waiting.tag == tag);
        match opened {
            Ok(stream) if stream.accepted == 0 => {
                stream.close(self).await;
                Err(OpenFailure::Refused)
            }
            other => other,
        }
    }
}

/// Keeps the task subscription in step with the watched tasks. Ends with the connection's scope, or when the server
/// refused. A new set opens its stream before the old one is closed, so that no push is missed.
pub(crate) async fn keep_tasks_subscribed(connection: Arc<Connection>, mut wanted: watch::Receiver<WatchedTasks>) {
    let mut running: Option<TaskStream> = None;
    let mut backoff = Backoff::new(&connection.policy);
    let mut retry = false;
    loop {
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = end_of(&mut running) => {
                connection.unsubscribed();
                backoff.stream_ended(running.take());
            }
            () = tokio::time::sleep_until(backoff.earliest), if retry => {}
        }
        // Sets change in bursts: one subscription for the last of them.
        tokio::time::sleep_until(backoff.earliest.max(Instant::now() + connection.policy.subscribe_settle)).await;
        retry = false;
        let want = Arc::clone(&wanted.borrow_and_update());
        if want.is_empty() {
            if let Some(old) = running.take() {
                connection.unsubscribed();
                old.close(&connection).await;
            }
            continue;
        }
        if running.as_ref().is_some_and(|running| running.asked == want) {
            continue;
        }
        match connection.subscribe_to(Arc::clone(&want)).await {
            Ok(new) => {
                if let Some(mut old) = running.replace(new) {
                    // The old one ended before the new one began: what happened in between was not pushed.
                    if old.has_ended() {
                        want.iter().cloned().map(UpstreamEvent::PollSoon).for_each(|look| connection.events.push(look));
                    }
                    old.close(&connection).await;
                }
            }
            Err(OpenFailure::Failed) => {
                backoff.attempt_failed();
                retry = true;
            }
            Err(OpenFailure::Refused) => {
                tracing::debug!("the server pushes no tasks; they are polled");
                if let Some(old) = running.take() {
                    old.close(&connection).await;
                }
                connection.unsubscribed();
                return;
            }
        }
    }
}
