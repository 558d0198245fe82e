//! A question of a task, alone and as an entry of the command line's inbox.
//!
//! The server's schema is passed on unchanged; the content of an answer never appears.

use domain::task::TaskHandle;
use domain::task::input_request::{AnswerAction, Ask, InputRequest, RequestState, secret_looking_fields};
use domain::task::status::Delivery;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::dto::inbox::url_host::UrlHost;
use crate::dto::words::{Word, words};
use crate::dto::{InboxRow, iso};

words! {
    /// What a question asks for.
    QuestionKind {
        /// A form to fill in.
        Form = "form",
        /// A page to visit.
        Url = "url",
        /// A reply of a model.
        Sampling = "sampling",
        /// A list of folders.
        Roots = "roots",
        /// Something that this version does not know.
        Unsupported = "unsupported",
    }
    /// Whether a question is open, answered or withdrawn.
    QuestionState {
        /// It waits for an answer.
        Open = "open",
        /// It was answered; the server has not said more.
        Answered = "answered",
        /// The server no longer asks after the answer.
        Confirmed = "confirmed",
        /// The server no longer asks, and nobody here answered.
        Withdrawn = "withdrawn",
    }
    /// How far something got on its way to the server.
    DeliveryDto {
        Recorded = "recorded",
        /// Sent; the server has not replied.
        Sent = "sent",
        /// The server acknowledged it.
        Acknowledged = "acknowledged",
        /// The server refused it.
        Refused = "refused",
    }
}

/// A question of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestDto {
    /// Names it within its task.
    pub key: String,
    /// What is asked for.
    #[ts(inline)]
    pub kind: QuestionKind,
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
    /// Whether it is open, answered or withdrawn.
    #[ts(inline)]
    pub state: QuestionState,
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
    pub action: Word<AnswerAction>,
    pub by: String,
    pub at: String,
    /// How far it got on its way to the server.
    #[ts(inline)]
    pub delivery: DeliveryDto,
    /// Why the server refused it.
    pub refused_why: Option<String>,
    /// Held back until then.
    pub not_before: Option<String>,
}

/// A question with its task, in the inbox of the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "AskedDto")]
pub struct InboxQuestion {
    /// The task's handle.
    pub task: String,
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// Whose call it is.
    pub agent: Option<String>,
    /// For how long it waits.
    pub waiting_ms: u64,
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
    pub items: Vec<InboxQuestion>,
    /// Open questions in all.
    pub total: u64,
    /// Open questions before this page.
    pub offset: u64,
    /// Held results, tasks past a limit that asks, and pauses that ask which calls are sent: rows of the window's inbox.
    pub decisions: Vec<InboxRow>,
    /// Tasks in trouble and servers that need a person, one row for each cause.
    pub trouble: Vec<InboxRow>,
}

impl DeliveryDto {
    pub(crate) const fn of(delivery: &Delivery) -> Self {
        match delivery {
            Delivery::Recorded => Self::Recorded,
            Delivery::Sent { .. } => Self::Sent,
            Delivery::Acknowledged { .. } => Self::Acknowledged,
            Delivery::Refused { .. } => Self::Refused,
        }
    }
}

impl QuestionState {
    const fn of(state: &RequestState) -> Self {
        match state {
            RequestState::Open => Self::Open,
            RequestState::Answered(_) => Self::Answered,
            RequestState::Confirmed(_) => Self::Confirmed,
            RequestState::Withdrawn { .. } => Self::Withdrawn,
        }
    }
}

impl RequestDto {
    pub(crate) fn of(request: &InputRequest) -> Self {
        let (kind, message, schema, url) = match &request.ask {
            Ask::Form { message, schema } => (QuestionKind::Form, message.clone(), Some(schema.clone()), None),
            Ask::Visit { message, url, .. } => (QuestionKind::Url, message.clone(), None, Some(url.clone())),
            Ask::Sampling => (QuestionKind::Sampling, "the server asks for a model's reply".into(), None, None),
            Ask::Roots => (QuestionKind::Roots, "the server asks for folders".into(), None, None),
            Ask::Unsupported(method) => {
                (QuestionKind::Unsupported, format!("the server asks for `{method}`"), None, None)
            }
        };
        let host = url.as_deref().and_then(UrlHost::of);
        let answered = match &request.state {
            RequestState::Open | RequestState::Withdrawn { .. } => None,
            RequestState::Answered(answered) | RequestState::Confirmed(answered) => Some(answered),
        };
        Self {
            key: request.key.to_string(),
            kind,
            message,
            secret_fields: schema.as_ref().map(secret_looking_fields).unwrap_or_default(),
            schema,
            url,
            host_ascii: host.as_ref().and_then(|host| host.ascii.clone()),
            host: host.map(|host| host.shown),
            state: QuestionState::of(&request.state),
            one_of: Vec::new(),
            opened_at: iso(request.opened),
            answer: answered.map(|answered| AnswerDto {
                action: answered.action.into(),
                by: answered.by.name(),
                at: iso(answered.at),
                delivery: DeliveryDto::of(&answered.delivery),
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

    /// Whether people can answer what is asked for; what they cannot is for an agent, or for nobody.
    #[must_use]
    pub const fn is_for_people(&self) -> bool {
        match self.kind {
            QuestionKind::Form | QuestionKind::Url => true,
            QuestionKind::Sampling | QuestionKind::Roots | QuestionKind::Unsupported => false,
        }
    }

    /// Whether a person is needed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == QuestionState::Open
    }
}

/// The tasks that may be asking this question; none when it is known which one asks.
pub(crate) fn one_of(task: &TaskHandle, request: &InputRequest) -> Vec<String> {
    task.possible_askers(&request.key).iter().map(ToString::to_string).collect()
}
