//! The two generations of tasks on the wire, as pure functions: params out, observations in.
//!
//! The negotiated version alone decides which one a connection speaks (protocol.md §0.1). Nothing here sends, waits or
//! keeps state: `upstream/` does.

pub(crate) mod experimental2025;
pub(crate) mod extension2026;

use domain::ids::UpstreamTaskId;
use domain::ports::AnswerToSend;
use domain::task::input_request::AnswerAction;
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(crate) const CALL: &str = "tools/call";
pub(crate) const GET: &str = "tasks/get";
pub(crate) const CANCEL: &str = "tasks/cancel";

/// `params` of the methods that take a task id.
pub(crate) fn task_params(task: &UpstreamTaskId) -> Value {
    json!({"taskId": task.as_str()})
}

/// `params` of `tasks/list` and `tools/list`.
pub(crate) fn page_params(cursor: Option<&str>) -> Value {
    cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}))
}

/// An answer that is not a JSON object: a mistake on our side, refused before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what should be sent is not a JSON object")]
pub(crate) struct NotJson;

/// `{action, content?}`, the content byte for byte; content goes only with an accepted form. What an agent said for
/// itself is the whole answer.
pub(crate) fn answer_object(answer: &AnswerToSend) -> Result<String, NotJson> {
    let action = || json!(answer.action.wire_word());
    match (answer.action, &answer.content) {
        (AnswerAction::Forwarded, Some(content)) => Ok(object_text(content)?.get().to_owned()),
        (AnswerAction::Forwarded, None) => Err(NotJson),
        (AnswerAction::Accept, Some(content)) => {
            Ok(format!("{{\"action\":{},\"content\":{}}}", action(), object_text(content)?))
        }
        (AnswerAction::Accept, None) | (AnswerAction::Decline | AnswerAction::Dismiss, _) => {
            Ok(format!("{{\"action\":{}}}", action()))
        }
    }
}

/// `inputResponses`: bare results by the server's keys, the content byte for byte.
pub(crate) fn input_responses<'a>(
    answers: impl Iterator<Item = (&'a str, &'a AnswerToSend)>,
) -> Result<Box<RawValue>, NotJson> {
    let members = answers.map(|(key, answer)| Ok(format!("{}:{}", json!(key), answer_object(answer)?)));
    let members = members.collect::<Result<Vec<_>, NotJson>>()?;
    RawValue::from_string(format!("{{{}}}", members.join(","))).map_err(|_| NotJson)
}

/// The payload as raw JSON, if it is an object.
pub(crate) fn object_text(payload: &Payload) -> Result<Box<RawValue>, NotJson> {
    let raw = RawValue::from_string(payload.as_str().to_owned()).map_err(|_| NotJson)?;
    if raw.get().starts_with('{') { Ok(raw) } else { Err(NotJson) }
}

#[cfg(test)]
mod tests;
