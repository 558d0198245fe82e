//! Keeps one child from spawn to end, whatever ends it first.
//!
//! The ordered end (protocol.md §7.6): close its input, wait, SIGTERM to its group, wait, SIGKILL to its group. When
//! the child ends by itself, whatever it started is ended the same way. The keeper runs in the supervisor and not in
//! the link, so that dropping a link, or stopping the core, leaves nobody behind. It says why the link is over.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Closure;
use parking_lot::Mutex;
use process_wrap::tokio::ChildWrapper;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::ending::{Exit, Pace, end_child};
use super::group::Group;
use super::leftover::Record;
use super::stderr::StderrTail;
use crate::link::LinkError;
use crate::transport::board::Board;
use crate::transport::inbound::Over;

/// Latches between the keeper, reader and writer of one child.
#[derive(Debug, Clone, Default)]
pub(super) struct Latches {
    /// Somebody wants the end.
    pub(super) ending: CancellationToken,
    /// The child's output has ended, or nobody reads it any more.
    pub(super) read_out: CancellationToken,
    /// The child's standard error has ended: its last words are there.
    pub(super) complained: CancellationToken,
    /// The first byte came.
    pub(super) heard: CancellationToken,
}

/// A line of why the reader gave up, if it did.
pub(super) type Complaint = Arc<Mutex<Option<String>>>;

/// All of a child.
pub(super) struct Keeper {
    pub(super) child: Box<dyn ChildWrapper>,
    pub(super) group: Group,
    pub(super) record: Record,
    pub(super) name: String,
    pub(super) latches: Latches,
    pub(super) complaint: Complaint,
    pub(super) stderr: StderrTail,
    pub(super) over: Arc<Over>,
    pub(super) board: Board,
    pub(super) policy: Arc<Policy>,
    pub(super) stopping: CancellationToken,
}

/// A keeper that is dropped in the middle (the runtime ends) still ends the group.
struct LastResort(Option<Group>);

impl Drop for LastResort {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.kill();
        }
    }
}

impl Keeper {
    /// Runs until the child and its group are gone.
    pub(super) async fn keep(mut self) {
        let mut last_resort = LastResort(Some(self.group));
        let asked = tokio::select! {
            _ = self.child.wait() => false,
            () = self.latches.read_out.cancelled() => false,
            () = self.latches.ending.cancelled() => true,
            () = self.stopping.cancelled() => true,
        };
        // Its input is closed now: the writer watches this latch.
        self.latches.ending.cancel();
        let pace = self.pace_of_end();
        let exit = end_child(&mut *self.child, self.group, pace).await;
        last_resort.0 = None;
        let silent = async {
            self.latches.read_out.cancelled().await;
            self.latches.complained.cancelled().await;
        };
        if timeout(self.pace(self.policy.child_close_wait), silent).await.is_err() {
            // Somebody outside the group holds a pipe open.
            self.latches.read_out.cancel();
        }
        drop(self.record);
        let closure = closure(&self.name, exit, asked, self.complaint.lock().take(), &self.stderr);
        tracing::debug!(child.name = %self.name, why = %closure.why, "a child process is over");
        let waiting = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: true };
        let later = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: false };
        self.over.close(closure);
        self.board.end(&waiting, later);
    }

    /// When the core stops, all waits together must fit into its drain limit.
    fn pace(&self, wait: Duration) -> Duration {
        if self.stopping.is_cancelled() { wait.min(self.policy.drain_limit / 4) } else { wait }
    }

    fn pace_of_end(&self) -> Pace {
        Pace {
            close_wait: self.pace(self.policy.child_close_wait),
            term_wait: self.pace(self.policy.child_term_wait),
            look: self.policy.child_group_look,
        }
    }
}

/// Why a link to a child is over.
pub(super) fn closure(name: &str, exit: Exit, asked: bool, complaint: Option<String>, stderr: &StderrTail) -> Closure {
    if asked {
        return Closure {
            why: format!("`{name}` was ended by Taskwarden"),
            hint: "It starts again with the next connection.".into(),
            process_ended: true,
        };
    }
    let last = stderr.last_line().map_or_else(String::new, |line| format!("; it said last: `{line}`"));
    let why = match complaint {
        Some(complaint) => format!("`{name}` was ended because {complaint}{last}"),
        None => format!("`{name}` {}{last}", exit.how()),
    };
    let hint = "Taskwarden starts it again; look at its standard error for the cause.".into();
    Closure { why, hint, process_ended: true }
}
