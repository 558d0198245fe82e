//! What the gateway tells of what passed between it and an agent, and how large that is before anybody counts it.
//!
//! Texts are as the agent saw them. Nothing is parsed or counted here: see `tap.rs` for where it waits and `count.rs`
//! for its weight.

use std::fmt;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::task::payload::Payload;
use domain::budget::window::ToolListScope;

/// Something that an agent saw, or said.
#[derive(Clone)]
pub struct Seen {
    /// Whose window.
    pub agent: AgentId,
    /// Behind which door: one server's, or that of all (`None`).
    pub door: ToolListScope,
    /// The session at that door; `None` where requests stand alone.
    pub session: Option<Arc<str>>,
    /// The server it came from; `None` for the gateway's own, or for several.
    pub server: Option<ServerId>,
    /// The task, where it is about one.
    pub handle: Option<HandleId>,
    /// What it was.
    pub what: Passed,
}

impl fmt::Debug for Seen {
    /// Without the session: it opens doors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, door, session: _, server, handle, what } = self;
        let mut debug = f.debug_struct("Seen");
        debug.field("agent", agent).field("door", door).field("server", server);
        debug.field("handle", handle).field("what", what).finish_non_exhaustive()
    }
}

/// What passed between the gateway and an agent.
#[derive(Debug, Clone)]
pub enum Passed {
    /// A page of the answer to `tools/list`, servers' tools and ours apart: both as `{"tools":[…]}`.
    Tools {
        /// Those of servers.
        list: Payload,
        /// The gateway's own: they stand in the last page.
        own: Payload,
        /// Whether the list begins with it.
        is_first: bool,
        /// Whether the list ends with it.
        is_last: bool,
    },
    /// The params of a `tools/call`.
    Call(Payload),
    /// The result of a call, whole.
    Result(Payload),
    /// A result that carries a part of a stored one.
    Slice(Payload),
    /// An error object.
    Error(Payload),
    /// A handle, a note that the work goes on, or the short result of one that is held.
    Handle(Payload),
    /// A look at a task, or at several.
    Look {
        /// What it was told.
        said: Payload,
        /// It brought nothing new.
        empty: bool,
        /// It came sooner after the last than the task's interval says.
        hasty: bool,
    },
    /// The result of `prompts/get`.
    Prompt(Payload),
    /// The result of `resources/read`.
    Resource(Payload),
}

impl Passed {
    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Tools { list, own, .. } => list.bytes().saturating_add(own.bytes()),
            Self::Call(text)
            | Self::Result(text)
            | Self::Slice(text)
            | Self::Error(text)
            | Self::Handle(text)
            | Self::Look { said: text, .. }
            | Self::Prompt(text)
            | Self::Resource(text) => text.bytes(),
        }
    }
}
