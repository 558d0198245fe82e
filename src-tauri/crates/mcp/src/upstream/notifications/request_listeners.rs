//! Routes progress and stream messages of one request to its listener, by tag.
//!
//! The tag is the progress token too; a 2025 call that became a task keeps its listener until the task ends
//! (protocol.md §1.7). Links call it before they deliver an answer, so that nothing said before the answer comes after
//! it. It never waits: a full listener loses progress, and newer progress follows.

use std::collections::HashMap;

use domain::ports::CallListener;
use domain::task::payload::Payload;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::upstream::notifications::log_messages::LogMessages;
use crate::upstream::transport::link::{NotificationListener, RequestTag};
use crate::wire::raw_json::member;

/// A message on a request's stream, or progress under its token.
#[derive(Debug)]
pub enum RequestEvent {
    /// `notifications/progress`: its whole params, the token still ours.
    Progress(Box<RawValue>),
    /// `notifications/message`: its whole params.
    Log(Box<RawValue>),
    /// Any other notification on the request's stream.
    Other {
        /// The JSON-RPC method.
        method: String,
        /// Its params; `null` when there were none.
        params: Box<RawValue>,
    },
    /// A request of a server of the older eras, to be answered by [`Forward::respond`](crate::upstream::Forward::respond).
    Asked {
        /// Names it on its connection.
        token: String,
        /// The JSON-RPC method.
        method: String,
        /// Its params; `null` when there were none.
        params: Box<RawValue>,
    },
}

impl RequestEvent {
    fn of(method: &str, params: &RawValue) -> Self {
        let params = params.to_owned();
        match method {
            "notifications/progress" => Self::Progress(params),
            "notifications/message" => Self::Log(params),
            _ => Self::Other { method: method.to_owned(), params },
        }
    }
}

/// Where messages for one request go.
#[derive(Clone)]
pub(crate) enum RequestListener {
    /// The listener of an engine's call.
    Call(CallListener),
    /// The channel of a forwarded request.
    Forward(mpsc::Sender<RequestEvent>),
}

/// The listeners of one connection.
pub(crate) struct RequestListeners {
    by_tag: Mutex<HashMap<u64, RequestListener>>,
    /// In the modern era a log message belongs to a request, and a pipe does not say to which; it is known when there
    /// is only one.
    modern: bool,
    /// The server's log, to which its messages go besides.
    log: Option<LogMessages>,
}

impl NotificationListener for RequestListeners {
    fn told(&self, method: &str, params: &RawValue, on: Option<RequestTag>) -> bool {
        match method {
            "notifications/progress" => {
                let token = member(params.get(), "progressToken");
                let tag = token.and_then(|token| token.trim_matches('"').parse().ok());
                if let Some(tag) = tag {
                    self.tell(RequestTag(tag), method, params);
                }
                // The engine gets it as well.
                false
            }
            // These are for everybody, or about tasks, on whichever stream they arrive.
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
            | "notifications/elicitation/complete"
            | "notifications/subscriptions/acknowledged"
            | "notifications/cancelled"
            | "notifications/tasks"
            | "notifications/tasks/status" => false,
            _ => {
                let is_message = method == "notifications/message";
                if let Some(log) = self.log.as_ref().filter(|_| is_message) {
                    log.push(params);
                }
                let is_log = self.modern && is_message;
                let on = on.or_else(|| self.only().filter(|_| is_log));
                on.is_some_and(|tag| self.tell(tag, method, params))
            }
        }
    }
}

impl RequestListeners {
    pub(crate) fn new(modern: bool, log: Option<LogMessages>) -> Self {
        Self { by_tag: Mutex::default(), modern, log }
    }

    /// Adds a listener for this tag.
    pub(crate) fn put(&self, tag: RequestTag, listener: RequestListener) {
        self.by_tag.lock().insert(tag.0, listener);
    }

    /// Removes the listener of this tag.
    pub(crate) fn remove(&self, tag: RequestTag) {
        self.by_tag.lock().remove(&tag.0);
    }

    /// Sends to the listener of this tag. Returns whether there is one.
    fn tell(&self, tag: RequestTag, method: &str, params: &RawValue) -> bool {
        let Some(listener) = self.by_tag.lock().get(&tag.0).cloned() else { return false };
        match listener {
            RequestListener::Call(CallListener(listener)) => listener.heard(method, Payload::new(params.get())),
            // Full: the reader is behind, and newer progress follows. Closed: the request has its answer.
            RequestListener::Forward(to) => drop(to.try_send(RequestEvent::of(method, params))),
        }
        true
    }

    /// Whether the listener of this tag is a forwarded request.
    pub(crate) fn forwards(&self, tag: RequestTag) -> bool {
        matches!(self.by_tag.lock().get(&tag.0), Some(RequestListener::Forward(_)))
    }

    /// Passes a question to a forwarded request. Returns whether it was taken.
    pub(crate) fn ask(&self, tag: RequestTag, asked: RequestEvent) -> bool {
        match self.by_tag.lock().get(&tag.0) {
            Some(RequestListener::Forward(to)) => to.try_send(asked).is_ok(),
            Some(RequestListener::Call(_)) | None => false,
        }
    }

    /// The only tag with a listener: on a wire without streams, a message belongs to it.
    pub(crate) fn only(&self) -> Option<RequestTag> {
        let listeners = self.by_tag.lock();
        let mut tags = listeners.keys();
        tags.next().filter(|_| tags.next().is_none()).map(|tag| RequestTag(*tag))
    }
}
