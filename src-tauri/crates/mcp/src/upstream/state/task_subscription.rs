//! The subscription for watched tasks: the one that waits for its acknowledgement, and the one that runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::upstream::transport::link::RequestTag;

/// The tasks that the engine watches, sorted.
pub(crate) type WatchedTasks = Arc<[UpstreamTaskId]>;

#[derive(Default)]
pub(crate) struct TaskSubscriptionState {
    pub(crate) waiting: Mutex<Option<WaitingForAck>>,
    /// The tag of the running subscription and the tasks it covers.
    pub(crate) running: Mutex<Option<(RequestTag, BTreeSet<UpstreamTaskId>)>>,
}

pub(crate) struct WaitingForAck {
    pub(crate) tag: RequestTag,
    pub(crate) asked: BTreeSet<UpstreamTaskId>,
    /// Gets the number of accepted tasks.
    pub(crate) accepted: oneshot::Sender<usize>,
}
