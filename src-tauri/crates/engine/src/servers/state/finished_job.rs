//! What comes back from the jobs that run beside an actor's loop.
//!
//! Which file handles it is decided in `servers/actor.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{ConnectionId, HandleId};
use domain::ports::{Connected, UpstreamError};
use domain::task::TaskHandle;
use domain::task::observation::Observation;

use crate::connections::live_connection::LiveConnection;
use crate::servers::state::task_lane::AppliedUpdate;

/// Something the actor waited for.
pub(crate) enum FinishedJob {
    /// A poll of a task came back.
    Polled(PollResult),
    /// An update of a task was applied.
    Updated(AppliedUpdate),
    /// A connection was opened, or not; the tasks that an earlier run ended, when it has that run's process.
    Connected(Box<Result<Connected, UpstreamError>>, Vec<TaskHandle>),
    /// The server's own list was read.
    Listed(DiscoveredTasks),
    /// What a connection taught about its server is stored.
    Remembered(ConnectionId),
    /// The server answered a check over this connection, or not.
    Checked(ConnectionId, Result<(), UpstreamError>),
    /// What a person closed is gone.
    Closed,
    /// Nothing is left to do about it.
    Done,
}

/// A poll that came back.
pub(crate) struct PollResult {
    pub(crate) id: HandleId,
    /// The connection it went over.
    pub(crate) live: Arc<LiveConnection>,
    /// It was one of the slow polls under way.
    pub(crate) is_slow: bool,
    pub(crate) result: Result<Observation, UpstreamError>,
}

/// What a reading of the server's list brought.
pub(crate) struct DiscoveredTasks {
    /// Known open tasks whose listed status differs from ours: worth a poll.
    pub(crate) moved: Vec<HandleId>,
    /// The server asked to slow down.
    pub(crate) slow_down: Option<Option<Duration>>,
    /// The server has no list.
    pub(crate) no_list: bool,
}
