//! The two generations of tasks on the wire, as pure functions: parameters out, meaning in.
//!
//! Which one a connection speaks follows from the negotiated version and nothing else (protocol.md §0.1). Nothing
//! here sends, waits or remembers: `client/` does.

pub(crate) mod experimental2025;
pub(crate) mod extension2026;

use domain::ids::UpstreamTaskId;
use domain::payload::Payload;
use domain::ports::AnswerToSend;
use domain::request::AnswerAction;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// `tools/call`.
pub(crate) const CALL: &str = "tools/call";
/// `tasks/get`.
pub(crate) const GET: &str = "tasks/get";
/// `tasks/cancel`.
pub(crate) const CANCEL: &str = "tasks/cancel";

/// `params` of the methods that take a task id.
pub(crate) fn task_params(task: &UpstreamTaskId) -> Value {
    json!({"taskId": task.as_str()})
}

/// `params` of `tasks/list` and `tools/list`.
pub(crate) fn page_params(cursor: Option<&str>) -> Value {
    cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}))
}

/// An answer that is not JSON, or not an object where one is needed: a mistake on our side, refused before it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what should be sent is not a JSON object")]
pub(crate) struct NotJson;

/// `{action, content?}`; content goes only with an accepted form.
pub(crate) fn answer_value(answer: &AnswerToSend) -> Result<Map<String, Value>, NotJson> {
    let mut value = Map::new();
    value.insert("action".into(), json!(answer.action.wire_word()));
    if let Some(content) = accepted_content(answer) {
        let content: Map<String, Value> = serde_json::from_str(content.as_str()).map_err(|_| NotJson)?;
        value.insert("content".into(), Value::Object(content));
    }
    Ok(value)
}

/// `inputResponses`: bare results by the server's keys, the content byte for byte.
pub(crate) fn input_responses<'a>(
    answers: impl Iterator<Item = (&'a str, &'a AnswerToSend)>,
) -> Result<Box<RawValue>, NotJson> {
    let members = answers.map(|(key, answer)| {
        let content = match accepted_content(answer) {
            Some(content) => format!(",\"content\":{}", object_text(content)?),
            None => String::new(),
        };
        Ok(format!("{}:{{\"action\":{}{content}}}", json!(key), json!(answer.action.wire_word())))
    });
    let members = members.collect::<Result<Vec<_>, NotJson>>()?;
    RawValue::from_string(format!("{{{}}}", members.join(","))).map_err(|_| NotJson)
}

/// The payload as raw JSON, if it is an object.
pub(crate) fn object_text(payload: &Payload) -> Result<Box<RawValue>, NotJson> {
    let raw = RawValue::from_string(payload.as_str().to_owned()).map_err(|_| NotJson)?;
    if raw.get().starts_with('{') { Ok(raw) } else { Err(NotJson) }
}

fn accepted_content(answer: &AnswerToSend) -> Option<&Payload> {
    match answer.action {
        AnswerAction::Accept => answer.content.as_ref(),
        AnswerAction::Decline | AnswerAction::Dismiss => None,
    }
}

#[cfg(test)]
mod tests;
