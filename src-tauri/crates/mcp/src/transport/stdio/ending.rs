//! The ordered end of a child (protocol.md §7.6), for whoever holds it: its core, or its keeper.
//!
//! Its input is closed by the caller; then: wait, SIGTERM to its group, wait, SIGKILL to its group. How it ended is
//! told in words that name nothing private. It does not decide when a child ends.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::group::Group;

/// How long each step may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// After its input was closed.
    pub(super) close_wait: Duration,
    /// Between SIGTERM and SIGKILL.
    pub(super) term_wait: Duration,
    /// Between two looks at its group.
    pub(super) look: Duration,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Exit {
    code: Option<i32>,
    signal: Option<i32>,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl Exit {
    /// In words that follow the name of the command.
    pub(super) fn how(self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".into(),
        }
    }
}

/// Ends a child whose input is closed, or that ended by itself, and says how it ended.
pub(super) async fn end_child(child: &mut dyn ChildWrapper, group: Group, pace: Pace) -> Exit {
    let exit = wait_or_end(child, group, pace).await.unwrap_or_default();
    group.end(pace.term_wait, pace.look).await;
    exit
}

async fn wait_or_end(child: &mut dyn ChildWrapper, group: Group, pace: Pace) -> Option<Exit> {
    if let Ok(status) = timeout(pace.close_wait, child.wait()).await {
        return status.ok().map(Exit::from);
    }
    group.term();
    if let Ok(status) = timeout(pace.term_wait, child.wait()).await {
        return status.ok().map(Exit::from);
    }
    group.kill();
    timeout(pace.term_wait, child.wait()).await.ok()?.ok().map(Exit::from)
}
