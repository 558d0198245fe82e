//! Questions that were answered, and what is answered without asking.
//!
//! An answer is shown field by field, capped; what a field that looks like a secret holds is never read out.

use domain::policy::plain_text;
use domain::task::input_request::AnswerAction;
use domain::task::input_request::form;
use domain::task::input_request::standing_answer::StandingAnswerRef;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::dto::inbox::request::DeliveryDto;
use crate::dto::task::history::OriginDto;
use crate::dto::words::Word;

/// One field of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredField {
    /// The server's title of it, or its name.
    pub title: String,
    /// What was answered; null where the field looks like one for a secret.
    pub value: Option<String>,
}

/// The rule that answered, in the version that it had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleRefDto {
    pub id: String,
    pub version: u32,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredDto {
    /// The task's handle.
    pub task: String,
    pub key: String,
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// Whose call it is.
    pub agent: Option<String>,
    /// The server's words, their beginning.
    pub message: String,
    /// `accept`, `decline`, `dismiss` or `forwarded`.
    #[ts(type = "\"accept\" | \"decline\" | \"dismiss\" | \"forwarded\"")]
    pub action: Word<AnswerAction>,
    /// What was answered; empty where nothing was filled in, or where it is kept no more.
    pub fields: Vec<AnsweredField>,
    /// Whether the content was erased, because a field looked like one for a secret.
    pub is_erased: bool,
    pub by: String,
    /// The rule that answered, if one did.
    pub rule: Option<RuleRefDto>,
    pub at: String,
    /// How a person's answer came in.
    pub origin: Option<OriginDto>,
    /// How far it got on its way to the server.
    #[ts(inline)]
    pub delivery: DeliveryDto,
    /// Whether the call or task is over: of an answer that is only `sent`, the server acknowledges nothing any more.
    pub is_over: bool,
    /// The rule that answers this question now, if one does.
    pub answered_by_rule: Option<String>,
    /// Why no rule can answer this question; null where one can.
    pub no_rule: Option<String>,
}

/// A page of answered questions, the last answered first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredList {
    pub items: Vec<AnsweredDto>,
    /// Answered questions of all tasks that are kept.
    pub total: u64,
    /// Answered questions before this page.
    pub offset: u64,
}

/// What is answered without asking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRuleDto {
    /// Its id, `ans_…`.
    pub id: String,
    /// From 1; another answer to the same question is another version.
    pub version: u32,
    pub server: String,
    pub tool: String,
    /// The server's words, their beginning.
    pub question: String,
    /// `accept` or `decline`.
    #[ts(type = "\"accept\" | \"decline\"")]
    pub action: Word<AnswerAction>,
    /// What it answers, field by field.
    pub fields: Vec<AnsweredField>,
    /// Who decided it.
    pub by: String,
    pub since: String,
    /// How often it answered a task that is kept, in all its versions.
    pub applied: u64,
    /// When it answered last.
    pub applied_at: Option<String>,
    /// Who ended it; null while it answers.
    pub ended_by: Option<String>,
    pub ended_at: Option<String>,
}

/// Rules that answer first, then those that were ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRuleList {
    pub rules: Vec<AnswerRuleDto>,
}

impl From<StandingAnswerRef> for RuleRefDto {
    fn from(rule: StandingAnswerRef) -> Self {
        Self { id: rule.id.to_string(), version: rule.version }
    }
}

impl AnsweredField {
    /// The fields of an answer with the titles of its form, without what `secrets` names. All texts together are at most
    /// `cap` bytes.
    pub(crate) fn all(content: &str, schema: Option<&Value>, secrets: &[String], cap: usize) -> Vec<Self> {
        let Ok(answer) = serde_json::from_str::<Map<String, Value>>(content) else { return Vec::new() };
        let known = schema.map(form::fields).unwrap_or_default();
        let mut left = cap;
        let mut fields = Vec::new();
        for (name, value) in &answer {
            let field = known.iter().find(|field| field.name == *name);
            let title = plain_text(field.map_or(name, |field| &field.title), left);
            let is_secret = secrets.contains(name);
            let value = (!is_secret).then(|| plain_text(&form::shown(value, field.map(|field| &field.kind)), left));
            left = left.saturating_sub(title.len() + value.as_ref().map_or(0, String::len));
            fields.push(Self { title, value });
            if left == 0 {
                break;
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_shown_in_the_words_of_its_form_and_without_its_secrets() {
        let schema = json!({"properties": {
            "rollout": {"title": "Rollout", "oneOf": [{"const": "c10", "title": "Canary 10 %"}]},
            "regions": {"type": "array", "items": {"enum": ["eu", "us"]}},
            "dry": {"type": "boolean"},
            "token": {"type": "string"},
        }});
        let content = json!({"rollout": "c10", "regions": ["eu", "us"], "dry": false, "token": "hush"}).to_string();
        let fields = AnsweredField::all(&content, Some(&schema), &["token".to_owned()], 1_000);
        let told: Vec<(&str, Option<&str>)> =
            fields.iter().map(|field| (field.title.as_str(), field.value.as_deref())).collect();
        let want =
            [("Rollout", Some("Canary 10 %")), ("regions", Some("eu, us")), ("dry", Some("no")), ("token", None)];
        assert_eq!(told, want);
        let long = json!({"a": "x".repeat(10_000), "b": "y"}).to_string();
        let bytes: usize = AnsweredField::all(&long, None, &[], 100)
            .iter()
            .map(|field| field.title.len() + field.value.as_ref().map_or(0, String::len))
            .sum();
        assert!(bytes <= 110, "an answer is capped as a whole: {bytes}");
    }
}
