//! The state of one HTTP link and the way of one request over it.
//!
//! A request is one POST; its answer comes as the body, on the stream that the POST opens, or (older eras) on a
//! stream that resumes it. Whoever sees the answer puts it on the board. What streams carry is in `stream.rs`; the
//! `Link` trait is in `link.rs`.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::ports::Closure;
use engine::runtime::supervisor::Supervisor;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio::sync::Semaphore;

use super::endpoint::Endpoint;
use super::headers::{self, SESSION, VERSION};
use super::reply::{self, Miss, Reply};
use crate::link::{Answer, HearsAside, LinkError, Tag};
use crate::message::{self, Id, Incoming, Limits, Message};
use crate::transport::board::{Asked, Board};
use crate::transport::duplex::beginning;
use crate::transport::inbound::{Over, Sink};
use crate::transport::params::Params;

/// Answers to pings on their way at once; a server that pings faster gets fewer answers. Judgement.
const PONGS_MAX: usize = 8;

/// What a server says to a method that it does not have.
const METHOD_NOT_FOUND: i64 = -32_601;

const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Which era was agreed, with what goes into each request.
#[derive(Debug, Clone)]
pub(super) enum Speech {
    /// Metadata in each request.
    Modern(&'static str),
    /// A session, if the server gave one.
    Legacy { version: &'static str, session: Option<HeaderValue> },
}

/// One HTTP link.
pub(super) struct Wire {
    pub(super) endpoint: Endpoint,
    pub(super) speech: OnceLock<Speech>,
    pub(super) ear: OnceLock<Arc<dyn HearsAside>>,
    pub(super) board: Board,
    pub(super) asked: Asked,
    pub(super) sink: Sink,
    pub(super) over: Arc<Over>,
    pub(super) policy: Arc<Policy>,
    pub(super) supervisor: Supervisor,
    pub(super) pongs: Arc<Semaphore>,
}

/// Status and session of the response that carried an answer.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) session: Option<HeaderValue>,
}

impl Wire {
    pub(super) fn new(
        endpoint: Endpoint,
        (sink, over): (Sink, Arc<Over>),
        policy: Arc<Policy>,
        supervisor: Supervisor,
    ) -> Self {
        let pongs = Arc::new(Semaphore::new(PONGS_MAX));
        let (board, asked, speech) = (Board::default(), Asked::default(), OnceLock::new());
        let ear = OnceLock::new();
        Self { endpoint, speech, ear, board, asked, sink, over, policy, supervisor, pongs }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits::of(&self.policy)
    }

    pub(super) fn is_modern(&self) -> bool {
        self.version().is_some()
    }

    /// The version that each request of the modern era names.
    pub(super) fn version(&self) -> Option<&'static str> {
        match self.speech.get() {
            Some(Speech::Modern(version)) => Some(version),
            Some(Speech::Legacy { .. }) | None => None,
        }
    }

    pub(super) fn has_session(&self) -> bool {
        matches!(self.speech.get(), Some(Speech::Legacy { session: Some(_), .. }))
    }

    /// Headers of the older eras: version and session, once agreed.
    pub(super) fn legacy_headers(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        if let Some(Speech::Legacy { version, session }) = self.speech.get() {
            fill_legacy(&mut map, version, session.clone());
        }
        map
    }

    /// Ends the link.
    pub(super) fn end(&self, why: &str, hint: &str) {
        self.over.close(Closure { why: why.into(), hint: hint.into(), process_ended: false });
        self.board.end(&self.gone(true), self.gone(false));
    }

    /// The server knows our session no more.
    pub(super) fn session_over(&self) -> LinkError {
        self.end(
            "the server ended the session",
            "Taskwarden connects anew by itself; tasks that the server ties to a session may be lost.",
        );
        // The server refused the request: it did not run.
        self.gone(false)
    }

    pub(super) fn gone(&self, sent: bool) -> LinkError {
        let (why, hint) = match self.over.closure() {
            Some(closure) => (closure.why, closure.hint),
            None => ("the connection is over".into(), "Taskwarden connects again by itself.".into()),
        };
        LinkError::Broken { why, hint, sent }
    }

    /// Sends a request and waits for its answer, without any limit.
    pub(super) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        headers: HeaderMap,
        tag: Tag,
    ) -> Result<(Option<Head>, Answer), Miss> {
        let mut place = self.board.take(tag)?;
        let id = Id::from(place.id);
        let bytes = message::request_text(&id, method, params.as_str());
        let head: OnceLock<Head> = OnceLock::new();
        let post = Box::pin(self.post(bytes, headers, &id, tag, &head));
        let answer = tokio::select! {
            biased;
            answer = &mut place.answer => answer,
            done = post => {
                done?;
                match place.answer.try_recv() {
                    Ok(answer) => Ok(answer),
                    Err(_) => return Err(without_answer().into()),
                }
            }
        };
        let answer = answer.unwrap_or_else(|_| Err(self.gone(true)))?;
        Ok((head.into_inner(), answer))
    }

    /// One POST to its end. The answer goes to the board.
    async fn post(
        self: &Arc<Self>,
        bytes: Vec<u8>,
        headers: HeaderMap,
        id: &Id,
        tag: Tag,
        head: &OnceLock<Head>,
    ) -> Result<(), Miss> {
        let response = self.send(bytes, headers).await?;
        let status = response.status();
        let _ = head.set(Head { status, session: response.headers().get(SESSION).cloned() });
        match reply::read(response, &self.endpoint.origin(), &self.policy).await? {
            Reply::Json(body) => self.take_body(&body, status, id, tag).await,
            Reply::Stream(response) => self.follow(response, id, tag).await.map_err(Miss::from),
            Reply::Empty if status.is_success() => {
                Err(self.odd(status, false, Some("an empty answer".into()), Payload::new("")))
            }
            Reply::Empty => Err(self.odd(status, false, None, Payload::new(""))),
            Reply::Other { html, raw } => Err(self.odd(status, html, None, raw)),
        }
    }

    /// A status without a message that we can read. In a session, "not found" says that it is over.
    fn odd(&self, status: StatusCode, html: bool, why: Option<String>, raw: Payload) -> Miss {
        if status == StatusCode::NOT_FOUND && self.has_session() {
            return self.session_over().into();
        }
        Miss::Odd { origin: self.endpoint.origin(), status, html, why, raw }
    }

    pub(super) async fn send(&self, bytes: Vec<u8>, mut headers: HeaderMap) -> Result<reqwest::Response, Miss> {
        headers.insert(ACCEPT, BOTH_KINDS);
        headers.insert(CONTENT_TYPE, JSON);
        Ok(self.endpoint.send(Method::POST, headers, Some(Bytes::from(bytes))).await?)
    }

    async fn take_body(self: &Arc<Self>, body: &[u8], status: StatusCode, id: &Id, tag: Tag) -> Result<(), Miss> {
        match message::parse(body, &self.limits()) {
            Ok(Incoming::One(Message::Response { id: named, answer })) => match named {
                Some(named) if named == *id => {
                    // "Not found" is said of methods with their own code; any other may be about the session.
                    let may_be_session = status == StatusCode::NOT_FOUND && self.has_session();
                    if may_be_session && !is_unknown_method(&answer) && !self.session_lives().await {
                        return Err(self.session_over().into());
                    }
                    self.board.settle(id, Ok(answer));
                    Ok(())
                }
                None => self.refused_without_id(answer, status, id).await,
                Some(_) => {
                    let why = Some("the answer carries the id of another request".into());
                    Err(self.odd(status, false, why, beginning(body, &self.policy)))
                }
            },
            Ok(Incoming::One(other)) => {
                self.take_in(other, body.len(), Some(tag), Some(id)).await;
                Ok(())
            }
            Ok(Incoming::Batch(many)) => {
                for one in many.into_iter().flatten() {
                    self.take_in(one, body.len(), Some(tag), Some(id)).await;
                }
                Ok(())
            }
            Err(bad) => Err(self.odd(status, false, Some(bad.to_string()), beginning(body, &self.policy))),
        }
    }

    /// An error that names no request is about ours. In a session it may mean that the session is gone: servers say
    /// so with 404, some with 400, which one ping tells apart.
    async fn refused_without_id(self: &Arc<Self>, answer: Answer, status: StatusCode, id: &Id) -> Result<(), Miss> {
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
        self.board.settle(id, Ok(answer));
        Ok(())
    }

    /// Whether the session is alive. What cannot be asked counts as alive.
    pub(super) async fn session_lives(&self) -> bool {
        let dead = [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST];
        self.ping(self.legacy_headers()).await.is_none_or(|status| !dead.contains(&status))
    }

    /// The status of a `ping` with these headers, if there is one in time.
    pub(super) async fn ping(&self, headers: HeaderMap) -> Option<StatusCode> {
        let bytes = message::request(&Id::from("ping"), "ping", None::<&()>).ok()?;
        let response = tokio::time::timeout(self.policy.reply_limit, self.send(bytes, headers)).await;
        response.ok()?.ok().map(|response| response.status())
    }

    /// Sends what has no answer: a notification, or our answer to a request of the server.
    pub(super) async fn tell(&self, bytes: Vec<u8>, headers: HeaderMap) -> Result<(), LinkError> {
        if self.over.is_over() {
            return Err(self.gone(false));
        }
        let sending = async {
            let response = self.send(bytes, headers).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            let reply = reply::read(response, &self.endpoint.origin(), &self.policy).await?;
            let (html, raw) = match reply {
                Reply::Other { html, raw } => (html, raw),
                Reply::Json(body) => (false, beginning(&body, &self.policy)),
                Reply::Stream(_) | Reply::Empty => (false, Payload::new("")),
            };
            Err(self.odd(status, html, None, raw))
        };
        let limit = self.policy.reply_limit;
        tokio::time::timeout(limit, sending).await.map_err(|_| LinkError::NoAnswer(limit))?.map_err(LinkError::from)
    }

    /// Headers of a notification or answer of ours.
    pub(super) fn headers_for(&self, method: &str, params: &Params, extra: &[(String, String)]) -> HeaderMap {
        match self.speech.get() {
            Some(Speech::Modern(version)) => headers::modern(method, params, version, extra),
            Some(Speech::Legacy { .. }) | None => self.legacy_headers(),
        }
    }
}

/// Version and session of the older eras. Versions before 2025-06-18 know no version header.
pub(super) fn fill_legacy(map: &mut HeaderMap, version: &'static str, session: Option<HeaderValue>) {
    if version >= "2025-06-18" {
        map.insert(VERSION, HeaderValue::from_static(version));
    }
    if let Some(session) = session {
        map.insert(SESSION, session);
    }
}

/// `-32601`.
fn is_unknown_method(answer: &Answer) -> bool {
    let Answer::Error(raw) = answer else { return false };
    let error: serde_json::Value = serde_json::from_str(raw.get()).unwrap_or_default();
    error.get("code").and_then(serde_json::Value::as_i64) == Some(METHOD_NOT_FOUND)
}

pub(super) fn without_answer() -> LinkError {
    LinkError::Broken {
        why: "the server closed the stream before its answer".into(),
        hint: "Whether the request was carried out is not known; look at the task or the server.".into(),
        sent: true,
    }
}
