//! The agents' subscription: one stream with the union of what their leases ask for (2026; protocol.md §2.7).
//!
//! It tells each lease what the server accepted; notifications go through `notifications/broadcast.rs`. A failed
//! attempt is repeated later.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::stream::{Backoff, SubscriptionStream, end_of};
use crate::upstream::connection::Connection;
use crate::upstream::state::subscription_filter::SubscriptionFilter;

type AgentStream = SubscriptionStream<SubscriptionFilter, SubscriptionFilter>;

impl Connection {
    async fn subscribe_for_agents(self: &Arc<Self>, wanted: SubscriptionFilter) -> Option<AgentStream> {
        let tag = self.next_tag();
        let (accepted, acknowledged) = oneshot::channel();
        *self.leases.waiting.lock() = Some((tag, accepted));
        let params = wanted.params();
        let opened = SubscriptionStream::open(self, wanted, tag, params, acknowledged).await;
        self.leases.waiting.lock().take_if(|(waiting, _)| *waiting == tag);
        // A refusal may be about the newest filter only, so it is tried again like a failure.
        opened.ok()
    }
}

/// Keeps the agents' subscription in step with their leases. Ends with the connection's scope. A new union opens its
/// stream before the old one is closed, so that no notification is missed.
pub(crate) async fn keep_agents_subscribed(connection: Arc<Connection>) {
    let leases = &connection.leases;
    let mut wanted = leases.wanted.subscribe();
    // A lease may have been taken before this ran for the first time.
    wanted.mark_changed();
    let mut running: Option<AgentStream> = None;
    let mut backoff = Backoff::new(&connection.policy);
    let mut retry = false;
    loop {
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = end_of(&mut running) => {
                connection.broadcast.missed();
                backoff.stream_ended(running.take());
            }
            () = tokio::time::sleep_until(backoff.earliest), if retry => {}
        }
        let (round, want) = wanted.borrow_and_update().clone();
        retry = running.is_none() && !want.is_empty() && Instant::now() < backoff.earliest;
        if retry {
            // Nothing is accepted until the next attempt; agents do not wait that long for an answer.
            leases.settle(round, SubscriptionFilter::default());
            continue;
        }
        if want.is_empty() {
            if let Some(old) = running.take() {
                old.close(&connection).await;
            }
            leases.settle(round, SubscriptionFilter::default());
            continue;
        }
        if let Some(running) = running.as_ref().filter(|running| running.asked == want) {
            leases.settle(round, running.accepted.clone());
            continue;
        }
        match connection.subscribe_for_agents(want).await {
            Some(new) => {
                leases.settle(round, new.accepted.clone());
                if let Some(old) = running.replace(new) {
                    old.close(&connection).await;
                }
            }
            None => {
                // The old stream stays for those who had it; the new leases are told that nothing was accepted.
                let kept = running.as_ref().map(|running| running.accepted.clone()).unwrap_or_default();
                leases.settle(round, kept);
                backoff.attempt_failed();
                retry = true;
            }
        }
    }
}
