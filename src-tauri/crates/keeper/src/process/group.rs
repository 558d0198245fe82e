//! The process group of a child: everything it started, except for processes that left the group.
//!
//! SIGTERM first, SIGKILL after a wait. Once a group was seen empty it gets no more signals, because its number may be
//! reused. It does not wait for the child itself: `shutdown.rs` does.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// The process group of a child of ours.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that this child leads. `None` for numbers that name no single group.
    pub fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1)?;
        Pid::from_raw(pid).map(Self)
    }

    /// Whether no process is left in it.
    pub fn is_empty(self) -> bool {
        test_kill_process_group(self.0).is_err()
    }

    /// Sends SIGTERM to the group.
    pub(crate) fn term(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Sends SIGKILL to the group.
    pub fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
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
