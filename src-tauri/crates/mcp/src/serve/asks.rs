//! Requests to clients of the older eras, from the question to its reply.
//!
//! A question goes to exactly one stream (protocol.md §1.6). It is over when the reply comes on any way back, when
//! its stream is gone, or when nobody here waits any more: then the client is told to forget it. What is asked is not
//! looked at.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::seat::Outlet;
use crate::message::{self, Answer, Id};

/// Why a question got no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The stream it went to is gone, or there is none.
    #[error("the client's stream is gone")]
    Gone,
    /// The client answered with an error of this code.
    #[error("the client refuses with code {0}")]
    Refused(i64),
    /// Too many questions wait for this client.
    #[error("too many questions wait for this client")]
    TooMany,
}

/// The questions that wait for one client.
pub(crate) struct Asks {
    waiting: Mutex<Waiting>,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    replies: HashMap<u64, oneshot::Sender<Answer>>,
}

impl Asks {
    pub(crate) fn new(most: usize) -> Self {
        Self { waiting: Mutex::default(), most }
    }

    /// Asks and waits. Dropping the future withdraws the question.
    pub(crate) async fn ask(&self, outlet: &Outlet, method: &str, params: &Value) -> Result<Value, AskError> {
        match self.ask_raw(outlet, method, params).await? {
            Answer::Result(raw) => serde_json::from_str(raw.get()).map_err(|_| AskError::Refused(0)),
            Answer::Error(raw) => {
                let error: Value = serde_json::from_str(raw.get()).unwrap_or_default();
                Err(AskError::Refused(error.get("code").and_then(Value::as_i64).unwrap_or(0)))
            }
        }
    }

    /// Asks and waits for the client's answer as it is, a refusal too. Dropping the future withdraws the question.
    pub(crate) async fn ask_raw<P>(&self, outlet: &Outlet, method: &str, params: &P) -> Result<Answer, AskError>
    where
        P: Serialize + ?Sized + Sync,
    {
        let (id, reply) = self.open()?;
        let mut slip = Slip { asks: self, outlet, id, done: false };
        let bytes = message::request(&Id::from(id), method, Some(params)).map_err(|_| AskError::Gone)?;
        outlet.say(bytes).await.map_err(|_| AskError::Gone)?;
        let answer = tokio::select! {
            answer = reply => answer.map_err(|_| AskError::Gone)?,
            () = outlet.closed() => return Err(AskError::Gone),
        };
        slip.done = true;
        Ok(answer)
    }

    /// A reply came. Replies nobody waits for are dropped: the question was withdrawn meanwhile.
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

    fn open(&self) -> Result<(u64, oneshot::Receiver<Answer>), AskError> {
        let mut waiting = self.waiting.lock();
        if waiting.replies.len() >= self.most {
            return Err(AskError::TooMany);
        }
        waiting.last += 1;
        let id = waiting.last;
        let (to, from) = oneshot::channel();
        waiting.replies.insert(id, to);
        Ok((id, from))
    }
}

/// Takes the question back when its future is dropped.
struct Slip<'a> {
    asks: &'a Asks,
    outlet: &'a Outlet,
    id: u64,
    done: bool,
}

impl Drop for Slip<'_> {
    fn drop(&mut self) {
        let waited = self.asks.waiting.lock().replies.remove(&self.id).is_some();
        if waited && !self.done && !self.outlet.is_closed() {
            self.outlet.notify_now("notifications/cancelled", &json!({"requestId": self.id}));
        }
    }
}
