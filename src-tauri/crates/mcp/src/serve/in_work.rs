//! The requests of one client that are not answered yet, by id, so that they can be cancelled.
//!
//! It knows ids and tokens only; dropping the request's future is the face's part.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::fault::{Fault, FaultKind};
use super::seat::{GiveUp, GivenUp};
use crate::message::Id;

/// Requests in work. Clones are the same set.
#[derive(Clone)]
pub(crate) struct InWork {
    open: Arc<Mutex<HashMap<Id, (CancellationToken, GiveUp)>>>,
    ended: Arc<Notify>,
    most: usize,
}

impl InWork {
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), ended: Arc::default(), most }
    }

    /// Takes a request up. Its id is free again when the [`Place`] is dropped.
    pub(crate) fn take(&self, id: &Id) -> Result<Place, Fault> {
        let mut open = self.open.lock();
        if open.len() >= self.most {
            return Err(Fault::new(FaultKind::Internal, format!("more than {} requests are in work here", self.most)));
        }
        if open.contains_key(id) {
            return Err(Fault::new(FaultKind::InvalidRequest, "a request with this id is still in work"));
        }
        let cancelled = CancellationToken::new();
        let given_up = GiveUp::default();
        open.insert(id.clone(), (cancelled.clone(), given_up.clone()));
        Ok(Place { of: self.clone(), id: id.clone(), cancelled, given_up })
    }

    /// The client gives a request up; unknown ones were answered meanwhile.
    pub(crate) fn cancel(&self, id: &Id, how: GivenUp) {
        if let Some((cancelled, given_up)) = self.open.lock().get(id) {
            given_up.set(how);
            cancelled.cancel();
        }
    }

    /// Gives a request up whose client comes back for its answer on another stream. Resolves when its id is free.
    pub(crate) async fn take_back(&self, id: &Id) {
        self.cancel(id, GivenUp::TimedOut);
        loop {
            let next = self.ended.notified();
            if !self.open.lock().contains_key(id) {
                return;
            }
            next.await;
        }
    }

    /// Resolves when nothing is in work.
    pub(crate) async fn emptied(&self) {
        loop {
            let next = self.ended.notified();
            if self.is_empty() {
                return;
            }
            next.await;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }
}

/// One request in work.
pub(crate) struct Place {
    of: InWork,
    id: Id,
    /// Cancelled when the client gives the request up.
    pub(crate) cancelled: CancellationToken,
    /// Says how, by then.
    pub(crate) given_up: GiveUp,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.open.lock().remove(&self.id);
        self.of.ended.notify_waiters();
    }
}
