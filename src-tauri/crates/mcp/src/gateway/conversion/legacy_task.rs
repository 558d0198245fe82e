//! A task in the words of 2025-11-25, and what ties messages to it (protocol.md §7.3).
//!
//! What an agent may see of a task is decided by [`agent_view`] alone; here it gets its spelling.

use std::borrow::Cow;
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::task::status::{Outcome, ServerView, TaskStatus, Ttl};
use domain::task::{AgentFailure, AgentView, TaskHandle, agent_failure, agent_task_times, agent_view};
use domain::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::gateway::conversion::raw_json::{raw, with_meta};
use crate::gateway::model_text::ended;
use crate::wire::dialect::experimental2025::RELATED_TASK;
use crate::wire::raw_json::{text_member, with_members};

/// A task of 2025-11-25 as its agent sees it.
pub(crate) struct LegacyTask {
    pub(crate) status: &'static str,
    pub(crate) raw: Box<RawValue>,
}

impl LegacyTask {
    /// Whether the status never changes again.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status, "completed" | "failed" | "cancelled")
    }
}

/// The task as its agent sees it now; `None` when it does not see it. `theirs` is the server's own task object where it
/// speaks this dialect: members that the gateway does not write stay. `interval` is that of its polls, where it is another than
/// the task's.
pub(crate) fn legacy_task(
    handle: &TaskHandle,
    theirs: Option<&RawValue>,
    interval: Option<Duration>,
    now: Timestamp,
    policy: &Policy,
) -> Option<LegacyTask> {
    let sight = agent_view(handle, now);
    let status = status(handle, &sight)?;
    let facts = agent_task_times(handle, policy);
    let theirs = theirs.map_or("{}", RawValue::get);
    let quoted = |text: &str| Cow::Owned(Value::from(text).to_string());
    let mut set = vec![("taskId", quoted(&handle.id.to_string())), ("status", quoted(status))];
    let mut drop = Vec::new();
    // The server's message stays as it spelled it, unless the agent sees something else.
    let is_cancelled_here = sight == AgentView::Cancelled && ended::cancelled_by_others(handle).is_some();
    if is_cancelled_here || text_member(theirs, "status").as_deref() != Some(status) {
        match message(handle, &sight, now) {
            Some(message) => set.push(("statusMessage", quoted(&message))),
            None => drop.push("statusMessage"),
        }
    }
    set.push(("createdAt", quoted(&facts.created.to_string())));
    set.push(("lastUpdatedAt", quoted(&facts.updated.to_string())));
    let ttl = match facts.ttl {
        Ttl::For(span) => millis(span),
        Ttl::Unlimited | Ttl::Unsaid => Cow::Borrowed("null"),
    };
    set.push(("ttl", ttl));
    set.push(("pollInterval", millis(interval.unwrap_or(facts.hint))));
    Some(LegacyTask { status, raw: raw(with_members(theirs, &set, &drop))? })
}

/// The status message.
fn message(handle: &TaskHandle, sight: &AgentView, now: Timestamp) -> Option<String> {
    let servers = || handle.view.task().and_then(|task| task.message.clone());
    match sight {
        AgentView::Working { message } => message.clone(),
        AgentView::InputRequired { .. } | AgentView::Completed => servers(),
        AgentView::Cancelled => ended::cancelled_by_others(handle).or_else(servers),
        AgentView::Failed => match agent_failure(handle, now)? {
            AgentFailure::Ours(failure) => Some(ended::failed(&failure)),
            AgentFailure::Stored => servers().or_else(|| servers_error(&handle.view)),
        },
        AgentView::Gone => None,
    }
}

fn servers_error(view: &ServerView) -> Option<String> {
    match view {
        ServerView::Refused(error) => Some(error.message.clone()),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Failed(error) => error.as_ref().map(|error| error.message.clone()),
            TaskStatus::Completed(Outcome::Error(error)) => Some(error.message.clone()),
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => None,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_) => None,
    }
}

/// The status of the task as its agent sees it now.
pub(crate) fn status_of(handle: &TaskHandle, now: Timestamp) -> Option<&'static str> {
    status(handle, &agent_view(handle, now))
}

/// The status of this dialect, in which a tool error is a failure (protocol.md §0.6).
fn status(handle: &TaskHandle, sight: &AgentView) -> Option<&'static str> {
    Some(match sight {
        AgentView::Working { .. } => "working",
        AgentView::InputRequired { .. } => "input_required",
        AgentView::Completed if is_tool_error(&handle.view) => "failed",
        AgentView::Completed => "completed",
        AgentView::Failed => "failed",
        AgentView::Cancelled => "cancelled",
        AgentView::Gone => return None,
    })
}

/// Whether the work ended with an error in its result.
pub(crate) fn is_tool_error(view: &ServerView) -> bool {
    let outcome = match view {
        ServerView::Direct(outcome) => outcome,
        ServerView::Task(task) => match &task.status {
            TaskStatus::Completed(outcome) => outcome,
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Failed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => return false,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Refused(_) => return false,
    };
    match outcome {
        Outcome::ToolError(_) | Outcome::FailedWithResult(_) => true,
        Outcome::Ok(_) | Outcome::Error(_) | Outcome::NotFetched | Outcome::Unavailable => false,
    }
}

fn millis(span: Duration) -> Cow<'static, str> {
    Cow::Owned(span.as_millis().to_string())
}

/// `_meta` that ties a message to a task of 2025-11-25.
pub(crate) fn related(id: HandleId) -> Value {
    json!({RELATED_TASK: {"taskId": id.to_string()}})
}

/// The message with `_meta` that ties it to this task.
pub(crate) fn tied(object: &str, id: HandleId) -> String {
    let tie = json!({"taskId": id.to_string()}).to_string();
    with_meta(object, RELATED_TASK, &tie)
}

/// The params of a progress notification about a task.
pub(crate) fn progress(token: &Value, progress: &domain::task::observation::Progress) -> Option<Map<String, Value>> {
    let mut params = Map::new();
    params.insert("progressToken".to_owned(), token.clone());
    params.insert("progress".to_owned(), number(progress.done?));
    if let Some(total) = progress.total {
        params.insert("total".to_owned(), number(total));
    }
    if let Some(message) = &progress.message {
        params.insert("message".to_owned(), message.as_str().into());
    }
    Some(params)
}

/// The number, without a fraction where it is whole: `3`, not `3.0`.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Value::from(value as i64);
    }
    Value::from(value)
}

#[cfg(test)]
mod tests;
