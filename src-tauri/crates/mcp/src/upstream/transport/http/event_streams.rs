//! Reads the event streams of an HTTP link: the stream of one request, and the session's own stream in the older eras.
//!
//! In the older eras a stream that ends before its answer is resumed with the last event id, after the time that the
//! server names. In the modern era a broken stream is a lost request. Waits between attempts grow; only a network that
//! stays away ends them.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::headers::LAST_EVENT;
use super::server_response::ServerResponse;
use crate::upstream::transport::http::connection::{HttpConnection, without_answer};
use crate::upstream::transport::http::response::{self, HttpReply};
use crate::upstream::transport::line_connection::{beginning, or_null, short, withdrawn};
use crate::upstream::transport::link::{InboundMessage, LinkError, RequestTag};
use crate::wire::error_codes::INTERNAL_ERROR;
use crate::wire::message::{self, Id, Incoming, Message, MessageSkim};
use crate::wire::sse::{SseBody, SseReader};

/// How a stream ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// With the answer that was wanted.
    Answered,
    /// In order, or because the connection broke; whether anything was read.
    Over { heard: bool },
}

/// What an attempt to open a GET stream brought.
enum Got {
    Stream(ServerResponse),
    /// It will not be offered.
    Never(LinkError),
    /// The server may accept it later.
    Later(Option<Duration>),
}

impl HttpConnection {
    /// Follows the stream that a POST opened, until its answer.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        response: ServerResponse,
        id: &Id,
        tag: RequestTag,
    ) -> Result<(), LinkError> {
        let mut events = SseReader::new(&self.policy);
        if self.pump(response, &mut events, Some(tag), Some(id)).await == Ended::Answered {
            return Ok(());
        }
        if self.is_modern() || self.speech.get().is_none() {
            return Err(without_answer());
        }
        let mut wait = self.policy.backoff_first;
        let mut failing: Option<Instant> = None;
        while events.last_id().is_some() {
            sleep(self.pause(&events, wait)).await;
            wait = self.grown(wait);
            match self.get(events.last_id()).await {
                Got::Stream(response) => {
                    failing = None;
                    events.start_over();
                    match self.pump(response, &mut events, Some(tag), Some(id)).await {
                        Ended::Answered => return Ok(()),
                        Ended::Over { heard: true } => wait = self.policy.backoff_first,
                        Ended::Over { heard: false } => {}
                    }
                }
                Got::Never(error) => return Err(error),
                Got::Later(after) => {
                    wait = wait.max(after.unwrap_or_default());
                    if failing.get_or_insert_with(Instant::now).elapsed() > self.policy.backoff_last {
                        return Err(without_answer());
                    }
                }
            }
        }
        Err(without_answer())
    }

    /// Keeps the session's stream open until the link ends. Ends at once where the server has none.
    pub(crate) async fn listen(self: Arc<Self>) {
        let over = self.over.clone();
        tokio::select! {
            () = over.wait() => {}
            () = self.stand() => {}
        }
    }

    async fn stand(self: Arc<Self>) {
        let wire = self;
        let mut events = SseReader::new(&wire.policy);
        let mut wait = wire.policy.backoff_first;
        let mut stood = false;
        loop {
            match wire.get(events.last_id()).await {
                Got::Stream(response) => {
                    if std::mem::replace(&mut stood, true) {
                        let _ = wire.sink.put(InboundMessage::StreamBack, 0).await;
                    }
                    events.start_over();
                    if let Ended::Over { heard: true } = wire.pump(response, &mut events, None, None).await {
                        wait = wire.policy.backoff_first;
                    }
                }
                Got::Never(_) => {
                    tracing::debug!("the server offers no standing stream");
                    return;
                }
                Got::Later(after) => {
                    if stood {
                        let _ = wire.sink.put(InboundMessage::StreamLost, 0).await;
                    }
                    wait = wait.max(after.unwrap_or_default());
                }
            }
            sleep(wire.pause(&events, wait)).await;
            wait = wire.grown(wait);
        }
    }

    /// What the server named for reconnecting, or our own growing wait, whichever is longer once attempts fail.
    fn pause(&self, events: &SseReader, wait: Duration) -> Duration {
        let pause = match events.retry() {
            Some(named) if wait <= self.policy.backoff_first => named,
            Some(named) => named.max(wait),
            None => wait,
        };
        pause.clamp(self.policy.hint_floor, self.policy.retry_after_ceiling)
    }

    fn grown(&self, wait: Duration) -> Duration {
        wait.mul_f64(self.policy.poll_growth).min(self.policy.backoff_last)
    }

    async fn get(&self, last_id: Option<&str>) -> Got {
        let mut headers: HeaderMap = self.legacy_headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let Ok(response) = self.endpoint.send(Method::GET, headers, None).await else { return Got::Later(None) };
        let status = response.status();
        if status.as_u16() == 404 && self.has_session() {
            // A lost session, or a router that knows no GET here and says so with 404: a ping tells them apart.
            let lives = self.session_lives().await;
            return Got::Never(if lives { without_answer() } else { self.session_over() });
        }
        match response::read(response, &self.endpoint, &self.policy).await {
            Ok(HttpReply::Stream(response)) => Got::Stream(response),
            Ok(HttpReply::Json(_) | HttpReply::Empty | HttpReply::Other { .. }) if status.is_server_error() => {
                Got::Later(None)
            }
            Ok(HttpReply::Json(_) | HttpReply::Empty | HttpReply::Other { .. }) => Got::Never(without_answer()),
            Err(miss) => match LinkError::from(miss) {
                LinkError::RateLimited(after) => Got::Later(after),
                LinkError::Broken { .. } | LinkError::NoAnswer(_) | LinkError::GivenUp => Got::Later(None),
                error @ (LinkError::Unauthorized { .. } | LinkError::Unreadable { .. }) => Got::Never(error),
            },
        }
    }

    async fn pump(
        self: &Arc<Self>,
        mut response: ServerResponse,
        events: &mut SseReader,
        on: Option<RequestTag>,
        wanted: Option<&Id>,
    ) -> Ended {
        let mut heard = false;
        loop {
            for event in events.by_ref() {
                heard = true;
                let answered = match event.body {
                    SseBody::Data(data) => self.take_data(&data, on, wanted).await,
                    SseBody::TooLarge(skim) => self.take_oversized(&skim, wanted),
                };
                if answered {
                    return Ended::Answered;
                }
            }
            // What the server sends may have no end. On the stream of one request, what has no method is its answer.
            if let Some(id) = wanted.filter(|_| self.is_modern())
                && events.oversized().is_some_and(|skim| !skim.has_method())
            {
                self.pending.settle(id, Err(self.too_large()));
                return Ended::Answered;
            }
            // Between events a stream may be silent for as long as the work takes.
            let idle = events.is_inside().then_some(self.policy.body_idle_limit);
            match response::piece(&mut response, idle).await {
                Ok(Some(piece)) => events.feed(&piece),
                Ok(None) | Err(_) => return Ended::Over { heard },
            }
        }
    }

    async fn take_data(self: &Arc<Self>, data: &[u8], on: Option<RequestTag>, wanted: Option<&Id>) -> bool {
        match message::parse(data, &self.limits()) {
            Ok(Incoming::One(one)) => self.take_in(one, data.len(), on, wanted).await,
            Ok(Incoming::Batch(many)) => {
                let mut answered = false;
                for one in many.into_iter().flatten() {
                    answered |= self.take_in(one, data.len(), on, wanted).await;
                }
                answered
            }
            Err(bad) => {
                let mut skim = MessageSkim::default();
                skim.feed(data, self.policy.rpc_id_cap_bytes);
                let error = LinkError::Unreadable { why: bad.to_string(), raw: beginning(data, &self.policy) };
                self.fail(&skim, error, wanted)
            }
        }
    }

    fn take_oversized(&self, skim: &MessageSkim, wanted: Option<&Id>) -> bool {
        self.fail(skim, self.too_large(), wanted)
    }

    fn too_large(&self) -> LinkError {
        tracing::warn!("dropped a message that is too large");
        let why = format!("the answer has more than {} bytes", self.policy.message_cap_bytes);
        LinkError::Unreadable { why, raw: domain::task::payload::Payload::new("") }
    }

    /// Tells whoever waits for the answer that this was. Returns whether it was the wanted one.
    fn fail(&self, skim: &MessageSkim, error: LinkError, wanted: Option<&Id>) -> bool {
        let id = Id::of_answer(skim, self.policy.rpc_id_cap_bytes);
        let Some(id) = id else {
            tracing::debug!("ignored what is not a message");
            return false;
        };
        let is_wanted = wanted == Some(&id);
        if is_wanted || !self.is_modern() {
            self.pending.settle(&id, Err(error));
        }
        is_wanted
    }

    /// Takes in one message. Returns whether it was the wanted answer.
    pub(crate) async fn take_in(
        self: &Arc<Self>,
        one: Message,
        bytes: usize,
        on: Option<RequestTag>,
        wanted: Option<&Id>,
    ) -> bool {
        let item = match one {
            Message::Response { id: Some(id), answer } => {
                let is_wanted = wanted == Some(&id);
                // In the older eras an answer may come on another stream; in the modern era only on its own.
                if (is_wanted || !self.is_modern()) && !self.pending.settle(&id, Ok(answer)) {
                    tracing::debug!("dropped an answer that nobody waits for");
                }
                return is_wanted;
            }
            Message::Response { id: None, answer } => {
                return wanted.is_some_and(|id| self.pending.settle(id, Ok(answer)));
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(token) = params.as_deref().and_then(withdrawn)
                {
                    self.asked.take(&token);
                }
                let params = or_null(params);
                if self.listener.get().is_some_and(|listener| listener.told(&method, &params, on)) {
                    return false;
                }
                InboundMessage::Notification { method, params, on }
            }
            Message::Request { method, .. } if self.is_modern() => {
                tracing::debug!(rpc.method = %short(&method), "ignored a request of the server");
                return false;
            }
            Message::Request { id, method, .. } if method == "ping" => {
                self.reply_later(message::result(&id, &json!({})));
                return false;
            }
            Message::Request { id, method, params } => match self.asked.note(&id) {
                Some(token) => InboundMessage::Request { token, method, params: or_null(params), on },
                None => {
                    let busy = json!({ "code": INTERNAL_ERROR, "message": "too many requests are open" });
                    self.reply_later(message::error(Some(&id), &busy));
                    return false;
                }
            },
        };
        if self.sink.put(item, bytes).await.is_err() {
            self.end(
                "the server sends more than is taken from it",
                "Taskwarden reconnects automatically; if it happens again, the server floods its clients.",
            );
        }
        false
    }

    /// Answers without holding up the stream, a few at a time.
    fn reply_later(self: &Arc<Self>, bytes: serde_json::Result<Vec<u8>>) {
        let (Ok(bytes), Ok(permit)) = (bytes, self.pongs.clone().try_acquire_owned()) else { return };
        let wire = self.clone();
        self.supervisor.spawn("http ping answer", async move {
            let _ = wire.tell(bytes, wire.legacy_headers()).await;
            drop(permit);
        });
    }
}
