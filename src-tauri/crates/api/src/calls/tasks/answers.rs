//! What was answered to the questions of a task, for people who look back.
//!
//! Secrets never leave the core here: a field that looks like one is named without its value, also before its content
//! is erased. Answers that an agent gave for itself have no fields.

use domain::policy::plain_text;
use domain::task::input_request::form::{Field, fields, shown};
use domain::task::input_request::{AnswerAction, Ask, InputRequest, RequestState, secret_looking_fields};
use domain::task::payload::PayloadKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneTask;
use crate::error::ApiError;

/// One field of an answer. Has no `Debug`: it carries what a person wrote.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FieldAnswer {
    /// Its key in the answer.
    pub name: String,
    /// The server's title of it, or the name.
    pub title: String,
    /// What was answered, as text for people; null for a secret.
    pub value: Option<String>,
}

/// The content of one answer. Has no `Debug`: it carries what a person wrote.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerContent {
    /// The question's key within the task.
    pub key: String,
    /// In the order of the form.
    pub fields: Vec<FieldAnswer>,
    /// The content is no longer stored, or never was.
    pub erased: bool,
}

/// The answers of a task.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerContents {
    pub answers: Vec<AnswerContent>,
}

impl Api {
    /// What was answered to the questions of a task, without secrets.
    ///
    /// # Errors
    /// When there is no such task, or the registry cannot be read.
    pub async fn task_answers(&self, _caller: &Caller, input: OneTask) -> Result<AnswerContents, ApiError> {
        let task = self.find_task(&input.id).await?;
        let mut answers = Vec::new();
        for (_, request) in task.requests.iter() {
            let Some(schema) = answered_form(request) else { continue };
            let payload = self.registry.payload(task.id, PayloadKind::Answer(request.key.clone())).await?;
            let content = payload.and_then(|text| serde_json::from_str::<Value>(text.as_str()).ok());
            answers.push(AnswerContent {
                key: request.key.to_string(),
                fields: answered_fields(schema, content.as_ref(), self.policy.server_text_cap_chars),
                erased: content.is_none(),
            });
        }
        Ok(AnswerContents { answers })
    }
}

/// The schema of a form that was accepted.
fn answered_form(request: &InputRequest) -> Option<&Value> {
    let Ask::Form { schema, .. } = &request.ask else { return None };
    match &request.state {
        RequestState::Answered(answer) | RequestState::Confirmed(answer) => {
            (answer.action == AnswerAction::Accept).then_some(schema)
        }
        RequestState::Open | RequestState::Withdrawn { .. } => None,
    }
}

fn answered_fields(schema: &Value, content: Option<&Value>, cap: usize) -> Vec<FieldAnswer> {
    let secret = secret_looking_fields(schema);
    let answered = |field: &Field| {
        let is_secret = secret.contains(&field.name);
        let value = content.and_then(|content| content.get(&field.name));
        (is_secret || value.is_some()).then(|| FieldAnswer {
            name: plain_text(&field.name, cap),
            title: plain_text(&field.title, cap),
            value: value.filter(|_| !is_secret).map(|value| plain_text(&shown(value, Some(&field.kind)), cap)),
        })
    };
    fields(schema).iter().filter_map(answered).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: &Value, content: Option<&Value>) -> Vec<(String, Option<String>)> {
        answered_fields(schema, content, 200).into_iter().map(|field| (field.title, field.value)).collect()
    }

    #[test]
    fn a_secret_is_named_and_never_shown() {
        let schema = json!({"properties": {
            "user": {"type": "string", "title": "User"},
            "password": {"type": "string", "title": "Password"},
            "size": {"type": "string", "title": "Size", "oneOf": [{"const": "l", "title": "Large"}]},
            "again": {"type": "boolean", "title": "Again"},
            "left": {"type": "string", "title": "Left out"},
        }});
        let content = json!({"user": "orders\u{1b}[31m_rw", "password": "hunter2", "size": "l", "again": true});
        let found = said(&schema, Some(&content));
        let value = |title: &str| found.iter().find(|(name, _)| name == title).map(|(_, value)| value.clone());
        assert_eq!(value("Password"), Some(None), "named without its value");
        assert_eq!(value("Size"), Some(Some("Large".into())), "by the title of the choice");
        assert_eq!(value("Again"), Some(Some("yes".into())));
        assert_eq!(value("Left out"), None, "what was left out is no answer");
        assert!(!format!("{found:?}").contains('\u{1b}'), "as plain text: {found:?}");
    }

    #[test]
    fn erased_content_leaves_the_names_of_its_secrets() {
        let schema = json!({"properties": {"pin": {"type": "string"}, "user": {"type": "string"}}});
        assert_eq!(said(&schema, None), [("pin".to_owned(), None)]);
    }
}
