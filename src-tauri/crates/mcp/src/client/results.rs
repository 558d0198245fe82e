//! Payloads of 2025 tasks, and the one `tasks/result` that stays open while a task wants input (protocol.md §1.4, §1.6).
//!
//! The open one gives the server a stream to ask on. When it ends with a result, that is kept until the next look, so
//! that nothing is fetched twice and a server that forgets a task on delivery loses nothing. What it ends with says
//! nothing about the task's status: the next look does.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use domain::ports::UpstreamEvent;
use domain::task::status::{Outcome, TaskStatus};
use domain::time::Timestamp;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::connection::Connection;
use crate::dialect::{experimental2025, task_params};
use crate::link::{Answer, LinkError, Outgoing, Tag};
use crate::view::{Fault, TaskFacts};

/// What is known of the results of one connection.
#[derive(Default)]
pub(crate) struct Results {
    tasks: HashMap<UpstreamTaskId, ResultState>,
    streams: HashMap<Tag, UpstreamTaskId>,
    kept_bytes: usize,
}

#[derive(Default)]
struct ResultState {
    /// The open request.
    open: Option<(Tag, Arc<Notify>)>,
    /// What it ended with.
    kept: Option<Answer>,
    /// It ended while the task was not over: from then on only regular looks open it again, lest a server that
    /// answers at once be asked in a circle.
    early_ends: u32,
    /// Fetches of a finished task that brought nothing.
    failures: u32,
}

impl Results {
    /// The task whose open result this stream is.
    pub(crate) fn task_of(&self, tag: Tag) -> Option<&UpstreamTaskId> {
        self.streams.get(&tag)
    }

    fn take_kept(&mut self, task: &UpstreamTaskId) -> Option<Answer> {
        let kept = self.tasks.get_mut(task)?.kept.take()?;
        self.kept_bytes = self.kept_bytes.saturating_sub(size(&kept));
        Some(kept)
    }

    /// Forgets a task; returns the request to give up.
    fn forget(&mut self, task: &UpstreamTaskId) -> Option<Tag> {
        self.take_kept(task);
        let (tag, _) = self.tasks.remove(task)?.open?;
        self.streams.remove(&tag);
        Some(tag)
    }

    fn ended(&mut self, task: &UpstreamTaskId, tag: Tag, answer: Option<Answer>, room: usize) -> bool {
        self.streams.remove(&tag);
        let Some(state) = self.tasks.get_mut(task) else { return false };
        let Some((_, told)) = state.open.take_if(|(open, _)| *open == tag) else { return false };
        let tell = state.early_ends == 0;
        if let Some(answer) = answer
            && self.kept_bytes.saturating_add(size(&answer)) <= room
        {
            self.kept_bytes = self.kept_bytes.saturating_add(size(&answer));
            state.kept = Some(answer);
        }
        told.notify_waiters();
        tell
    }
}

fn size(answer: &Answer) -> usize {
    match answer {
        Answer::Result(raw) | Answer::Error(raw) => raw.get().len(),
    }
}

impl Connection {
    /// Completes what `tasks/get` said: fetches the payload at the end, opens the stream for questions before.
    pub(crate) async fn with_result(
        self: &Arc<Self>,
        task: &UpstreamTaskId,
        facts: TaskFacts,
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

    /// The task is over or unknown: gives up what is open for it.
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

    /// A result that came while the task goes on is not its last one.
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
                let fault = Fault::read(&raw, &self.policy);
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

fn request(task: &UpstreamTaskId, tag: Tag, limit: Option<std::time::Duration>) -> Outgoing {
    let (method, params) = (experimental2025::RESULT.into(), task_params(task));
    Outgoing { method, params, verbatim: Vec::new(), tag, limit, param_headers: Vec::new(), agent_params: None }
}
