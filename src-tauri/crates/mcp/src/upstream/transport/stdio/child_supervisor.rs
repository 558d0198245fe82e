//! Supervises one child without a keeper, from start to end.
//!
//! The orderly end is the crate `keeper`'s (protocol.md §7.6). When the child exits by itself, what it started is ended
//! the same way. It runs in the supervisor and not in the link, so that dropping a link, or stopping the core, leaves
//! no process behind. It reports why the link ended.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Closure;
use keeper::{ChildExit, ChildRecord, ProcessGroup, ShutdownTimes, end_child, exited};
use parking_lot::Mutex;
use process_wrap::tokio::ChildWrapper;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::stderr::StderrTail;
use crate::upstream::transport::inbound_queue::LinkEnd;
use crate::upstream::transport::link::{LinkError, SEE_SERVER_LOG};
use crate::upstream::transport::pending_requests::PendingRequests;

/// Latches between the keeper, reader and writer of one child.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latches {
    /// The child is to end.
    pub(crate) ending: CancellationToken,
    /// The child's output has ended, or nobody reads it any more.
    pub(crate) read_out: CancellationToken,
    /// The child's standard error has ended: its last words are there.
    pub(crate) complained: CancellationToken,
    /// The first byte came.
    pub(crate) heard: CancellationToken,
}

/// Why the reader gave up, if it did.
pub(crate) type Complaint = Arc<Mutex<Option<String>>>;

/// A child, with what its end touches.
pub(crate) struct ChildSupervisor {
    pub(crate) child: Box<dyn ChildWrapper>,
    pub(crate) group: ProcessGroup,
    pub(crate) record: ChildRecord,
    pub(crate) name: String,
    pub(crate) latches: Latches,
    pub(crate) complaint: Complaint,
    pub(crate) stderr: StderrTail,
    pub(crate) over: Arc<LinkEnd>,
    pub(crate) pending: PendingRequests,
    pub(crate) policy: Arc<Policy>,
    pub(crate) stopping: CancellationToken,
}

/// Kills the group when the supervisor is dropped early (the runtime ends).
struct LastResort(Option<ProcessGroup>);

impl Drop for LastResort {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.kill();
        }
    }
}

impl ChildSupervisor {
    /// Runs until the child and its group are gone.
    pub(crate) async fn run(mut self) {
        let mut last_resort = LastResort(Some(self.group));
        let asked = tokio::select! {
            _ = exited(&mut *self.child) => false,
            () = self.latches.read_out.cancelled() => false,
            () = self.latches.ending.cancelled() => true,
            () = self.stopping.cancelled() => true,
        };
        // Closes its input: the writer watches this latch.
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
        let complaint = self.complaint.lock().take();
        self.stderr.ended(exit, asked || complaint.is_some());
        let last = last_words(&self.stderr, &self.pending);
        let closure = closure(&self.name, exit, asked, complaint, last);
        tracing::debug!(child.name = %self.name, why = %closure.why, "a child process is over");
        let waiting = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: true };
        let later = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: false };
        self.over.close(closure);
        self.pending.end(&waiting, later);
    }

    /// When the core stops, all waits together must fit into its drain limit.
    fn pace(&self, wait: Duration) -> Duration {
        if self.stopping.is_cancelled() { wait.min(self.policy.drain_limit / 4) } else { wait }
    }

    fn pace_of_end(&self) -> ShutdownTimes {
        ShutdownTimes {
            close_wait: self.pace(self.policy.child_close_wait),
            term_wait: self.pace(self.policy.child_term_wait),
            look: self.policy.child_group_look,
        }
    }
}

/// What a child said last, for a reason. Nothing of one that may repeat arguments or answers: they are in no message
/// (decision 0124).
pub(crate) fn last_words(stderr: &StderrTail, pending: &PendingRequests) -> Option<String> {
    if pending.may_know_arguments() { None } else { stderr.last_line() }
}

/// Why a link to a child ended.
pub(crate) fn closure(
    name: &str,
    exit: ChildExit,
    asked: bool,
    complaint: Option<String>,
    last: Option<String>,
) -> Closure {
    if asked {
        return Closure {
            why: format!("`{name}` was ended by Taskwarden"),
            hint: "It starts again with the next connection.".into(),
            process_ended: true,
        };
    }
    let last = last.map_or_else(String::new, |line| format!("; it said last: `{line}`"));
    let why = match complaint {
        Some(complaint) => format!("`{name}` was ended because {complaint}{last}"),
        None => format!("`{name}` {}{last}", exit.how()),
    };
    Closure { why, hint: SEE_SERVER_LOG.into(), process_ended: true }
}
