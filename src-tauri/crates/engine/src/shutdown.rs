//! The orderly shutdown: no new calls, time for deliveries, then connections, flushes, and the registry last.
//!
//! It only shortens what a kill would leave behind: the next start does the same work from the registry
//! (`recovery.rs`).

use std::sync::atomic::Ordering;

use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::access::presence;
use crate::budget;
use crate::connections::task_needs::holds_server;
use crate::decisions::deliver;
use crate::engine::Engine;
use crate::recovery::restart::may_live_on;
use crate::tasks::audit_log::{anchors, call_receipts, checkpoints};
use crate::tasks::{delivery_receipts, sweep};

impl Engine {
    /// Refuses new calls, lets deliveries finish within the drain limit, flushes, closes connections and registry.
    pub async fn shutdown(&self) {
        let core = &self.core;
        core.stopping.store(true, Ordering::Release);
        let deadline = Instant::now() + core.policy.drain_limit;
        while Instant::now() < deadline && !deliver::is_clear(core).await {
            sleep(core.policy.feed_frame).await;
        }
        let connections = core.connections.all();
        core.supervisor.cancel();
        let leaving = connections.iter().filter_map(|connection| connection.live().map(|live| (connection, live)));
        let closing = leaving.map(|(connection, live)| {
            let held = core.ledger.of_connection(connection.key).iter().any(|handle| holds_server(handle));
            let tasks_live = held || !connection.in_flight().is_empty();
            async move { live.upstream.leave(tasks_live).await }
        });
        // A child that does not end by itself is ended by its transport's own limits; those are waited for.
        let limit = core.policy.drain_limit + core.policy.child_close_wait + core.policy.child_term_wait;
        if timeout(limit, join_all(closing)).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        // Kept children go on working; their calls are taken up at the next start.
        let ended = connections.iter().filter(|connection| !may_live_on(core, &connection.configured()));
        let lost = ended.flat_map(|connection| connection.calls_with_row()).map(|id| async move {
            let why = "the core was shut down while the call was in flight";
            if let Err(error) = core.ledger.apply(id, |handle, now| handle.reply_lost(why, now)).await {
                tracing::warn!(handle.id = %id, %error, "that a reply is lost could not be stored");
            }
        });
        join_all(lost).await;
        budget::flush::finish(core).await;
        sweep::flush(core).await;
        delivery_receipts::flush(core).await;
        presence::flush(core).await;
        call_receipts::finish(core).await;
        checkpoints::finish(core).await;
        anchors::finish(core).await;
        core.intents.flushed().await;
        core.registry.close().await;
    }
}
