//! What an open task still needs of its server, read off the handle.
//!
//! Questions only; nothing is changed or sent here.

use domain::ids::{ConnectionId, HostId};
use domain::task::TaskHandle;
use domain::task::input_request::{AskDoor, RequestState};
use domain::time::Timestamp;

/// Whether the task holds something on its server.
pub(crate) fn holds_server(handle: &TaskHandle) -> bool {
    handle.view.holds_server()
}

/// Whether nothing is left to poll or to do for a handle, so that it need not be in memory.
pub(crate) fn is_settled(handle: &TaskHandle, now: Timestamp) -> bool {
    handle.phase(now).is_over() && !lacks_result(handle)
}

pub(crate) fn lacks_result(handle: &TaskHandle) -> bool {
    handle.view.lacks_result()
}

/// Whether this task needs its connection.
pub(crate) fn needs_connection(handle: &TaskHandle) -> bool {
    handle.ended_at().is_none() && holds_server(handle) || handle.deliver_at().is_some()
}

/// Whether another run of the core waits for the reply of this call.
pub(crate) fn awaits_other_run(handle: &TaskHandle, host: HostId) -> bool {
    handle.view.held_by().is_some_and(|holder| holder != host)
}

/// Whether a reply to this call would still be taken.
pub(crate) fn may_still_reply(handle: &TaskHandle) -> bool {
    handle.view.may_take_reply()
}

/// The connections on which this handle's unfinished live questions came.
pub(crate) fn live_connections(handle: &TaskHandle) -> impl Iterator<Item = ConnectionId> {
    handle.requests.values().filter_map(|request| match (&request.door, &request.state) {
        (AskDoor::Live { connection, .. }, RequestState::Open | RequestState::Answered(_)) => Some(*connection),
        (AskDoor::Live { .. }, RequestState::Confirmed(_) | RequestState::Withdrawn { .. })
        | (AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => None,
    })
}
