//! A link on which messages of both sides interleave: pipes of a child, or the old HTTP+SSE.
//!
//! It matches answers to requests, answers `ping`, and passes other messages on. Reading and writing are the
//! transport's: messages arrive through [`LineConnection::accept`] and leave over a channel. The reader never waits for
//! the writer, or a server that writes without reading would stop both.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{FreezeReading, PortFuture, SendPermit};
use domain::task::payload::Payload;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::upstream::transport::inbound_queue::{InboundSender, LinkEnd, QueueFull};
use crate::upstream::transport::line_transport::QueuePlace;
pub(crate) use crate::upstream::transport::line_transport::{LineTransport, OUTBOX_CAPACITY, OutgoingLine, OutputPart};
use crate::upstream::transport::link::{
    Answer, InboundMessage, LinkError, McpLink, NotificationListener, OutgoingRequest, RequestTag, Response,
};
use crate::upstream::transport::pending_requests::{PendingRequests, UnansweredRequests};
use crate::upstream::transport::request_params::OutgoingParams;
use crate::wire::error_codes::INTERNAL_ERROR;
use crate::wire::message::{self, BadMessage, Id, Incoming, Message, MessageLimits, MessageSkim};
use crate::wire::raw_json::member;

/// Which era was agreed; decides about `_meta` and whether requests of the server are heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineEra {
    /// Per-request metadata of this version.
    Modern(&'static str),
    /// After a handshake.
    Legacy,
}

/// How a request is sent.
#[derive(Default)]
struct SendManner {
    /// Whether dropping its future cancels it at the server.
    cancel_on_drop: bool,
    permit: SendPermit,
}

/// A link over interleaved messages.
pub(crate) struct LineConnection {
    pub(crate) pending: PendingRequests,
    pub(crate) asked: UnansweredRequests,
    pub(crate) over: Arc<LinkEnd>,
    pub(crate) speech: OnceLock<LineEra>,
    listener: OnceLock<Arc<dyn NotificationListener>>,
    out: mpsc::Sender<OutgoingLine>,
    sink: InboundSender,
    policy: Arc<Policy>,
    wire: Box<dyn LineTransport>,
}

impl LineConnection {
    /// A link over `wire`, whose lines are written from `out`.
    pub(crate) fn new(
        wire: Box<dyn LineTransport>,
        out: mpsc::Sender<OutgoingLine>,
        sink: InboundSender,
        policy: Arc<Policy>,
    ) -> Self {
        let (pending, asked, speech) = (PendingRequests::default(), UnansweredRequests::default(), OnceLock::new());
        Self { pending, asked, over: sink.link_end(), speech, listener: OnceLock::new(), out, sink, policy, wire }
    }

    /// Its limits and waiting times.
    pub(crate) const fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    fn limits(&self) -> MessageLimits {
        MessageLimits::of(&self.policy)
    }

    /// Handles one frame. A frame that is no message fails the request it answers, if its id can be read.
    /// Returns what the frame was a part of.
    pub(crate) async fn accept(&self, frame: &[u8]) -> Result<Vec<OutputPart>, QueueFull> {
        let mut parts = Vec::new();
        match message::parse(frame, &self.limits()) {
            Ok(Incoming::One(one)) => parts.extend(self.take_in(one, frame.len()).await?),
            Ok(Incoming::Batch(many)) => {
                for member in many {
                    match member {
                        Ok(one) => parts.extend(self.take_in(one, frame.len()).await?),
                        Err(bad) => parts.extend(self.refuse(&bad, frame)),
                    }
                }
            }
            Err(bad) => parts.extend(self.refuse(&bad, frame)),
        }
        Ok(parts)
    }

    /// A frame that was too large to keep, known by what was skimmed of it. Returns the answer that it was.
    pub(crate) fn accept_oversized(&self, skim: &MessageSkim) -> Option<OutputPart> {
        let why = format!("the answer has more than {} bytes", self.policy.message_cap_bytes);
        let id = Id::of_answer(skim, self.policy.rpc_id_cap_bytes);
        let error = LinkError::Unreadable { why, raw: Payload::new("") };
        let tag = id.and_then(|id| self.pending.settle_tagged(&id, Err(error)));
        tracing::warn!(wire = self.wire.name(), answer = tag.is_some(), "dropped a message that is too large");
        tag.map(OutputPart::Answer)
    }

    /// A frame that is no message. An answer that cannot be read is an answer all the same: it is kept until the loss of
    /// its call is on record.
    fn refuse(&self, bad: &BadMessage, frame: &[u8]) -> Option<OutputPart> {
        let id = bad.id.clone().or_else(|| {
            let mut skim = MessageSkim::default();
            skim.feed(frame, self.policy.rpc_id_cap_bytes);
            Id::of_answer(&skim, self.policy.rpc_id_cap_bytes)
        });
        let error = LinkError::Unreadable { why: bad.to_string(), raw: beginning(frame, &self.policy) };
        let tag = id.and_then(|id| self.pending.settle_tagged(&id, Err(error)));
        tracing::debug!(wire = self.wire.name(), answer = tag.is_some(), why = %bad, "ignored what is not a message");
        tag.map(OutputPart::Answer)
    }

    async fn take_in(&self, one: Message, bytes: usize) -> Result<Option<OutputPart>, QueueFull> {
        match one {
            Message::Response { id: Some(id), answer } => {
                let settled = self.pending.settle_tagged(&id, Ok(answer));
                if settled.is_none() {
                    tracing::debug!(wire = self.wire.name(), "dropped an answer that nobody waits for");
                }
                Ok(settled.map(OutputPart::Answer))
            }
            Message::Response { id: None, answer } => {
                if !self.pending.settle_only(Ok(answer)) {
                    tracing::debug!(wire = self.wire.name(), "dropped an error without an id");
                }
                Ok(None)
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(token) = params.as_deref().and_then(withdrawn)
                    && self.asked.take(&token).is_some()
                {
                    self.wire.over(&OutputPart::Request(token));
                }
                let on = self.named(&method, params.as_deref());
                let params = or_null(params);
                if !self.listener.get().is_some_and(|listener| listener.told(&method, &params, on)) {
                    self.sink.put(InboundMessage::Notification { method, params, on }, bytes).await?;
                }
                Ok(None)
            }
            Message::Request { id, method, .. } if method == "ping" => {
                self.reply_now(&id, message::result(&id, &json!({})));
                Ok(None)
            }
            Message::Request { method, .. } if matches!(self.speech.get(), Some(LineEra::Modern(_))) => {
                // Statement 12: in the modern era neither side asks here, and we never answer.
                tracing::debug!(wire = self.wire.name(), rpc.method = %short(&method), "ignored a request of the server");
                Ok(None)
            }
            Message::Request { id, method, params } => {
                let Some(token) = self.asked.note(&id) else {
                    let busy = json!({ "code": INTERNAL_ERROR, "message": "too many requests are open" });
                    self.reply_now(&id, message::error(Some(&id), &busy));
                    return Ok(None);
                };
                let part = OutputPart::Request(token.clone());
                self.sink
                    .put(InboundMessage::Request { token, method, params: or_null(params), on: None }, bytes)
                    .await?;
                Ok(Some(part))
            }
        }
    }

    /// Sends without waiting; for answers that the reader gives itself.
    fn reply_now(&self, id: &Id, bytes: serde_json::Result<Vec<u8>>) {
        if matches!(self.speech.get(), Some(LineEra::Modern(_))) {
            return;
        }
        let Ok(bytes) = bytes else { return };
        if !self.send_or_drop(bytes) {
            tracing::debug!(wire = self.wire.name(), id = ?id, "no room to answer a ping");
        }
    }

    /// Sends and waits until it is written.
    async fn write(&self, bytes: Vec<u8>) -> Result<(), LinkError> {
        self.write_line(bytes, true, SendPermit::default()).await
    }

    /// The same; `is_awaited` unless an answer will say as well that the line was written.
    async fn write_line(&self, bytes: Vec<u8>, is_awaited: bool, permit: SendPermit) -> Result<(), LinkError> {
        let (written, told) = oneshot::channel();
        let line = OutgoingLine { bytes, written: Some(written), permit };
        if let Err(line) = self.wire.send_now(line, is_awaited) {
            let place = QueuePlace::take(&*self.wire);
            if self.out.send(line).await.is_err() {
                return Err(self.gone(false));
            }
            place.keep();
        }
        told.await.unwrap_or_else(|_| Err(self.gone(true)))
    }

    /// Sends without waiting, if there is room; whether there was.
    fn send_or_drop(&self, bytes: Vec<u8>) -> bool {
        let Err(line) = self.wire.send_now(OutgoingLine { bytes, written: None, permit: SendPermit::default() }, true)
        else {
            return true;
        };
        let place = QueuePlace::take(&*self.wire);
        let has_room = self.out.try_send(line).is_ok();
        if has_room {
            place.keep();
        }
        has_room
    }

    fn gone(&self, sent: bool) -> LinkError {
        match self.over.closure() {
            Some(closure) => LinkError::Broken { why: closure.why, hint: closure.hint, sent },
            None => LinkError::Broken {
                why: "the connection ended".into(),
                hint: "Taskwarden reconnects automatically.".into(),
                sent,
            },
        }
    }

    /// Sends a request as it is and waits for its answer, without any limit.
    async fn exchange(
        &self,
        method: &str,
        params: &OutgoingParams,
        tag: RequestTag,
        manner: SendManner,
    ) -> Result<Answer, LinkError> {
        let SendManner { cancel_on_drop, permit } = manner;
        let mut place = self.pending.take(tag)?;
        self.pending.note_sent(method);
        self.wire.asking(tag, place.id);
        let bytes = message::request_text(&Id::from(place.id), method, params.as_str());
        let mut given_up = GivenUp { link: cancel_on_drop.then_some(self), id: place.id };
        let write = self.write_line(bytes, false, permit);
        tokio::pin!(write);
        let answer = tokio::select! {
            biased;
            answer = &mut place.answer => answer,
            written = &mut write => match written {
                Ok(()) => (&mut place.answer).await,
                Err(failed) => {
                    if let LinkError::Broken { sent: false, .. } = failed {
                        // Nothing of it is with the server: a keeper need not wait for its answer.
                        self.wire.over(&OutputPart::Answer(tag));
                    }
                    Ok(Err(failed))
                }
            }
        };
        given_up.link = None;
        answer.unwrap_or_else(|_| Err(self.gone(true)))
    }

    /// Tells the server that nobody waits for this answer any more, if there is room to say so: a server that reads
    /// nothing would not read this either.
    fn cancel_now(&self, id: u64) {
        if let Some(bytes) = cancelled(id, None) {
            self.send_or_drop(bytes);
        }
    }

    /// A request with a limit, or none. What is given up is cancelled at the server.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &OutgoingParams,
        tag: RequestTag,
        limit: Option<Duration>,
    ) -> Result<Answer, LinkError> {
        self.ask_for(method, params, tag, limit, SendManner::default()).await
    }

    async fn ask_for(
        &self,
        method: &str,
        params: &OutgoingParams,
        tag: RequestTag,
        limit: Option<Duration>,
        manner: SendManner,
    ) -> Result<Answer, LinkError> {
        let cancel_on_drop = manner.cancel_on_drop;
        let exchange = self.exchange(method, params, tag, manner);
        let Some(limit) = limit else { return exchange.await };
        tokio::pin!(exchange);
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            () = tokio::time::sleep(limit) => {
                if let Some(id) = self.pending.give_up(tag, LinkError::NoAnswer(limit))
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
            Some(LineEra::Modern(version)) => Some(version),
            Some(LineEra::Legacy) | None => None,
        }
    }

    /// The subscription of ours that a notification names, or ends. On other wires the stream tells.
    fn named(&self, method: &str, params: Option<&RawValue>) -> Option<RequestTag> {
        const NAMED: &str = "io.modelcontextprotocol/subscriptionId";
        self.version()?;
        let params = params?.get();
        let id = if method == "notifications/cancelled" {
            member(params, "requestId")?
        } else {
            memchr::memmem::find(params.as_bytes(), NAMED.as_bytes())?;
            member(member(params, "_meta")?, NAMED)?
        };
        self.pending.tag_of(&Id::read(id, self.policy.rpc_id_cap_bytes)?)
    }
}

/// A request whose future may be dropped; cancelled then.
struct GivenUp<'a> {
    link: Option<&'a LineConnection>,
    id: u64,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link {
            link.cancel_now(self.id);
        }
    }
}

impl McpLink for LineConnection {
    fn request(&self, request: OutgoingRequest) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(async move {
            let params = OutgoingParams::of(&request, self.version());
            let cancel_on_drop = request.agent_params.as_ref().is_some_and(|agent_params| agent_params.cancel_on_drop);
            let manner = SendManner { cancel_on_drop, permit: request.permit };
            self.ask_for(&request.method, &params, request.tag, request.limit, manner).await
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
                self.wire.over(&OutputPart::Request(token.to_owned()));
            }
            written
        })
    }

    fn cancel(&self, tag: RequestTag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let Some(id) = self.pending.give_up(tag, LinkError::GivenUp) else { return Ok(()) };
            self.wire.over(&OutputPart::Answer(tag));
            let bytes = cancelled(id, reason).ok_or_else(unwritable)?;
            self.write(bytes).await
        })
    }

    fn note_call(&self, tag: RequestTag, ticket: HandleId, augment: bool) {
        self.wire.note_call(tag, ticket, augment);
    }

    fn settle(&self, ticket: HandleId) {
        self.wire.settle(ticket);
    }

    fn set_notification_listener(&self, listener: Arc<dyn NotificationListener>) -> bool {
        self.listener.set(listener).is_ok()
    }

    fn stderr_tail(&self) -> String {
        self.wire.stderr_tail()
    }

    fn can_freeze(&self) -> bool {
        self.wire.can_freeze()
    }

    fn freeze(&self, is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        self.wire.freeze(is_frozen)
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

impl Drop for LineConnection {
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

pub(crate) fn not_pending() -> LinkError {
    LinkError::Broken {
        why: "the server does not wait for this answer any more".into(),
        hint: "It withdrew the question, or it was answered before.".into(),
        sent: false,
    }
}
