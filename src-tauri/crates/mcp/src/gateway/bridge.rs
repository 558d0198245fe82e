//! One task in the words of either dialect, and what crossing the eras adds or takes away (protocol.md §7.3).
//!
//! Pure functions from handles and raw texts to raw texts. What an agent may see of a task is decided by
//! [`agent_sight`] alone; here it only gets its spelling. Identities are rewritten before (`rewrite.rs`); nothing is
//! sent, stored or asked here. Streams and questions are in `courier.rs` and `questions.rs`.

use std::borrow::Cow;
use std::time::Duration;

use domain::task::{AgentFailure, AgentView, TaskHandle, agent_failure, agent_task_times, agent_view};
use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest};
use domain::task::status::{Outcome, ServerView, TaskStatus, Ttl};
use domain::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::model_text::ended;
use crate::wire::dialect::experimental2025::RELATED_TASK;
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};
use crate::server::version;
use crate::wire::view::{ELICITATION, JsonFields, ask};

/// A task of 2025-11-25 as its agent sees it.
pub(super) struct LegacyTask {
    /// Its word.
    pub(super) word: &'static str,
    /// The task object.
    pub(super) raw: Box<RawValue>,
}

impl LegacyTask {
    /// Whether the word never changes again.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.word, "completed" | "failed" | "cancelled")
    }
}

/// The task as its agent sees it now; `None` when it is unknown to it. `theirs` is the server's own task object where
/// it speaks this dialect: what it says beyond ours stays.
pub(super) fn legacy_task(
    handle: &TaskHandle,
    theirs: Option<&RawValue>,
    now: Timestamp,
    policy: &Policy,
) -> Option<LegacyTask> {
    let sight = agent_view(handle, now);
    let word = legacy_word(handle, &sight)?;
    let facts = agent_task_times(handle, policy);
    let theirs = theirs.map_or("{}", RawValue::get);
    let quoted = |text: &str| Cow::Owned(Value::from(text).to_string());
    let mut set = vec![("taskId", quoted(&handle.id.to_string())), ("status", quoted(word))];
    let mut drop = Vec::new();
    // The server's own words stay as it spelled them, unless the agent sees something else.
    let is_cancelled_here = sight == AgentView::Cancelled && ended::cancelled_by_others(handle).is_some();
    if is_cancelled_here || text_member(theirs, "status").as_deref() != Some(word) {
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
    set.push(("pollInterval", millis(facts.hint)));
    Some(LegacyTask { word, raw: raw(with_members(theirs, &set, &drop))? })
}

/// Words for people about what the agent sees.
fn message(handle: &TaskHandle, sight: &AgentView, now: Timestamp) -> Option<String> {
    let servers = || handle.view.task().and_then(|task| task.message.clone());
    match sight {
        AgentView::Working { message } => message.clone(),
        AgentView::InputRequired { .. } | AgentView::Completed => servers(),
        AgentView::Cancelled => ended::cancelled_by_others(handle).or_else(servers),
        AgentView::Failed => match agent_failure(handle, now)? {
            AgentFailure::Ours(failure) => Some(ended::failed(&failure)),
            AgentFailure::Stored => servers().or_else(|| told_error(&handle.view)),
        },
        AgentView::Gone => None,
    }
}

fn told_error(view: &ServerView) -> Option<String> {
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
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_) => None,
    }
}

/// The word of 2025-11-25 for the task as its agent sees it now.
pub(super) fn legacy_word_of(handle: &TaskHandle, now: Timestamp) -> Option<&'static str> {
    legacy_word(handle, &agent_view(handle, now))
}

/// The word of 2025-11-25: a tool error is a failure there (protocol.md §0.6).
fn legacy_word(handle: &TaskHandle, sight: &AgentView) -> Option<&'static str> {
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

/// Whether the work ended with an error that the tool told itself.
pub(super) fn is_tool_error(view: &ServerView) -> bool {
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
pub(super) fn related(id: HandleId) -> Value {
    json!({RELATED_TASK: {"taskId": id.to_string()}})
}

/// A message tied to this task: its `_meta` says so, all else stays as it came.
fn tied(object: &str, id: HandleId) -> String {
    let tie = json!({"taskId": id.to_string()}).to_string();
    let meta = with_members(member(object, "_meta").unwrap_or("{}"), &[(RELATED_TASK, tie.into())], &[]);
    with_members(object, &[("_meta", meta.into())], &[])
}

/// A message without these members of its `_meta`; a `_meta` that held nothing else goes with them.
pub(super) fn without_meta(object: &str, names: &[&str]) -> String {
    let Some(meta) = member(object, "_meta").and_then(JsonMembers::object) else { return object.to_owned() };
    let (gone, kept): (Vec<_>, Vec<_>) = meta.partition(|part| names.contains(&&*part.name));
    if gone.is_empty() {
        return object.to_owned();
    }
    if kept.is_empty() {
        return with_members(object, &[], &["_meta"]);
    }
    let meta = with_members(member(object, "_meta").unwrap_or("{}"), &[], names);
    with_members(object, &[("_meta", meta.into())], &[])
}

/// A result as `tasks/result` gives it: tied to its task, all else as it came.
pub(super) fn related_result(result: &str, id: HandleId) -> Payload {
    Payload::new(tied(result, id))
}

/// A question on its way to an agent of the older eras.
pub(super) struct LegacyQuestion {
    /// Its method.
    pub(super) method: String,
    /// Its params.
    pub(super) params: Box<RawValue>,
}

/// The question as a request to a session of `version`; `None` when that version cannot be asked so. `whole` is the
/// question as its server sent it. It is tied to its task when the agent knows one.
pub(super) fn legacy_question(
    handle: HandleId,
    request: &InputRequest,
    whole: Option<&Payload>,
    version: &str,
    in_task: bool,
) -> Option<LegacyQuestion> {
    let (method, params) = as_asked(request, whole)?;
    let params = without_meta(&params, &OF_THE_CONNECTION);
    let params = if in_task { tied(&params, handle) } else { params };
    spelled(method, params, &elicitation_id(handle, request), version)
}

/// What in `_meta` of a question means something on its server's connection alone.
const OF_THE_CONNECTION: [&str; 2] = ["progressToken", RELATED_TASK];

/// A member of `inputRequests` as a request to a session, with what kind of question it is; `link` names a link.
pub(super) fn passed_on(question: &str, link: &str, version: &str, policy: &Policy) -> Option<(Ask, LegacyQuestion)> {
    let method = text_member(question, "method")?.into_owned();
    let params = member(question, "params").filter(|params| params.starts_with('{')).unwrap_or("{}");
    let read: Box<RawValue> = raw(params.to_owned())?;
    let kind = ask(&method, JsonFields::of(&read, "$.params").ok().as_ref(), policy);
    let question = spelled(method, without_meta(params, &OF_THE_CONNECTION), link, version)?;
    Some((kind, question))
}

/// An answer without what ties it to a task of its client.
pub(super) fn untied(answer: &str) -> String {
    without_meta(answer, &[RELATED_TASK])
}

fn spelled(method: String, params: String, link: &str, version: &str) -> Option<LegacyQuestion> {
    let params = if method == ELICITATION { spelled_for(&params, link, version)? } else { params };
    Some(LegacyQuestion { method, params: raw(params)? })
}

/// Method and params of a question as they came, or as we read them.
fn as_asked(request: &InputRequest, whole: Option<&Payload>) -> Option<(String, String)> {
    if let Some(method) = whole.and_then(|whole| text_member(whole.as_str(), "method")) {
        let params = whole.and_then(|whole| member(whole.as_str(), "params"));
        let params = params.filter(|params| params.starts_with('{')).unwrap_or("{}");
        return Some((method.into_owned(), params.to_owned()));
    }
    let params = match &request.ask {
        Ask::Form { message, schema } => json!({"mode": "form", "message": message, "requestedSchema": schema}),
        Ask::Visit { message, url, elicitation: Some(id) } => {
            json!({"mode": "url", "message": message, "url": url, "elicitationId": id})
        }
        Ask::Visit { message, url, elicitation: None } => json!({"mode": "url", "message": message, "url": url}),
        Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => return None,
    };
    Some((ELICITATION.to_owned(), params.to_string()))
}

/// An elicitation in the spelling of a version: before 2025-11-25 there are only forms, without lists; a link has an
/// id of its own there.
fn spelled_for(params: &str, link: &str, version: &str) -> Option<String> {
    let is_link = text_member(params, "mode").as_deref() == Some("url");
    if version == version::LEGACY_WITH_TASKS {
        let named = !is_link || member(params, "elicitationId").is_some();
        let name = || Value::from(link).to_string();
        return Some(if named {
            params.to_owned()
        } else {
            with_members(params, &[("elicitationId", name().into())], &[])
        });
    }
    if is_link {
        return None;
    }
    let schema = member(params, "requestedSchema").and_then(|schema| serde_json::from_str(schema).ok());
    let Some(schema) = schema else { return Some(with_members(params, &[], &["mode"])) };
    Some(with_members(params, &[("requestedSchema", older_schema(schema).to_string().into())], &["mode"]))
}

/// Names a link to an agent, for telling it when the page was completed.
pub(super) fn elicitation_id(handle: HandleId, request: &InputRequest) -> String {
    match &request.ask {
        Ask::Visit { elicitation: Some(id), .. } => id.clone(),
        Ask::Visit { elicitation: None, .. } | Ask::Form { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => {
            format!("{handle}.{}", request.key)
        }
    }
}

/// A form as the versions before 2025-11-25 know it: no lists, and choices as `enum` with `enumNames`.
fn older_schema(mut schema: Value) -> Value {
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return schema };
    fields.retain(|_, field| field.get("type") != Some(&Value::from("array")));
    let kept: Vec<String> = fields.keys().cloned().collect();
    for field in fields.values_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(choices)) = field.remove("oneOf") {
            let part = |name: &str| choices.iter().filter_map(|choice| choice.get(name)).cloned().collect::<Vec<_>>();
            field.insert("enum".to_owned(), part("const").into());
            field.insert("enumNames".to_owned(), part("title").into());
        }
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        // What cannot be shown cannot be asked for.
        required.retain(|name| name.as_str().is_some_and(|name| kept.iter().any(|other| other == name)));
    }
    schema
}

/// The key under which a modern agent sees a question of its task: the server's own where there is one that is unique
/// in the life of a task, else ours.
pub(super) fn task_key(request: &InputRequest) -> &str {
    match &request.door {
        AskDoor::Listed { key } => key,
        AskDoor::Round { .. } | AskDoor::Live { .. } => request.key.as_str(),
    }
}

/// The key under which a modern agent sees a question in reply to its call: keys are unique in one reply there.
pub(super) fn round_key(request: &InputRequest) -> &str {
    match &request.door {
        AskDoor::Listed { key } | AskDoor::Round { key, .. } => key,
        AskDoor::Live { .. } => request.key.as_str(),
    }
}

/// The question as a member of `inputRequests`, tied to the agent's task where it was tied to the server's.
pub(super) fn modern_question(handle: HandleId, request: &InputRequest, whole: Option<&Payload>) -> Option<String> {
    let (method, params) = as_asked(request, whole)?;
    let params = without_meta(&params, &["progressToken"]);
    let params = match &request.door {
        AskDoor::Listed { .. } | AskDoor::Round { .. } => {
            let is_tied = member(&params, "_meta").is_some_and(|meta| member(meta, RELATED_TASK).is_some());
            if is_tied { tied(&params, handle) } else { params }
        }
        // Ids of links and ties to tasks are of the older era.
        AskDoor::Live { .. } => with_members(&without_meta(&params, &[RELATED_TASK]), &[], &["elicitationId"]),
    };
    Some(match whole {
        Some(whole) if member(whole.as_str(), "params").is_none() => whole.as_str().to_owned(),
        Some(whole) => with_members(whole.as_str(), &[("params", params.into())], &[]),
        None => format!("{{\"method\":{},\"params\":{params}}}", Value::from(method)),
    })
}

/// What an agent answered: its choice and content, or its whole answer where that says more than ours can hold.
/// `None` when it is no answer to this question.
pub(super) fn answer(kind: &Ask, response: &str) -> Option<(AnswerAction, Option<Payload>)> {
    JsonMembers::object(response)?;
    let untied = without_meta(response, &[RELATED_TASK]);
    match kind {
        Ask::Form { .. } | Ask::Visit { .. } => {}
        Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => {
            return Some((AnswerAction::Forwarded, Some(Payload::new(untied))));
        }
    }
    let action = match &*text_member(response, "action")? {
        "accept" => AnswerAction::Accept,
        "decline" => AnswerAction::Decline,
        "cancel" => AnswerAction::Dismiss,
        _ => return None,
    };
    if JsonMembers::object(&untied)?.any(|part| part.name != "action" && part.name != "content") {
        return Some((AnswerAction::Forwarded, Some(Payload::new(untied))));
    }
    let content = match (action, kind) {
        (AnswerAction::Accept, Ask::Form { .. }) => {
            let content = member(response, "content").filter(|content| *content != "null").unwrap_or("{}");
            JsonMembers::object(content)?;
            Some(Payload::new(content))
        }
        _ => None,
    };
    Some((action, content))
}

/// The params of a progress notification about a task.
pub(super) fn progress(token: &Value, progress: &domain::task::observation::Progress) -> Option<Map<String, Value>> {
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

/// A whole number without a fraction: `3`, not `3.0`.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Value::from(value as i64);
    }
    Value::from(value)
}

pub(super) fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}

#[cfg(test)]
mod tests;
