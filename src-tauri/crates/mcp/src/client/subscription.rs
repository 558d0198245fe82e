//! `subscriptions/listen` for the tasks that are watched (2026; protocol.md §2.7, §7.4, statement 26).
//!
//! One subscription at a time with all ids; a new set opens a new one first and closes the old one then. It is only an
//! optimisation: whatever is not accepted, dropped or refused is polled. A server that refused is not asked again on
//! this connection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::UpstreamTaskId;
use domain::ports::UpstreamEvent;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::connection::Connection;
use crate::dialect::extension2026;
use crate::link::{Answer, LinkError, Outgoing, Tag};
use crate::view::Fields;

/// Tasks that should be pushed.
pub(crate) type Wanted = Arc<[UpstreamTaskId]>;

/// The subscription that waits for its acknowledgement, and the one that runs.
#[derive(Default)]
pub(crate) struct Listening {
    waiting: Mutex<Option<Waiting>>,
    running: Mutex<Option<(Tag, BTreeSet<UpstreamTaskId>)>>,
}

struct Waiting {
    tag: Tag,
    asked: BTreeSet<UpstreamTaskId>,
    accepted: oneshot::Sender<usize>,
}

/// A subscription that was acknowledged.
struct Running {
    tag: Tag,
    asked: Wanted,
    since: Instant,
    ended: oneshot::Receiver<Result<Answer, LinkError>>,
}

/// Why there is none.
enum NoSubscription {
    /// Not on this connection.
    Refused,
    /// Perhaps later.
    Failed,
}

impl Connection {
    /// The first message of a subscription: what the server will push.
    pub(crate) fn acknowledged(&self, params: &Fields<'_>, on: Option<Tag>) {
        if self.relay.acknowledged(params, on) {
            return;
        }
        let waiting = {
            let mut waiting = self.listening.waiting.lock();
            waiting.take_if(|waiting| on.is_none_or(|tag| tag == waiting.tag))
        };
        let Some(waiting) = waiting else { return };
        let accepted: Vec<_> =
            extension2026::accepted(params).into_iter().filter(|id| waiting.asked.contains(id)).collect();
        if waiting.accepted.send(accepted.len()).is_err() {
            return;
        }
        let now = (waiting.tag, accepted.iter().cloned().collect());
        let (_, covered) = self.listening.running.lock().replace(now).unzip();
        let covered: BTreeSet<_> = covered.unwrap_or_default();
        self.events.push(UpstreamEvent::Subscribed(accepted.clone()));
        // Nothing is replayed, so each task that nothing covered until now is looked at once.
        let new = accepted.into_iter().filter(|id| !covered.contains(id));
        new.map(UpstreamEvent::PollSoon).for_each(|look| self.events.push(look));
    }

    /// Over stdio a server ends a subscription by cancelling it; it is the only request of ours it may cancel.
    pub(crate) async fn subscription_cancelled(&self, on: Option<Tag>) {
        let is_it = |running: &mut (Tag, BTreeSet<UpstreamTaskId>)| on.is_none_or(|tag| tag == running.0);
        let running = self.listening.running.lock().take_if(is_it);
        if let Some(tag) = running.map(|(tag, _)| tag).or(on) {
            drop(self.link.cancel(tag, None).await);
        }
    }

    fn unsubscribed(&self) {
        *self.listening.running.lock() = None;
        self.events.push(UpstreamEvent::Subscribed(Vec::new()));
    }

    async fn listen(self: &Arc<Self>, wanted: Wanted) -> Result<Running, NoSubscription> {
        let tag = self.next_tag();
        let (accepted, acknowledged) = oneshot::channel();
        let asked = wanted.iter().cloned().collect();
        *self.listening.waiting.lock() = Some(Waiting { tag, asked, accepted });
        let (gone, mut ended) = oneshot::channel();
        let connection = Arc::clone(self);
        let params = extension2026::listen_params(&wanted, self.tells_tool_changes);
        self.scope.spawn("mcp subscription", async move {
            let outgoing = Outgoing {
                method: extension2026::LISTEN.into(),
                params,
                verbatim: Vec::new(),
                tag,
                limit: None,
                param_headers: Vec::new(),
                agent_params: None,
            };
            drop(gone.send(connection.link.request(outgoing).await));
        });
        let outcome = tokio::select! {
            biased;
            number = acknowledged => match number {
                Ok(0) => Err(NoSubscription::Refused),
                Ok(_) => Ok(()),
                Err(_) => Err(NoSubscription::Failed),
            },
            end = &mut ended => Err(why_not(end.ok())),
            () = tokio::time::sleep(self.policy.reply_limit) => Err(NoSubscription::Refused),
        };
        self.listening.waiting.lock().take_if(|waiting| waiting.tag == tag);
        match outcome {
            Ok(()) => Ok(Running { tag, asked: wanted, since: Instant::now(), ended }),
            Err(no) => {
                drop(self.link.cancel(tag, None).await);
                Err(no)
            }
        }
    }
}

fn why_not(end: Option<Result<Answer, LinkError>>) -> NoSubscription {
    match end {
        Some(Err(LinkError::Broken { .. } | LinkError::NoAnswer(_) | LinkError::RateLimited(_))) | None => {
            NoSubscription::Failed
        }
        Some(Ok(Answer::Result(_) | Answer::Error(_))) => NoSubscription::Refused,
        Some(Err(LinkError::Unauthorized { .. } | LinkError::Unreadable { .. })) => NoSubscription::Refused,
    }
}

/// Keeps the subscription in step with what is wanted. Ends with the connection's scope, or when the server refused.
pub(crate) async fn keep_subscribed(connection: Arc<Connection>, mut wanted: watch::Receiver<Wanted>) {
    let policy = Arc::clone(&connection.policy);
    let mut running: Option<Running> = None;
    let mut wait = Duration::ZERO;
    let mut earliest = Instant::now();
    let mut retry = false;
    loop {
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = end_of(&mut running) => {
                // A server that ends every subscription at once is not asked in a circle.
                let lived = running.take().map_or(Duration::ZERO, |old| old.since.elapsed());
                connection.unsubscribed();
                wait = longer(if lived > policy.backoff_last { Duration::ZERO } else { wait }, &policy);
                earliest = Instant::now() + wait;
            }
            () = tokio::time::sleep_until(earliest), if retry => {}
        }
        // Sets change in bursts.
        tokio::time::sleep_until(earliest.max(Instant::now() + policy.subscribe_settle)).await;
        retry = false;
        let want = Arc::clone(&wanted.borrow_and_update());
        if want.is_empty() {
            if let Some(old) = running.take() {
                connection.unsubscribed();
                drop(connection.link.cancel(old.tag, None).await);
            }
            continue;
        }
        if running.as_ref().is_some_and(|running| running.asked == want) {
            continue;
        }
        match connection.listen(want).await {
            Ok(new) => {
                let asked = Arc::clone(&new.asked);
                if let Some(mut old) = running.replace(new) {
                    // It ended before the new one began: what happened between the two was not pushed.
                    if old.ended.try_recv().is_ok() {
                        let looks = asked.iter().cloned().map(UpstreamEvent::PollSoon);
                        looks.for_each(|look| connection.events.push(look));
                    }
                    drop(connection.link.cancel(old.tag, None).await);
                }
            }
            Err(NoSubscription::Failed) => {
                wait = longer(wait, &policy);
                earliest = Instant::now() + wait;
                retry = true;
            }
            Err(NoSubscription::Refused) => {
                tracing::debug!("the server pushes no tasks; they are polled");
                if let Some(old) = running.take() {
                    drop(connection.link.cancel(old.tag, None).await);
                }
                connection.unsubscribed();
                return;
            }
        }
    }
}

async fn end_of(running: &mut Option<Running>) {
    match running {
        Some(running) => drop((&mut running.ended).await),
        None => std::future::pending().await,
    }
}

fn longer(wait: Duration, policy: &domain::policy::Policy) -> Duration {
    wait.saturating_mul(2).clamp(policy.backoff_first, policy.backoff_last)
}
