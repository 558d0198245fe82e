//! Stops the processes of a frozen server until two readings agree, and lets those of any other continue.
//!
//! It follows what is recorded, so that the ordinary way, a new connection and a restart do the same. Frozen processes
//! are read again at intervals: what another program let continue is stopped again, and a person is told of it. The time
//! of the server's tasks stands still meanwhile, and nothing is polled (`servers/poll.rs`).

use std::sync::Arc;

use domain::ids::ServerId;
use domain::ports::{FreezeReading, Upstream};
use domain::time::Timestamp;
use tokio::time::{Instant, sleep};

use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;

/// The processes of a frozen server, as they were found last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrozenProcesses {
    /// By the newest reading, of all connections together.
    pub found: FreezeReading,
    /// When some of them were last seen to run though they were frozen; they were stopped again.
    pub ran_at: Option<Timestamp>,
}

/// Reads frozen processes at intervals, for ever: any program of the user can let them continue.
pub(crate) async fn watch(core: Arc<EngineCore>) {
    loop {
        core.time.next_interval(core.policy.sweep_every).await;
        let frozen = core.pauses.frozen_servers();
        futures::future::join_all(frozen.into_iter().map(|server| stop_again(&core, server))).await;
    }
}

async fn stop_again(core: &EngineCore, server: ServerId) {
    let _turn = core.pauses.freezing.lock().await;
    // The pause may have ended while others had the turn.
    if !core.pauses.is_frozen(server) {
        return;
    }
    let before = core.pauses.processes(server);
    let found = stop_all(core, &running(core, server)).await;
    // What had not stopped by the last reading is no news.
    let ran_again = found.ran > before.found.moving;
    if ran_again {
        tracing::warn!(server.id = %server, processes = found.ran, "another program continued frozen processes; they are stopped again");
    }
    let now = FrozenProcesses { found, ran_at: if ran_again { Some(core.time.now()) } else { before.ran_at } };
    if now != before {
        core.pauses.set_processes(server, Some(now));
        core.effects.commits.health_changed(server);
    }
}

/// Brings the processes of a server, and its tasks, to what is recorded.
pub(crate) async fn apply(core: &EngineCore, server: ServerId) {
    let _turn = core.pauses.freezing.lock().await;
    let is_frozen = core.pauses.is_frozen(server);
    let running = running(core, server);
    if is_frozen {
        let found = stop_all(core, &running).await;
        let ran_at = core.pauses.processes(server).ran_at;
        core.pauses.set_processes(server, Some(FrozenProcesses { found, ran_at }));
    } else {
        futures::future::join_all(running.iter().map(|live| live.upstream.freeze(false))).await;
        core.pauses.set_processes(server, None);
    }
    mark_tasks(core, server, is_frozen).await;
    core.effects.commits.health_changed(server);
    for connection in core.connections.of_server(server) {
        if !is_frozen {
            core.effects.deliveries.connection_restored(connection.key);
        }
        connection.wake.notify_one();
    }
}

/// The connections of a server that have a process on this machine.
fn running(core: &EngineCore, server: ServerId) -> Vec<Arc<LiveConnection>> {
    let connections = core.connections.of_server(server).into_iter();
    connections.filter_map(|connection| connection.live().filter(|live| live.process.is_some())).collect()
}

async fn stop_all(core: &EngineCore, running: &[Arc<LiveConnection>]) -> FreezeReading {
    let stopped = running.iter().map(|live| stop(core, live.upstream.as_ref()));
    futures::future::join_all(stopped).await.into_iter().fold(FreezeReading::default(), FreezeReading::with)
}

/// Stops what runs until two readings agree that all of it stands still, or the time for that is over.
async fn stop(core: &EngineCore, upstream: &dyn Upstream) -> FreezeReading {
    let until = Instant::now() + core.policy.control.pauses.freeze_limit;
    let mut before: Option<FreezeReading> = None;
    loop {
        let Some(now) = upstream.freeze(true).await else { return before.unwrap_or_default() };
        // Only the first reading sees what ran before anything was told to stop.
        let now = FreezeReading { ran: before.map_or(now.ran, |first| first.ran), ..now };
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
