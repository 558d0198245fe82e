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
    /// When those that stood still were first not found any more, and with them what they had in memory. `None` while some
    /// are found, or none ever were.
    pub gone_at: Option<Timestamp>,
}

impl FrozenProcesses {
    /// What is known after a reading. `ran_at` is when that or an earlier one saw frozen processes run.
    fn read(self, found: FreezeReading, ran_at: Option<Timestamp>, now: Timestamp) -> Self {
        let has_any = |reading: FreezeReading| reading.stopped + reading.moving > 0;
        let gone_at = match (has_any(self.found), has_any(found)) {
            (_, true) => None,
            (true, false) => Some(now),
            (false, false) => self.gone_at,
        };
        Self { found, ran_at, gone_at }
    }
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
    let moment = core.time.now();
    let now = before.read(found, if ran_again { Some(moment) } else { before.ran_at }, moment);
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
        let before = core.pauses.processes(server);
        core.pauses.set_processes(server, Some(before.read(found, before.ran_at, core.time.now())));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_not_found_any_more_are_gone_since_the_first_reading_without_them() {
        let at = |millis| Timestamp::from_millis(millis);
        let reading = |stopped| FreezeReading { stopped, ..FreezeReading::default() };
        let none = FrozenProcesses::default();
        assert_eq!(none.read(reading(0), None, at(1)).gone_at, None, "there never were any");
        let frozen = none.read(reading(2), None, at(2));
        let fewer = frozen.read(reading(1), None, at(3));
        assert_eq!(fewer.gone_at, None, "one is left");
        let gone = fewer.read(reading(0), None, at(4));
        assert_eq!(gone.gone_at, Some(at(4)));
        assert_eq!(gone.read(reading(0), None, at(5)), gone, "the moment stays");
        assert_eq!(gone.read(reading(1), None, at(6)).gone_at, None, "the server was started again");
    }
}
