//! The requests of one client that are not answered yet, by id, so that they can be cancelled.
//!
//! It holds ids and cancel tokens only; dropping the future of a request is the transport's part.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::wire::message::Id;

/// How a client cancelled a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// It cancelled the request.
    Cancelled,
    /// It timed out and said so; whether the work should stop is open (ruling 24).
    TimedOut,
}

/// Where the transport records how a request was cancelled.
#[derive(Clone, Default)]
pub(crate) struct CancelReasonCell(Arc<Mutex<Option<CancelReason>>>);

impl CancelReasonCell {
    pub(crate) fn get(&self) -> Option<CancelReason> {
        *self.0.lock()
    }

    /// The first reason counts: opencode sends a timeout, and an abort of the same request a moment later.
    pub(crate) fn set(&self, how: CancelReason) {
        self.0.lock().get_or_insert(how);
    }
}

/// The requests in flight. Clones share one set.
#[derive(Clone)]
pub(crate) struct InFlightRequests {
    open: Arc<Mutex<HashMap<Id, (CancellationToken, CancelReasonCell)>>>,
    ended: Arc<Notify>,
    most: usize,
}

impl InFlightRequests {
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), ended: Arc::default(), most }
    }

    /// Takes a request up. Its id is free again when the [`InFlightRequest`] is dropped.
    pub(crate) fn take(&self, id: &Id) -> Result<InFlightRequest, RequestError> {
        let mut open = self.open.lock();
        if open.len() >= self.most {
            return Err(RequestError::new(
                RequestErrorKind::Internal,
                format!("more than {} requests are in work here", self.most),
            ));
        }
        if open.contains_key(id) {
            return Err(RequestError::new(RequestErrorKind::InvalidRequest, "a request with this id is still in work"));
        }
        let cancelled = CancellationToken::new();
        let given_up = CancelReasonCell::default();
        open.insert(id.clone(), (cancelled.clone(), given_up.clone()));
        Ok(InFlightRequest { of: self.clone(), id: id.clone(), cancelled, given_up })
    }

    /// Cancels a request; an unknown one has been answered.
    pub(crate) fn cancel(&self, id: &Id, how: CancelReason) {
        if let Some((cancelled, given_up)) = self.open.lock().get(id) {
            given_up.set(how);
            cancelled.cancel();
        }
    }

    /// Cancels a request whose client asks for its answer on another stream. Resolves when its id is free.
    pub(crate) async fn take_back(&self, id: &Id) {
        self.cancel(id, CancelReason::TimedOut);
        loop {
            let next = self.ended.notified();
            if !self.open.lock().contains_key(id) {
                return;
            }
            next.await;
        }
    }

    /// Resolves when no request is in flight.
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

/// One request in flight.
pub(crate) struct InFlightRequest {
    of: InFlightRequests,
    id: Id,
    /// Cancelled when the client cancels the request.
    pub(crate) cancelled: CancellationToken,
    /// The reason, once it is cancelled.
    pub(crate) given_up: CancelReasonCell,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.of.open.lock().remove(&self.id);
        self.of.ended.notify_waiters();
    }
}
