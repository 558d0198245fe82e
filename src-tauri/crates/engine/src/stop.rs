//! The orderly end: no new calls, deliveries get their time, connections are closed, and the registry last.
//!
//! Everything here only shortens what a kill would leave behind: the next start does the same work from the registry
//! (`recover.rs`). Children are ended by their transports.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::admission::holds_server;
use crate::core::Core;
use crate::recover::may_live_on;
use crate::{budget, deliver, presence, repeats, sweep};

/// Ends the engine in order.
pub(crate) async fn stop(core: &Arc<Core>) {
    core.stopping.store(true, Ordering::Release);
    let deadline = Instant::now() + core.policy.drain_limit;
    while Instant::now() < deadline && !deliver::is_clear(core).await {
        sleep(core.policy.feed_frame).await;
    }
    let posts = core.posts.all();
    core.scope.cancel();
    let leaving = posts.iter().filter_map(|post| post.live().map(|live| (post, live)));
    let closing = leaving.map(|(post, live)| {
        let held = core.ledger.of_line(post.line).iter().any(|handle| holds_server(handle));
        let tasks_live = held || !post.in_flight().is_empty();
        async move { live.upstream.leave(tasks_live).await }
    });
    // A child that does not end by itself is ended by its transport's own limits; those are waited for.
    let limit = core.policy.drain_limit + core.policy.child_close_wait + core.policy.child_term_wait;
    if timeout(limit, join_all(closing)).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    // What a kept child works on goes on without us, and is taken up again at the next start.
    let ended = posts.iter().filter(|post| !may_live_on(core, &post.configured()));
    let lost = ended.flat_map(|post| post.recorded()).map(|id| async move {
        let why = "the core was stopped while the call was in flight";
        if let Err(error) = core.ledger.apply(id, |handle, now| handle.reply_lost(why, now)).await {
            tracing::warn!(handle.id = %id, %error, "that a reply is lost could not be stored");
        }
    });
    join_all(lost).await;
    budget::flush::finish(core).await;
    sweep::flush(core).await;
    repeats::flush(core).await;
    presence::flush(core).await;
    core.intents.flushed().await;
    core.registry.close().await;
}
