//! Processes that the child started, that left its group and lost their parent.
//!
//! The keeper is their sub-reaper: the kernel makes it their parent, so they remain recognisable as a server's. It
//! reaps them and ends those that are left when the child has ended. Descendants of an orphan become ours when the
//! orphan ends.

use std::collections::BTreeSet;
use std::fs;

use domain::policy::SERVER_MARK_QUEUE_BYTES;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::time::{Instant, sleep};

use crate::process::group::kill_descendants;
use crate::process::server_processes::{ProcessKey, ProcessList};
use crate::process::shutdown::ShutdownTimes;

/// Makes this process the parent of all orphans below it.
#[cfg(target_os = "linux")]
pub(crate) fn adopt() {
    // Fails on no kernel since 3.4; without it, orphans are the system's as they were.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

// Not run here: other systems have no sub-reaper, so their orphans are not found.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt() {}

/// Lowers a limit that all descendants inherit and cannot raise, so that they are recognisable as a server's when this
/// process was killed and cannot adopt them. Root can raise it again; a person's machine runs servers as its user.
#[cfg(target_os = "linux")]
pub(crate) fn mark() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let lowered =
        |limit: Option<u64>| Some(limit.map_or(SERVER_MARK_QUEUE_BYTES, |at| at.min(SERVER_MARK_QUEUE_BYTES)));
    let now = getrlimit(Resource::Msgqueue);
    // Lowering fails on no kernel; without the mark, an orphan is unproven as long as its parents show a gap.
    let _ = setrlimit(Resource::Msgqueue, Rlimit { current: lowered(now.current), maximum: lowered(now.maximum) });
}

// Not run here: other systems prove nobody at the socket by `/proc`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mark() {}

/// Reaps orphans that ended. `child` is reaped by its own waiter.
pub(crate) fn reap(child: Option<u32>) {
    for orphan in children().filter(|pid| child.is_none_or(|child| pid.as_raw_nonzero().get().unsigned_abs() != child))
    {
        // One that is still running needs nothing.
        let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
    }
}

/// Ends all orphans, with SIGTERM first. Call it when the child itself has ended. Processes of another user, which the
/// child may have started with rights of its own, are left alone.
pub(crate) async fn end(pace: ShutdownTimes) {
    let mut told = BTreeSet::new();
    let term = |left: &BTreeSet<ProcessKey>| {
        for orphan in left {
            if told.insert(*orphan)
                && let Some(pid) = i32::try_from(orphan.pid).ok().and_then(Pid::from_raw)
            {
                let _ = kill_process(pid, Signal::TERM);
                // A stopped one acts on it only once it continues.
                let _ = kill_process(pid, Signal::CONT);
            }
        }
    };
    if !end_with(pace, term).await {
        // There is nothing stronger to send. It goes to everything below, so that nothing forks away.
        end_with(pace, |_| kill_descendants()).await;
    }
}

/// Does this to all children, again and again, including those that appear while it waits. Returns whether none is left.
async fn end_with(pace: ShutdownTimes, mut act: impl FnMut(&BTreeSet<ProcessKey>)) -> bool {
    let until = Instant::now() + pace.term_wait;
    loop {
        reap(None);
        let left = own_children();
        if left.is_empty() {
            return true;
        }
        act(&left);
        if Instant::now() >= until {
            return false;
        }
        sleep(pace.look).await;
    }
}

/// The children of this process that run as its user.
fn own_children() -> BTreeSet<ProcessKey> {
    let below = ProcessList::read().of_server(None, Some(std::process::id())).own;
    let children: BTreeSet<u32> = children().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect();
    below.into_iter().filter(|key| children.contains(&key.pid)).collect()
}

/// The children of this process, of each of its threads.
fn children() -> impl Iterator<Item = Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(Result::ok);
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: Vec<Pid> = lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect::<Vec<_>>()
        })
        .collect();
    all.into_iter()
}
