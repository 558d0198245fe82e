//! The processes of a local server, as seen from outside: what is left while they are ended, and what stands still while
//! they are frozen.
//!
//! Readings only. Who is signalled, and which processes belong to a server, is the keeper's.

use crate::task::LeftProcess;

/// The processes of a local server, as far as they were seen since the watch began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessReading {
    /// Those that ran at an earlier reading and are gone.
    pub ended: u32,
    /// Those that run now.
    pub left: Vec<LeftProcess>,
}

/// What one look at the processes of a local server found that are to stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FreezeReading {
    /// Those that stand still.
    pub stopped: u32,
    /// Those that were told to and still run: a process that waits for a disk stops when that is over.
    pub moving: u32,
    /// Those beside them that belong to somebody else, and were not told.
    pub foreign: u32,
    /// Those that ran before they were told: of processes that stood still, somebody else let these continue.
    pub ran: u32,
}

impl FreezeReading {
    /// Both readings together, of two groups of processes.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            stopped: self.stopped.saturating_add(other.stopped),
            moving: self.moving.saturating_add(other.moving),
            foreign: self.foreign.saturating_add(other.foreign),
            ran: self.ran.saturating_add(other.ran),
        }
    }
}

/// Looks at the processes of one local server while somebody ends them.
pub trait ProcessWatch: Send + 'static {
    /// What runs now; `None` where the processes of this machine cannot be listed, which says nothing about any of them.
    fn read(&mut self) -> Option<ProcessReading>;
}
