//! Asks clients of the older eras on behalf of jobs: one stream at a time for each question.
//!
//! Two places may want to ask the same question (the `tasks/result` stream and the standing stream); the claim says
//! which one does. A claim ends with its holder, and the others are woken to try.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::super::asks::AskError;
use super::super::desk::{Job, Reply};
use super::wire;

/// Which questions are being asked somewhere.
#[derive(Clone, Default)]
pub(super) struct Claims {
    held: Arc<Mutex<HashSet<(String, String)>>>,
    freed: Arc<Notify>,
}

impl Claims {
    /// Claims a question, unless it is asked somewhere else now.
    pub(super) fn take(&self, job: &str, key: &str) -> Option<Claim> {
        let slip = (job.to_owned(), key.to_owned());
        self.held.lock().insert(slip.clone()).then(|| Claim { of: self.clone(), slip })
    }

    /// Resolves at the next claim that ends. Create it before looking, await it after.
    pub(super) fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }
}

/// A question being asked by its holder.
pub(super) struct Claim {
    of: Claims,
    slip: (String, String),
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.of.held.lock().remove(&self.slip);
        self.of.freed.notify_waiters();
    }
}

/// Waits for the reply, or until the question is settled otherwise. A client that refuses has dismissed it.
/// `false` when it could not be asked to the end (the stream was lost, too many wait) and is still open.
pub(super) async fn settle(job: &dyn Job, key: &str, asked: impl Future<Output = Result<Value, AskError>>) -> bool {
    let mut pulse = job.pulse();
    let settled = pulse.wait_for(|_| !job.sheet().questions.iter().any(|question| question.key == key));
    let reply = tokio::select! {
        reply = asked => reply,
        _ = settled => return true,
    };
    match reply {
        Ok(answer) => job.answer(key, wire::reply(&answer).unwrap_or(Reply::Dismiss)),
        Err(AskError::Refused(_)) => job.answer(key, Reply::Dismiss),
        Err(AskError::Gone | AskError::TooMany) => return false,
    }
    true
}
