//! Tasks in the words of 2026-07-28, and how results of others become results of this era.
//!
//! Pure: from handles and raw texts to raw text. What the server said in fields that we do not know stays as it was;
//! result, error and questions are put in as they came, with their identities rewritten before. The words of
//! 2025-11-25 are `bridge.rs`.

use std::time::Duration;

use domain::task::{AgentView, ResultForm, TaskHandle, agent_task_times, agent_view};
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::task::status::Ttl;
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::model_text::ended;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::request_params::members;

/// The key of the server's name in `_meta` of modern results.
pub(super) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The key under which a result tells of its task to clients that do not know tasks.
pub(super) const META_TASK: &str = "io.taskwarden/task";

/// The members of a task object that are ours to say.
const OURS: [&str; 11] = [
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

/// What the gateway says it is.
pub(super) fn server_info() -> Value {
    json!({"name": "taskwarden", "title": "Taskwarden", "version": env!("CARGO_PKG_VERSION")})
}

/// An object written member by member, each value as it is.
pub(super) struct Written(String);

impl Written {
    /// `{`.
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    /// A member whose value is JSON text already.
    pub(super) fn raw(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // A text is always JSON.
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
    }

    /// A member of ours.
    pub(super) fn say<T: Serialize>(&mut self, name: &str, value: &T) {
        if let Ok(json) = serde_json::to_string(value) {
            self.raw(name, &json);
        }
    }

    /// The whole.
    ///
    /// # Errors
    /// When something that was put in is no JSON.
    pub(super) fn end(mut self) -> Result<Box<RawValue>, RequestError> {
        self.0.push('}');
        RawValue::from_string(self.0).map_err(|_| RequestError::new(RequestErrorKind::Internal, "the result could not be written"))
    }
}

/// A result of ours for this era: its kind, its members, who answered.
pub(super) fn ours(kind: &str, result: &Value) -> Result<Box<RawValue>, RequestError> {
    let mut written = Written::new();
    written.say("resultType", &kind);
    let mut meta = json!({META_SERVER: server_info()});
    for (name, value) in result.as_object().into_iter().flatten() {
        match (name.as_str(), value, meta.as_object_mut()) {
            ("_meta", Value::Object(said), Some(meta)) => meta.extend(said.clone()),
            _ => written.say(name, value),
        }
    }
    written.say("_meta", &meta);
    written.end()
}

/// A result of a server as a complete one of this era: one of an older server gets its kind.
pub(super) fn complete(result: Box<RawValue>) -> Box<RawValue> {
    match kinded(result.get()) {
        Some(kinded) => RawValue::from_string(kinded).unwrap_or(result),
        None => result,
    }
}

/// As [`complete`].
pub(super) fn complete_text(result: Payload) -> Payload {
    kinded(result.as_str()).map_or(result, Payload::new)
}

/// The result with its kind; `None` when it says one.
fn kinded(result: &str) -> Option<String> {
    const KIND: &str = "\"resultType\"";
    let text = result.trim_start();
    let rest = text.strip_prefix('{')?;
    if rest.trim_start().starts_with(KIND) {
        return None;
    }
    // Somewhere else in the text it may be anything; only then is it worth opening.
    let has_kind = rest.contains(KIND)
        && members(text).is_some_and(|members| members.iter().any(|(name, _)| name == "resultType"));
    if has_kind {
        return None;
    }
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    Some(["{", KIND, ":\"complete\"", comma, rest].concat())
}

/// What a finished task ended with, for its agent.
pub(super) enum End {
    /// What the call returned, in the form in which its agent gets it.
    Result {
        /// JSON text.
        text: Payload,
        /// The form.
        form: ResultForm,
    },
    /// A sentence of ours in the place of a result, as an ordinary result.
    Note(Payload),
    /// The error it ended with.
    Error(Box<RawValue>),
}

/// What goes into a task besides its facts.
#[derive(Default)]
pub(super) struct Filling {
    /// The server's task object, with identities rewritten: fields that we do not know come from it.
    pub(super) said: Option<Box<RawValue>>,
    /// How it ended.
    pub(super) end: Option<End>,
    /// What it asks.
    pub(super) asks: Option<Box<RawValue>>,
}

/// The word of this era for what the agent sees; nothing for what it does not.
pub(super) fn status(sight: &AgentView) -> Option<&'static str> {
    match sight {
        AgentView::Working { .. } => Some("working"),
        AgentView::InputRequired { .. } => Some("input_required"),
        AgentView::Completed => Some("completed"),
        AgentView::Failed => Some("failed"),
        AgentView::Cancelled => Some("cancelled"),
        AgentView::Gone => None,
    }
}

/// The task as its agent sees it now. `kind` is `task` for a new handle, `complete` for a reading, `None` in a push.
///
/// # Errors
/// The one answer, when the agent does not see it any more.
pub(super) fn task(
    handle: &TaskHandle,
    kind: Option<&str>,
    filling: Filling,
    now: Timestamp,
    policy: &Policy,
) -> Result<Written, RequestError> {
    let sight = agent_view(handle, now);
    let word = status(&sight).ok_or_else(RequestError::unknown_task)?;
    let facts = agent_task_times(handle, policy);
    let mut task = Written::new();
    if let Some(kind) = kind {
        task.say("resultType", &kind);
    }
    task.say("taskId", &handle.id.to_string());
    task.say("status", &word);
    if let Some(message) = message(handle, &sight) {
        task.say("statusMessage", &message);
    }
    task.say("createdAt", &facts.created.to_string());
    task.say("lastUpdatedAt", &facts.updated.to_string());
    match facts.ttl {
        Ttl::For(span) => task.say("ttlMs", &millis(span)),
        Ttl::Unlimited | Ttl::Unsaid => task.raw("ttlMs", "null"),
    }
    task.say("pollIntervalMs", &millis(facts.hint));
    let mut meta = None;
    for (name, value) in filling.said.as_deref().and_then(|said| members(said.get())).into_iter().flatten() {
        if name == "_meta" {
            meta = Some(value.to_owned());
        } else if !OURS.contains(&&*name) {
            task.raw(&name, value.get());
        }
    }
    match (&sight, filling.end, filling.asks) {
        (AgentView::Completed, Some(End::Result { text, .. } | End::Note(text)), _) => task.raw("result", text.as_str()),
        (AgentView::Failed, Some(End::Error(error)), _) => task.raw("error", error.get()),
        (AgentView::InputRequired { .. }, _, Some(asks)) => task.raw("inputRequests", asks.get()),
        _ => {}
    }
    if let Some(meta) = meta.filter(|_| kind.is_some()) {
        task.raw("_meta", meta.get());
    } else if kind.is_some() {
        task.say("_meta", &json!({META_SERVER: server_info()}));
    }
    Ok(task)
}

/// The words beside the status: what people are doing about it, else what the server says.
pub(super) fn message(handle: &TaskHandle, sight: &AgentView) -> Option<String> {
    let servers = || handle.view.task().and_then(|task| task.message.clone());
    match sight {
        AgentView::Working { message } => message.clone(),
        AgentView::Cancelled => ended::cancelled_by_others(handle).or_else(servers),
        AgentView::InputRequired { .. } | AgentView::Completed | AgentView::Failed | AgentView::Gone => servers(),
    }
}

/// Whole milliseconds.
pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> String {
        complete(RawValue::from_string(text.to_owned()).expect("JSON")).get().to_owned()
    }

    #[test]
    fn a_result_of_an_older_server_gets_its_kind_and_nothing_else_changes() {
        assert_eq!(whole(r#"{ "content":[ ] , "n":1.50}"#), r#"{"resultType":"complete", "content":[ ] , "n":1.50}"#);
        assert_eq!(whole("{}"), r#"{"resultType":"complete"}"#);
        let inside = r#"{"content":[{"type":"text","text":"\"resultType\""}],"x":{"resultType":"y"}}"#;
        assert!(whole(inside).starts_with(r#"{"resultType":"complete","content""#), "what is inside is not its kind");
    }

    #[test]
    fn a_result_that_says_its_kind_stays_byte_for_byte() {
        for text in [r#"{"resultType":"complete","a":1e2}"#, r#"{"a":1,"resultType" : "vendor"}"#] {
            assert_eq!(whole(text), text);
        }
    }
}
