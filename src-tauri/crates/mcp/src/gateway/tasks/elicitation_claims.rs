//! Which questions are being asked of an agent now, so that no second stream asks the same one.
//!
//! Who may be asked is not decided here; asking is `elicitation.rs`.

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

#[derive(Clone, Default)]
pub(crate) struct ElicitationClaims {
    held: Arc<Mutex<HashSet<(HandleId, RequestKey)>>>,
    released: Arc<Notify>,
}

impl ElicitationClaims {
    /// Claims a question, unless another stream is asking it.
    pub(crate) fn claim(&self, handle: HandleId, key: &RequestKey) -> Option<ElicitationClaim> {
        let question = (handle, key.clone());
        self.held.lock().insert(question.clone()).then(|| ElicitationClaim { claims: self.clone(), question })
    }

    /// Resolves when the next claim is released. Create it before checking, await it after.
    pub(crate) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }
}

/// A question that its holder is asking.
pub(crate) struct ElicitationClaim {
    claims: ElicitationClaims,
    question: (HandleId, RequestKey),
}

impl Drop for ElicitationClaim {
    fn drop(&mut self) {
        self.claims.held.lock().remove(&self.question);
        self.claims.released.notify_waiters();
    }
}
