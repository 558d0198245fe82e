//! Where something of an agent passed: behind which door, in which conversation.
//!
//! A session is known by a mark of its id, which opens doors and is kept nowhere. Which window a place belongs to is
//! `desk.rs`'s to say.

use std::sync::Arc;

use domain::ids::AgentId;
use domain::budget::window::ToolListScope;
use sha2::{Digest, Sha256};

/// Bytes of a session's digest that stand for it. Judgement: no two of an agent's are taken for one.
const MARK_BYTES: usize = 8;

/// Behind which door an agent talks, and in which session there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub(super) agent: AgentId,
    pub(super) door: ToolListScope,
    /// The mark of the session; `None` where requests stand alone.
    pub(super) session: Option<Arc<str>>,
}

impl Place {
    /// The place of an agent at a door, by the id of its session there.
    #[must_use]
    pub fn new(agent: AgentId, door: ToolListScope, session: Option<&str>) -> Self {
        Self { agent, door, session: session.map(mark) }
    }
}

/// What stands for a session.
fn mark(session: &str) -> Arc<str> {
    let digest = Sha256::digest(session.as_bytes());
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let hex: String = digest.iter().take(MARK_BYTES).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    Arc::from(hex)
}
