//! Ends the process of one connection and observes what is left of it.
//!
//! The orderly end is the connector's (protocol.md §7.6). The processes are watched from before it begins; only a
//! reading that finds none of them is evidence that they are gone. What was observed is recorded with every task that
//! lived in the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{HandleId, PersonId};
use domain::ports::{ProcessExit, ProcessReading, ProcessWatch};
use domain::server::ServerAct;
use domain::task::{LeftProcess, ProcessEnd, TaskHandle};
use tokio::time::{Instant, sleep};

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;
use crate::error::LedgerError;

/// Why nothing is known of processes that were ended.
const NOT_LISTED: &str = "the processes of this machine cannot be listed, as without `/proc`";

/// What came of the end of one connection, and of the process behind it.
pub(crate) struct EndedConnection {
    /// The tasks that lived in it; what was observed is on record for them.
    pub(crate) tasks: BTreeSet<HandleId>,
    /// Its first process; `None` for a server that runs elsewhere.
    pid: Option<u32>,
    /// How that one exited, where that was heard.
    exit: Option<ProcessExit>,
    /// What was observed of all its processes; `None` where they cannot be seen.
    observed: Option<ProcessEnd>,
    /// The connection was closed in the time for it.
    is_closed: bool,
}

impl EndedConnection {
    /// The processes that were seen to run after it; the first of them where there are many.
    pub(crate) fn left(&self) -> &[LeftProcess] {
        match &self.observed {
            Some(ProcessEnd::Left { named, .. }) => named,
            Some(ProcessEnd::Gone { .. } | ProcessEnd::NotObserved { .. }) | None => &[],
        }
    }

    /// What came of it, for the audit log: numbers of processes, and no word of a server.
    pub(crate) fn words(&self) -> String {
        let Some(pid) = self.pid else {
            let closed = if self.is_closed { "was closed" } else { "was not closed in time" };
            return format!("its connection {closed}");
        };
        match (&self.observed, self.exit.map(exit_words)) {
            (Some(ProcessEnd::Left { left, .. }), _) => {
                let verb = if *left == 1 { "runs" } else { "run" };
                let pids: Vec<String> = self.left().iter().map(left_words).collect();
                format!("process {pid} was told to end, and {left} of its processes still {verb}: {}", pids.join(" "))
            }
            (Some(ProcessEnd::Gone { ended: 0, .. }), None) => format!("process {pid} had ended before"),
            (Some(ProcessEnd::Gone { ended, .. }), exit) => {
                let exit = exit.unwrap_or_else(|| "ended".into());
                let more = if *ended > 1 { format!(", and with it {}", ended - 1) } else { String::new() };
                format!("process {pid} {exit}{more}; none is left")
            }
            (Some(ProcessEnd::NotObserved { .. }) | None, Some(exit)) => format!("process {pid} {exit}"),
            (Some(ProcessEnd::NotObserved { .. }) | None, None) => {
                format!("process {pid} was told to end, and nobody saw what came of it")
            }
        }
    }
}

/// A phrase that follows the number of a process.
fn exit_words(exit: ProcessExit) -> String {
    // The signals of an orderly end; POSIX fixes their numbers.
    const TERM: i32 = 15;
    const KILL: i32 = 9;
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(TERM)) => "was ended by SIGTERM".into(),
        (None, Some(KILL)) => "was ended by SIGKILL".into(),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

fn left_words(process: &LeftProcess) -> String {
    let whose = if process.is_foreign { " (somebody else's)" } else { "" };
    format!("{}{whose}", process.pid)
}

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
/// What was observed is on record for the tasks that lived in it, and for `about`.
pub(crate) async fn end(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    live: &Arc<LiveConnection>,
    act: ServerAct,
    by: &PersonId,
    about: Option<HandleId>,
) -> EndedConnection {
    let watched = WatchedEnd::begin(core, connection, live, about);
    connection.request_act(act, by);
    watched.ended(core).await
}

/// One connection that is about to end, and what was known of it before.
pub(crate) struct WatchedEnd {
    connection: Arc<ServerConnection>,
    live: Arc<LiveConnection>,
    tasks: BTreeSet<HandleId>,
    /// The newest line of the server's log.
    heard: u64,
    watch: Option<Box<dyn ProcessWatch>>,
}

impl WatchedEnd {
    /// To be called before the actor hears that the connection is to end. `about` is a task beside those that live in it.
    pub(crate) fn begin(
        core: &EngineCore,
        connection: &Arc<ServerConnection>,
        live: &Arc<LiveConnection>,
        about: Option<HandleId>,
    ) -> Self {
        let mut tasks = tasks_of(core, connection, live);
        tasks.extend(about);
        let heard = connection.observed.log.newest();
        let watch = live.process.and_then(|(pid, _)| core.connector.watch_processes(pid));
        Self { connection: Arc::clone(connection), live: Arc::clone(live), tasks, heard, watch }
    }

    /// Waits until it is gone or the time for it is over, and records with its tasks what was observed.
    pub(crate) async fn ended(self, core: &EngineCore) -> EndedConnection {
        let Self { connection, live, tasks, heard, mut watch } = self;
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
        let (closed, observed) = tokio::join!(tokio::time::timeout(limit, gone), observed);
        if let Some(observed) = &observed {
            record(core, tasks.iter().copied(), observed).await;
        }
        EndedConnection {
            tasks,
            pid: live.process.map(|(pid, _)| pid),
            exit: connection.observed.log.exit_after(heard, connection.key.seat),
            observed,
            is_closed: closed.is_ok(),
        }
    }
}

/// Watches until nothing is left, or nothing but what belongs to somebody else for as long as an orderly end takes.
async fn observe(core: &EngineCore, watch: &mut dyn ProcessWatch, until: Instant) -> ProcessEnd {
    let policy = &core.policy;
    let foreign_until = Instant::now() + policy.child_close_wait + policy.child_term_wait * 2;
    loop {
        let reading = watch.read();
        let at = core.time.now();
        let Some(ProcessReading { ended, left }) = reading else {
            return ProcessEnd::NotObserved { at, why: NOT_LISTED.to_owned() };
        };
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

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;

    use super::*;

    fn words(pid: Option<u32>, exit: Option<ProcessExit>, observed: Option<ProcessEnd>) -> String {
        EndedConnection { tasks: BTreeSet::new(), pid, exit, observed, is_closed: true }.words()
    }

    #[test]
    fn what_came_of_an_end_is_said_as_it_was_observed() {
        let at = Timestamp::from_millis(1);
        let gone = |ended| Some(ProcessEnd::Gone { at, ended });
        let exit = |code, signal| Some(ProcessExit { code, signal, is_ours: true });
        assert_eq!(words(None, None, None), "its connection was closed");
        assert_eq!(words(Some(7), None, gone(0)), "process 7 had ended before");
        assert_eq!(words(Some(7), None, gone(1)), "process 7 ended; none is left");
        assert_eq!(words(Some(7), exit(Some(0), None), gone(1)), "process 7 exited with code 0; none is left");
        let termed = words(Some(7), exit(None, Some(15)), gone(3));
        assert_eq!(termed, "process 7 was ended by SIGTERM, and with it 2; none is left");
        assert_eq!(words(Some(7), exit(None, Some(9)), None), "process 7 was ended by SIGKILL", "nobody looked");
        assert_eq!(words(Some(7), None, None), "process 7 was told to end, and nobody saw what came of it");
        let process = |pid, is_foreign| LeftProcess { pid, name: "sh\u{202e}".into(), is_foreign };
        let left = |named: Vec<LeftProcess>| {
            let left = u32::try_from(named.len()).unwrap_or_default();
            Some(ProcessEnd::Left { at, ended: 1, left, named })
        };
        assert_eq!(
            words(Some(7), None, left(vec![process(8, false)])),
            "process 7 was told to end, and 1 of its processes still runs: 8"
        );
        assert_eq!(
            words(Some(7), None, left(vec![process(8, false), process(9, true)])),
            "process 7 was told to end, and 2 of its processes still run: 8 9 (somebody else's)"
        );
    }
}
