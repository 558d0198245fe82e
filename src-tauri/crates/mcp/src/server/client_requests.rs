//! Requests to 2025 clients, from the question to its reply.
//!
//! A question goes to exactly one stream (protocol.md §1.6). It ends when the reply comes on any stream, when its
//! stream is gone, or when nobody waits any more: then the client is asked to cancel it. The content is not read.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::server::stream_writer::StreamWriter;
use crate::wire::message::{self, Answer, Id};

/// Why a request to a client got no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientRequestError {
    /// The stream is gone, or there was none.
    #[error("the client's stream is gone")]
    Gone,
    /// The client answered with an error of this code.
    #[error("the client refuses with code {0}")]
    Refused(i64),
    /// Too many requests to this client are unanswered.
    #[error("too many questions wait for this client")]
    TooMany,
}

/// The unanswered requests to one client.
pub(crate) struct ClientRequests {
    waiting: Mutex<Waiting>,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    replies: HashMap<u64, oneshot::Sender<Answer>>,
}

impl ClientRequests {
    pub(crate) fn new(most: usize) -> Self {
        Self { waiting: Mutex::default(), most }
    }

    /// Sends a request and waits for its result. Dropping the future cancels it.
    pub(crate) async fn ask(
        &self,
        writer: &StreamWriter,
        method: &str,
        params: &Value,
    ) -> Result<Value, ClientRequestError> {
        match self.ask_raw(writer, method, params).await? {
            Answer::Result(raw) => serde_json::from_str(raw.get()).map_err(|_| ClientRequestError::Refused(0)),
            Answer::Error(raw) => {
                let error: Value = serde_json::from_str(raw.get()).unwrap_or_default();
                Err(ClientRequestError::Refused(error.get("code").and_then(Value::as_i64).unwrap_or(0)))
            }
        }
    }

    /// Sends a request and waits for the client's answer, result or error. Dropping the future cancels it.
    pub(crate) async fn ask_raw<P>(
        &self,
        writer: &StreamWriter,
        method: &str,
        params: &P,
    ) -> Result<Answer, ClientRequestError>
    where
        P: Serialize + ?Sized + Sync,
    {
        let (id, reply) = self.open()?;
        let mut slip = WithdrawOnDrop { asks: self, writer, id, done: false };
        let bytes = message::request(&Id::from(id), method, Some(params)).map_err(|_| ClientRequestError::Gone)?;
        writer.say(bytes).await.map_err(|_| ClientRequestError::Gone)?;
        let answer = tokio::select! {
            answer = reply => answer.map_err(|_| ClientRequestError::Gone)?,
            () = writer.closed() => return Err(ClientRequestError::Gone),
        };
        slip.done = true;
        Ok(answer)
    }

    /// Takes a reply. A reply that nobody waits for is dropped: the request was cancelled.
    pub(crate) fn deliver(&self, id: &Id, answer: Answer) {
        let Id::Number(number) = id else { return };
        let Ok(number) = u64::try_from(*number) else { return };
        if let Some(reply) = self.waiting.lock().replies.remove(&number) {
            // The one who asked may have gone in this moment.
            drop(reply.send(answer));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().replies.is_empty()
    }

    fn open(&self) -> Result<(u64, oneshot::Receiver<Answer>), ClientRequestError> {
        let mut waiting = self.waiting.lock();
        if waiting.replies.len() >= self.most {
            return Err(ClientRequestError::TooMany);
        }
        waiting.last += 1;
        let id = waiting.last;
        let (to, from) = oneshot::channel();
        waiting.replies.insert(id, to);
        Ok((id, from))
    }
}

/// Cancels the request when its future is dropped.
struct WithdrawOnDrop<'a> {
    asks: &'a ClientRequests,
    writer: &'a StreamWriter,
    id: u64,
    done: bool,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let waited = self.asks.waiting.lock().replies.remove(&self.id).is_some();
        if waited && !self.done && !self.writer.is_closed() {
            self.writer.notify_now("notifications/cancelled", &json!({"requestId": self.id}));
        }
    }
}
