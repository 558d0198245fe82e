//! Asks 2025 clients the questions of a job, on one stream at a time.
//!
//! The `tasks/result` stream and the session's own stream may both want to ask; the one that holds the claim does. When
//! the holder goes away the others are woken and try again.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::dialect_json;
use crate::script_server::script::{ElicitationReply, ScriptJob};
use mcp::server::ClientRequestError;

/// The questions that some stream is asking now.
#[derive(Clone, Default)]
pub(super) struct QuestionClaims {
    held: Arc<Mutex<HashSet<(String, String)>>>,
    freed: Arc<Notify>,
}

impl QuestionClaims {
    /// Claims a question unless another stream is asking it.
    pub(super) fn take(&self, job: &str, key: &str) -> Option<QuestionClaim> {
        let slip = (job.to_owned(), key.to_owned());
        self.held.lock().insert(slip.clone()).then(|| QuestionClaim { of: self.clone(), slip })
    }

    /// Resolves at the next claim that ends. Create it before looking, await it after.
    pub(super) fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }
}

/// A question being asked by its holder.
pub(super) struct QuestionClaim {
    of: QuestionClaims,
    slip: (String, String),
}

impl Drop for QuestionClaim {
    fn drop(&mut self) {
        self.of.held.lock().remove(&self.slip);
        self.of.freed.notify_waiters();
    }
}

/// Waits for the reply, or until the question is settled otherwise. A client that refuses has dismissed it.
/// `false` when it could not be asked to the end (the stream was lost, too many wait) and is still open.
pub(super) async fn settle(
    job: &dyn ScriptJob,
    key: &str,
    asked: impl Future<Output = Result<Value, ClientRequestError>>,
) -> bool {
    let mut revision = job.revision();
    let settled = revision.wait_for(|_| !job.snapshot().questions.iter().any(|question| question.key == key));
    let reply = tokio::select! {
        reply = asked => reply,
        _ = settled => return true,
    };
    match reply {
        Ok(answer) => job.answer(key, dialect_json::reply(&answer).unwrap_or(ElicitationReply::Dismiss)),
        Err(ClientRequestError::Refused(_)) => job.answer(key, ElicitationReply::Dismiss),
        Err(ClientRequestError::Gone | ClientRequestError::TooMany) => return false,
    }
    true
}
