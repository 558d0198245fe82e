//! The key of a connection: a server, and the agent whose own connection it is, if it is not the shared one (ruling
//! 14).
//!
//! When an agent's own connection is opened is decided in `servers/open_connection.rs`.

use domain::ids::{AgentId, ServerId};
use domain::task::TaskHandle;

/// A server, and on whose connection it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    pub(crate) server: ServerId,
    /// The agent whose own connection it is; `None` for the one that people and modern agents share.
    pub(crate) seat: Option<AgentId>,
}

impl ConnectionKey {
    /// The connection that people and modern agents share.
    pub(crate) fn shared(server: ServerId) -> Self {
        Self { server, seat: None }
    }

    /// The connection on which this task lives.
    pub(crate) fn of(handle: &TaskHandle) -> Self {
        Self { server: handle.server, seat: handle.seat }
    }
}
