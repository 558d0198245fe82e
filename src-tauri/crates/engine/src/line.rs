//! Which connection to a server: the one that people and modern agents share, or an agent's own (ruling 14).
//!
//! A line is a key and nothing more: the connection itself is in `post.rs`, and what is followed over it in
//! `follow.rs`. When an agent's own line is opened and ended is in `lines.rs`.

use domain::task::TaskHandle;
use domain::ids::{AgentId, ServerId};

/// A server, and on whose connection it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Line {
    /// The server.
    pub(crate) server: ServerId,
    /// The agent whose own connection it is; `None` for the one that people and modern agents share.
    pub(crate) seat: Option<AgentId>,
}

impl Line {
    /// The connection that people and modern agents share.
    pub(crate) fn shared(server: ServerId) -> Self {
        Self { server, seat: None }
    }

    /// The connection on which this task lives.
    pub(crate) fn of(handle: &TaskHandle) -> Self {
        Self { server: handle.server, seat: handle.seat }
    }
}
