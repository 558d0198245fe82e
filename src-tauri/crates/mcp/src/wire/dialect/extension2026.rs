//! The tasks extension of 2026-07-28: the server decides what becomes a task, and questions are data (protocol.md §2.5
//! to §2.7).
//!
//! `tasks/get` carries everything: questions while there are some, the result or error at the end. The link adds the
//! required `_meta` keys; only `progressToken` is set here.

use std::collections::BTreeMap;

use bytestring::ByteString;
use domain::ids::{RequestKey, UpstreamTaskId};
use domain::policy::{Policy, plain_text};
use domain::ports::CallReply;
use domain::raw_message::RawText;
use domain::task::input_request::Ask;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::status::{Outcome, TaskStatus};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::dialect::{ResultKind, as_raw};
use crate::wire::raw_json::meaning;
use crate::wire::view::{JsonFields, Misread, ServerError, SightingTimes, TaskFields, asks, asks_raw, plain_outcome};

pub(crate) const UPDATE: &str = "tasks/update";
pub(crate) const LISTEN: &str = "subscriptions/listen";
/// First on every subscription.
pub(crate) const LISTEN_ACK: &str = "notifications/subscriptions/acknowledged";
pub(crate) const PUSHED: &str = "notifications/tasks";

/// Longest `resultType` quoted in an error. Judgement.
const WORD_CAP_CHARS: usize = 64;

/// The `resultType` of a result.
enum Kind {
    Complete,
    InputRequired,
    Task,
}

fn kind(result: &JsonFields<'_>) -> Result<Kind, Misread> {
    if result.get("resultType").is_none() {
        return Ok(Kind::Complete);
    }
    match result.required_text("resultType")?.as_str() {
        "complete" => Ok(Kind::Complete),
        "input_required" => Ok(Kind::InputRequired),
        "task" => Ok(Kind::Task),
        other => {
            let why = format!("is `{}`, which is no kind of result we know", plain_text(other, WORD_CAP_CHARS));
            Err(Misread::new(result.path("resultType"), why))
        }
    }
}

/// Whether a result is a handle of this generation; asked of servers of the other one, lest a handle be lost.
pub(crate) fn is_handle(result: &str) -> bool {
    let is_task =
        |kind: &ResultKind<'_>| kind.names_task && kind.word.and_then(meaning).is_some_and(|word| word == "task");
    ResultKind::of(result).is_some_and(|kind| is_task(&kind))
}

/// Reads the reply to a call.
pub(crate) fn read_call(text: &ByteString, glimpse: SightingTimes, policy: &Policy) -> Result<CallReply, Misread> {
    let plain = ResultKind::of(text).filter(|kind| matches!(kind.word, None | Some("\"complete\"")));
    if let Some(plain) = plain {
        return Ok(plain.reply(text));
    }
    let raw = as_raw(text)?;
    let result = JsonFields::of(raw, "$.result")?;
    match kind(&result)? {
        Kind::Complete => Ok(ResultKind::of(text).unwrap_or_default().reply(text)),
        Kind::InputRequired => {
            let questions = result.object("inputRequests")?;
            let state = result.get("requestState").map(|raw| domain::task::payload::Payload::new(raw.get()));
            if questions.is_none() && state.is_none() {
                return Err(Misread::new(result.path("inputRequests"), "is missing, and there is no requestState"));
            }
            let asks_raw = questions.as_ref().map(|questions| asks_raw(questions, policy)).unwrap_or_default();
            let questions = questions.map(|questions| asks(&questions, policy)).transpose()?.unwrap_or_default();
            let whole = domain::task::payload::Payload::new(text.clone());
            let raw = (!questions.is_empty()).then(|| RawText::of(raw.get(), policy));
            Ok(CallReply::NeedsInput { questions, state, raw, asks_raw, whole })
        }
        Kind::Task => {
            let facts = TaskFields::read(&result, policy)?;
            let id = facts.id.clone();
            let seen = observation(&result, facts, glimpse, policy)?;
            Ok(CallReply::Task { id, seen: with_raw(seen, raw, policy) })
        }
    }
}

/// Reads the reply to `tasks/get`. The label `"task"` on it is a known slip (statement 24).
pub(crate) fn read_task(
    raw: &RawValue,
    asked: &UpstreamTaskId,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<Observation, Misread> {
    let result = JsonFields::of(raw, "$.result")?;
    match kind(&result)? {
        Kind::Complete | Kind::Task => {}
        Kind::InputRequired => return Err(Misread::new(result.path("resultType"), "does not fit this method")),
    }
    let facts = TaskFields::read_asked(&result, asked, policy)?;
    Ok(with_raw(observation(&result, facts, glimpse, policy)?, raw, policy))
}

/// Keeps the message when it carries questions.
pub(crate) fn with_raw(seen: Observation, message: &RawValue, policy: &Policy) -> Observation {
    let asks = seen.outstanding.as_ref().is_some_and(|outstanding| !outstanding.is_empty());
    Observation { raw: asks.then(|| RawText::of(message.get(), policy)), ..seen }
}

/// Reads the params of `notifications/tasks`.
pub(crate) fn read_pushed(
    params: &JsonFields<'_>,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<(UpstreamTaskId, Observation), Misread> {
    let facts = TaskFields::read(params, policy)?;
    Ok((facts.id.clone(), observation(params, facts, glimpse, policy)?))
}

/// Reads an acknowledgement: any complete result will do.
pub(crate) fn read_ack(raw: &RawValue) -> Result<(), Misread> {
    let result = JsonFields::of(raw, "$.result")?;
    match kind(&result)? {
        Kind::Complete => Ok(()),
        Kind::InputRequired | Kind::Task => Err(Misread::new(result.path("resultType"), "does not fit this method")),
    }
}

/// `params` of `subscriptions/listen`.
pub(crate) fn listen_params(tasks: &[UpstreamTaskId], tools_too: bool) -> Value {
    let ids: Vec<&str> = tasks.iter().map(UpstreamTaskId::as_str).collect();
    if tools_too {
        json!({"notifications": {"taskIds": ids, "toolsListChanged": true}})
    } else {
        json!({"notifications": {"taskIds": ids}})
    }
}

/// Which tasks a subscription was accepted for.
pub(crate) fn accepted(params: &JsonFields<'_>) -> Vec<UpstreamTaskId> {
    let Some(filter) = params.object_or_none("notifications") else { return Vec::new() };
    let ids = filter.list("taskIds").unwrap_or_default();
    ids.into_iter()
        .filter_map(|raw| serde_json::from_str(raw.get()).ok().map(|id: String| UpstreamTaskId::new(id)))
        .collect()
}

fn observation(
    task: &JsonFields<'_>,
    facts: TaskFields,
    glimpse: SightingTimes,
    policy: &Policy,
) -> Result<Observation, Misread> {
    let (status, payload) = match (facts.status.clone(), task.get("result"), task.get("error")) {
        (TaskStatus::Completed(_), Some(result), _) => {
            let (outcome, payload) = plain_outcome(result);
            (TaskStatus::Completed(outcome), Some(payload))
        }
        (TaskStatus::Completed(_), None, _) => (TaskStatus::Completed(without_result(glimpse.door)), None),
        (TaskStatus::Failed(_), _, Some(error)) => {
            let fault = ServerError::read(error, policy);
            (TaskStatus::Failed(Some(fault.error)), Some(fault.payload))
        }
        (status, _, _) => (status, None),
    };
    let outstanding = outstanding(task, &status, glimpse.door, policy)?;
    let asks_raw = task.object_or_none("inputRequests").map(|requests| asks_raw(&requests, policy));
    let seen = facts.seen_as(glimpse, status, outstanding, payload, policy);
    Ok(Observation { asks_raw: asks_raw.unwrap_or_default(), ..seen })
}

/// A read is the only way to the result, so a read without it is the last word; other doors may leave it out.
fn without_result(door: ObservationDoor) -> Outcome {
    match door {
        ObservationDoor::Poll => Outcome::Unavailable,
        ObservationDoor::Create | ObservationDoor::Push | ObservationDoor::List => Outcome::NotFetched,
    }
}

/// What is outstanding now. Only a read says that *nothing* is (ruling 1).
fn outstanding(
    task: &JsonFields<'_>,
    status: &TaskStatus,
    door: ObservationDoor,
    policy: &Policy,
) -> Result<Option<BTreeMap<RequestKey, Ask>>, Misread> {
    if let Some(requests) = task.object("inputRequests")? {
        return asks(&requests, policy).map(Some);
    }
    let says_none = match status {
        TaskStatus::Working | TaskStatus::Completed(_) | TaskStatus::Failed(_) | TaskStatus::Cancelled => true,
        TaskStatus::InputRequired | TaskStatus::Other(_) => false,
    };
    Ok((door == ObservationDoor::Poll && says_none).then(BTreeMap::new))
}
