//! A question as JSON shows it, alone and as a row of the inbox.
//!
//! The server's schema stands here untouched; the answer's content never does.

use domain::task::TaskHandle;
use domain::task::input_request::{Ask, InputRequest, RequestState, secret_looking_fields};
use domain::task::status::Delivery;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::{WaitingRow, iso};
use crate::url_host::Host;

/// A question of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestDto {
    /// Names it within its task.
    pub key: String,
    /// `form`, `url`, `sampling`, `roots` or `unsupported`.
    #[ts(type = "\"form\" | \"url\" | \"sampling\" | \"roots\" | \"unsupported\"")]
    pub kind: String,
    /// The server's words.
    pub message: String,
    /// The form's schema as the server sent it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional, type = "unknown")]
    pub schema: Option<Value>,
    /// The page to visit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub url: Option<String>,
    /// `open`, `answered`, `confirmed` or `withdrawn`.
    #[ts(type = "\"open\" | \"answered\" | \"confirmed\" | \"withdrawn\"")]
    pub state: String,
    /// When it was first seen.
    pub opened_at: String,
    /// What was answered, without content.
    pub answer: Option<AnswerDto>,
    /// Why the server no longer asks, when nobody here answered.
    pub withdrawn_why: Option<String>,
    /// Fields that look like secrets, which servers must not ask for by form.
    pub secret_fields: Vec<String>,
    /// The tasks of which one asks it, where the server does not say which; empty when it is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub one_of: Vec<String>,
    /// Of a page to visit, its host as people read it: Punycode decoded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub host: Option<String>,
    /// The host in ASCII, when that reads differently.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub host_ascii: Option<String>,
}

/// An answer, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerDto {
    /// `accept`, `decline` or `dismiss`.
    #[ts(type = "\"accept\" | \"decline\" | \"dismiss\"")]
    pub action: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// `recorded`, `sent`, `acknowledged` or `refused`.
    #[ts(type = "\"recorded\" | \"sent\" | \"acknowledged\" | \"refused\"")]
    pub delivery: String,
    /// Why the server refused it.
    pub refused_why: Option<String>,
    /// Held back until then.
    pub not_before: Option<String>,
}

/// A question with its task, in the inbox of the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "AskedDto")]
pub struct InboxRow {
    /// The task's handle.
    pub task: String,
    /// Its server.
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// Whose call it is.
    pub agent: Option<String>,
    /// For how long it waits.
    pub waiting_ms: u64,
    /// The question.
    #[serde(flatten)]
    pub request: RequestDto,
    /// On the last row of a task: questions that its server asks besides. They come up as others close.
    #[serde(skip_serializing_if = "is_none", default)]
    #[ts(optional, as = "Option<u32>")]
    pub more_questions: u32,
}

/// Whether a count can be left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(crate) const fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Everything that waits for a person, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxDto {
    /// A page of the open questions.
    pub items: Vec<InboxRow>,
    /// Open questions in all.
    pub total: u64,
    /// Open questions before this page.
    pub offset: u64,
    /// Held results, and tasks past a limit that asks: rows of the window's inbox of these two kinds.
    pub decisions: Vec<WaitingRow>,
}

/// The word for how far something got on its way to the server.
pub(crate) const fn delivery_word(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Recorded => "recorded",
        Delivery::Sent { .. } => "sent",
        Delivery::Acknowledged { .. } => "acknowledged",
        Delivery::Refused { .. } => "refused",
    }
}

impl RequestDto {
    pub(crate) fn of(request: &InputRequest) -> Self {
        let (kind, message, schema, url) = match &request.ask {
            Ask::Form { message, schema } => ("form", message.clone(), Some(schema.clone()), None),
            Ask::Visit { message, url, .. } => ("url", message.clone(), None, Some(url.clone())),
            Ask::Sampling => ("sampling", "the server asks for a model's reply".into(), None, None),
            Ask::Roots => ("roots", "the server asks for folders".into(), None, None),
            Ask::Unsupported(method) => ("unsupported", format!("the server asks for `{method}`"), None, None),
        };
        let host = url.as_deref().and_then(Host::of);
        let answered = match &request.state {
            RequestState::Open | RequestState::Withdrawn { .. } => None,
            RequestState::Answered(answered) | RequestState::Confirmed(answered) => Some(answered),
        };
        Self {
            key: request.key.to_string(),
            kind: kind.into(),
            message,
            secret_fields: schema.as_ref().map(secret_looking_fields).unwrap_or_default(),
            schema,
            url,
            host_ascii: host.as_ref().and_then(|host| host.ascii.clone()),
            host: host.map(|host| host.shown),
            state: request.state.word().into(),
            one_of: Vec::new(),
            opened_at: iso(request.opened),
            answer: answered.map(|answered| AnswerDto {
                action: action_word(answered.action).into(),
                by: answered.by.to_string(),
                at: iso(answered.at),
                delivery: delivery_word(&answered.delivery).into(),
                refused_why: match &answered.delivery {
                    Delivery::Refused { why, .. } => Some(why.clone()),
                    Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => None,
                },
                not_before: answered.not_before.map(iso),
            }),
            withdrawn_why: match &request.state {
                RequestState::Withdrawn { why, .. } => Some(why.clone()),
                RequestState::Open | RequestState::Answered(_) | RequestState::Confirmed(_) => None,
            },
        }
    }

    /// A question with the tasks that may be asking it.
    pub(crate) fn of_task(task: &TaskHandle, request: &InputRequest) -> Self {
        Self { one_of: one_of(task, request), ..Self::of(request) }
    }

    /// Whether a person is needed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == "open"
    }
}

/// The tasks that may be asking this question; none when it is known which one asks.
pub(crate) fn one_of(task: &TaskHandle, request: &InputRequest) -> Vec<String> {
    task.possible_askers(&request.key).iter().map(ToString::to_string).collect()
}

const fn action_word(action: domain::task::input_request::AnswerAction) -> &'static str {
    action.word()
}
