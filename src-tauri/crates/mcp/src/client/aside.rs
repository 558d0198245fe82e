//! Who hears what a server says on the way to one answer: progress under its token, and its own stream.
//!
//! By tag, which is the progress token too. A call of 2025 that became a task keeps its ear until the task is over
//! (protocol.md §1.7). Links tell here first, so that what was said before an answer is heard before it. Nothing here waits: an ear that is full loses progress, which the next one makes up for.

use std::collections::HashMap;

use domain::task::payload::Payload;
use domain::ports::CallListener;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::link::{HearsAside, Tag};
use crate::message::text::member;

/// What arrives on a request's stream or under its token.
#[derive(Debug)]
pub enum Heard {
    /// `notifications/progress`: its whole params, the token still ours.
    Progress(Box<RawValue>),
    /// `notifications/message`: its whole params.
    Log(Box<RawValue>),
    /// Any other notification on the request's stream.
    Other {
        /// Its method.
        method: String,
        /// Its params; `null` when there were none.
        params: Box<RawValue>,
    },
    /// A request of a server of the older eras, to be answered by [`Forward::respond`](super::Forward::respond).
    Asked {
        /// Names it on its connection.
        token: String,
        /// Its method.
        method: String,
        /// Its params; `null` when there were none.
        params: Box<RawValue>,
    },
}

impl Heard {
    fn of(method: &str, params: &RawValue) -> Self {
        let params = params.to_owned();
        match method {
            "notifications/progress" => Self::Progress(params),
            "notifications/message" => Self::Log(params),
            _ => Self::Other { method: method.to_owned(), params },
        }
    }
}

/// One ear.
#[derive(Clone)]
pub(crate) enum Ear {
    /// Of a call.
    Call(CallListener),
    /// Of a forwarded request.
    Forward(mpsc::Sender<Heard>),
}

/// The ears of one connection.
pub(crate) struct Ears {
    by_tag: Mutex<HashMap<u64, Ear>>,
    /// In the modern era a log message belongs to a request, and a pipe does not say to which; it can be told when there
    /// is only one.
    modern: bool,
}

impl HearsAside for Ears {
    fn told(&self, method: &str, params: &RawValue, on: Option<Tag>) -> bool {
        match method {
            "notifications/progress" => {
                let token = member(params.get(), "progressToken");
                let tag = token.and_then(|token| token.trim_matches('"').parse().ok());
                if let Some(tag) = tag {
                    self.tell(Tag(tag), method, params);
                }
                // The engine hears of it as well.
                false
            }
            // To everybody, or about tasks, whatever stream they come on.
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
                let is_log = self.modern && method == "notifications/message";
                let on = on.or_else(|| self.only().filter(|_| is_log));
                on.is_some_and(|tag| self.tell(tag, method, params))
            }
        }
    }
}

impl Ears {
    pub(crate) fn new(modern: bool) -> Self {
        Self { by_tag: Mutex::default(), modern }
    }

    /// Somebody listens to this tag.
    pub(crate) fn put(&self, tag: Tag, ear: Ear) {
        self.by_tag.lock().insert(tag.0, ear);
    }

    /// Nobody listens any more.
    pub(crate) fn remove(&self, tag: Tag) {
        self.by_tag.lock().remove(&tag.0);
    }

    /// Tells whoever listens to this tag. Returns whether anybody does.
    fn tell(&self, tag: Tag, method: &str, params: &RawValue) -> bool {
        let Some(ear) = self.by_tag.lock().get(&tag.0).cloned() else { return false };
        match ear {
            Ear::Call(CallListener(listener)) => listener.heard(method, Payload::new(params.get())),
            // Full: the reader is behind, and newer progress will come. Closed: the answer is here.
            Ear::Forward(to) => drop(to.try_send(Heard::of(method, params))),
        }
        true
    }

    /// Whether a forwarded request listens to this tag.
    pub(crate) fn forwards(&self, tag: Tag) -> bool {
        matches!(self.by_tag.lock().get(&tag.0), Some(Ear::Forward(_)))
    }

    /// Hands a question over. Returns whether it was taken.
    pub(crate) fn ask(&self, tag: Tag, asked: Heard) -> bool {
        match self.by_tag.lock().get(&tag.0) {
            Some(Ear::Forward(to)) => to.try_send(asked).is_ok(),
            Some(Ear::Call(_)) | None => false,
        }
    }

    /// The only tag that anybody listens to: on a wire without streams it is whose message this is.
    pub(crate) fn only(&self) -> Option<Tag> {
        let ears = self.by_tag.lock();
        let mut tags = ears.keys();
        tags.next().filter(|_| tags.next().is_none()).map(|tag| Tag(*tag))
    }
}
