//! The orderly end of a child (protocol.md §7.6), used by cores and keepers alike.
//!
//! The caller closes the child's input; then: wait, SIGTERM to its group, wait, SIGKILL to its group. When a child
//! should end is decided elsewhere.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::process::group::ProcessGroup;

/// How long each step may take.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownTimes {
    /// From closing its input to SIGTERM.
    pub close_wait: Duration,
    /// Between SIGTERM and SIGKILL.
    pub term_wait: Duration,
    /// Between two checks of its group.
    pub look: Duration,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChildExit {
    code: Option<i32>,
    signal: Option<i32>,
}

impl From<ExitStatus> for ChildExit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl ChildExit {
    /// The exit code, when it exited by itself.
    pub const fn code(self) -> Option<i32> {
        self.code
    }

    /// The number of the signal that ended it.
    pub const fn signal(self) -> Option<i32> {
        self.signal
    }

    /// A phrase that follows the name of the command.
    pub fn how(self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".into(),
        }
    }
}

/// Ends a child whose input is closed, or cleans up after one that exited, and returns how it ended.
pub async fn end_child(child: &mut dyn ChildWrapper, group: ProcessGroup, pace: ShutdownTimes) -> ChildExit {
    let exit = wait_or_end(child, group, pace).await.unwrap_or_default();
    group.end(pace.term_wait, pace.look).await;
    exit
}

/// Waits until the child itself has exited. The wrapper would wait for its whole group: what a server left running in it
/// would hide that the server is gone.
///
/// # Errors
/// When the system does not say how it ended.
pub async fn exited(child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
    child.inner_mut().wait().await
}

async fn wait_or_end(child: &mut dyn ChildWrapper, group: ProcessGroup, pace: ShutdownTimes) -> Option<ChildExit> {
    if let Ok(status) = timeout(pace.close_wait, exited(child)).await {
        return status.ok().map(ChildExit::from);
    }
    group.term();
    if let Ok(status) = timeout(pace.term_wait, exited(child)).await {
        return status.ok().map(ChildExit::from);
    }
    group.kill();
    timeout(pace.term_wait, exited(child)).await.ok()?.ok().map(ChildExit::from)
}
