//! A conversation of an agent: through which door, in which session.
//!
//! A session is known by a digest of its id, because the id itself grants access. Which window belongs to a
//! conversation is decided in `agent_windows.rs`.

use std::sync::Arc;

use domain::budget::window::ToolListScope;
use domain::ids::AgentId;
use sha2::{Digest, Sha256};

use crate::runtime::hex::hex;

/// Bytes of a session's digest that are kept. Judgement: no two sessions of an agent share them.
const MARK_BYTES: usize = 8;

/// The door through which an agent connects, and the session there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub(crate) agent: AgentId,
    pub(crate) door: ToolListScope,
    /// The digest of the session; `None` where requests have no session.
    pub(crate) session: Option<Arc<str>>,
}

impl Conversation {
    /// The conversation of an agent at a door, by the id of its session there.
    #[must_use]
    pub fn new(agent: AgentId, door: ToolListScope, session: Option<&str>) -> Self {
        Self { agent, door, session: session.map(mark) }
    }
}

/// The digest by which a session is known.
fn mark(session: &str) -> Arc<str> {
    let digest = Sha256::digest(session.as_bytes());
    Arc::from(hex(digest.iter().take(MARK_BYTES)))
}
