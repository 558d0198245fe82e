//! A task in the words of 2026-07-28.
//!
//! Fields of the server that the gateway does not know stay as they were; result, error and questions go in as they came,
//! with their identities exchanged before. The words of 2025-11-25 are `legacy_task.rs`.

use std::time::Duration;

use domain::policy::Policy;
use domain::task::payload::Payload;
use domain::task::status::Ttl;
use domain::task::{AgentView, ResultForm, TaskHandle, agent_task_times, agent_view};
use domain::time::Timestamp;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::meta::{META_SERVER, server_info};
use crate::gateway::conversion::raw_json::ObjectWriter;
use crate::gateway::model_text::ended;
use crate::server::request_params::members;
use crate::server::rpc_error::RequestError;

/// The members of a task object that the gateway writes.
const OWN_MEMBERS: [&str; 11] = [
    "resultType",
    "taskId",
    "status",
    "statusMessage",
    "createdAt",
    "lastUpdatedAt",
    "ttlMs",
    "pollIntervalMs",
    "result",
    "error",
    "inputRequests",
];

/// What a finished task ended with, for its agent.
pub(crate) enum TaskEnd {
    /// What the call returned, in the form that its agent gets.
    Result { text: Payload, form: ResultForm },
    /// A sentence of the gateway's in place of a result, as an ordinary result.
    Note(Payload),
    /// The error it ended with.
    Error(Box<RawValue>),
}

/// The parts of a task that are not known from its row.
#[derive(Default)]
pub(crate) struct ModernTaskFields {
    /// The server's task object, for the fields that the gateway does not know.
    pub(crate) theirs: Option<Box<RawValue>>,
    pub(crate) end: Option<TaskEnd>,
    /// `inputRequests` of a task that waits for answers.
    pub(crate) asks: Option<Box<RawValue>>,
    /// The poll interval, where it is another than the task's.
    pub(crate) interval: Option<Duration>,
}

/// The status of this dialect; `None` for a task that the agent does not see.
pub(crate) fn status(sight: &AgentView) -> Option<&'static str> {
    match sight {
        AgentView::Working { .. } => Some("working"),
        AgentView::InputRequired { .. } => Some("input_required"),
        AgentView::Completed => Some("completed"),
        AgentView::Failed => Some("failed"),
        AgentView::Cancelled => Some("cancelled"),
        AgentView::Gone => None,
    }
}

/// The task as its agent sees it now. `kind` is `task` for a new task, `complete` for a poll, `None` for a notification.
///
/// # Errors
/// The one answer, when the agent does not see it any more.
pub(crate) fn task(
    handle: &TaskHandle,
    kind: Option<&str>,
    fields: ModernTaskFields,
    now: Timestamp,
    policy: &Policy,
) -> Result<ObjectWriter, RequestError> {
    let sight = agent_view(handle, now);
    let status = status(&sight).ok_or_else(RequestError::unknown_task)?;
    let facts = agent_task_times(handle, policy);
    let mut task = ObjectWriter::new();
    if let Some(kind) = kind {
        task.set("resultType", &kind);
    }
    task.set("taskId", &handle.id.to_string());
    task.set("status", &status);
    if let Some(message) = message(handle, &sight) {
        task.set("statusMessage", &message);
    }
    task.set("createdAt", &facts.created.to_string());
    task.set("lastUpdatedAt", &facts.updated.to_string());
    match facts.ttl {
        Ttl::For(span) => task.set("ttlMs", &millis(span)),
        Ttl::Unlimited | Ttl::Unsaid => task.raw("ttlMs", "null"),
    }
    task.set("pollIntervalMs", &millis(fields.interval.unwrap_or(facts.hint)));
    let mut meta = None;
    for (name, value) in fields.theirs.as_deref().and_then(|said| members(said.get())).into_iter().flatten() {
        if name == "_meta" {
            meta = Some(value.to_owned());
        } else if !OWN_MEMBERS.contains(&&*name) {
            task.raw(&name, value.get());
        }
    }
    match (&sight, fields.end, fields.asks) {
        (AgentView::Completed, Some(TaskEnd::Result { text, .. } | TaskEnd::Note(text)), _) => {
            task.raw("result", text.as_str())
        }
        (AgentView::Failed, Some(TaskEnd::Error(error)), _) => task.raw("error", error.get()),
        (AgentView::InputRequired { .. }, _, Some(asks)) => task.raw("inputRequests", asks.get()),
        _ => {}
    }
    if let Some(meta) = meta.filter(|_| kind.is_some()) {
        task.raw("_meta", meta.get());
    } else if kind.is_some() {
        task.set("_meta", &json!({META_SERVER: server_info()}));
    }
    Ok(task)
}

/// The status message: what people are doing about the task, else what the server says.
pub(crate) fn message(handle: &TaskHandle, sight: &AgentView) -> Option<String> {
    let servers = || handle.view.task().and_then(|task| task.message.clone());
    match sight {
        AgentView::Working { message } => message.clone(),
        AgentView::Cancelled => ended::cancelled_by_others(handle).or_else(servers),
        AgentView::InputRequired { .. } | AgentView::Completed | AgentView::Failed | AgentView::Gone => servers(),
    }
}

pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
