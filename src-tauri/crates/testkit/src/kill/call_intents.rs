//! Call intents with kill points around what is written ahead of a call and after it.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{CallIntent, CallIntents, PortFuture, RegistryError};

use super::KillPoints;

/// Wraps the call intents of a test.
pub struct KillPointCallIntents {
    inner: Arc<dyn CallIntents>,
    points: KillPoints,
}

impl KillPointCallIntents {
    /// `inner` gets these points.
    #[must_use]
    pub fn new(inner: Arc<dyn CallIntents>, points: KillPoints) -> Self {
        Self { inner, points }
    }
}

impl CallIntents for KillPointCallIntents {
    fn begin(&self, intent: CallIntent) {
        self.points.around_now("intents.begin", || self.inner.begin(intent));
    }

    fn end(&self, id: HandleId) {
        self.points.around_now("intents.end", || self.inner.end(id));
    }

    fn left_over(&self) -> PortFuture<'_, Result<Vec<CallIntent>, RegistryError>> {
        Box::pin(self.points.around("intents.left_over", move || self.inner.left_over()))
    }

    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.points.around("intents.settled", move || self.inner.settled(ids)))
    }

    fn flushed(&self) -> PortFuture<'_, ()> {
        self.inner.flushed()
    }
}
