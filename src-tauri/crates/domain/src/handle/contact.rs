//! What we fail to see (rules 8 to 10). Never touches the server's view or people's intent.

use std::time::Duration;

use super::{TaskHandle, Transition};
use crate::policy::Policy;
use crate::status::{GoneWhy, Miss, Needs};
use crate::time::Timestamp;

/// What the follower counted since the task was last heard of.
#[derive(Debug, Clone, PartialEq)]
pub struct MissCount {
    /// Looks in a row that brought nothing.
    pub failures: u32,
    /// "Unknown task" answers in a row.
    pub unknown: u32,
    /// The interval at which the task is looked at.
    pub interval: Duration,
}

impl TaskHandle {
    /// A look brought nothing. Becomes silent after the policy's misses or intervals, whichever is later;
    /// lost or expired by rule 9. Below these limits nothing changes.
    #[must_use]
    pub fn missed(&self, miss: &Miss, count: &MissCount, now: Timestamp, policy: &Policy) -> Transition {
        let _ = (miss, count, now, policy);
        todo!()
    }

    /// The server needs a person first.
    #[must_use]
    pub fn blocked(&self, needs: &Needs, now: Timestamp) -> Transition {
        let _ = (needs, now);
        todo!()
    }

    /// Beyond reach for good, by evidence.
    #[must_use]
    pub fn gone(&self, why: &GoneWhy, now: Timestamp) -> Transition {
        let _ = (why, now);
        todo!()
    }
}
