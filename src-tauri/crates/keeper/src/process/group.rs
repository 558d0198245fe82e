//! The processes of a child: its process group, and its descendants outside the group where that can be proven.
//!
//! SIGTERM first, with SIGCONT for what is stopped, and SIGKILL after a wait. Once a group was seen empty it gets no more
//! signals, because its number may be reused. A process of somebody else in the group is never signalled
//! (`server_processes.rs`). It does not wait for the child itself: `shutdown.rs` does.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::ports::FreezeReading;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

use crate::process::server_processes::{ProcessKey, ProcessList, ServerProcesses};

/// Readings before everything is killed: each stops what was forked since the one before. Judgement: a stopped process
/// forks nothing, so a second reading finds only what was forked during the first.
const STOP_READINGS_MAX: usize = 20;

/// The process group of a child of ours.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup {
    leader: Pid,
    /// This process adopts the orphans of the child, so that all that descends from it is the child's.
    adopts: bool,
}

impl ProcessGroup {
    /// The group that this child leads. `None` for numbers that name no single group.
    pub fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1)?;
        Pid::from_raw(pid).map(|leader| Self { leader, adopts: false })
    }

    /// The same group, of the one child of a keeper: everything below this process belongs to it.
    pub(crate) const fn of_keeper(self) -> Self {
        Self { adopts: true, ..self }
    }

    /// Whether no process is left in it. One that may not be signalled is left, too.
    pub fn is_empty(self) -> bool {
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
    }

    /// Sends SIGTERM to the group and to what left it, and SIGCONT: a stopped process acts on SIGTERM only once it
    /// continues.
    pub(crate) fn term(self) {
        let found = self.read();
        self.send(&found, Signal::TERM);
        self.send(&found, Signal::CONT);
    }

    /// Stops the group and what left it, or lets both continue (`false`), and says what is found afterwards. What was
    /// forked meanwhile is found by the next call: a stopped process forks nothing.
    pub fn freeze(self, is_frozen: bool) -> FreezeReading {
        let found = self.read();
        let before = reading(&found);
        if is_frozen && before.moving == 0 {
            return before;
        }
        self.send(&found, if is_frozen { Signal::STOP } else { Signal::CONT });
        FreezeReading { ran: before.moving, ..reading(&self.read()) }
    }

    /// Sends SIGKILL to the group and to what left it. Whatever is outside the group is stopped first, until a reading
    /// finds nothing new: what forks faster than it is counted would get away.
    pub fn kill(self) {
        let found = stopped_outside_group(|| self.read());
        self.send(&found, Signal::KILL);
    }

    fn read(self) -> ServerProcesses {
        let leader = self.leader.as_raw_nonzero().get().unsigned_abs();
        ProcessList::read().of_server(Some(leader), self.adopts.then(std::process::id))
    }

    fn send(self, found: &ServerProcesses, what: Signal) {
        let is_shared = found.group.iter().any(|member| found.foreign.contains(member));
        if !is_shared {
            // At once, so that no member forks between two signals.
            let _ = kill_process_group(self.leader, what);
        }
        let singly = found.own.iter().filter(|key| is_shared || !found.group.contains(key));
        singly.for_each(|key| signal(*key, what));
    }

    /// Waits until the group is empty, at most `limit`. It polls, because the system does not report the end of a group.
    pub async fn emptied(self, limit: Duration, look: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if self.is_empty() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(look).await;
        }
    }

    /// SIGTERM, and SIGKILL after `wait`.
    pub async fn end(self, wait: Duration, look: Duration) {
        if self.is_empty() {
            return;
        }
        self.term();
        if !self.emptied(wait, look).await {
            self.kill();
        }
    }
}

fn reading(found: &ServerProcesses) -> FreezeReading {
    let count = |keys: usize| u32::try_from(keys).unwrap_or(u32::MAX);
    let stopped = found.own.intersection(&found.stopped).count();
    FreezeReading {
        stopped: count(stopped),
        moving: count(found.own.len().saturating_sub(stopped)),
        foreign: count(found.foreign.len()),
        ran: 0,
    }
}

/// Sends SIGKILL to everything below this process that runs as its user.
pub(crate) fn kill_descendants() {
    let found = stopped_outside_group(|| ProcessList::read().of_server(None, Some(std::process::id())));
    found.own.iter().for_each(|key| signal(*key, Signal::KILL));
}

/// Stops what is outside the group until a reading finds nothing new; returns that reading.
fn stopped_outside_group(read: impl Fn() -> ServerProcesses) -> ServerProcesses {
    let (mut stopped, mut found) = (BTreeSet::new(), read());
    for _ in 0..STOP_READINGS_MAX {
        let outside: Vec<ProcessKey> = found.own.difference(&found.group).copied().collect();
        let fresh: Vec<ProcessKey> = outside.into_iter().filter(|key| stopped.insert(*key)).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.iter().for_each(|key| signal(*key, Signal::STOP));
        found = read();
    }
    found
}

/// Signals this very process; not one that got its number since.
#[cfg(target_os = "linux")]
fn signal(key: ProcessKey, what: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    use crate::process::child_records::start_time;

    let Some(pid) = i32::try_from(key.pid).ok().and_then(Pid::from_raw) else { return };
    // The descriptor names one process; the start time says that it is the one that was read.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if start_time(key.pid) == Some(key.start) {
        let _ = pidfd_send_signal(&process, what);
    }
}

// Not run here: without `/proc` no process outside the group is known.
#[cfg(not(target_os = "linux"))]
fn signal(_key: ProcessKey, _what: Signal) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{WaitOptions, kill_process, waitpid};
    use tokio::process::Command;
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_stopped_server_acts_on_sigterm() {
        let mut server =
            Command::new("sleep").arg("300").process_group(0).kill_on_drop(true).spawn().expect("sleep starts");
        let group = server.id().and_then(ProcessGroup::of).expect("it leads a group");
        kill_process(group.leader, Signal::STOP).expect("it runs");
        let stopped = waitpid(Some(group.leader), WaitOptions::UNTRACED).expect("it is a child of this test");
        assert!(stopped.is_some(), "it is stopped");
        group.term();
        let exit = timeout(LIMIT, server.wait()).await.expect("it ends in time").expect("it was waited for");
        assert_eq!(exit.signal(), Some(Signal::TERM.as_raw()), "SIGKILL was not needed");
    }
}
