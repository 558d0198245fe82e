//! Reads what the server sends outside of answers, in order of arrival (statement 14).
//!
//! It waits neither for the wire nor for the engine, so that replies behind a message are not delayed. Server text is
//! logged at trace level only.

use std::pin::Pin;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::ports::{Closure, UpstreamEvent, UpstreamSubject};
use domain::task::observation::{Observation, ObservationDoor, Progress};
use domain::task::status::{Outcome, TaskStatus};
use futures::StreamExt;
use futures_core::Stream;
use serde_json::value::RawValue;

use super::connection::Connection;
use crate::upstream::negotiation::Generation;
use crate::upstream::transport::link::{InboundMessage, NotificationListener, RequestTag};
use crate::wire::dialect::{experimental2025, extension2026};
use crate::wire::view::JsonFields;

/// Reads until the link ends, then ends everything on this connection.
pub(crate) async fn listen(
    connection: Arc<Connection>,
    mut inbound: Pin<Box<dyn Stream<Item = InboundMessage> + Send>>,
) {
    let mut closure = None;
    while let Some(said) = inbound.next().await {
        match said {
            InboundMessage::Request { token, method, params, on } => connection.asked(token, &method, &params, on),
            InboundMessage::Notification { method, params, on } => connection.told(&method, &params, on).await,
            InboundMessage::StreamBack => connection.look_at_all(),
            InboundMessage::StreamLost => connection.events.push(UpstreamEvent::StreamLost),
            InboundMessage::Closed(last) => {
                closure = Some(last);
                break;
            }
        }
    }
    connection.end(closure.unwrap_or_else(|| Closure {
        why: "the connection ended".into(),
        hint: "Taskwarden reconnects automatically.".into(),
        process_ended: false,
    }));
}

impl Connection {
    async fn told(self: &Arc<Self>, method: &str, params: &RawValue, on: Option<RequestTag>) {
        let Ok(fields) = JsonFields::of(params, "$.params") else {
            if method == "notifications/tools/list_changed" {
                self.tools_changed();
            }
            if method.ends_with("/list_changed") {
                self.broadcast.tell(method, params);
            }
            return;
        };
        match method {
            "notifications/progress" => self.progressed(&fields, params),
            experimental2025::PUSHED if self.generation == Generation::Experimental2025 => self.pushed(&fields, params),
            extension2026::PUSHED if self.generation == Generation::Extension2026 => self.pushed(&fields, params),
            extension2026::LISTEN_ACK => self.acknowledged(&fields, on),
            "notifications/cancelled" => match self.generation {
                Generation::Experimental2025 => {
                    if let Some(id) = fields.get("requestId") {
                        self.taken_back(id.get());
                    }
                }
                Generation::Extension2026 => self.subscription_cancelled(on).await,
            },
            "notifications/elicitation/complete" => {
                if let Some(elicitation) =
                    fields.text("elicitationId").filter(|id| id.len() <= self.policy.task_id_cap_bytes)
                {
                    self.events.push(UpstreamEvent::VisitDone { elicitation });
                }
                self.broadcast.tell(method, params);
            }
            "notifications/tools/list_changed" => {
                self.tools_changed();
                self.broadcast.tell(method, params);
            }
            // A push of the other dialect: there is no task it could be about.
            experimental2025::PUSHED | extension2026::PUSHED => {
                tracing::trace!(bytes = params.get().len(), "a notification is not for us");
            }
            _ => self.passed_on(method, params, on),
        }
    }

    /// Routes log messages, updates and unknown notifications to the request of their stream, else to everybody. A
    /// modern log message belongs to one request or to none.
    fn passed_on(&self, method: &str, params: &RawValue, on: Option<RequestTag>) {
        let modern_log = self.generation == Generation::Extension2026 && method == "notifications/message";
        if (self.link_notifies_listeners || !self.listeners.told(method, params, on)) && !modern_log {
            self.broadcast.tell(method, params);
        }
    }

    fn progressed(&self, params: &JsonFields<'_>, raw: &RawValue) {
        let token = params.get("progressToken").and_then(|token| token.get().trim_matches('"').parse::<u64>().ok());
        if !self.link_notifies_listeners {
            self.listeners.told("notifications/progress", raw, None);
        }
        let by_token = token.and_then(|tag| self.calls.lock().ticket_of(tag));
        let subject = match (by_token, experimental2025::related_task(params, &self.policy)) {
            (Some(ticket), _) => UpstreamSubject::Call(ticket),
            (None, Some(task)) => UpstreamSubject::Task(task),
            (None, None) => return,
        };
        let progress = Progress {
            done: params.number("progress"),
            total: params.number("total"),
            message: params.words("message", &self.policy),
        };
        self.events.push(UpstreamEvent::Progress(subject, progress));
    }

    fn pushed(self: &Arc<Self>, params: &JsonFields<'_>, message: &RawValue) {
        let now = self.clock.now();
        let glimpse = self.glimpse(ObservationDoor::Push, now);
        let read = match self.generation {
            Generation::Experimental2025 => experimental2025::read_pushed(params, glimpse, &self.policy),
            Generation::Extension2026 => extension2026::read_pushed(params, glimpse, &self.policy),
        };
        match read {
            Ok((task, seen)) => self.sighted(task, extension2026::with_raw(seen, message, &self.policy)),
            Err(misread) => {
                tracing::debug!(path = %misread.path, "a pushed status cannot be read: {}", misread.why);
                // The task id may still be readable; a poll shows the rest.
                if let Some(task) = params.text("taskId").map(UpstreamTaskId::new)
                    && self.lives_here(&task)
                {
                    self.events.push(UpstreamEvent::PollSoon(task));
                }
            }
        }
    }

    fn sighted(self: &Arc<Self>, task: UpstreamTaskId, seen: Observation) {
        if self.lives_here(&task) {
            self.note_status(&task, &seen.status);
        }
        let look = match &seen.status {
            TaskStatus::Completed(Outcome::NotFetched) => true,
            TaskStatus::Failed(_) => seen.payload.is_none(),
            TaskStatus::InputRequired => {
                if self.generation == Generation::Experimental2025 && self.lives_here(&task) {
                    self.open_result(&task);
                }
                // Only a poll says which questions are gone (ruling 1).
                self.generation == Generation::Extension2026 && seen.outstanding.is_none()
            }
            TaskStatus::Completed(_) | TaskStatus::Cancelled => {
                self.forget(&task);
                false
            }
            TaskStatus::Working | TaskStatus::Other(_) => false,
        };
        self.events.push(UpstreamEvent::Seen(task.clone(), Box::new(seen)));
        if look {
            self.events.push(UpstreamEvent::PollSoon(task));
        }
    }

    fn tools_changed(&self) {
        self.drop_tools();
        self.events.push(UpstreamEvent::ToolsChanged);
    }

    fn look_at_all(&self) {
        self.broadcast.missed();
        let watched = self.events.watched();
        watched.iter().cloned().map(UpstreamEvent::PollSoon).for_each(|look| self.events.push(look));
    }
}
