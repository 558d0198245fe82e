//! What a server's word means (rules 1 to 4, 6, 10; ruling 1).

use super::{TaskHandle, Transition};
use crate::observation::{Observation, Progress};
use crate::policy::Policy;
use crate::time::Timestamp;

impl TaskHandle {
    /// Applies a sighting of the task behind this handle.
    #[must_use]
    pub fn observe(&self, seen: &Observation, policy: &Policy) -> Transition {
        let _ = (seen, policy);
        todo!()
    }

    /// Progress of the call or task; equal progress changes nothing, none is accepted after the end.
    #[must_use]
    pub fn progressed(&self, progress: &Progress, now: Timestamp, policy: &Policy) -> Transition {
        let _ = (progress, now, policy);
        todo!()
    }
}
