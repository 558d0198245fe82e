//! The process group of a child: everything it started, unless that took pains to leave.
//!
//! It is ended politely first and then for certain. No signal is sent to a group after it was seen empty, since its
//! number may then be somebody else's. It does not wait for the child itself: `keeper.rs` does.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// A group that is ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group(Pid);

impl Group {
    /// The group that this child leads. `None` for numbers that name no single group.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1)?;
        Pid::from_raw(pid).map(Self)
    }

    /// Whether anybody is left in it.
    pub(super) fn is_empty(self) -> bool {
        test_kill_process_group(self.0).is_err()
    }

    /// Asks all to end.
    pub(super) fn term(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Ends all.
    pub(super) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Waits until nobody is left, at most `limit`; the system tells nobody when a group ends, so it looks.
    pub(super) async fn emptied(self, limit: Duration, look: Duration) -> bool {
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

    /// Asks all to end, and ends them after `wait`.
    pub(super) async fn end(self, wait: Duration, look: Duration) {
        if self.is_empty() {
            return;
        }
        self.term();
        if !self.emptied(wait, look).await {
            self.kill();
        }
    }
}
