//! What the gateway reports of the traffic with an agent, and how many bytes it has.
//!
//! Texts are as the agent saw them. Nothing is parsed or counted here (`count.rs`).

use std::fmt;
use std::sync::Arc;

use domain::budget::window::ToolListScope;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::task::payload::Payload;

/// Something that an agent saw, or said.
#[derive(Clone)]
pub struct AgentTraffic {
    /// The agent whose window it enters.
    pub agent: AgentId,
    /// Behind which door: one server's, or that of all (`None`).
    pub door: ToolListScope,
    /// The session at that door; `None` where requests have no session.
    pub session: Option<Arc<str>>,
    /// The server it came from; `None` for the gateway's own, or for several.
    pub server: Option<ServerId>,
    /// The task, where it is about one.
    pub handle: Option<HandleId>,
    /// The content that passed.
    pub what: Passed,
}

impl fmt::Debug for AgentTraffic {
    /// Without the session id, which grants access.
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
        /// The tools of servers.
        list: Payload,
        /// The gateway's own tools, which are in the last page.
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
    /// A JSON-RPC error object.
    Error(Payload),
    /// A handle, a note that the work continues, or the preview of a held result.
    Handle(Payload),
    /// A poll of one task, or of several.
    Look {
        /// What the agent got.
        said: Payload,
        /// It brought nothing new.
        empty: bool,
        /// It came sooner than the task's poll interval allows.
        hasty: bool,
    },
    /// The result of `prompts/get`.
    Prompt(Payload),
    /// The result of `resources/read`.
    Resource(Payload),
}

impl Passed {
    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> u64 {
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

    /// The same with its short texts copied: a slice would keep the buffer of a whole message, which its connection could
    /// use again.
    pub(crate) fn detached(self, most: u64) -> Self {
        let own = |text: Payload| if text.bytes() <= most { text.detached() } else { text };
        match self {
            // Lists come rarely.
            Self::Tools { .. } => self,
            Self::Call(text) => Self::Call(own(text)),
            Self::Result(text) => Self::Result(own(text)),
            Self::Slice(text) => Self::Slice(own(text)),
            Self::Error(text) => Self::Error(own(text)),
            Self::Handle(text) => Self::Handle(own(text)),
            Self::Look { said, empty, hasty } => Self::Look { said: own(said), empty, hasty },
            Self::Prompt(text) => Self::Prompt(own(text)),
            Self::Resource(text) => Self::Resource(own(text)),
        }
    }
}
