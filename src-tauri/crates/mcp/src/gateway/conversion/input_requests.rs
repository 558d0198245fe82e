//! Elicitation and other input requests in the words of either dialect, and the answers to them (protocol.md §7.3).
//!
//! Pure functions over raw text. Identities are exchanged before (`rewrite.rs`); nothing is asked or recorded here.

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest};
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::conversion::legacy_task::tied;
use crate::gateway::conversion::raw_json::{raw, without_meta};
use crate::server::version;
use crate::wire::dialect::experimental2025::RELATED_TASK;
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};
use crate::wire::view::{ELICITATION, JsonFields, ask};

/// A question as a request to a session.
pub(crate) struct LegacyQuestion {
    pub(crate) method: String,
    pub(crate) params: Box<RawValue>,
}

/// The question for a session of `version`; `None` when that version cannot be asked it. `whole` is the question as its
/// server sent it. It is tied to its task if the agent knows the task.
pub(crate) fn legacy_question(
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

/// The `_meta` of a question that means something only on its server's connection.
const OF_THE_CONNECTION: [&str; 2] = ["progressToken", RELATED_TASK];

/// A member of `inputRequests` for a session, and what it asks; `link` is the id for a link.
pub(crate) fn passed_on(question: &str, link: &str, version: &str, policy: &Policy) -> Option<(Ask, LegacyQuestion)> {
    let method = text_member(question, "method")?.into_owned();
    let params = member(question, "params").filter(|params| params.starts_with('{')).unwrap_or("{}");
    let read: Box<RawValue> = raw(params.to_owned())?;
    let kind = ask(&method, JsonFields::of(&read, "$.params").ok().as_ref(), policy);
    let question = spelled(method, without_meta(params, &OF_THE_CONNECTION), link, version)?;
    Some((kind, question))
}

/// An answer without the tie to a task of its client.
pub(crate) fn untied(answer: &str) -> String {
    without_meta(answer, &[RELATED_TASK])
}

fn spelled(method: String, params: String, link: &str, version: &str) -> Option<LegacyQuestion> {
    let params = if method == ELICITATION { spelled_for(&params, link, version)? } else { params };
    Some(LegacyQuestion { method, params: raw(params)? })
}

/// Method and params of a question as they came, or as they were read.
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

/// An elicitation in the spelling of a version: before 2025-11-25 there are only forms, without lists; in it, a link has an
/// id.
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

/// The id of a link, by which the agent is told that its page was completed.
pub(crate) fn elicitation_id(handle: HandleId, request: &InputRequest) -> String {
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
        // A field that is not shown cannot be required.
        required.retain(|name| name.as_str().is_some_and(|name| kept.iter().any(|other| other == name)));
    }
    schema
}

/// The key of a question in a task for a modern agent: the server's own if it is unique in the life of the task, else the
/// gateway's.
pub(crate) fn task_key(request: &InputRequest) -> &str {
    match &request.door {
        AskDoor::Listed { key } => key,
        AskDoor::Round { .. } | AskDoor::Live { .. } => request.key.as_str(),
    }
}

/// The key of a question in a reply to a call, where keys are unique in one reply.
pub(crate) fn round_key(request: &InputRequest) -> &str {
    match &request.door {
        AskDoor::Listed { key } | AskDoor::Round { key, .. } => key,
        AskDoor::Live { .. } => request.key.as_str(),
    }
}

/// The question as a member of `inputRequests`; a tie to the server's task becomes one to the agent's.
pub(crate) fn modern_question(handle: HandleId, request: &InputRequest, whole: Option<&Payload>) -> Option<String> {
    let (method, params) = as_asked(request, whole)?;
    let params = without_meta(&params, &["progressToken"]);
    let params = match &request.door {
        AskDoor::Listed { .. } | AskDoor::Round { .. } => {
            let is_tied = member(&params, "_meta").is_some_and(|meta| member(meta, RELATED_TASK).is_some());
            if is_tied { tied(&params, handle) } else { params }
        }
        // Ids of links and ties to tasks exist only in the older era.
        AskDoor::Live { .. } => with_members(&without_meta(&params, &[RELATED_TASK]), &[], &["elicitationId"]),
    };
    Some(match whole {
        Some(whole) if member(whole.as_str(), "params").is_none() => whole.as_str().to_owned(),
        Some(whole) => with_members(whole.as_str(), &[("params", params.into())], &[]),
        None => format!("{{\"method\":{},\"params\":{params}}}", Value::from(method)),
    })
}

/// An agent's answer: its action and content, or the whole answer where that says more. `None` when it is no answer to
/// this question.
pub(crate) fn answer(kind: &Ask, response: &str) -> Option<(AnswerAction, Option<Payload>)> {
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
