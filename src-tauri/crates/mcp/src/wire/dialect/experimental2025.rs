//! The experimental tasks of 2025-11-25: the caller asks for a task, fetches its result separately, and answers
//! questions as requests (protocol.md §1).
//!
//! A task is nested under `task` at creation and flat elsewhere. Which task a question belongs to is found out in
//! `upstream/elicitation.rs`.

use bytestring::ByteString;
use domain::ids::UpstreamTaskId;
use domain::policy::Policy;
use domain::ports::{CallReply, ListedTasks};
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use domain::task::status::{Outcome, RpcError, TaskStatus};
use serde_json::value::RawValue;

use crate::wire::dialect::{ResultKind, as_raw};
use crate::wire::error_codes::{INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::wire::message::Answer;
use crate::wire::view::{JsonFields, Misread, ServerError, SightingTimes, TaskFields, plain_outcome, task_id};

pub(crate) const RESULT: &str = "tasks/result";
pub(crate) const LIST: &str = "tasks/list";
pub(crate) const PUSHED: &str = "notifications/tasks/status";
/// Ties a message to a task.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Asks for a task with a call; an empty object is a valid opt-in.
pub(crate) const OPT_IN: (&str, ByteString) = ("task", ByteString::from_static("{}"));

/// Reads the reply to a call. A plain result that happens to have a member `task` stays a result unless a task was
/// asked for.
pub(crate) fn read_call(
    text: &ByteString,
    augmented: bool,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<CallReply, Misread> {
    let kind = ResultKind::of(text);
    if let Some(plain) = kind.as_ref().filter(|kind| kind.task.is_none()) {
        return Ok(plain.reply(text));
    }
    let result = JsonFields::of(as_raw(text)?, "$.result")?;
    if let Some(task) = result.object_or_none("task")
        && (augmented || result.get("content").is_none())
    {
        let facts = TaskFields::read(&task, policy)?;
        return Ok(CallReply::Task { id: facts.id.clone(), seen: facts.seen(glimpse, policy) });
    }
    Ok(kind.unwrap_or_default().reply(text))
}

/// Reads the reply to `tasks/get` or `tasks/cancel`: flat, though some nest it as at creation.
pub(crate) fn read_task(raw: &RawValue, asked: &UpstreamTaskId, policy: &Policy) -> Result<TaskFields, Misread> {
    let result = JsonFields::of(raw, "$.result")?;
    match result.object_or_none("task") {
        Some(task) if result.get("taskId").is_none() => TaskFields::read_asked(&task, asked, policy),
        Some(_) | None => TaskFields::read_asked(&result, asked, policy),
    }
}

/// Reads the params of `notifications/tasks/status`.
pub(crate) fn read_pushed(
    params: &JsonFields<'_>,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<(UpstreamTaskId, Observation), Misread> {
    let facts = TaskFields::read(params, policy)?;
    Ok((facts.id.clone(), facts.seen(glimpse, policy)))
}

/// Reads one page of `tasks/list`. An entry that cannot be read does not hide the others; their number is returned.
pub(crate) fn read_list(
    raw: &RawValue,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<(ListedTasks, usize), Misread> {
    let result = JsonFields::of(raw, "$.result")?;
    let entries = result.list("tasks")?;
    let count = entries.len();
    let listed = SightingTimes { door: ObservationDoor::List, ..glimpse };
    let tasks: Vec<_> = entries
        .into_iter()
        .filter_map(|raw| {
            let fields = JsonFields::of(raw, "$.result.tasks[…]").ok()?;
            let facts = TaskFields::read(&fields, policy).ok()?;
            Some((facts.id.clone(), facts.seen(listed, policy)))
        })
        .collect();
    let unread = count - tasks.len();
    Ok((ListedTasks { tasks, next: result.text("nextCursor").filter(|next| !next.is_empty()) }, unread))
}

/// What `tasks/result` brought for a task whose last word is known. An error there is the task's outcome
/// (statement 32), and a `failed` task with a result is one whose tool reported an error. The server's word stays as it
/// came (ruling 45).
pub(crate) fn outcome(word: &TaskStatus, answer: &Answer, policy: &Policy) -> (TaskStatus, Option<Payload>) {
    match answer {
        Answer::Error(raw) => {
            let ServerError { error, payload, .. } = ServerError::read(raw, policy);
            let status = match word {
                TaskStatus::Completed(_) => TaskStatus::Completed(Outcome::Error(error)),
                TaskStatus::Failed(_)
                | TaskStatus::Cancelled
                | TaskStatus::Working
                | TaskStatus::InputRequired
                | TaskStatus::Other(_) => TaskStatus::Failed(Some(error)),
            };
            (status, Some(payload))
        }
        Answer::Result(raw) => {
            let (outcome, payload) = plain_outcome(raw);
            let outcome = match (word, outcome) {
                (TaskStatus::Failed(_), Outcome::Ok(size) | Outcome::ToolError(size)) => {
                    Outcome::FailedWithResult(size)
                }
                (_, outcome) => outcome,
            };
            (TaskStatus::Completed(outcome), Some(payload))
        }
    }
}

/// Whether an error of `tasks/result` says that the payload is not to be had, instead of being the outcome: the
/// server says the task completed, and knows no such task or method all the same.
pub(crate) fn is_withheld(word: &TaskStatus, error: &RpcError) -> bool {
    let completed = matches!(word, TaskStatus::Completed(_));
    completed && (error.code == INVALID_PARAMS || error.code == METHOD_NOT_FOUND)
}

/// The task a message says it belongs to.
pub(crate) fn related_task(params: &JsonFields<'_>, policy: &Policy) -> Option<UpstreamTaskId> {
    let related = params.object_or_none("_meta")?.object_or_none(RELATED_TASK)?;
    task_id(&related, policy).ok()
}
