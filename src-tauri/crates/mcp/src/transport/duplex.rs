//! A link over a wire on which messages of both sides interleave: pipes of a child, or the old HTTP+SSE.
//!
//! It matches answers to requests, answers `ping`, and passes on what the server says unasked. The wire itself (who
//! reads, who writes, how it ends) is given: frames come in by [`Duplex::accept`], parcels go out over a channel.
//! The reader never waits for the writer, or a server that reads nothing while it writes would stop both.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::ports::PortFuture;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::board::{Asked, Board};
use super::inbound::{Over, Sink, Stuck};
use super::params::Params;
use crate::link::{Answer, HearsAside, Inbound, Link, LinkError, Outgoing, Response, Tag};
use crate::message::text::member;
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
    /// A request with this tag is about to leave under this id.
    fn asking(&self, _tag: Tag, _id: u64) {}
    /// Whose call the request with this tag will be.
    fn note_call(&self, _tag: Tag, _ticket: HandleId, _augment: bool) {}
    /// The reply to this call is on record.
    fn settle(&self, _ticket: HandleId) {}
    /// This is over, and what was kept of it can go.
    fn over(&self, _what: &Part) {}
    /// Begins to let go of the wire without ending what is behind it, where that is possible.
    fn begin_leave(&self) {
        self.begin_end();
    }
}

/// A piece of talk that one frame opened or closed; what a wire that outlives its core keeps frames by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The answer to our request with this tag.
    Answer(Tag),
    /// A request of the server, by its token.
    Asked(String),
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
    ear: OnceLock<Arc<dyn HearsAside>>,
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
        Self { board, asked, over, speech, ear: OnceLock::new(), out, sink, policy, wire }
    }

    /// The numbers it goes by.
    pub(crate) const fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    fn limits(&self) -> Limits {
        Limits::of(&self.policy)
    }

    /// Takes in one frame. Frames that are no messages are told to whoever waits for them, if that can be seen.
    /// Returns what the frame was a part of.
    pub(crate) async fn accept(&self, frame: &[u8]) -> Result<Vec<Part>, Stuck> {
        let mut parts = Vec::new();
        match message::parse(frame, &self.limits()) {
            Ok(Incoming::One(one)) => parts.extend(self.take_in(one, frame.len()).await?),
            Ok(Incoming::Batch(many)) => {
                for member in many {
                    match member {
                        Ok(one) => parts.extend(self.take_in(one, frame.len()).await?),
                        Err(bad) => self.refuse(&bad, frame),
                    }
                }
            }
            Err(bad) => self.refuse(&bad, frame),
        }
        Ok(parts)
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

    async fn take_in(&self, one: Message, bytes: usize) -> Result<Option<Part>, Stuck> {
        match one {
            Message::Response { id: Some(id), answer } => {
                let settled = self.board.settle_tagged(&id, Ok(answer));
                if settled.is_none() {
                    tracing::debug!(wire = self.wire.name(), "dropped an answer that nobody waits for");
                }
                Ok(settled.map(Part::Answer))
            }
            Message::Response { id: None, answer } => {
                if !self.board.settle_only(Ok(answer)) {
                    tracing::debug!(wire = self.wire.name(), "dropped an error without an id");
                }
                Ok(None)
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(token) = params.as_deref().and_then(withdrawn)
                {
                    self.asked.take(&token);
                    self.wire.over(&Part::Asked(token));
                }
                let on = self.named(&method, params.as_deref());
                let params = or_null(params);
                if !self.ear.get().is_some_and(|ear| ear.told(&method, &params, on)) {
                    self.sink.put(Inbound::Notification { method, params, on }, bytes).await?;
                }
                Ok(None)
            }
            Message::Request { id, method, .. } if method == "ping" => {
                self.reply_now(&id, message::result(&id, &json!({})));
                Ok(None)
            }
            Message::Request { method, .. } if matches!(self.speech.get(), Some(Speech::Modern(_))) => {
                // Statement 12: in the modern era neither side asks here, and we never answer.
                tracing::debug!(wire = self.wire.name(), rpc.method = %short(&method), "ignored a request of the server");
                Ok(None)
            }
            Message::Request { id, method, params } => {
                let Some(token) = self.asked.note(&id) else {
                    let busy = json!({ "code": BUSY, "message": "too many requests are open" });
                    self.reply_now(&id, message::error(Some(&id), &busy));
                    return Ok(None);
                };
                let part = Part::Asked(token.clone());
                self.sink.put(Inbound::Request { token, method, params: or_null(params), on: None }, bytes).await?;
                Ok(Some(part))
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
    async fn exchange(
        &self,
        method: &str,
        params: &Params,
        tag: Tag,
        cancel_on_drop: bool,
    ) -> Result<Answer, LinkError> {
        let mut place = self.board.take(tag)?;
        self.wire.asking(tag, place.id);
        let bytes = message::request_text(&Id::from(place.id), method, params.as_str());
        let mut given_up = GivenUp { link: cancel_on_drop.then_some(self), id: place.id };
        let write = self.write(bytes);
        tokio::pin!(write);
        let answer = tokio::select! {
            biased;
            answer = &mut place.answer => answer,
            written = &mut write => match written {
                Ok(()) => (&mut place.answer).await,
                Err(failed) => Ok(Err(failed)),
            }
        };
        given_up.link = None;
        answer.unwrap_or_else(|_| Err(self.gone(true)))
    }

    /// Tells the server that nobody waits for this answer any more, if there is room to say so: a server that reads
    /// nothing would not read this either.
    fn cancel_now(&self, id: u64) {
        if let Some(bytes) = cancelled(id, None) {
            let _ = self.out.try_send(Parcel { bytes, written: None });
        }
    }

    /// A request with a limit, or none. What is given up is cancelled at the server.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &Params,
        tag: Tag,
        limit: Option<Duration>,
    ) -> Result<Answer, LinkError> {
        self.ask_for(method, params, tag, (limit, false)).await
    }

    async fn ask_for(
        &self,
        method: &str,
        params: &Params,
        tag: Tag,
        (limit, cancel_on_drop): (Option<Duration>, bool),
    ) -> Result<Answer, LinkError> {
        let exchange = self.exchange(method, params, tag, cancel_on_drop);
        let Some(limit) = limit else { return exchange.await };
        tokio::pin!(exchange);
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            () = tokio::time::sleep(limit) => {
                if let Some(id) = self.board.give_up(tag, LinkError::NoAnswer(limit))
                    && method != "initialize"
                    && !cancel_on_drop
                {
                    self.cancel_now(id);
                }
                Err(LinkError::NoAnswer(limit))
            }
        }
    }

    fn version(&self) -> Option<&'static str> {
        match self.speech.get() {
            Some(Speech::Modern(version)) => Some(version),
            Some(Speech::Legacy) | None => None,
        }
    }

    /// The subscription of ours that a notification names, or ends. On other wires the stream tells.
    fn named(&self, method: &str, params: Option<&RawValue>) -> Option<Tag> {
        const NAMED: &str = "io.modelcontextprotocol/subscriptionId";
        self.version()?;
        let params = params?.get();
        let id = if method == "notifications/cancelled" {
            member(params, "requestId")?
        } else {
            memchr::memmem::find(params.as_bytes(), NAMED.as_bytes())?;
            member(member(params, "_meta")?, NAMED)?
        };
        self.board.tag_of(&Id::read(id, self.policy.rpc_id_cap_bytes)?)
    }
}

/// A request whose future may be dropped; cancelled then.
struct GivenUp<'a> {
    link: Option<&'a Duplex>,
    id: u64,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link {
            link.cancel_now(self.id);
        }
    }
}

impl Link for Duplex {
    fn request(&self, request: Outgoing) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(async move {
            let params = Params::of(&request, self.version());
            let cancel_on_drop = request.agent_params.as_ref().is_some_and(|agent_params| agent_params.cancel_on_drop);
            self.ask_for(&request.method, &params, request.tag, (request.limit, cancel_on_drop)).await
        })
    }

    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async move { self.write(message::notification(method, params).map_err(|_| unwritable())?).await })
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let Some(id) = self.asked.take(token) else { return Err(not_pending()) };
            let bytes = respond_bytes(&id, &response)?;
            let written = self.write(bytes).await;
            if let Err(LinkError::Broken { sent: false, .. } | LinkError::RateLimited(_)) = &written {
                self.asked.put_back(token, id);
            } else {
                self.wire.over(&Part::Asked(token.to_owned()));
            }
            written
        })
    }

    fn cancel(&self, tag: Tag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let Some(id) = self.board.give_up(tag, given_up()) else { return Ok(()) };
            self.wire.over(&Part::Answer(tag));
            let bytes = cancelled(id, reason).ok_or_else(unwritable)?;
            self.write(bytes).await
        })
    }

    fn note_call(&self, tag: Tag, ticket: HandleId, augment: bool) {
        self.wire.note_call(tag, ticket, augment);
    }

    fn settle(&self, ticket: HandleId) {
        self.wire.settle(ticket);
    }

    fn tell_aside(&self, ear: Arc<dyn HearsAside>) -> bool {
        self.ear.set(ear).is_ok()
    }

    fn stderr_tail(&self) -> String {
        self.wire.stderr_tail()
    }

    fn leave(&self) -> PortFuture<'_, ()> {
        Box::pin(async move {
            self.wire.begin_leave();
            self.over.wait().await;
        })
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
        self.wire.begin_leave();
    }
}

/// `params`, `null` when absent.
pub(crate) fn or_null(params: Option<Box<RawValue>>) -> Box<RawValue> {
    params.unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// The token of the request that a `notifications/cancelled` of the server names.
pub(crate) fn withdrawn(params: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Which<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a RawValue,
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
