//! Results of 2025 tasks, and the `tasks/result` that stays open while a task wants input (protocol.md §1.4, §1.6).
//!
//! The open request gives the server a stream to ask on. A result that ends it is kept until the next poll, so that
//! nothing is fetched twice. It says nothing about the task's status; the next poll does.

use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::ports::{SendPermit, UpstreamEvent};
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use domain::task::status::{Outcome, TaskStatus};
use domain::time::Timestamp;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use crate::upstream::connection::Connection;
use crate::upstream::transport::link::{Answer, LinkError, OutgoingRequest, RequestTag};
use crate::wire::dialect::{experimental2025, task_params};
use crate::wire::view::{ServerError, TaskFields};

impl Connection {
    /// Completes what `tasks/get` said: fetches the payload at the end, opens the stream for questions before.
    pub(crate) async fn with_result(
        self: &Arc<Self>,
        task: &UpstreamTaskId,
        facts: TaskFields,
        begun: Timestamp,
    ) -> Observation {
        match facts.status.clone() {
            word @ (TaskStatus::Completed(_) | TaskStatus::Failed(_)) => {
                let (status, payload) = self.terminal(task, word).await;
                facts.seen_as(self.glimpse(ObservationDoor::Poll, begun), status, None, payload, &self.policy)
            }
            TaskStatus::InputRequired => {
                self.note_not_over(task);
                self.open_result(task);
                facts.seen(self.glimpse(ObservationDoor::Poll, begun), &self.policy)
            }
            TaskStatus::Working | TaskStatus::Other(_) => {
                self.note_not_over(task);
                facts.seen(self.glimpse(ObservationDoor::Poll, begun), &self.policy)
            }
            TaskStatus::Cancelled => facts.seen(self.glimpse(ObservationDoor::Poll, begun), &self.policy),
        }
    }

    /// Makes sure that one `tasks/result` of this task is open. Also called when a push says `input_required`.
    pub(crate) fn open_result(self: &Arc<Self>, task: &UpstreamTaskId) {
        let tag = self.next_tag();
        {
            let mut results = self.results.lock();
            let most = usize::try_from(self.policy.open_calls_per_server).unwrap_or(usize::MAX);
            if results.streams.len() >= most {
                tracing::debug!("no further blocking results are opened on this connection");
                return;
            }
            let state = results.tasks.entry(task.clone()).or_default();
            if state.open.is_some() || state.kept.is_some() {
                return;
            }
            state.open = Some((tag, Arc::new(Notify::new())));
            results.streams.insert(tag, task.clone());
        }
        let (connection, task) = (Arc::clone(self), task.clone());
        self.scope.spawn("mcp blocking result", async move {
            let answer = connection.link.request(request(&task, tag, None)).await;
            let kept = answer.ok();
            let tell = connection.results.lock().ended(&task, tag, kept, connection.policy.message_cap_bytes);
            if tell {
                connection.events.push(UpstreamEvent::PollSoon(task));
            }
        });
    }

    /// A result that was handed over on the open request and not looked at yet.
    pub(crate) fn kept_result(&self, task: &UpstreamTaskId) -> Option<Box<RawValue>> {
        match self.results.lock().take_kept(task)? {
            Answer::Result(raw) => Some(raw),
            Answer::Error(_) => None,
        }
    }

    /// The task has ended or is unknown: cancels the open request.
    pub(crate) fn forget_result(self: &Arc<Self>, task: &UpstreamTaskId) {
        let open = self.results.lock().forget(task);
        if let Some(tag) = open {
            let connection = Arc::clone(self);
            self.scope.spawn("mcp give up result", async move {
                // Nobody waits for it; a link that cannot say so is ending.
                drop(connection.link.cancel(tag, None).await);
            });
        }
    }

    /// Drops a result that arrived although the task has not ended.
    fn note_not_over(&self, task: &UpstreamTaskId) {
        let mut results = self.results.lock();
        let early = results.take_kept(task).is_some();
        if let Some(state) = results.tasks.get_mut(task) {
            state.failures = 0;
            if early || state.open.is_none() {
                state.early_ends = state.early_ends.saturating_add(1);
            }
        }
    }

    /// Status and payload of a task whose last word is `word`.
    async fn terminal(&self, task: &UpstreamTaskId, word: TaskStatus) -> (TaskStatus, Option<Payload>) {
        self.wait_for_open(task).await;
        let kept = self.results.lock().take_kept(task);
        let fetched = match kept {
            Some(answer) => Ok(answer),
            None => self.link.request(request(task, self.next_tag(), Some(self.policy.reply_limit))).await,
        };
        match fetched {
            Ok(Answer::Error(raw)) => {
                let fault = ServerError::read(&raw, &self.policy);
                if experimental2025::is_withheld(&word, &fault.error) {
                    (self.not_fetched(task, word, true), None)
                } else {
                    experimental2025::outcome(&word, &Answer::Error(raw), &self.policy)
                }
            }
            Ok(answer) => experimental2025::outcome(&word, &answer, &self.policy),
            Err(failed) => {
                let hopeless = matches!(failed, LinkError::Unreadable { .. });
                tracing::debug!(error = %failed, "the result of a finished task could not be fetched");
                (self.not_fetched(task, word, hopeless), None)
            }
        }
    }

    /// What to say of a finished task without its payload. `counts` is for answers that more looks may not better.
    fn not_fetched(&self, task: &UpstreamTaskId, word: TaskStatus, counts: bool) -> TaskStatus {
        let mut results = self.results.lock();
        let state = results.tasks.entry(task.clone()).or_default();
        state.failures = state.failures.saturating_add(u32::from(counts));
        match word {
            TaskStatus::Completed(_) if state.failures >= self.policy.unknown_tries => {
                TaskStatus::Completed(Outcome::Unavailable)
            }
            other => other,
        }
    }

    /// The open request of a finished task is about to end with its result: gives it a moment before another is sent.
    async fn wait_for_open(&self, task: &UpstreamTaskId) {
        let told = match self.results.lock().tasks.get(task).and_then(|state| state.open.as_ref()) {
            Some((_, told)) => Arc::clone(told).notified_owned(),
            None => return,
        };
        // Whether it ended or the moment passed is seen by what is kept.
        drop(tokio::time::timeout(self.policy.open_result_wait, told).await);
    }
}

fn request(task: &UpstreamTaskId, tag: RequestTag, limit: Option<std::time::Duration>) -> OutgoingRequest {
    let (method, params) = (experimental2025::RESULT.into(), task_params(task));
    OutgoingRequest {
        method,
        params,
        verbatim: Vec::new(),
        tag,
        limit,
        param_headers: Vec::new(),
        agent_params: None,
        permit: SendPermit::default(),
    }
}
