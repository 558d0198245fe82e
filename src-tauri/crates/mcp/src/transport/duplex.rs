//! A link over a wire on which messages of both sides interleave: pipes of a child, or the old HTTP+SSE.
//!
//! It matches answers to requests, answers `ping`, and passes on what the server says unasked. The wire itself (who
//! reads, who writes, how it ends) is given: frames come in by [`Duplex::accept`], parcels go out over a channel.
//! The reader never waits for the writer, or a server that reads nothing while it writes would stop both.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::payload::Payload;
use domain::policy::Policy;
use domain::ports::PortFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::board::{Asked, Board};
use super::inbound::{Over, Sink, Stuck};
use super::params::Params;
use crate::link::{Answer, Inbound, Link, LinkError, Outgoing, Response, Tag};
use crate::message::{self, BadMessage, Id, Incoming, Limits, Message, Skim};

/// Messages of ours that wait for the writer. Callers wait for room; a few are enough to keep it busy.
pub(crate) const OUTBOX_CAPACITY: usize = 64;

/// `-32603`, the server asks too much at once.
const BUSY: i64 = -32_603;

/// One message of ours on its way out.
pub(crate) struct Parcel {
    /// The message on one line.
    pub(crate) bytes: Vec<u8>,
    /// Told when it was written, or why it was not.
    pub(crate) written: Option<oneshot::Sender<Result<(), LinkError>>>,
}

/// What the wire adds to a link.
pub(crate) trait Wire: Send + Sync + 'static {
    /// The end of a child's stderr.
    fn stderr_tail(&self) -> String;
    /// Begins to end the wire.
    fn begin_end(&self);
    /// Which wire it is, for logs.
    fn name(&self) -> &'static str;
}

/// Which era was agreed; decides about `_meta` and whether requests of the server are heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speech {
    /// Per-request metadata of this version.
    Modern(&'static str),
    /// After a handshake.
    Legacy,
}

/// A link over interleaved messages.
pub(crate) struct Duplex {
    pub(crate) board: Board,
    pub(crate) asked: Asked,
    pub(crate) over: Arc<Over>,
    pub(crate) speech: OnceLock<Speech>,
    out: mpsc::Sender<Parcel>,
    sink: Sink,
    policy: Arc<Policy>,
    wire: Box<dyn Wire>,
}

impl Duplex {
    /// Puts a link together.
    pub(crate) fn new(
        wire: Box<dyn Wire>,
        out: mpsc::Sender<Parcel>,
        (sink, over): (Sink, Arc<Over>),
        policy: Arc<Policy>,
    ) -> Self {
        let (board, asked, speech) = (Board::default(), Asked::default(), OnceLock::new());
        Self { board, asked, over, speech, out, sink, policy, wire }
    }

    /// The numbers it goes by.
    pub(crate) const fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    fn limits(&self) -> Limits {
        Limits::of(&self.policy)
    }

    /// Takes in one frame. Frames that are no messages are told to whoever waits for them, if that can be seen.
    pub(crate) async fn accept(&self, frame: &[u8]) -> Result<(), Stuck> {
        match message::parse(frame, &self.limits()) {
            Ok(Incoming::One(one)) => self.take_in(one, frame.len()).await,
            Ok(Incoming::Batch(many)) => {
                for member in many {
                    match member {
                        Ok(one) => self.take_in(one, frame.len()).await?,
                        Err(bad) => self.refuse(&bad, frame),
                    }
                }
                Ok(())
            }
            Err(bad) => {
                self.refuse(&bad, frame);
                Ok(())
            }
        }
    }

    /// A frame that was too large to keep, known by what was skimmed of it.
    pub(crate) fn accept_oversized(&self, skim: &Skim) {
        let why = format!("the answer has more than {} bytes", self.policy.message_cap_bytes);
        let id = skim.id(self.policy.rpc_id_cap_bytes).filter(|_| !skim.has_method());
        let reached =
            id.is_some_and(|id| self.board.settle(&id, Err(LinkError::Unreadable { why, raw: Payload::new("") })));
        tracing::warn!(wire = self.wire.name(), answer = reached, "dropped a message that is too large");
    }

    fn refuse(&self, bad: &BadMessage, frame: &[u8]) {
        let id = bad.id.clone().or_else(|| {
            let mut skim = Skim::default();
            skim.feed(frame, self.policy.rpc_id_cap_bytes);
            skim.id(self.policy.rpc_id_cap_bytes).filter(|_| !skim.has_method())
        });
        let error = LinkError::Unreadable { why: bad.to_string(), raw: beginning(frame, &self.policy) };
        let reached = id.is_some_and(|id| self.board.settle(&id, Err(error)));
        tracing::debug!(wire = self.wire.name(), answer = reached, why = %bad, "ignored what is not a message");
    }

    async fn take_in(&self, one: Message, bytes: usize) -> Result<(), Stuck> {
        match one {
            Message::Response { id: Some(id), answer } => {
                if !self.board.settle(&id, Ok(answer)) {
                    tracing::debug!(wire = self.wire.name(), "dropped an answer that nobody waits for");
                }
                Ok(())
            }
            Message::Response { id: None, answer } => {
                if !self.board.settle_only(Ok(answer)) {
                    tracing::debug!(wire = self.wire.name(), "dropped an error without an id");
                }
                Ok(())
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(token) = params.as_deref().and_then(withdrawn)
                {
                    self.asked.take(&token);
                }
                self.sink.put(Inbound::Notification { method, params: or_null(params), on: None }, bytes).await
            }
            Message::Request { id, method, .. } if method == "ping" => {
                self.reply_now(&id, message::result(&id, &json!({})));
                Ok(())
            }
            Message::Request { method, .. } if matches!(self.speech.get(), Some(Speech::Modern(_))) => {
                // Statement 12: in the modern era neither side asks here, and we never answer.
                tracing::debug!(wire = self.wire.name(), rpc.method = %short(&method), "ignored a request of the server");
                Ok(())
            }
            Message::Request { id, method, params } => {
                let Some(token) = self.asked.note(&id) else {
                    let busy = json!({ "code": BUSY, "message": "too many requests are open" });
                    self.reply_now(&id, message::error(Some(&id), &busy));
                    return Ok(());
                };
                self.sink.put(Inbound::Request { token, method, params: or_null(params), on: None }, bytes).await
            }
        }
    }

    /// Sends without waiting; for answers that the reader gives itself.
    fn reply_now(&self, id: &Id, bytes: serde_json::Result<Vec<u8>>) {
        if matches!(self.speech.get(), Some(Speech::Modern(_))) {
            return;
        }
        let Ok(bytes) = bytes else { return };
        if self.out.try_send(Parcel { bytes, written: None }).is_err() {
            tracing::debug!(wire = self.wire.name(), id = ?id, "no room to answer a ping");
        }
    }

    /// Sends and waits until it is written.
    async fn write(&self, bytes: Vec<u8>) -> Result<(), LinkError> {
        let (written, told) = oneshot::channel();
        let parcel = Parcel { bytes, written: Some(written) };
        if self.out.send(parcel).await.is_err() {
            return Err(self.gone(false));
        }
        told.await.unwrap_or_else(|_| Err(self.gone(true)))
    }

    fn gone(&self, sent: bool) -> LinkError {
        match self.over.closure() {
            Some(closure) => LinkError::Broken { why: closure.why, hint: closure.hint, sent },
            None => LinkError::Broken {
                why: "the connection is over".into(),
                hint: "Taskwarden connects again by itself.".into(),
                sent,
            },
        }
    }

    /// Sends a request as it is and waits for its answer, without any limit.
    async fn exchange<P: Serialize + Sync>(&self, method: &str, params: &P, tag: Tag) -> Result<Answer, LinkError> {
        let mut place = self.board.take(tag)?;
        let bytes = message::request(&Id::from(place.id), method, Some(params)).map_err(|_| unwritable())?;
        let write = self.write(bytes);
        tokio::pin!(write);
        tokio::select! {
            biased;
            answer = &mut place.answer => answer.unwrap_or_else(|_| Err(self.gone(true))),
            written = &mut write => {
                written?;
                (&mut place.answer).await.unwrap_or_else(|_| Err(self.gone(true)))
            }
        }
    }

    /// A request with a limit, or none. What is given up is cancelled at the server.
    pub(crate) async fn ask(
        &self,
        method: &'static str,
        params: &Params,
        tag: Tag,
        limit: Option<Duration>,
    ) -> Result<Answer, LinkError> {
        let exchange = self.exchange(method, params, tag);
        let Some(limit) = limit else { return exchange.await };
        tokio::pin!(exchange);
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            () = tokio::time::sleep(limit) => {
                if let Some(id) = self.board.give_up(tag, LinkError::NoAnswer(limit))
                    && method != "initialize"
                    && let Some(bytes) = cancelled(id, None)
                {
                    // Without room the server reads nothing: it would not read this either.
                    let _ = self.out.try_send(Parcel { bytes, written: None });
                }
                Err(LinkError::NoAnswer(limit))
            }
        }
    }

    fn params(&self, value: Value, verbatim: Vec<(&'static str, Box<serde_json::value::RawValue>)>) -> Params {
        match self.speech.get() {
            Some(Speech::Modern(version)) => Params::stamped(value, verbatim, version),
            Some(Speech::Legacy) | None => Params::plain(value, verbatim),
        }
    }
}

impl Link for Duplex {
    fn request(&self, request: Outgoing) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(async move {
            let params = self.params(request.params, request.verbatim);
            self.ask(request.method, &params, request.tag, request.limit).await
        })
    }

    fn notify(&self, method: &'static str, params: Value) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let params = (!params.is_null()).then_some(params);
            self.write(message::notification(method, params.as_ref()).map_err(|_| unwritable())?).await
        })
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let Some(id) = self.asked.take(token) else { return Err(not_pending()) };
            let bytes = respond_bytes(&id, &response)?;
            let written = self.write(bytes).await;
            if let Err(LinkError::Broken { sent: false, .. } | LinkError::RateLimited(_)) = &written {
                self.asked.put_back(token, id);
            }
            written
        })
    }

    fn cancel(&self, tag: Tag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let Some(id) = self.board.give_up(tag, given_up()) else { return Ok(()) };
            let bytes = cancelled(id, reason).ok_or_else(unwritable)?;
            self.write(bytes).await
        })
    }

    fn stderr_tail(&self) -> String {
        self.wire.stderr_tail()
    }

    fn close(&self, _tasks_live: bool) -> PortFuture<'_, ()> {
        Box::pin(async move {
            self.wire.begin_end();
            self.over.wait().await;
        })
    }
}

impl Drop for Duplex {
    fn drop(&mut self) {
        self.wire.begin_end();
    }
}

/// `params`, `null` when absent.
pub(crate) fn or_null(params: Option<Box<serde_json::value::RawValue>>) -> Box<serde_json::value::RawValue> {
    params.unwrap_or_else(|| serde_json::value::RawValue::NULL.to_owned())
}

/// The token of the request that a `notifications/cancelled` of the server names.
pub(crate) fn withdrawn(params: &serde_json::value::RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Which<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a serde_json::value::RawValue,
    }
    let which: Which<'_> = serde_json::from_str(params.get()).ok()?;
    Id::read(which.id.get(), params.get().len()).map(|id| id.json())
}

/// The response to a request of the server.
pub(crate) fn respond_bytes(id: &Id, response: &Response) -> Result<Vec<u8>, LinkError> {
    match response {
        Response::Result(value) => message::result(id, value),
        Response::Error(code, text) => message::error(Some(id), &json!({ "code": code, "message": text })),
    }
    .map_err(|_| unwritable())
}

/// A `notifications/cancelled` for a request of ours.
pub(crate) fn cancelled(id: u64, reason: Option<String>) -> Option<Vec<u8>> {
    let mut params = json!({ "requestId": id });
    if let (Some(reason), Some(members)) = (reason, params.as_object_mut()) {
        members.insert("reason".into(), reason.into());
    }
    message::notification("notifications/cancelled", Some(&params)).ok()
}

/// The beginning of what could not be read, for `doctor`.
pub(crate) fn beginning(frame: &[u8], policy: &Policy) -> Payload {
    let kept = frame.get(..policy.unreadable_kept_bytes.min(frame.len())).unwrap_or_default();
    Payload::new(String::from_utf8_lossy(kept).into_owned())
}

/// A method name that is safe in a log.
pub(crate) fn short(method: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    domain::policy::plain_text(method, SHOWN_CHARS)
}

pub(crate) fn unwritable() -> LinkError {
    LinkError::Broken {
        why: "the message cannot be written as JSON".into(),
        hint: "This is a fault of Taskwarden; please report it.".into(),
        sent: false,
    }
}

pub(crate) fn given_up() -> LinkError {
    LinkError::Broken {
        why: "the request was cancelled".into(),
        hint: "It was given up on request; start it again if it is still wanted.".into(),
        sent: true,
    }
}

pub(crate) fn not_pending() -> LinkError {
    LinkError::Broken {
        why: "the server does not wait for this answer any more".into(),
        hint: "It withdrew the question, or it was answered before.".into(),
        sent: false,
    }
}
