//! A program that reaches servers through Taskwarden.
//!
//! The gateway issues tokens and grants with its own issue; handles already carry the id, so that ownership
//! never has to be invented for old rows. Tokens are not here and never will be.

use crate::ids::AgentId;
use crate::time::Timestamp;

/// An agent as a person named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Our id.
    pub id: AgentId,
    /// The person's name for it.
    pub name: String,
    /// When it was added.
    pub created: Timestamp,
    /// When its access was taken away.
    pub revoked: Option<Timestamp>,
}
