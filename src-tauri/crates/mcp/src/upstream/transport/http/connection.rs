//! The state of one HTTP link, and the way of one request over it.
//!
//! A request is one POST; its answer is the body, comes on the stream that the POST opens, or (older eras) on a stream
//! that resumes it. Streams are read in `event_streams.rs`; the link's trait is in `http_link.rs`.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use bytestring::ByteString;
use domain::policy::Policy;
use domain::ports::{Closure, SendPermit};
use domain::task::payload::Payload;
use engine::runtime::supervisor::Supervisor;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::endpoint::Endpoint;
use super::headers::{self, SESSION, VERSION};
use super::plain_connection::RequestBody;
use super::server_response::ServerResponse;
use crate::upstream::transport::http::response::{self, HttpReply, ReplyFailure};
use crate::upstream::transport::inbound_queue::{InboundSender, LinkEnd};
use crate::upstream::transport::line_connection::{beginning, unwritable};
use crate::upstream::transport::link::{Answer, LinkError, NotificationListener, RequestTag, SharedAnswer};
use crate::upstream::transport::pending_requests::{PendingRequests, UnansweredRequests};
use crate::upstream::transport::request_params::{KeptMeta, OutgoingParams};
use crate::wire::dialect::quoted;
use crate::wire::error_codes::METHOD_NOT_FOUND;
use crate::wire::message::{self, BadMessage, Id, Incoming, Message, MessageLimits, ResponseFrame};

/// Answers to pings on their way at once; a server that pings faster gets fewer answers. Judgement.
const PONGS_MAX: usize = 8;

const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Which era was agreed, with what goes into each request.
#[derive(Debug, Clone)]
pub(crate) enum HttpEra {
    /// Metadata in each request.
    Modern(&'static str),
    /// A session, if the server gave one.
    Legacy { version: &'static str, session: Option<HeaderValue> },
}

/// One HTTP link.
pub(crate) struct HttpConnection {
    pub(crate) endpoint: Endpoint,
    pub(crate) speech: OnceLock<HttpEra>,
    pub(crate) listener: OnceLock<Arc<dyn NotificationListener>>,
    pub(crate) pending: PendingRequests,
    pub(crate) asked: UnansweredRequests,
    pub(crate) sink: InboundSender,
    pub(crate) over: Arc<LinkEnd>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) supervisor: Supervisor,
    pub(crate) pongs: Arc<Semaphore>,
    pub(crate) kept_meta: KeptMeta,
}

/// Status and session of the response that carried an answer.
#[derive(Debug, Clone)]
pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) session: Option<HeaderValue>,
}

/// In which form an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// As a part of the body that it came in.
    Shared,
    /// In memory of its own.
    Owned,
}

/// The stream of one request, and how its answer is wanted.
#[derive(Clone, Copy)]
pub(crate) struct OnStream {
    pub(crate) tag: RequestTag,
    pub(crate) form: AnswerForm,
}

/// An answer in either form; one that came on a stream is always owned.
pub(crate) enum HttpAnswer {
    Shared(SharedAnswer),
    Owned(Answer),
}

/// A body, sorted.
enum HttpIncoming {
    Response(Option<Id>, HttpAnswer),
    Other(Incoming),
}

impl HttpAnswer {
    fn read(body: &Bytes, form: AnswerForm, limits: &MessageLimits) -> Result<HttpIncoming, BadMessage> {
        Ok(match form {
            AnswerForm::Shared => match message::parse_response(body.clone(), limits)? {
                ResponseFrame::Response { id, answer } => HttpIncoming::Response(id, Self::Shared(answer)),
                ResponseFrame::Other(other) => HttpIncoming::Other(other),
            },
            AnswerForm::Owned => match message::parse(body, limits)? {
                Incoming::One(Message::Response { id, answer }) => HttpIncoming::Response(id, Self::Owned(answer)),
                other => HttpIncoming::Other(other),
            },
        })
    }

    pub(crate) fn shared(self) -> SharedAnswer {
        match self {
            Self::Shared(answer) => answer,
            Self::Owned(answer) => answer.into(),
        }
    }

    /// In memory of its own; an answer that was asked for in this form is not read again.
    pub(crate) fn owned(self) -> Result<Answer, LinkError> {
        let raw = |text: ByteString| RawValue::from_string(text.to_string()).map_err(|_| unwritable());
        match self {
            Self::Owned(answer) => Ok(answer),
            Self::Shared(SharedAnswer::Result(text)) => raw(text).map(Answer::Result),
            Self::Shared(SharedAnswer::Error(text)) => raw(text).map(Answer::Error),
        }
    }
}

impl HttpConnection {
    pub(crate) fn new(endpoint: Endpoint, sink: InboundSender, policy: Arc<Policy>, supervisor: Supervisor) -> Self {
        let pongs = Arc::new(Semaphore::new(PONGS_MAX));
        let (pending, asked, speech) = (PendingRequests::default(), UnansweredRequests::default(), OnceLock::new());
        let listener = OnceLock::new();
        let (over, kept_meta) = (sink.link_end(), KeptMeta::new(&policy));
        Self { endpoint, speech, listener, pending, asked, over, sink, policy, supervisor, pongs, kept_meta }
    }

    pub(crate) fn limits(&self) -> MessageLimits {
        MessageLimits::of(&self.policy)
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.version().is_some()
    }

    /// The version that each request of the modern era names.
    pub(crate) fn version(&self) -> Option<&'static str> {
        match self.speech.get() {
            Some(HttpEra::Modern(version)) => Some(version),
            Some(HttpEra::Legacy { .. }) | None => None,
        }
    }

    pub(crate) fn has_session(&self) -> bool {
        matches!(self.speech.get(), Some(HttpEra::Legacy { session: Some(_), .. }))
    }

    /// Headers of the older eras: version and session, once agreed.
    pub(crate) fn legacy_headers(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        if let Some(HttpEra::Legacy { version, session }) = self.speech.get() {
            fill_legacy(&mut map, version, session.clone());
        }
        map
    }

    /// Ends the link.
    pub(crate) fn end(&self, why: &str, hint: &str) {
        self.over.close(Closure { why: why.into(), hint: hint.into(), process_ended: false });
        self.pending.end(&self.gone(true), self.gone(false));
    }

    /// The server knows our session no more.
    pub(crate) fn session_over(&self) -> LinkError {
        self.end(
            "the server ended the session",
            "Taskwarden reconnects automatically; tasks that the server ties to a session may be lost.",
        );
        // The server refused the request: it did not run.
        self.gone(false)
    }

    pub(crate) fn gone(&self, sent: bool) -> LinkError {
        let (why, hint) = match self.over.closure() {
            Some(closure) => (closure.why, closure.hint),
            None => ("the connection ended".into(), "Taskwarden reconnects automatically.".into()),
        };
        LinkError::Broken { why, hint, sent }
    }

    /// Sends a request and waits for its answer, without any limit.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &OutgoingParams,
        headers: HeaderMap,
        on: OnStream,
        permit: SendPermit,
    ) -> Result<(Option<ResponseHead>, HttpAnswer), ReplyFailure> {
        let tag = on.tag;
        let mut place = self.pending.take(tag)?;
        let id = Id::from(place.id);
        let bytes = request_bytes(place.id, method, params.as_str());
        let head: OnceLock<ResponseHead> = OnceLock::new();
        let answer = {
            let post = std::pin::pin!(self.post(RequestBody::new(bytes, permit), headers, &id, on, &head));
            tokio::select! {
                biased;
                answer = &mut place.answer => HttpAnswer::Owned(answer.unwrap_or_else(|_| Err(self.gone(true)))?),
                done = post => match done? {
                    Some(answer) => answer,
                    None => match place.answer.try_recv() {
                        Ok(answer) => HttpAnswer::Owned(answer?),
                        Err(_) => return Err(without_answer().into()),
                    },
                }
            }
        };
        Ok((head.into_inner(), answer))
    }

    /// One POST to its end. Returns the answer that is its body; any other is with the pending requests.
    async fn post(
        self: &Arc<Self>,
        body: RequestBody,
        headers: HeaderMap,
        id: &Id,
        on: OnStream,
        head: &OnceLock<ResponseHead>,
    ) -> Result<Option<HttpAnswer>, ReplyFailure> {
        let response = self.send(body, headers).await?;
        let status = response.status();
        let _ = head.set(ResponseHead { status, session: response.headers().get(SESSION).cloned() });
        match response::read(response, &self.endpoint, &self.policy).await? {
            HttpReply::Json(body) => self.take_body(body, status, id, on).await,
            // Streams are rare and their state is large.
            HttpReply::Stream(response) => {
                Box::pin(self.follow(response, id, on.tag)).await?;
                Ok(None)
            }
            HttpReply::Empty if status.is_success() => {
                Err(self.odd(status, false, Some("an empty answer".into()), Payload::new("")))
            }
            HttpReply::Empty => Err(self.odd(status, false, None, Payload::new(""))),
            HttpReply::Other { html, raw } => Err(self.odd(status, html, None, raw)),
        }
    }

    /// A status without a readable message. In a session, "not found" means that the session has ended.
    fn odd(&self, status: StatusCode, html: bool, why: Option<String>, raw: Payload) -> ReplyFailure {
        if status == StatusCode::NOT_FOUND && self.has_session() {
            return self.session_over().into();
        }
        ReplyFailure::Odd { origin: self.endpoint.origin(), status, html, why, raw }
    }

    pub(crate) async fn send(&self, body: RequestBody, mut headers: HeaderMap) -> Result<ServerResponse, ReplyFailure> {
        headers.insert(ACCEPT, BOTH_KINDS);
        headers.insert(CONTENT_TYPE, JSON);
        Ok(self.endpoint.send(Method::POST, headers, Some(body)).await?)
    }

    async fn take_body(
        self: &Arc<Self>,
        body: Bytes,
        status: StatusCode,
        id: &Id,
        on: OnStream,
    ) -> Result<Option<HttpAnswer>, ReplyFailure> {
        let tag = on.tag;
        match HttpAnswer::read(&body, on.form, &self.limits()) {
            Ok(HttpIncoming::Response(named, answer)) => match named {
                Some(named) if named == *id => {
                    // "Not found" is said of methods with their own code; any other may be about the session.
                    let may_be_session = status == StatusCode::NOT_FOUND && self.has_session();
                    if may_be_session && !is_unknown_method(&answer) && !self.session_lives().await {
                        return Err(self.session_over().into());
                    }
                    Ok(Some(answer))
                }
                None => self.refused_without_id(answer, status).await.map(Some),
                Some(_) => {
                    let why = Some("the answer carries the id of another request".into());
                    Err(self.odd(status, false, why, beginning(&body, &self.policy)))
                }
            },
            Ok(HttpIncoming::Other(Incoming::One(other))) => {
                self.take_in(other, body.len(), Some(tag), Some(id)).await;
                Ok(None)
            }
            Ok(HttpIncoming::Other(Incoming::Batch(many))) => {
                for one in many.into_iter().flatten() {
                    self.take_in(one, body.len(), Some(tag), Some(id)).await;
                }
                Ok(None)
            }
            Err(bad) => Err(self.odd(status, false, Some(bad.to_string()), beginning(&body, &self.policy))),
        }
    }

    /// An error that names no request is about ours. In a session it may mean that the session is gone: servers say
    /// so with 404, some with 400, which one ping tells apart.
    async fn refused_without_id(&self, answer: HttpAnswer, status: StatusCode) -> Result<HttpAnswer, ReplyFailure> {
        if self.has_session() {
            let gone = match status {
                StatusCode::NOT_FOUND => true,
                StatusCode::BAD_REQUEST => !self.session_lives().await,
                _ => false,
            };
            if gone {
                return Err(self.session_over().into());
            }
        }
        Ok(answer)
    }

    /// Whether the session is alive. What cannot be asked counts as alive.
    pub(crate) async fn session_lives(&self) -> bool {
        let dead = [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST];
        self.ping(self.legacy_headers()).await.is_none_or(|status| !dead.contains(&status))
    }

    /// The status of a `ping` with these headers, if there is one in time.
    pub(crate) async fn ping(&self, headers: HeaderMap) -> Option<StatusCode> {
        let bytes = message::request(&Id::from("ping"), "ping", None::<&()>).ok()?;
        let response = tokio::time::timeout(self.policy.reply_limit, self.send(unconditional(bytes), headers)).await;
        response.ok()?.ok().map(|response| response.status())
    }

    /// Sends what has no answer: a notification, or our answer to a request of the server.
    pub(crate) async fn tell(&self, bytes: Vec<u8>, headers: HeaderMap) -> Result<(), LinkError> {
        if self.over.is_over() {
            return Err(self.gone(false));
        }
        let sending = async {
            let response = self.send(unconditional(bytes), headers).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            let reply = response::read(response, &self.endpoint, &self.policy).await?;
            let (html, raw) = match reply {
                HttpReply::Other { html, raw } => (html, raw),
                HttpReply::Json(body) => (false, beginning(&body, &self.policy)),
                HttpReply::Stream(_) | HttpReply::Empty => (false, Payload::new("")),
            };
            Err(self.odd(status, html, None, raw))
        };
        let limit = self.policy.reply_limit;
        tokio::time::timeout(limit, sending).await.map_err(|_| LinkError::NoAnswer(limit))?.map_err(LinkError::from)
    }

    /// Headers of a notification or answer of ours.
    pub(crate) fn headers_for(&self, method: &str, params: &OutgoingParams, extra: &[(String, String)]) -> HeaderMap {
        match self.speech.get() {
            Some(HttpEra::Modern(version)) => headers::modern(method, params, version, extra),
            Some(HttpEra::Legacy { .. }) | None => self.legacy_headers(),
        }
    }
}

/// What is no call leaves whatever is halted.
fn unconditional(bytes: Vec<u8>) -> RequestBody {
    RequestBody::new(bytes, SendPermit::default())
}

/// A request as bytes on one line, in one piece of memory.
fn request_bytes(id: u64, method: &str, params: &str) -> Vec<u8> {
    let mut text = String::with_capacity(method.len() + params.len() + ENVELOPE_BYTES);
    // Writing to a string cannot fail.
    let _ = write!(text, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":");
    text.push_str(&quoted(method));
    for piece in [",\"params\":", params, "}"] {
        text.push_str(piece);
    }
    message::on_one_line(text.into_bytes())
}

/// What a request has around method and params: at most this many bytes.
const ENVELOPE_BYTES: usize = 80;

/// Version and session of the older eras. Versions before 2025-06-18 know no version header.
pub(crate) fn fill_legacy(map: &mut HeaderMap, version: &'static str, session: Option<HeaderValue>) {
    if version >= "2025-06-18" {
        map.insert(VERSION, HeaderValue::from_static(version));
    }
    if let Some(session) = session {
        map.insert(SESSION, session);
    }
}

fn is_unknown_method(answer: &HttpAnswer) -> bool {
    let text = match answer {
        HttpAnswer::Shared(SharedAnswer::Error(text)) => &**text,
        HttpAnswer::Owned(Answer::Error(raw)) => raw.get(),
        HttpAnswer::Shared(SharedAnswer::Result(_)) | HttpAnswer::Owned(Answer::Result(_)) => return false,
    };
    let error: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    error.get("code").and_then(serde_json::Value::as_i64) == Some(METHOD_NOT_FOUND)
}

pub(crate) fn without_answer() -> LinkError {
    LinkError::Broken {
        why: "the server closed the stream before its answer".into(),
        hint: "Whether the request was carried out is not known; look at the task or the server.".into(),
        sent: true,
    }
}
