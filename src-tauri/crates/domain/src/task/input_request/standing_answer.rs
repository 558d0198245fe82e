//! Standing answers: what a person decided to answer whenever the same tool asks the same question again.
//!
//! A standing answer fits one question of one tool of one server, to the letter of its words and its form. It never fits
//! what may destroy something, what may ask for a secret, or what cannot be attributed to one call. Who records the
//! answer, and when, is the engine's (`attention/standing_answers.rs`).

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::digest::sha256_hex;
use crate::ids::{PersonId, ServerId, StandingAnswerId};
use crate::task::TaskHandle;
use crate::task::input_request::{AnswerAction, Ask, InputRequest, secret_looking_fields};
use crate::task::payload::Payload;
use crate::time::Timestamp;

/// Which standing answer, in which of its versions: each change of the answer is a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StandingAnswerRef {
    pub id: StandingAnswerId,
    /// The first one is 1.
    pub version: u32,
}

/// What is answered without asking, until a person ends it.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingAnswer {
    pub id: StandingAnswerId,
    pub version: u32,
    pub server: ServerId,
    pub tool: Arc<str>,
    /// What the question hashes to ([`question_digest`]).
    pub question: Arc<str>,
    /// The server's words, for people.
    pub message: String,
    pub action: AnswerAction,
    /// The content of an accepted form.
    pub content: Option<Payload>,
    /// Who decided it.
    pub by: PersonId,
    /// It fits questions that open after this.
    pub since: Timestamp,
    /// Who ended it, and when.
    pub ended: Option<(PersonId, Timestamp)>,
}

/// Why a question cannot have a standing answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoStandingAnswer {
    #[error("only forms can be answered automatically")]
    NotAForm,
    #[error("this question may ask for a secret")]
    Secret,
    #[error("the tool is marked as destructive")]
    Destructive,
    #[error("it is not known whether the tool is destructive")]
    UnknownTool,
    #[error("the server does not say which of several calls asks this")]
    Shared,
    #[error("only accepting and declining can be repeated")]
    Action,
}

/// What a form hashes to, words and schema together; `None` for anything else.
#[must_use]
pub fn question_digest(ask: &Ask) -> Option<Arc<str>> {
    match ask {
        Ask::Form { message, schema } => Some(digest(&json!([message, schema]))),
        Ask::Visit { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => None,
    }
}

/// What the form alone hashes to, whatever the words: equal forms take equal answers.
#[must_use]
pub fn form_digest(ask: &Ask) -> Option<Arc<str>> {
    match ask {
        Ask::Form { schema, .. } => Some(digest(schema)),
        Ask::Visit { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => None,
    }
}

/// Hex SHA-256 of the canonical form, in which the order of members says nothing.
fn digest(value: &Value) -> Arc<str> {
    let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes());
    Arc::from(sha256_hex(canonical))
}

/// Whether this question of this task may have a standing answer. `destructive` is what the server says of its tool;
/// `None` while that is not known.
///
/// # Errors
/// When it may not, with the reason.
pub fn check_may_stand(
    task: &TaskHandle,
    request: &InputRequest,
    destructive: Option<bool>,
) -> Result<(), NoStandingAnswer> {
    let Ask::Form { schema, .. } = &request.ask else { return Err(NoStandingAnswer::NotAForm) };
    if !secret_looking_fields(schema).is_empty() {
        return Err(NoStandingAnswer::Secret);
    }
    if !task.possible_askers(&request.key).is_empty() {
        return Err(NoStandingAnswer::Shared);
    }
    match (destructive, &task.tool) {
        (Some(false), Some(_)) => Ok(()),
        (Some(true), _) => Err(NoStandingAnswer::Destructive),
        (None, _) | (_, None) => Err(NoStandingAnswer::UnknownTool),
    }
}

impl StandingAnswerRef {
    /// Reads its text form back: `ans_…@1`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (id, version) = text.split_once('@')?;
        Some(Self { id: id.parse().ok()?, version: version.parse().ok()? })
    }
}

impl StandingAnswer {
    /// Itself, as what answered names it.
    #[must_use]
    pub const fn reference(&self) -> StandingAnswerRef {
        StandingAnswerRef { id: self.id, version: self.version }
    }

    /// Whether it is about this question of this task, whenever that opened.
    #[must_use]
    pub fn is_about(&self, task: &TaskHandle, request: &InputRequest) -> bool {
        self.server == task.server
            && task.tool.as_deref() == Some(&*self.tool)
            && question_digest(&request.ask).as_deref() == Some(&*self.question)
    }

    /// Whether it answers this question now: an open one of people, which opened after it was decided.
    #[must_use]
    pub fn answers(&self, task: &TaskHandle, request: &InputRequest, now: Timestamp) -> bool {
        self.ended.is_none()
            && request.opened > self.since
            && task.asks_people(request, now)
            && self.is_about(task, request)
    }
}

impl fmt::Display for StandingAnswerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_back_from_its_text_and_needs_its_version() {
        let named = StandingAnswerRef { id: StandingAnswerId::from_random(7), version: 3 };
        assert_eq!(StandingAnswerRef::from_text(&named.to_string()), Some(named));
        for other in [named.id.to_string(), format!("{}@", named.id), "ans_x@1".to_owned(), String::new()] {
            assert_eq!(StandingAnswerRef::from_text(&other), None, "{other}");
        }
    }

    #[test]
    fn a_question_is_the_same_only_with_the_same_words_and_the_same_form() {
        let form = |message: &str, schema: Value| Ask::Form { message: message.into(), schema };
        let digest = |ask: &Ask| question_digest(ask).expect("a form has one");
        let first = digest(&form("Deploy?", json!({"properties": {"go": {"type": "boolean"}}, "type": "object"})));
        let order = digest(&form("Deploy?", json!({"type": "object", "properties": {"go": {"type": "boolean"}}})));
        assert_eq!(first, order, "the order of members says nothing");
        assert_ne!(first, digest(&form("Deploy now?", json!({"type": "object"}))), "other words are another question");
        let wider = json!({"properties": {"go": {"type": "boolean"}, "all": {"type": "boolean"}}, "type": "object"});
        assert_ne!(first, digest(&form("Deploy?", wider)), "so is another form");
        assert_eq!(question_digest(&Ask::Sampling), None);
    }
}
