//! The two generations of tasks on the wire, as pure functions: params out, observations in.
//!
//! The negotiated version alone decides which one a connection speaks (protocol.md §0.1). Nothing here sends, waits or
//! keeps state: `upstream/` does.

pub(crate) mod experimental2025;
pub(crate) mod extension2026;

use bytestring::ByteString;
use domain::ids::UpstreamTaskId;
use domain::ports::{AnswerToSend, CallReply};
use domain::task::input_request::AnswerAction;
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::raw_json::JsonMembers;
use crate::wire::view::Misread;

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
) -> Result<ByteString, NotJson> {
    let members = answers.map(|(key, answer)| Ok(format!("{}:{}", json!(key), answer_object(answer)?)));
    let members = members.collect::<Result<Vec<_>, NotJson>>()?;
    // Keys and answers were checked one by one.
    Ok(format!("{{{}}}", members.join(",")).into())
}

/// Members of the params of a call, as they go out.
pub(crate) type CallMembers = Vec<(&'static str, ByteString)>;

/// What every call sets, in the order in which it goes out; the arguments follow.
pub(crate) fn call_members(tool: &str, token: u64) -> CallMembers {
    let mut members = CallMembers::with_capacity(MEMBERS_OF_CALL);
    members.push(("name", quoted(tool)));
    members.push(("_meta", format!("{{\"progressToken\":{token}}}").into()));
    members
}

/// Name, `_meta`, `task`, arguments, answers and state.
const MEMBERS_OF_CALL: usize = 6;

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> ByteString {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if plain { format!("\"{text}\"").into() } else { Value::from(text).to_string().into() }
}

/// The members of a result that say what kind it is, found in one walk: results may be large.
#[derive(Default)]
pub(crate) struct ResultKind<'a> {
    /// `resultType` as it stands.
    pub(crate) word: Option<&'a str>,
    /// `task` as it stands.
    pub(crate) task: Option<&'a str>,
    /// Whether there is a `taskId`.
    pub(crate) names_task: bool,
    /// Whether it says `isError: true`.
    pub(crate) is_error: bool,
}

impl<'a> ResultKind<'a> {
    /// Looks through a result; `None` when it is no object. Of two members with one name the last counts.
    pub(crate) fn of(result: &'a str) -> Option<Self> {
        let mut kind = Self::default();
        for part in JsonMembers::object(result)? {
            let value = result.get(part.value);
            match &*part.name {
                "resultType" => kind.word = value,
                "task" => kind.task = value,
                "taskId" => kind.names_task = value.is_some_and(|value| value.starts_with('"')),
                "isError" => kind.is_error = value == Some("true"),
                _ => {}
            }
        }
        Some(kind)
    }

    /// The plain result of a call.
    pub(crate) fn reply(&self, result: &ByteString) -> CallReply {
        CallReply::Result { payload: Payload::new(result.clone()), is_error: self.is_error }
    }
}

/// A result that was found to be JSON before, for readers of its members.
pub(crate) fn as_raw(result: &str) -> Result<&RawValue, Misread> {
    serde_json::from_str(result).map_err(|_| Misread::new("$.result", "is not JSON"))
}

/// The payload as raw JSON, if it is an object.
pub(crate) fn object_text(payload: &Payload) -> Result<&RawValue, NotJson> {
    let raw: &RawValue = serde_json::from_str(payload.as_str()).map_err(|_| NotJson)?;
    if raw.get().starts_with('{') { Ok(raw) } else { Err(NotJson) }
}

#[cfg(test)]
mod tests;
