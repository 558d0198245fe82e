//! Processes of the child that left its group and lost their parent.
//!
//! The keeper is their sub-reaper: the kernel makes it their new parent, so that they stay recognisable as a server's.
//! It takes note of their ends, and ends those that are left when the child is over. It finds only its own children;
//! descendants of an orphan come to it when that one ends.

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::time::{Instant, sleep};

use crate::transport::stdio::ending::Pace;

/// Makes this process the parent of all orphans below it.
#[cfg(target_os = "linux")]
pub(super) fn adopt() {
    // Fails on no kernel since 3.4; without it, orphans are the system's as they were.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

// Not run here: other systems have no sub-reaper, so their orphans are not found.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() {}

/// Takes note of orphans that ended. `child` is left to whoever waits for it.
pub(super) fn reap(child: Option<u32>) {
    for orphan in children().filter(|pid| child.is_none_or(|child| pid.as_raw_nonzero().get().unsigned_abs() != child))
    {
        // One that still runs, or was taken in meanwhile, needs nothing.
        let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
    }
}

/// Ends all orphans, politely first. To be called when the child itself is over.
pub(super) async fn end(pace: Pace) {
    if !end_with(Signal::TERM, pace).await {
        // What ignores every signal is in the kernel's hands; there is nothing stronger to send.
        end_with(Signal::KILL, pace).await;
    }
}

/// Sends a signal to every child once, also to those that come while it waits. Whether none is left.
async fn end_with(signal: Signal, pace: Pace) -> bool {
    let until = Instant::now() + pace.term_wait;
    let mut told = Vec::new();
    loop {
        reap(None);
        let left: Vec<Pid> = children().collect();
        if left.is_empty() {
            return true;
        }
        for orphan in left {
            if !told.contains(&orphan) {
                told.push(orphan);
                let _ = kill_process(orphan, signal);
            }
        }
        if Instant::now() >= until {
            return false;
        }
        sleep(pace.look).await;
    }
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
