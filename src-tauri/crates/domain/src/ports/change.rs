//! The change log: it says that something changed, never how.
//!
//! A reader of the log reads the current row; ten changes become one read (architecture.md §3.6).

use crate::ids::{AgentId, AlarmId, HaltId, HandleId, Seq, ServerId};

/// Something that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entity {
    /// A task with its requests.
    Handle(HandleId),
    /// A server's configuration or what was negotiated.
    Server(ServerId),
    /// An agent, or the rules for what it starts.
    Agent(AgentId),
    /// What people stopped.
    Halt(HaltId),
    /// What an agent did again and again.
    Alarm(AlarmId),
}

/// One row of the change log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub seq: Seq,
    pub entity: Entity,
    /// Whether it is gone.
    pub removed: bool,
}

/// A stretch of the change log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The last place covered.
    pub upto: Seq,
    /// Whether the reader fell behind what is kept and must read everything anew.
    pub truncated: bool,
    pub rows: Vec<Change>,
}
