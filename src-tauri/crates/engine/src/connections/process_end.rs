//! Ends the process of one connection and observes what is left of it.
//!
//! The orderly end is the connector's (protocol.md §7.6). The processes are watched from before it begins; only a
//! reading that finds none of them is evidence that they are gone. What was observed is recorded with every task that
//! lived in the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{HandleId, PersonId};
use domain::ports::{ProcessReading, ProcessWatch};
use domain::server::ServerAct;
use domain::task::{ProcessEnd, TaskHandle};
use tokio::time::{Instant, sleep};

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;
use crate::error::LedgerError;

/// Whether a task lives in the process behind this connection.
pub(crate) fn lives_in(handle: &TaskHandle, connection: &ServerConnection, live: &LiveConnection) -> bool {
    let has_session = live.home.session.is_some() && handle.home.session == live.home.session;
    handle.ended_at().is_none() && (has_session || connection.in_flight_on(live).contains(&handle.id))
}

/// Open tasks that live in the process behind this connection.
pub(crate) fn tasks_of(core: &EngineCore, connection: &ServerConnection, live: &LiveConnection) -> BTreeSet<HandleId> {
    let in_flight: BTreeSet<HandleId> = connection.in_flight_on(live).into_iter().collect();
    let open = core.ledger.of_connection(connection.key).into_iter().filter(|handle| handle.ended_at().is_none());
    let here = open.filter(|handle| {
        let has_session = live.home.session.is_some() && handle.home.session == live.home.session;
        has_session || in_flight.contains(&handle.id)
    });
    here.map(|handle| handle.id).collect()
}

/// Has the actor end or restart the process for a person, and waits until it is gone or the time for it is over.
/// Returns the tasks that lived in it; what was observed is on record for them, and for `about`.
pub(crate) async fn end(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    live: &Arc<LiveConnection>,
    act: ServerAct,
    by: &PersonId,
    about: Option<HandleId>,
) -> BTreeSet<HandleId> {
    let mut tasks = tasks_of(core, connection, live);
    tasks.extend(about);
    let mut watch = live.process.and_then(|(pid, _)| core.connector.watch_processes(pid));
    connection.request_act(act, by);
    let policy = &core.policy;
    // The keeper closes its input, signals twice with a wait after each, and does the same for what left the group.
    let limit = policy.child_close_wait + policy.child_term_wait * 4 + policy.keeping.greeting_limit;
    let gone = async {
        // The actor first: it knows then that a person did it.
        connection.replaced(live.id).await;
        live.upstream.close(false).await;
    };
    let observed = async {
        match &mut watch {
            Some(watch) => Some(observe(core, watch.as_mut(), Instant::now() + limit).await),
            None => None,
        }
    };
    // What is not gone by then is being ended all the same; the log of the server says when it is.
    let (_, observed) = tokio::join!(tokio::time::timeout(limit, gone), observed);
    if let Some(observed) = observed {
        record(core, tasks.iter().copied(), &observed).await;
    }
    tasks
}

/// Watches until nothing is left, or nothing but what belongs to somebody else for as long as an orderly end takes.
async fn observe(core: &EngineCore, watch: &mut dyn ProcessWatch, until: Instant) -> ProcessEnd {
    let policy = &core.policy;
    let foreign_until = Instant::now() + policy.child_close_wait + policy.child_term_wait * 2;
    loop {
        let ProcessReading { ended, left } = watch.read();
        let at = core.time.now();
        if left.is_empty() {
            return ProcessEnd::Gone { at, ended };
        }
        let now = Instant::now();
        let is_only_foreign = left.iter().all(|process| process.is_foreign);
        if now >= until || is_only_foreign && now >= foreign_until {
            let count = u32::try_from(left.len()).unwrap_or(u32::MAX);
            let named = left.into_iter().take(policy.processes_named_max).collect();
            return ProcessEnd::Left { at, ended, left: count, named };
        }
        sleep(policy.process_watch_every).await;
    }
}

/// Records with these tasks what was observed of their processes.
pub(crate) async fn record(core: &EngineCore, tasks: impl IntoIterator<Item = HandleId>, end: &ProcessEnd) {
    let all = tasks.into_iter().map(|id| async move {
        match core.must_apply(id, |handle, now| handle.processes_observed(end, now)).await {
            // A call that never got a row has nothing to be shown on.
            Ok(_) | Err(LedgerError::Unknown) => {}
            Err(error) => {
                tracing::warn!(handle.id = %id, %error, "what was seen of the processes of a task is not on record");
            }
        }
    });
    futures::future::join_all(all).await;
}
