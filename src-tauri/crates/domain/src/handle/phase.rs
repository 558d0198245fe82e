//! The one word shown for a task, and what time alone changes (rulings 3 to 5).

use super::{TaskHandle, Transition};
use crate::policy::Policy;
use crate::ports::Commit;
use crate::status::Phase;
use crate::time::Timestamp;

impl TaskHandle {
    /// The phase at a moment.
    #[must_use]
    pub fn phase(&self, now: Timestamp) -> Phase {
        let _ = now;
        todo!()
    }

    /// When the phase may next change by time alone.
    #[must_use]
    pub fn next_tick(&self, policy: &Policy) -> Option<Timestamp> {
        let _ = policy;
        todo!()
    }

    /// When something may be delivered; `None` when there is nothing.
    #[must_use]
    pub fn deliver_at(&self) -> Option<Timestamp> {
        todo!()
    }

    /// What time alone has changed since the last commit.
    #[must_use]
    pub fn ticked(&self, now: Timestamp, policy: &Policy) -> Transition {
        let _ = (now, policy);
        todo!()
    }
}

impl Transition {
    /// The atomic unit to commit.
    #[must_use]
    pub fn unit(&self, now: Timestamp, policy: &Policy) -> Commit {
        let _ = (now, policy);
        todo!()
    }
}
