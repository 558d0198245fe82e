//! What people want: to stop, to revoke, to look away (rules 7 and 12; promise R1).

use super::{Refusal, TaskHandle, Transition};
use crate::ids::PersonId;
use crate::status::{Delivery, StopState};
use crate::time::Timestamp;

impl TaskHandle {
    /// Asks for a stop. Changes intent only.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over or a stop was asked before.
    pub fn cancel(&self, by: &PersonId, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let _ = (by, reason, now);
        todo!()
    }

    /// Takes the handle from its agent at once and asks for a stop. An earlier wish to cancel becomes this.
    ///
    /// # Errors
    /// A [`Refusal`] when it was revoked before.
    pub fn revoke(&self, by: &PersonId, reason: Option<&str>, now: Timestamp) -> Result<Transition, Refusal> {
        let _ = (by, reason, now);
        todo!()
    }

    /// Stops looking; nothing is asked of the server.
    ///
    /// # Errors
    /// A [`Refusal`] when the task is over.
    pub fn unwatch(&self, by: &PersonId, now: Timestamp) -> Result<Transition, Refusal> {
        let _ = (by, now);
        todo!()
    }

    /// How far the wish to stop got.
    #[must_use]
    pub fn stop_step(&self, step: &Delivery, now: Timestamp) -> Transition {
        let _ = (step, now);
        todo!()
    }

    /// Whether a stop must be sent now.
    #[must_use]
    pub fn stop_due(&self) -> bool {
        todo!()
    }

    /// Where the wish to stop stands; `None` when there is none.
    #[must_use]
    pub fn stop_state(&self) -> Option<StopState> {
        todo!()
    }
}
