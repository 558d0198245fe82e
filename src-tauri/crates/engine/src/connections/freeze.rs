//! Stops the processes of a frozen server until two readings agree, and lets those of any other continue.
//!
//! It follows what is recorded, so that the ordinary way, a new connection and a restart do the same. The time of the
//! server's tasks stands still meanwhile, and nothing is polled (`servers/poll.rs`).

use std::sync::Arc;

use domain::ids::ServerId;
use domain::ports::{FreezeReading, Upstream};
use tokio::time::{Instant, sleep};

use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;

/// Brings the processes of a server, and its tasks, to what is recorded.
pub(crate) async fn apply(core: &EngineCore, server: ServerId) {
    let _turn = core.pauses.freezing.lock().await;
    let is_frozen = core.pauses.is_frozen(server);
    let connections = core.connections.of_server(server);
    let has_process = |live: &Arc<LiveConnection>| live.process.is_some();
    let running: Vec<_> = connections.iter().filter_map(|connection| connection.live().filter(has_process)).collect();
    if is_frozen {
        let stopped = running.iter().map(|live| stop(core, live.upstream.as_ref()));
        let all = futures::future::join_all(stopped).await;
        let all = all.into_iter().fold(FreezeReading::default(), FreezeReading::with);
        core.pauses.set_reading(server, Some(all));
    } else {
        futures::future::join_all(running.iter().map(|live| live.upstream.freeze(false))).await;
        core.pauses.set_reading(server, None);
    }
    mark_tasks(core, server, is_frozen).await;
    core.effects.commits.health_changed(server);
    for connection in connections {
        if !is_frozen {
            core.effects.deliveries.connection_restored(connection.key);
        }
        connection.wake.notify_one();
    }
}

/// Stops what runs until two readings agree that all of it stands still, or the time for that is over.
async fn stop(core: &EngineCore, upstream: &dyn Upstream) -> FreezeReading {
    let until = Instant::now() + core.policy.control.pauses.freeze_limit;
    let mut before = None;
    loop {
        let Some(now) = upstream.freeze(true).await else { return before.unwrap_or_default() };
        if before == Some(now) && now.moving == 0 || Instant::now() >= until {
            return now;
        }
        before = Some(now);
        sleep(core.policy.child_group_look).await;
    }
}

async fn mark_tasks(core: &EngineCore, server: ServerId, is_frozen: bool) {
    let marked = core.ledger.of_server(server).into_iter().map(|handle| async move {
        let marked = core.ledger.apply(handle.id, |handle, now| handle.processes_frozen(is_frozen, now));
        if let Err(error) = marked.await {
            tracing::warn!(handle.id = %handle.id, %error, "that a task stands still, or no longer, could not be stored");
        }
    });
    futures::future::join_all(marked).await;
}
